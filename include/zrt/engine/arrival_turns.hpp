// SPDX-License-Identifier: Apache-2.0
// zrt/engine/arrival_turns.hpp: which of the submitted requests a step reads.
#pragma once

#include <zrt/engine/active_request.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Lets tenants take turns where more requests have come than a step reads, so that no tenant's flood delays another's.
class ArrivalTurns {
 public:
  explicit ArrivalTurns(const Allocator& a) noexcept : parts_(a), chosen_(a) {}

  /// For `tenants` rows of the mailbox, and at most `most` requests a step, which are more than tenants.
  [[nodiscard]] Result<void> reserve(std::size_t tenants, std::size_t most) noexcept {
    ZRT_ASSERT(tenants <= most);
    most_ = most;
    if (auto r = parts_.resize(tenants); !r) return r;
    return chosen_.reserve(most);
  }

  /// Brings those that the step reads to the front, oldest first, and returns how many they are. All of them, if they are
  /// no more than a step reads; else as many of each tenant as of any other that has more.
  [[nodiscard]] std::size_t choose(Vector<Owned<ActiveRequest>>& arriving) noexcept {
    if (arriving.size() <= most_) return arriving.size();
    share_out(arriving.span());
    std::size_t kept = 0;
    for (Owned<ActiveRequest>& a : arriving) {
      std::size_t& part = parts_[a->tenant_row];
      Owned<ActiveRequest> taken = std::move(a);
      if (part == 0) {
        arriving[kept++] = std::move(taken);
        continue;
      }
      --part;
      (void)chosen_.push_back(std::move(taken));
    }
    return put_first(arriving, kept);
  }

 private:
  /// Finds how many requests of each tenant are read.
  void share_out(Span<Owned<ActiveRequest>> arriving) noexcept {
    for (std::size_t& part : parts_) part = 0;
    for (const Owned<ActiveRequest>& a : arriving) ++parts_[a->tenant_row];
    std::size_t each = 0;
    for (std::size_t room = most_;; ++each) {
      std::size_t have_more = 0;
      for (const std::size_t part : parts_) have_more += part > each ? 1u : 0u;
      if (have_more > room) break;
      room -= have_more;
    }
    for (std::size_t& part : parts_) part = part < each ? part : each;
  }

  /// Puts the chosen before the first `kept`, which are all others.
  [[nodiscard]] std::size_t put_first(Vector<Owned<ActiveRequest>>& arriving, std::size_t kept) noexcept {
    const std::size_t count = chosen_.size();
    for (std::size_t i = kept; i-- > 0;) arriving[i + count] = std::move(arriving[i]);
    for (std::size_t i = 0; i < count; ++i) arriving[i] = std::move(chosen_[i]);
    chosen_.clear();
    return count;
  }

  std::size_t most_ = 0;
  Vector<std::size_t> parts_;  ///< requests to read, by the mailbox's rows
  Vector<Owned<ActiveRequest>> chosen_;
};

}  // namespace zrt::inline ZRT_ABI::detail
