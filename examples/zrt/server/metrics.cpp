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
void single(std::string& out, std::string_view name, std::string_view type, std::string_view help,
            std::string_view labels, double value) {
  head(out, name, type, help);
  sample(out, name, labels, value);
}
void histogram(std::string& out, std::string_view name, std::string_view help, std::string_view labels,
               const Histogram& values) {
  head(out, name, "histogram", help);
  values.write(out, name, labels);
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

Metrics::Metrics(std::string model)
    : model_(std::move(model)),
      queued_(kFirstTokenBounds),
      first_(kFirstTokenBounds),
      between_(kBetweenBounds),
      whole_(kWholeBounds) {}

void Metrics::taken(double seconds_queued) {
  const std::lock_guard lock(mutex_);
  queued_.add(seconds_queued);
}
void Metrics::first_token(double seconds) {
  const std::lock_guard lock(mutex_);
  first_.add(seconds);
}
void Metrics::next_token(double seconds) {
  const std::lock_guard lock(mutex_);
  between_.add(seconds);
}
void Metrics::ended(std::string_view reason, double seconds) {
  const std::lock_guard lock(mutex_);
  ++ends_[std::string(reason)];
  whole_.add(seconds);
}
void Metrics::answered(int status) {
  const std::lock_guard lock(mutex_);
  ++statuses_[status];
}
void Metrics::set_load(const EngineLoad& load) {
  const std::lock_guard lock(mutex_);
  load_ = load;
}
EngineLoad Metrics::load() const {
  const std::lock_guard lock(mutex_);
  return load_;
}
void Metrics::set_usage(const std::string& tenant, const zrt::TenantLedger& usage) {
  const std::lock_guard lock(mutex_);
  tenants_[tenant] = usage;
}
std::optional<zrt::TenantLedger> Metrics::usage(const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  const auto found = tenants_.find(tenant);
  return found == tenants_.end() ? std::nullopt : std::optional(found->second);
}
std::map<std::string, zrt::TenantLedger> Metrics::usages() const {
  const std::lock_guard lock(mutex_);
  return tenants_;
}

std::string Metrics::text(bool vllm, std::size_t connections, const std::string* only) const {
  const std::lock_guard lock(mutex_);
  const std::string model = "model_name=" + label_value(model_);
  std::string out;
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
      if (only == nullptr || *only == tenant)
        sample(out, counted.name, model + ",tenant=" + label_value(tenant), static_cast<double>(usage.*counted.field));
  }
  head(out, "zrt_request_ends_total", "counter", "Choices by the reason of their end.");
  for (const auto& [reason, count] : ends_)
    sample(out, "zrt_request_ends_total", model + ",finished_reason=" + label_value(reason),
           static_cast<double>(count));
  head(out, "zrt_http_answers_total", "counter", "Answers by status.");
  for (const auto& [status, count] : statuses_)
    sample(out, "zrt_http_answers_total", "status=\"" + std::to_string(status) + "\"", static_cast<double>(count));
  single(out, "zrt_steps_total", "counter", "Steps of the engine.", model, static_cast<double>(steps_.load()));
  single(out, "zrt_http_connections", "gauge", "Open connections.", model, static_cast<double>(connections));
  single(out, "zrt_slots", "gauge", "Choices that can run at once.", model, load_.slots);
  single(out, "zrt_kv_pages", "gauge", "Pages of 16 positions.", model, static_cast<double>(load_.pages));
  const auto figures = [&](const std::string& prefix, const std::string& labels) {
    single(out, prefix + "num_requests_running", "gauge", "Choices that run.", labels, load_.running);
    single(out, prefix + "num_requests_waiting", "gauge", "Choices that wait for a slot.", labels, load_.waiting);
    single(out, prefix + "kv_cache_usage_perc", "gauge", "Pages in use, 0 to 1.", labels, load_.pages_used);
    histogram(out, prefix + "request_queue_time_seconds", "From a request's arrival to the engine.", labels, queued_);
    histogram(out, prefix + "time_to_first_token_seconds", "From a request's arrival to its first token.", labels,
              first_);
    histogram(out, prefix + "inter_token_latency_seconds", "Between tokens of a choice.", labels, between_);
    histogram(out, prefix + "e2e_request_latency_seconds", "From a request's arrival to its end.", labels, whole_);
  };
  figures("zrt_", model);
  if (!vllm) return out;
  const std::string labels = model + ",engine=\"0\"";
  figures("vllm:", labels);
  single(out, "vllm:cache_config_info", "gauge", "The size and number of pages, as labels.",
         labels + ",block_size=\"" + std::to_string(zrt::kPageTokens) + "\",num_gpu_blocks=\"" +
             std::to_string(load_.pages) + "\"",
         1.0);
  zrt::TenantLedger all;
  for (const auto& [tenant, usage] : tenants_) all += usage;
  single(out, "vllm:prompt_tokens_total", "counter", "Tokens of prompts.", labels,
         static_cast<double>(all.prompt_tokens));
  single(out, "vllm:generation_tokens_total", "counter", "Generated tokens.", labels,
         static_cast<double>(all.delivered_tokens));
  single(out, "vllm:prefix_cache_queries_total", "counter", "Tokens of prompts that were looked for in prefixes.",
         labels, static_cast<double>(all.prompt_tokens));
  single(out, "vllm:prefix_cache_hits_total", "counter", "Tokens of prompts found in prefixes.", labels,
         static_cast<double>(all.cached_tokens));
  single(out, "vllm:num_preemptions_total", "counter", "Choices that gave up their slot.", labels,
         static_cast<double>(all.preemptions));
  single(out, "vllm:spec_decode_num_draft_tokens_total", "counter", "Guessed tokens that were computed.", labels,
         static_cast<double>(all.drafted_tokens));
  single(out, "vllm:spec_decode_num_accepted_tokens_total", "counter", "Guessed tokens that were right.", labels,
         static_cast<double>(all.accepted_drafts));
  head(out, "vllm:request_success_total", "counter", "Choices by the reason of their end.");
  for (const auto& [reason, count] : ends_)
    sample(out, "vllm:request_success_total", labels + ",finished_reason=" + label_value(reason),
           static_cast<double>(count));
  return out;
}

}  // namespace program::server
