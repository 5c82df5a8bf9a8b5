// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/metrics.cpp: figures to the text format of Prometheus.
#include "metrics.hpp"
#include <zrt/core/kv_pages.hpp>

#include <cstdio>

namespace program::server {
namespace {

// The ranges that dashboards of vLLM expect of these figures.
constexpr std::array kFirstTokenBounds{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                                       1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
constexpr std::array kBetweenBounds{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                                    0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
constexpr std::array kWholeBounds{0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
                                  30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};

std::string figure_text(double value) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// A label's value: quotes, backslashes and line ends are written as escapes.
std::string label_value(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ");
  out.append(type).append("\n");
}
void sample(std::string& out, std::string_view name, std::string_view labels, double value) {
  out.append(name).append("{").append(labels).append("} ").append(figure_text(value)).append("\n");
}
}  // namespace

void Histogram::add(double value) {
  std::size_t at = 0;
  while (at < bounds_.size() && value > bounds_[at]) ++at;
  ++counts_[at];
  sum_ += value;
}

void Histogram::write(std::string& out, std::string_view name, std::string_view labels) const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    const std::string bound = i < bounds_.size() ? figure_text(bounds_[i]) : "+Inf";
    out.append(name).append("_bucket{").append(labels).append(",le=\"").append(bound).append("\"} ");
    out.append(std::to_string(below)).append("\n");
  }
  out.append(name).append("_sum{").append(labels).append("} ").append(figure_text(sum_)).append("\n");
  out.append(name).append("_count{").append(labels).append("} ").append(std::to_string(below)).append("\n");
}

zrt::TenantLedger sum_of(const ModelUsage& usage) {
  zrt::TenantLedger sum;
  for (const zrt::TenantLedger& part : usage) sum += part;
  return sum;
}

Metrics::OfModel::OfModel(std::string id)
    : name(std::move(id)),
      queued(kFirstTokenBounds),
      first(kFirstTokenBounds),
      between(kBetweenBounds),
      whole(kWholeBounds) {}

Metrics::Metrics(std::vector<std::string> models) {
  for (std::string& id : models) models_.emplace_back(std::move(id));
}

void Metrics::taken(zrt::ModelId model, double seconds_queued) {
  const std::lock_guard lock(mutex_);
  of(model).queued.add(seconds_queued);
}
void Metrics::first_token(zrt::ModelId model, double seconds) {
  const std::lock_guard lock(mutex_);
  of(model).first.add(seconds);
}
void Metrics::next_token(zrt::ModelId model, double seconds) {
  const std::lock_guard lock(mutex_);
  of(model).between.add(seconds);
}
void Metrics::ended(zrt::ModelId model, std::string_view reason, double seconds) {
  const std::lock_guard lock(mutex_);
  ++of(model).ends[std::string(reason)];
  of(model).whole.add(seconds);
}
void Metrics::answered(int status) {
  const std::lock_guard lock(mutex_);
  ++statuses_[status];
}
void Metrics::set_load(zrt::ModelId model, const ModelLoad& load) {
  const std::lock_guard lock(mutex_);
  of(model).load = load;
}
std::vector<ModelLoad> Metrics::loads() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelLoad> out;
  for (const OfModel& model : models_) out.push_back(model.load);
  return out;
}
void Metrics::set_usage(const std::string& tenant, const ModelUsage& usage) {
  const std::lock_guard lock(mutex_);
  tenants_[tenant] = usage;
}
std::optional<ModelUsage> Metrics::usage(const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? std::nullopt : std::optional(found->second);
}
std::map<std::string, ModelUsage> Metrics::usages() const {
  const std::lock_guard lock(mutex_);
  return tenants_;
}

std::string Metrics::labels(const OfModel& model, bool vllm) const {
  return "model_name=" + label_value(model.name) + (vllm ? ",engine=\"0\"" : "");
}

