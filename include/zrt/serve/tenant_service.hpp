// SPDX-License-Identifier: Apache-2.0
// zrt/serve/tenant_service.hpp: what each tenant has had of several models, and who of them is in front.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/serve/quota.hpp>
#include <zrt/serve/tenant_row.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Service by tenant over all models, as a scheduler counts it over the slots of one: divided by weight, and lifted to the
/// least of the busy ones of its class when a tenant comes back, so that idleness banks no credit. In which rows tenants
/// stand changes nothing.
class TenantService {
 public:
  explicit TenantService(const Allocator& allocator) noexcept : rows_(allocator) {}

  [[nodiscard]] Result<void> resize(std::size_t tenants) noexcept { return rows_.resize(tenants); }
  /// A tenant has come to a row.
  void begin(std::uint32_t tenant) noexcept { rows_[tenant] = {}; }

  /// Says whether a tenant of a class has requests now. Call it for all, then lift().
  void note(std::uint32_t tenant, ServiceClass service, bool busy) noexcept {
    Row& row = rows_[tenant];
    row.service = service;
    row.returns = busy && !row.busy;
    row.leaves = !busy && row.busy;
    row.busy = busy;
  }
  /// Lifts those that came back, when all were noted.
  void lift() noexcept {
    std::array<std::uint64_t, kServiceClasses> least{};
    for (std::size_t c = 0; c < kServiceClasses; ++c) least[c] = least_of(c);
    for (Row& row : rows_) {
      if (row.returns && row.had < least[index(row)]) row.had = least[index(row)];
      row.returns = row.leaves = false;
    }
  }
  void charge(std::uint32_t tenant, std::uint64_t service, std::uint32_t weight) noexcept {
    rows_[tenant].had += service * kServiceUnit / weight;
  }
  [[nodiscard]] std::uint64_t had(std::uint32_t tenant) const noexcept { return rows_[tenant].had; }

 private:
  struct Row {
    ServiceClass service = ServiceClass::standard;
    bool busy = false;
    bool returns = false;  ///< it was not busy when all were noted before
    bool leaves = false;   ///< it was
    std::uint64_t had = 0;
  };

  [[nodiscard]] static std::size_t index(const Row& row) noexcept { return static_cast<std::size_t>(row.service); }

  /// What those that stay busy in a class have had at least; where none is, what the last one had that was.
  [[nodiscard]] std::uint64_t least_of(std::size_t service) noexcept {
    const Row *stays = nullptr, *left = nullptr;
    for (const Row& row : rows_) {
      if (index(row) != service) continue;
      if (row.busy && !row.returns && (stays == nullptr || row.had < stays->had)) stays = &row;
      if (row.leaves && (left == nullptr || row.had > left->had)) left = &row;
    }
    if (left != nullptr) last_[service] = left->had;
    return stays != nullptr ? stays->had : last_[service];
  }

  Vector<Row> rows_;
  std::array<std::uint64_t, kServiceClasses>
      last_{};  ///< of the tenant of each class that became idle last, and of several the most
};

}  // namespace zrt::inline ZRT_ABI::serve
