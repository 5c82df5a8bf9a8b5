// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/metrics.hpp: counts and times of a server, as Prometheus reads them.
#pragma once

#include <zrt/engine/model_set.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace program::server {

/// What is counted of each choice of a request, or between its tokens.
enum class Figure : std::uint8_t {
  queue,
  first_token,
  between_tokens,
  whole,
  prefill,
  decode,
  inference,
  time_per_token,
  prompt_tokens,
  generated_tokens,
  most_tokens,
};
inline constexpr std::size_t kFigures = 11;

/// Values sorted into ranges.
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void add(double value);
  void write(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0.0;
};

/// What a model holds at the moment.
struct ModelLoad {
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::uint32_t slots = 0;
  std::uint64_t pages = 0;  ///< of zrt::kPageTokens positions
  double pages_used = 0.0;  ///< of all, 0 to 1
  zrt::ModelReport report{};
};

/// Whose pages a slot holds, and how many.
struct SlotPages {
  std::string tenant;
  std::uint64_t pages = 0;
};

/// What a tenant used, by model.
using ModelUsage = std::vector<zrt::TenantLedger>;

/// The sum over all models.
[[nodiscard]] zrt::TenantLedger sum_of(const ModelUsage& usage);

/// All figures of a server. Any thread.
class Metrics {
 public:
  /// Of models with these ids, by their places in the set.
  explicit Metrics(std::vector<std::string> models);

  /// Seconds or tokens.
  void add(zrt::ModelId model, Figure figure, double value);
  void ended(zrt::ModelId model, std::string_view reason);
  void answered(int status);
  void set_load(zrt::ModelId model, const ModelLoad& load);
  void set_slots(zrt::ModelId model, std::vector<SlotPages> slots);
  [[nodiscard]] const std::string& name(std::size_t model) const { return models_[model].name; }
  [[nodiscard]] std::vector<ModelLoad> loads() const;
  /// The slots in use, by model.
  [[nodiscard]] std::vector<std::vector<SlotPages>> slots() const;
  void set_usage(const std::string& tenant, const ModelUsage& usage);
  /// Nothing for a tenant that was never served.
  [[nodiscard]] std::optional<ModelUsage> usage(const std::string& tenant) const;
  [[nodiscard]] std::map<std::string, ModelUsage> usages() const;

  /// The text of /metrics. `vllm` adds the names that dashboards and routers of vLLM read.
  /// With `only`, no other tenant is named.
  [[nodiscard]] std::string text(bool vllm, std::size_t connections, const std::string* only = nullptr) const;

 private:
  struct OfModel {
    explicit OfModel(std::string id);

    std::string name;
    ModelLoad load{};
    std::vector<SlotPages> slots{};
    std::map<std::string, std::uint64_t, std::less<>> ends{};
    std::vector<Histogram> figures{};  ///< by Figure
  };
  [[nodiscard]] OfModel& of(zrt::ModelId model) { return models_[static_cast<std::size_t>(model)]; }
  [[nodiscard]] std::string labels(const OfModel& model, bool vllm) const;
  void write_gauge(std::string& out, const std::string& name, std::string_view help, bool vllm,
                   double (*value)(const ModelLoad&)) const;
  void write_histogram(std::string& out, const std::string& name, Figure figure, bool vllm) const;
  void write_engine(std::string& out, const std::string& prefix, bool vllm) const;
  void write_tenants(std::string& out, const std::string* only) const;
  void write_memory(std::string& out) const;
  void write_vllm(std::string& out) const;

  mutable std::mutex mutex_;
  std::vector<OfModel> models_;
  std::map<std::string, ModelUsage> tenants_;
  std::map<int, std::uint64_t> statuses_;
};

}  // namespace program::server
