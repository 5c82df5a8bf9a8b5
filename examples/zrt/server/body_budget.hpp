// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/body_budget.hpp: the memory that the bodies of all requests share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace program::server {

/// Bytes of every body that need no room: a full budget refuses long requests and not the short ones of others.
inline constexpr std::size_t kFreeBodyBytes = std::size_t{16} << 10;

/// Bytes that bodies may take together. Any thread.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : left_(bytes) {}

  [[nodiscard]] bool take(std::size_t bytes) {
    std::size_t left = left_;
    while (left >= bytes)
      if (left_.compare_exchange_weak(left, left - bytes)) return true;
    return false;
  }
  void give(std::size_t bytes) { left_ += bytes; }
  [[nodiscard]] std::size_t left() const { return left_; }

 private:
  std::atomic<std::size_t> left_;
};

/// What one body has of the budget; given back with the claim. One thread at a time.
class BodyClaim {
 public:
  explicit BodyClaim(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
  BodyClaim(BodyClaim&& other) noexcept : budget_(other.budget_), taken_(std::exchange(other.taken_, 0)) {}
  BodyClaim& operator=(BodyClaim&&) = delete;
  ~BodyClaim() { release(); }

  /// Claims room for a body of this size. False, and the claim as it was, where there is none.
  [[nodiscard]] bool cover(std::size_t bytes) {
    if (bytes <= taken_ + kFreeBodyBytes) return true;
    const std::size_t more = bytes - kFreeBodyBytes - taken_;
    if (!budget_->take(more)) return false;
    taken_ += more;
    return true;
  }
  void release() { budget_->give(std::exchange(taken_, 0)); }

 private:
  std::shared_ptr<BodyBudget> budget_;
  std::size_t taken_ = 0;
};

}  // namespace program::server
