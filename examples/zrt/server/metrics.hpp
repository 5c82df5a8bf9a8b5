// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/metrics.hpp: counts and times of a server, as Prometheus reads them.
#pragma once

#include <zrt/engine/tenant.hpp>

#include <array>
#include <atomic>
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

/// What the engine holds at the moment.
struct EngineLoad {
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::uint32_t slots = 0;
  std::uint64_t pages = 0;  ///< of zrt::kPageTokens positions
  double pages_used = 0.0;  ///< of all, 0 to 1
};

/// All figures of a server. Any thread.
class Metrics {
 public:
  explicit Metrics(std::string model);

  void taken(double seconds_queued);
  void first_token(double seconds);
  void next_token(double seconds);
  void ended(std::string_view reason, double seconds);
  void answered(int status);
  void stepped() { ++steps_; }
  void set_load(const EngineLoad& load);
  [[nodiscard]] EngineLoad load() const;
  void set_usage(const std::string& tenant, const zrt::TenantLedger& usage);
  /// Nothing for a tenant that was never served.
  [[nodiscard]] std::optional<zrt::TenantLedger> usage(const std::string& tenant) const;
  [[nodiscard]] std::map<std::string, zrt::TenantLedger> usages() const;

  /// The text of /metrics. `vllm` adds the names that dashboards and routers of vLLM read.
  /// With `only`, no other tenant is named.
  [[nodiscard]] std::string text(bool vllm, std::size_t connections, const std::string* only = nullptr) const;

 private:
  mutable std::mutex mutex_;
  std::string model_;
  EngineLoad load_{};
  std::map<std::string, zrt::TenantLedger> tenants_;
  std::map<std::string, std::uint64_t, std::less<>> ends_;
  std::map<int, std::uint64_t> statuses_;
  Histogram queued_;
  Histogram first_;
  Histogram between_;
  Histogram whole_;
  std::atomic<std::uint64_t> steps_{0};
};

}  // namespace program::server
