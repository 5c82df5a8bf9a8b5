// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/metrics.cpp: figures to the text format of Prometheus.
#include "metrics.hpp"
#include <zrt/core/kv_pages.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <set>
#include <utility>

namespace program::server {
namespace {

// The ranges that dashboards of vLLM expect of these figures.
constexpr std::array kFirstTokenBounds{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                                       1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
constexpr std::array kBetweenBounds{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
                                    0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
constexpr std::array kWholeBounds{0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
                                  30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
constexpr std::array kTokenBounds{1.0,    2.0,    5.0,    10.0,    20.0,    50.0,    100.0,    200.0,   500.0,
                                  1000.0, 2000.0, 5000.0, 10000.0, 20000.0, 50000.0, 100000.0, 200000.0};

constexpr std::array kChoiceBounds{1.0, 2.0, 5.0, 10.0, 20.0};
constexpr std::array kStepBounds{1.0,   8.0,    16.0,   32.0,   64.0,   128.0,  256.0,
                                 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0};

/// How a figure is shown, by Figure. The names behind zrt_ are those of vLLM.
struct ShownFigure {
  std::string_view name, help;
  std::span<const double> bounds;
};
constexpr std::array<ShownFigure, kFigures> kShown{{
    {"request_queue_time_seconds", "From a request's arrival to its slot.", kFirstTokenBounds},
    {"time_to_first_token_seconds", "From a request's arrival to its first token.", kFirstTokenBounds},
    {"inter_token_latency_seconds", "Between tokens of a choice.", kBetweenBounds},
    {"e2e_request_latency_seconds", "From a request's arrival to its end.", kWholeBounds},
    {"request_prefill_time_seconds", "From a choice's slot to its first token.", kWholeBounds},
    {"request_decode_time_seconds", "From a choice's first token to its last.", kWholeBounds},
    {"request_inference_time_seconds", "From a choice's slot to its last token.", kWholeBounds},
    {"request_time_per_output_token_seconds", "The mean time between tokens of a choice.", kBetweenBounds},
    {"request_prompt_tokens", "Tokens of a choice's prompt.", kTokenBounds},
    {"request_generation_tokens", "Tokens of a choice's answer.", kTokenBounds},
    {"request_params_max_tokens", "Tokens that a choice's answer may have.", kTokenBounds},
    {"request_params_n", "Choices of each prompt of a request that was answered.", kChoiceBounds},
    {"iteration_tokens_total", "Tokens of a step: those of answers, and prompts that it ended.", kStepBounds},
}};
constexpr const ShownFigure& shown(Figure figure) { return kShown[static_cast<std::size_t>(figure)]; }

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

std::string listed(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ",").append(name);
  return out;
}

/// What vLLM calls an end.
std::string_view vllm_reason(std::string_view reason) {
  if (reason == "length" || reason == "context") return "length";
  if (reason == "stop_token" || reason == "stop_string" || reason == "callback") return "stop";
  return reason == "cancelled" || reason == "client_too_slow" ? "abort" : "error";
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ");
  out.append(type).append("\n");
}
void sample(std::string& out, std::string_view name, std::string_view labels, double value) {
  out.append(name).append("{").append(labels).append("} ").append(figure_text(value)).append("\n");
}
/// A histogram's counts, one more than it has bounds.
struct Ranges {
  std::span<const double> bounds;
  std::span<const std::uint64_t> counts;
  double sum;
};
void write_ranges(std::string& out, std::string_view name, std::string_view labels, const Ranges& ranges) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < ranges.counts.size(); ++i) {
    below += ranges.counts[i];
    const std::string bound = i < ranges.bounds.size() ? figure_text(ranges.bounds[i]) : "+Inf";
    out.append(name).append("_bucket{").append(labels).append(",le=\"").append(bound).append("\"} ");
    out.append(std::to_string(below)).append("\n");
  }
  out.append(name).append("_sum{").append(labels).append("} ").append(figure_text(ranges.sum)).append("\n");
  out.append(name).append("_count{").append(labels).append("} ").append(std::to_string(below)).append("\n");
}

/// What the engine counts in milliseconds.
constexpr auto kPageBounds = [] {
  std::array<double, zrt::DurationCounts::kBoundsMs.size()> seconds{};
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = zrt::DurationCounts::kBoundsMs[i] / 1000.0;
  return seconds;
}();
}  // namespace

void Histogram::add(double value) {
  std::size_t at = 0;
  while (at < bounds_.size() && value > bounds_[at]) ++at;
  ++counts_[at];
  sum_ += value;
}

void Histogram::write(std::string& out, std::string_view name, std::string_view labels) const {
  write_ranges(out, name, labels, {bounds_, counts_, sum_});
}

zrt::TenantLedger sum_of(const ModelUsage& usage) {
  zrt::TenantLedger sum;
  for (const zrt::TenantLedger& part : usage) sum += part;
  return sum;
}

Metrics::OfModel::OfModel(std::string id) : name(std::move(id)) {
  for (const ShownFigure& figure : kShown) figures.emplace_back(figure.bounds);
}

void Metrics::set_models(const std::vector<std::string>& models) {
  const std::lock_guard lock(mutex_);
  for (const std::string& id : models) models_.emplace_back(id);
}

void Metrics::add(zrt::ModelId model, Figure figure, double value) {
  const std::lock_guard lock(mutex_);
  of(model).figures[static_cast<std::size_t>(figure)].add(value);
}
void Metrics::ended(zrt::ModelId model, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  ++of(model).ends[std::string(reason)];
}
void Metrics::answered(int status) {
  const std::lock_guard lock(mutex_);
  ++statuses_[status];
}
void Metrics::set_load(zrt::ModelId model, const ModelLoad& load) {
  const std::lock_guard lock(mutex_);
  of(model).load = load;
}
void Metrics::set_slots(zrt::ModelId model, std::vector<SlotPages> slots) {
  const std::lock_guard lock(mutex_);
  of(model).slots = std::move(slots);
}
void Metrics::arrived(zrt::ModelId model, const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  ++of(model).load.waiting;
  of(model).slots.push_back({.tenant = tenant});
}
std::vector<std::vector<SlotPages>> Metrics::slots() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<SlotPages>> out;
  for (const OfModel& model : models_) out.push_back(model.slots);
  return out;
}
void Metrics::set_adapters(zrt::ModelId model, std::size_t count) {
  const std::lock_guard lock(mutex_);
  of(model).adapters = count;
}
std::vector<ModelLoad> Metrics::loads() const {
  const std::lock_guard lock(mutex_);
  return loads_of_all();
}
std::vector<ModelLoad> Metrics::loads_of(const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  return loads_of_one(tenant);
}
Metrics::Loads Metrics::loads_of_all() const {
  Loads out;
  for (const OfModel& model : models_) out.push_back(model.load);
  return out;
}
Metrics::Loads Metrics::loads_of_one(const std::string& tenant) const {
  Loads out;
  for (const OfModel& model : models_) {
    ModelLoad own = model.load;
    std::uint64_t pages = 0;
    own.running = own.waiting = 0;
    for (const SlotPages& slot : model.slots) {
      if (slot.tenant != tenant) continue;
      pages += slot.pages;
      ++(slot.pages != 0 || slot.embeds ? own.running : own.waiting);
    }
    own.pages_used = own.pages == 0 ? 0.0 : std::min(1.0, static_cast<double>(pages) / static_cast<double>(own.pages));
    out.push_back(own);
  }
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

void Metrics::write_gauge(std::string& out, const std::string& name, std::string_view help, bool vllm,
                          const Loads& loads, double (*value)(const ModelLoad&)) const {
  head(out, name, "gauge", help);
  for (std::size_t m = 0; m < models_.size(); ++m) sample(out, name, labels(models_[m], vllm), value(loads[m]));
}

void Metrics::write_histogram(std::string& out, const std::string& name, Figure figure, bool vllm) const {
  head(out, name, "histogram", shown(figure).help);
  for (const OfModel& m : models_) m.figures[static_cast<std::size_t>(figure)].write(out, name, labels(m, vllm));
}

/// What routers read of each model.
void Metrics::write_load(std::string& out, const std::string& prefix, bool vllm, const Loads& loads) const {
  write_gauge(out, prefix + "num_requests_running", "Choices that run.", vllm, loads,
              [](const ModelLoad& load) { return static_cast<double>(load.running); });
  write_gauge(out, prefix + "num_requests_waiting", "Choices that wait for a slot.", vllm, loads,
              [](const ModelLoad& load) { return static_cast<double>(load.waiting); });
  write_gauge(out, prefix + "kv_cache_usage_perc", "Pages in use, 0 to 1.", vllm, loads,
              [](const ModelLoad& load) { return load.pages_used; });
}

void Metrics::write_histograms(std::string& out, const std::string& prefix, bool vllm) const {
  for (std::size_t i = 0; i < kFigures; ++i)
    write_histogram(out, prefix + std::string(kShown[i].name), static_cast<Figure>(i), vllm);
}

/// Of pages that all tenants share, so that one sees in them what others ask.
void Metrics::write_page_times(std::string& out, const std::string& prefix, bool vllm) const {
  struct Times {
    std::string_view name, help;
    zrt::DurationCounts zrt::PageTimes::* field;
  };
  constexpr Times kTimes[] = {
      {"kv_block_lifetime_seconds", "From a page's first use to its eviction.", &zrt::PageTimes::lifetime},
      {"kv_block_idle_before_evict_seconds", "From a page's last use to its eviction.", &zrt::PageTimes::idle},
      {"kv_block_reuse_gap_seconds", "From a page's last use to the next.", &zrt::PageTimes::reuse_gap}};
  for (const Times& times : kTimes) {
    const std::string name = prefix + std::string(times.name);
    head(out, name, "histogram", times.help);
    for (const OfModel& m : models_) {
      const zrt::DurationCounts& counted = m.load.page_times.*times.field;
      write_ranges(out, name, labels(m, vllm),
                   {kPageBounds, counted.counts, static_cast<double>(counted.sum_ns) / 1e9});
    }
  }
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
      {"zrt_drafts_total", "How often guesses were computed.", &zrt::TenantLedger::drafts},
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
}

/// What a model can hold, which no request changes.
void Metrics::write_sizes(std::string& out) const {
  const Loads loads = loads_of_all();
  write_gauge(out, "zrt_slots", "Choices that can run at once.", false, loads,
              [](const ModelLoad& load) { return static_cast<double>(load.slots); });
  write_gauge(out, "zrt_kv_pages", "Pages of 16 positions.", false, loads,
              [](const ModelLoad& load) { return static_cast<double>(load.pages); });
}

/// What routers of vLLM read.
void Metrics::write_vllm_load(std::string& out, const Loads& loads) const {
  write_load(out, "vllm:", true, loads);
  // Names of earlier releases, which dashboards and routers still ask for.
  write_gauge(out, "vllm:gpu_cache_usage_perc", "Pages in use, 0 to 1.", true, loads,
              [](const ModelLoad& load) { return load.pages_used; });
  write_gauge(out, "vllm:num_requests_swapped", "0: what gives up its slot waits.", true, loads,
              [](const ModelLoad&) { return 0.0; });
  head(out, "vllm:cache_config_info", "gauge", "The size and number of pages, as labels.");
  for (const OfModel& m : models_)
    sample(out, "vllm:cache_config_info",
           labels(m, true) + ",block_size=\"" + std::to_string(zrt::kPageTokens) + "\",num_gpu_blocks=\"" +
               std::to_string(m.load.pages) + "\"",
           1.0);
}

/// Which adapters choices run with and wait with. Of several samples of one model the latest counts, so the value is the
/// time.
void Metrics::write_vllm_adapters(std::string& out) const {
  constexpr const char* kName = "vllm:lora_requests_info";
  const auto now = static_cast<double>(std::time(nullptr));
  bool any = false;
  for (const OfModel& m : models_) {
    if (m.adapters == 0) continue;
    if (!std::exchange(any, true)) head(out, kName, "gauge", "Adapters of choices that run and wait, as labels.");
    std::set<std::string> running, waiting;
    for (const SlotPages& slot : m.slots)
      if (!slot.adapter.empty()) (slot.pages != 0 ? running : waiting).insert(slot.adapter);
    sample(out, kName,
           labels(m, true) + ",max_lora=\"" + std::to_string(m.adapters) + "\",running_lora_adapters=" +
               label_value(listed(running)) + ",waiting_lora_adapters=" + label_value(listed(waiting)),
           now);
  }
}

/// Sums over all tenants, or over one's own.
void Metrics::write_vllm_usage(std::string& out, const std::string* only) const {
  ModelUsage all(models_.size());
  for (const auto& [tenant, usage] : tenants_)
    for (std::size_t m = 0; m < usage.size(); ++m)
      if (only == nullptr || *only == tenant) all[m] += usage[m];
  const auto counter = [&](const char* name, const char* help, std::uint64_t zrt::TenantLedger::* field) {
    head(out, name, "counter", help);
    for (std::size_t m = 0; m < models_.size(); ++m)
      sample(out, name, labels(models_[m], true), static_cast<double>(all[m].*field));
  };
  counter("vllm:prompt_tokens_total", "Tokens of prompts.", &zrt::TenantLedger::prompt_tokens);
  counter("vllm:generation_tokens_total", "Generated tokens.", &zrt::TenantLedger::delivered_tokens);
  for (const char* name : {"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"})
    counter(name, "Tokens of prompts that were looked for in prefixes.", &zrt::TenantLedger::prompt_tokens);
  for (const char* name : {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"})
    counter(name, "Tokens of prompts found in prefixes.", &zrt::TenantLedger::cached_tokens);
  counter("vllm:num_preemptions_total", "Choices that gave up their slot.", &zrt::TenantLedger::preemptions);
  counter("vllm:spec_decode_num_drafts_total", "How often guesses were computed.", &zrt::TenantLedger::drafts);
  counter("vllm:spec_decode_num_draft_tokens_total", "Guessed tokens that were computed.",
          &zrt::TenantLedger::drafted_tokens);
  counter("vllm:spec_decode_num_accepted_tokens_total", "Guessed tokens that were right.",
          &zrt::TenantLedger::accepted_drafts);
}

/// Ends under the four names that vLLM has. What was refused is no request of its count.
void Metrics::write_vllm_ends(std::string& out) const {
  constexpr const char* kName = "vllm:request_success_total";
  head(out, kName, "counter", "Choices by the reason of their end; errors are no success, whatever the name says.");
  for (const OfModel& m : models_) {
    std::map<std::string_view, std::uint64_t> counts{{"stop", 0}, {"length", 0}, {"abort", 0}, {"error", 0}};
    for (const auto& [reason, count] : m.ends)
      if (reason != kRefused) counts[vllm_reason(reason)] += count;
    for (const auto& [reason, count] : counts)
      sample(out, kName, labels(m, true) + ",finished_reason=" + label_value(reason), static_cast<double>(count));
  }
}

void Metrics::write_vllm(std::string& out) const {
  write_vllm_load(out, loads_of_all());
  write_vllm_adapters(out);
  write_histograms(out, "vllm:", true);
  write_page_times(out, "vllm:", true);
  write_histogram(out, "vllm:time_per_output_token_seconds", Figure::between_tokens, true);
  write_histogram(out, "vllm:request_max_num_generation_tokens", Figure::generated_tokens, true);
  write_vllm_usage(out, nullptr);
  write_vllm_ends(out);
}

std::string Metrics::text(bool vllm, std::size_t connections) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  write_tenants(out, nullptr);
  head(out, "zrt_request_ends_total", "counter", "Choices by the reason of their end.");
  for (const OfModel& m : models_)
    for (const auto& [reason, count] : m.ends)
      sample(out, "zrt_request_ends_total", labels(m, false) + ",finished_reason=" + label_value(reason),
             static_cast<double>(count));
  head(out, "zrt_http_answers_total", "counter", "Answers by status.");
  for (const auto& [status, count] : statuses_)
    sample(out, "zrt_http_answers_total", "status=\"" + std::to_string(status) + "\"", static_cast<double>(count));
  head(out, "zrt_http_connections", "gauge", "Open connections.");
  sample(out, "zrt_http_connections", "", static_cast<double>(connections));  // of all models
  write_memory(out);
  write_sizes(out);
  write_load(out, "zrt_", false, loads_of_all());
  write_histograms(out, "zrt_", false);
  write_page_times(out, "zrt_", false);
  if (vllm) write_vllm(out);
  return out;
}

std::string Metrics::text_of(const std::string& tenant, bool vllm) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  const Loads own = loads_of_one(tenant);
  write_tenants(out, &tenant);
  write_sizes(out);
  write_load(out, "zrt_", false, own);
  if (!vllm) return out;
  write_vllm_load(out, own);
  write_vllm_usage(out, &tenant);
  return out;
}

std::string Metrics::text_for_routers(bool vllm) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  write_sizes(out);
  write_load(out, "zrt_", false, loads_of_all());
  if (!vllm) return out;
  write_vllm_load(out, loads_of_all());
  write_vllm_adapters(out);
  return out;
}

}  // namespace program::server
