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

/// What is counted of each choice of a request, or between its tokens; of requests, and of steps.
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
  choices,
  step_tokens,
};
inline constexpr std::size_t kFigures = 13;

/// How a choice ended that the engine never took: no end of its own.
inline constexpr std::string_view kRefused = "refused";

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
  zrt::PageTimes page_times{};
};

/// Whose a choice is, and how many pages its slot holds.
struct SlotPages {
  std::string tenant;
  std::string adapter{};    ///< that it asks for, if any
  std::uint64_t pages = 0;  ///< none while it waits for a slot
  bool embeds = false;      ///< its texts are computed, which hold no pages between two pieces
};

/// What a tenant used, by model.
using ModelUsage = std::vector<zrt::TenantLedger>;

/// The sum over all models.
[[nodiscard]] zrt::TenantLedger sum_of(const ModelUsage& usage);

/// All figures of a server. Any thread.
class Metrics {
 public:
  /// Counts answers alone until there are models.
  Metrics() = default;
  /// Of models with these ids, by their places in the set.
  explicit Metrics(const std::vector<std::string>& models) { set_models(models); }

  /// Once, before anything is told of them.
  void set_models(const std::vector<std::string>& models);

  /// Seconds or tokens.
  void add(zrt::ModelId model, Figure figure, double value);
  void ended(zrt::ModelId model, std::string_view reason);
  void answered(int status);
  void set_load(zrt::ModelId model, const ModelLoad& load);
  void set_slots(zrt::ModelId model, std::vector<SlotPages> slots);
  /// One more waits, of a tenant, until the next `set_load` and `set_slots` know it.
  void arrived(zrt::ModelId model, const std::string& tenant);
  [[nodiscard]] const std::string& name(std::size_t model) const { return models_[model].name; }
  /// The adapters that a model was opened with.
  void set_adapters(zrt::ModelId model, std::size_t count);
  [[nodiscard]] std::vector<ModelLoad> loads() const;
  /// What of the models a tenant's own choices hold; all else of a load is the same for everyone.
  [[nodiscard]] std::vector<ModelLoad> loads_of(const std::string& tenant) const;
  /// Choices that run or wait, by model.
  [[nodiscard]] std::vector<std::vector<SlotPages>> slots() const;
  void set_usage(const std::string& tenant, const ModelUsage& usage);
  /// Nothing for a tenant that was never served.
  [[nodiscard]] std::optional<ModelUsage> usage(const std::string& tenant) const;
  [[nodiscard]] std::map<std::string, ModelUsage> usages() const;

  /// The text of /metrics: all that there is. `vllm` adds the names that dashboards and routers of vLLM read.
  [[nodiscard]] std::string text(bool vllm, std::size_t connections) const;
  /// A tenant's own figures: nothing in it depends on a request of another one.
  [[nodiscard]] std::string text_of(const std::string& tenant, bool vllm) const;
  /// How full the models are, which is what routers ask.
  [[nodiscard]] std::string text_for_routers(bool vllm) const;

 private:
  struct OfModel {
    explicit OfModel(std::string id);

    std::string name;
    ModelLoad load{};
    std::vector<SlotPages> slots{};
    std::map<std::string, std::uint64_t, std::less<>> ends{};
    std::vector<Histogram> figures{};  ///< by Figure
    std::size_t adapters = 0;
  };
  using Loads = std::vector<ModelLoad>;
  [[nodiscard]] OfModel& of(zrt::ModelId model) { return models_[static_cast<std::size_t>(model)]; }
  [[nodiscard]] std::string labels(const OfModel& model, bool vllm) const;
  [[nodiscard]] Loads loads_of_all() const;
  [[nodiscard]] Loads loads_of_one(const std::string& tenant) const;
  void write_gauge(std::string& out, const std::string& name, std::string_view help, bool vllm, const Loads& loads,
                   double (*value)(const ModelLoad&)) const;
  void write_histogram(std::string& out, const std::string& name, Figure figure, bool vllm) const;
  void write_load(std::string& out, const std::string& prefix, bool vllm, const Loads& loads) const;
  void write_histograms(std::string& out, const std::string& prefix, bool vllm) const;
  void write_page_times(std::string& out, const std::string& prefix, bool vllm) const;
  void write_tenants(std::string& out, const std::string* only) const;
  void write_sizes(std::string& out) const;
  void write_memory(std::string& out) const;
  void write_vllm(std::string& out) const;
  void write_vllm_load(std::string& out, const Loads& loads) const;
  void write_vllm_usage(std::string& out, const std::string* only) const;
  void write_vllm_ends(std::string& out) const;
  void write_vllm_adapters(std::string& out) const;

  mutable std::mutex mutex_;
  std::vector<OfModel> models_;
  std::map<std::string, ModelUsage> tenants_;
  std::map<int, std::uint64_t> statuses_;
};

}  // namespace program::server