/// What routers and dashboards read of each model.
void Metrics::write_engine(std::string& out, const std::string& prefix, bool vllm) const {
  const auto gauge = [&](const char* name, const char* help, auto&& value) {
    head(out, prefix + name, "gauge", help);
    for (const OfModel& m : models_) sample(out, prefix + name, labels(m, vllm), static_cast<double>(value(m.load)));
  };
  gauge("num_requests_running", "Choices that run.", [](const ModelLoad& load) { return load.running; });
  gauge("num_requests_waiting", "Choices that wait for a slot.", [](const ModelLoad& load) { return load.waiting; });
  gauge("kv_cache_usage_perc", "Pages in use, 0 to 1.", [](const ModelLoad& load) { return load.pages_used; });
  const auto times = [&](const char* name, const char* help, Histogram OfModel::* values) {
    head(out, prefix + name, "histogram", help);
    for (const OfModel& m : models_) (m.*values).write(out, prefix + name, labels(m, vllm));
  };
  times("request_queue_time_seconds", "From a request's arrival to the engine.", &OfModel::queued);
  times("time_to_first_token_seconds", "From a request's arrival to its first token.", &OfModel::first);
  times("inter_token_latency_seconds", "Between tokens of a choice.", &OfModel::between);
  times("e2e_request_latency_seconds", "From a request's arrival to its end.", &OfModel::whole);
}

void Metrics::write_tenants(std::string& out, const std::string* only) const {
  struct Counted {
    std::string_view name, help;
    std::uint64_t zrt::TenantLedger::* field;
  };
  constexpr Counted kCounted[] = {
      {"zrt_requests_total", "Choices that the engine took.", &zrt::TenantLedger::requests_accepted},
      {"zrt_prompt_tokens_total", "Tokens of prompts.", &zrt::TenantLedger::prompt_tokens},
      {"zrt_generation_tokens_total", "Generated tokens.", &zrt::TenantLedger::delivered_tokens},
      {"zrt_requests_refused_total", "Choices over a quota of their tenant.", &zrt::TenantLedger::requests_refused},
      {"zrt_prefix_cache_hit_tokens_total", "Tokens of prompts found in prefixes.", &zrt::TenantLedger::cached_tokens},
      {"zrt_computed_tokens_total", "Tokens computed for the first time.", &zrt::TenantLedger::computed_tokens},
      {"zrt_recomputed_tokens_total", "Tokens computed again after a preemption.",
       &zrt::TenantLedger::recomputed_tokens},
      {"zrt_preemptions_total", "Choices that gave up their slot.", &zrt::TenantLedger::preemptions},
      {"zrt_drafted_tokens_total", "Guessed tokens that were computed.", &zrt::TenantLedger::drafted_tokens},
      {"zrt_accepted_drafts_total", "Guessed tokens that were right.", &zrt::TenantLedger::accepted_drafts}};
  for (const Counted& counted : kCounted) {
    head(out, counted.name, "counter", counted.help);
    for (const auto& [tenant, usage] : tenants_)
      for (std::size_t m = 0; m < usage.size(); ++m)
        if (only == nullptr || *only == tenant)
          sample(out, counted.name, labels(models_[m], false) + ",tenant=" + label_value(tenant),
                 static_cast<double>(usage[m].*counted.field));
  }
}

void Metrics::write_memory(std::string& out) const {
  head(out, "zrt_model_memory_bytes", "gauge", "Memory of a model, by what it is for.");
  for (const OfModel& m : models_) {
    const zrt::HeldMemory& memory = m.load.report.memory;
    const std::string model = labels(m, false);
    sample(out, "zrt_model_memory_bytes", model + ",part=\"weights\"", static_cast<double>(memory.weights));
    sample(out, "zrt_model_memory_bytes", model + ",part=\"caches\"", static_cast<double>(memory.caches));
    sample(out, "zrt_model_memory_bytes", model + ",part=\"work\"", static_cast<double>(memory.work));
  }
  const auto figure = [&](const char* name, const char* type, const char* help, auto&& value) {
    head(out, name, type, help);
    for (const OfModel& m : models_) sample(out, name, labels(m, false), static_cast<double>(value(m.load)));
  };
  figure("zrt_model_resident", "gauge", "1 while the model is in memory.",
         [](const ModelLoad& load) { return load.report.resident ? 1 : 0; });
  figure("zrt_model_evictions_total", "counter", "How often the model gave its memory back.",
         [](const ModelLoad& load) { return load.report.evictions; });
  figure("zrt_steps_total", "counter", "Steps of the model.", [](const ModelLoad& load) { return load.report.steps; });
  figure("zrt_slots", "gauge", "Choices that can run at once.", [](const ModelLoad& load) { return load.slots; });
  figure("zrt_kv_pages", "gauge", "Pages of 16 positions.", [](const ModelLoad& load) { return load.pages; });
}

