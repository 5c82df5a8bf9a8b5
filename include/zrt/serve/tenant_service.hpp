// SPDX-License-Identifier: Apache-2.0
// zrt/serve/tenant_service.hpp: what each tenant has had of several models, and who of them is in front.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/serve/quota.hpp>
#include <zrt/serve/tenant_row.hpp>

#include <array>
#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Service by tenant over all models, as a scheduler counts it over the slots of one: divided by weight, and lifted to the
/// least of the busy ones of its class when a tenant comes back, so that idleness banks no credit. Where nobody of the
/// class is busy, it is lifted to the tenant that became idle last; of several in one step, the one that has had the most.
/// So the order of tenants decides nothing.
class TenantService {
 public:
  explicit TenantService(const Allocator& allocator) noexcept : rows_(allocator) {}

  [[nodiscard]] Result<void> resize(std::size_t tenants) noexcept { return rows_.resize(tenants); }
  /// A tenant has come to a row.
  void begin(std::uint32_t tenant) noexcept { rows_[tenant] = {}; }

  /// Says whether a tenant of a class has requests now. Call it for all before a step, then settle().
  void note(std::uint32_t tenant, ServiceClass service, bool busy) noexcept {
    rows_[tenant].service = service;
    rows_[tenant].asks = busy;
  }
  /// Lifts those that came back.
  void settle() noexcept {
    std::array<bool, kServiceClasses> goes{}, stays{};
    std::array<std::uint64_t, kServiceClasses> least{};
    for (const Row& row : rows_) {
      if (!row.busy) continue;
      const auto c = static_cast<std::size_t>(row.service);
      if (row.asks) {
        least[c] = stays[c] && least[c] < row.had ? least[c] : row.had;
        stays[c] = true;
      } else {
        last_[c] = goes[c] && last_[c] > row.had ? last_[c] : row.had;
        goes[c] = true;
      }
    }
    for (Row& row : rows_) {
      const auto c = static_cast<std::size_t>(row.service);
      const std::uint64_t from = stays[c] ? least[c] : last_[c];
      if (row.asks && !row.busy && row.had < from) row.had = from;
      row.busy = row.asks;
    }
  }
  void charge(std::uint32_t tenant, std::uint64_t service, std::uint32_t weight) noexcept {
    rows_[tenant].had += service * kServiceUnit / weight;
  }
  [[nodiscard]] std::uint64_t had(std::uint32_t tenant) const noexcept { return rows_[tenant].had; }

 private:
  struct Row {
    ServiceClass service = ServiceClass::standard;
    bool busy = false;  ///< at the last settle()
    bool asks = false;
    std::uint64_t had = 0;
  };

  Vector<Row> rows_;
  std::array<std::uint64_t, kServiceClasses> last_{};  ///< what the tenant of each class had that became idle last
};

}  // namespace zrt::inline ZRT_ABI::serve
