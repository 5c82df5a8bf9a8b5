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
/// virtual time of its class when a tenant comes back, so that idleness banks no credit. Virtual time is what the tenant
/// had for which a model stepped last; it never goes back.
class TenantService {
 public:
  explicit TenantService(const Allocator& allocator) noexcept : rows_(allocator) {}

  [[nodiscard]] Result<void> resize(std::size_t tenants) noexcept { return rows_.resize(tenants); }
  /// A tenant has come to a row.
  void begin(std::uint32_t tenant) noexcept { rows_[tenant] = {}; }

  /// Says whether a tenant of a class has requests now. Call it for all before a step.
  void note(std::uint32_t tenant, ServiceClass service, bool busy) noexcept {
    Row& row = rows_[tenant];
    const std::uint64_t time = time_[static_cast<std::size_t>(service)];
    if (busy && !row.busy && row.had < time) row.had = time;
    row.busy = busy;
  }
  /// A model has stepped whose tenant in front, of a class, had so much before.
  void pass(std::uint32_t service, std::uint64_t had) noexcept {
    if (service < kServiceClasses && time_[service] < had) time_[service] = had;
  }
  void charge(std::uint32_t tenant, std::uint64_t service, std::uint32_t weight) noexcept {
    rows_[tenant].had += service * kServiceUnit / weight;
  }
  [[nodiscard]] std::uint64_t had(std::uint32_t tenant) const noexcept { return rows_[tenant].had; }

 private:
  struct Row {
    bool busy = false;
    std::uint64_t had = 0;
  };

  Vector<Row> rows_;
  std::array<std::uint64_t, kServiceClasses> time_{};  ///< virtual
};

}  // namespace zrt::inline ZRT_ABI::serve
