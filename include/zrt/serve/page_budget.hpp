// SPDX-License-Identifier: Apache-2.0
// zrt/serve/page_budget.hpp: the reserved, prefix and floating parts of the pages.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// Says who may take a page. Pages belong to no part; charges do.
///
///     total = reserved (sum over tenants) + prefix + floating
///
/// A tenant's charge is the sum over its slots, a shared page in full in each. It fills the tenant's reservation first
/// and the floating part with the rest. So at most reserved + floating pages are listed by slots, and a charge that the
/// budget allows always finds a page that is free or cached: at least `prefix` pages are.
class PageBudget {
 public:
  PageBudget() = default;
  PageBudget(std::uint32_t total, std::uint32_t prefix) noexcept : total_(total), prefix_(prefix) {}

  [[nodiscard]] std::uint32_t total() const noexcept { return total_; }
  [[nodiscard]] std::uint32_t prefix() const noexcept { return prefix_; }
  [[nodiscard]] std::uint64_t reserved() const noexcept { return reserved_; }
  [[nodiscard]] std::uint64_t floating_used() const noexcept { return floating_used_; }
  [[nodiscard]] std::uint64_t floating() const noexcept { return open() - (reserved_ < open() ? reserved_ : open()); }
  [[nodiscard]] std::uint64_t floating_left() const noexcept {
    return floating() - (floating_used_ < floating() ? floating_used_ : floating());
  }

  /// What of a charge is beyond the reservation.
  [[nodiscard]] static std::uint64_t over(std::uint64_t charge, std::uint32_t reserved) noexcept {
    return charge > reserved ? charge - reserved : 0;
  }

  /// Whether a tenant may have `to` reserved pages in place of `from`, at its charge.
  [[nodiscard]] bool reserves(std::uint32_t from, std::uint32_t to, std::uint64_t charge) const noexcept {
    const std::uint64_t sum = reserved_ - from + to;
    return sum <= open() && floating_used_ - over(charge, from) + over(charge, to) <= open() - sum;
  }
  void reserve(std::uint32_t from, std::uint32_t to, std::uint64_t charge) noexcept {
    reserved_ = reserved_ - from + to;
    floating_used_ = floating_used_ - over(charge, from) + over(charge, to);
  }

  /// Changes a charge; the caller has looked at floating_left().
  void charge(std::uint32_t reserved, std::uint64_t from, std::uint64_t to) noexcept {
    floating_used_ = floating_used_ - over(from, reserved) + over(to, reserved);
  }

 private:
  /// Pages that charges may fill.
  [[nodiscard]] std::uint64_t open() const noexcept { return total_ - prefix_; }

  std::uint32_t total_ = 0;
  std::uint32_t prefix_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t floating_used_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::serve