void Metrics::write_vllm(std::string& out) const {
  write_engine(out, "vllm:", true);
  head(out, "vllm:cache_config_info", "gauge", "The size and number of pages, as labels.");
  for (const OfModel& m : models_)
    sample(out, "vllm:cache_config_info",
           labels(m, true) + ",block_size=\"" + std::to_string(zrt::kPageTokens) + "\",num_gpu_blocks=\"" +
               std::to_string(m.load.pages) + "\"",
           1.0);
  ModelUsage all(models_.size());
  for (const auto& [tenant, usage] : tenants_)
    for (std::size_t m = 0; m < usage.size(); ++m) all[m] += usage[m];
  const auto counter = [&](const char* name, const char* help, std::uint64_t zrt::TenantLedger::* field) {
    head(out, name, "counter", help);
    for (std::size_t m = 0; m < models_.size(); ++m)
      sample(out, name, labels(models_[m], true), static_cast<double>(all[m].*field));
  };
  counter("vllm:prompt_tokens_total", "Tokens of prompts.", &zrt::TenantLedger::prompt_tokens);
  counter("vllm:generation_tokens_total", "Generated tokens.", &zrt::TenantLedger::delivered_tokens);
  counter("vllm:prefix_cache_queries_total", "Tokens of prompts that were looked for in prefixes.",
          &zrt::TenantLedger::prompt_tokens);
  counter("vllm:prefix_cache_hits_total", "Tokens of prompts found in prefixes.", &zrt::TenantLedger::cached_tokens);
  counter("vllm:num_preemptions_total", "Choices that gave up their slot.", &zrt::TenantLedger::preemptions);
  counter("vllm:spec_decode_num_draft_tokens_total", "Guessed tokens that were computed.",
          &zrt::TenantLedger::drafted_tokens);
  counter("vllm:spec_decode_num_accepted_tokens_total", "Guessed tokens that were right.",
          &zrt::TenantLedger::accepted_drafts);
  head(out, "vllm:request_success_total", "counter", "Choices by the reason of their end.");
  for (const OfModel& m : models_)
    for (const auto& [reason, count] : m.ends)
      sample(out, "vllm:request_success_total", labels(m, true) + ",finished_reason=" + label_value(reason),
             static_cast<double>(count));
}

std::string Metrics::text(bool vllm, std::size_t connections, const std::string* only) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  write_tenants(out, only);
  head(out, "zrt_request_ends_total", "counter", "Choices by the reason of their end.");
  for (const OfModel& m : models_)
    for (const auto& [reason, count] : m.ends)
      sample(out, "zrt_request_ends_total", labels(m, false) + ",finished_reason=" + label_value(reason),
             static_cast<double>(count));
  head(out, "zrt_http_answers_total", "counter", "Answers by status.");
  for (const auto& [status, count] : statuses_)
    sample(out, "zrt_http_answers_total", "status=\"" + std::to_string(status) + "\"", static_cast<double>(count));
  head(out, "zrt_http_connections", "gauge", "Open connections.");
  sample(out, "zrt_http_connections", labels(models_.front(), false), static_cast<double>(connections));
  write_memory(out);
  write_engine(out, "zrt_", false);
  if (vllm) write_vllm(out);
  return out;
}

}  // namespace program::server
