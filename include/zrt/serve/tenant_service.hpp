// SPDX-License-Identifier: Apache-2.0
// zrt/serve/tenant_service.hpp: what each tenant has had of several models, and who of them is in front.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/serve/quota.hpp>
#include <zrt/serve/tenant_row.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Service by tenant over all models, as a scheduler counts it over the slots of one: divided by weight, and lifted to the
/// least of the busy ones of its class when a tenant comes back, so that idleness banks no credit.
class TenantService {
 public:
  explicit TenantService(const Allocator& allocator) noexcept : rows_(allocator) {}

  [[nodiscard]] Result<void> resize(std::size_t tenants) noexcept { return rows_.resize(tenants); }
  /// A tenant has come to a row.
  void begin(std::uint32_t tenant) noexcept { rows_[tenant] = {}; }

  /// Says whether a tenant of a class has requests now. Call it for all before a step.
  void note(std::uint32_t tenant, ServiceClass service, bool busy) noexcept {
    Row& row = rows_[tenant];
    row.service = service;
    if (busy && !row.busy) lift(tenant);
    if (!busy && row.busy) last_[static_cast<std::size_t>(service)] = row.had;
    row.busy = busy;
  }
  void charge(std::uint32_t tenant, std::uint64_t service, std::uint32_t weight) noexcept {
    rows_[tenant].had += service * kServiceUnit / weight;
  }
  [[nodiscard]] std::uint64_t had(std::uint32_t tenant) const noexcept { return rows_[tenant].had; }

 private:
  struct Row {
    ServiceClass service = ServiceClass::standard;
    bool busy = false;
    std::uint64_t had = 0;
  };

  void lift(std::uint32_t tenant) noexcept {
    Row& row = rows_[tenant];
    bool any = false;
    std::uint64_t least = last_[static_cast<std::size_t>(row.service)];
    for (const Row& other : rows_) {
      if (!other.busy || other.service != row.service) continue;
      if (!any || other.had < least) least = other.had;
      any = true;
    }
    if (row.had < least) row.had = least;
  }

  Vector<Row> rows_;
  std::array<std::uint64_t, kServiceClasses> last_{};  ///< of the tenant of each class that became idle last
};

}  // namespace zrt::inline ZRT_ABI::serve
