// SPDX-License-Identifier: Apache-2.0
// zrt/engine/admission.hpp: requests get slots, or wait for one.
#pragma once

#include <zrt/engine/active_request.hpp>
#include <zrt/exec/executor.hpp>
#include <zrt/serve/slot_table.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::detail {

/// Gives requests slots and pages, oldest first, and takes them back.
template <class B> class Admission {
 public:
  static constexpr std::uint32_t kNoSlot = serve::SlotTable<B>::kNoSlot;

  explicit Admission(const Allocator& allocator) noexcept
      : active_(allocator), waiting_(allocator), sequences_(allocator) {}

  /// Slots of `context` positions each for an executor's states, which must outlive this.
  template <class O>
  [[nodiscard]] Result<void> open(exec::Executor<B, O>& executor, std::uint32_t context,
                                  const Allocator& allocator) noexcept {
    context_ = context;
    const exec::ExecutorSizes& sizes = executor.sizes();
    auto slots = serve::SlotTable<B>::make(executor.states(), executor.device(), executor.cache_groups(), sizes.slots,
                                           sizes.pages_per_slot, allocator);
    if (!slots) return pass(slots);
    slots_.emplace(std::move(*slots));
    if (auto r = active_.resize(sizes.slots); !r) return r;
    if (auto r = sequences_.resize(sizes.slots); !r) return r;
    return waiting_.reserve(16);
  }

  [[nodiscard]] serve::SlotTable<B>& slots() noexcept { return *slots_; }
  /// By slot; null where none runs.
  [[nodiscard]] Span<Owned<ActiveRequest>> active() noexcept { return active_.span(); }
  /// Waiting requests, oldest first. New ones are appended.
  [[nodiscard]] Vector<Owned<ActiveRequest>>& waiting() noexcept { return waiting_; }
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] std::size_t left() const noexcept { return running_ + waiting_.size(); }

  /// The sequences of the running requests, by slot.
  [[nodiscard]] Span<serve::Sequence* const> sequences() noexcept {
    for (std::size_t i = 0; i < active_.size(); ++i) sequences_[i] = active_[i] ? &active_[i]->sequence : nullptr;
    return sequences_.span();
  }

  /// Starts waiting requests while slots and pages last.
  [[nodiscard]] Result<void> admit() noexcept {
    while (!waiting_.empty()) {
      auto slot = start(waiting_[0]);
      if (!slot) return pass(slot);
      if (*slot == kNoSlot) return {};
      remove_waiting(0);
    }
    return {};
  }

  void remove_waiting(std::size_t index) noexcept {
    for (std::size_t i = index; i + 1 < waiting_.size(); ++i) waiting_[i] = std::move(waiting_[i + 1]);
    waiting_.pop_back();
  }

  /// Moves a request into a free slot with its pages and returns the slot; kNoSlot when there is none.
  [[nodiscard]] Result<std::uint32_t> start(Owned<ActiveRequest>& request) noexcept {
    auto slot = slots_->acquire();
    if (!slot || *slot == kNoSlot) return slot;
    if (!slots_->reserve(*slot, positions_needed(*request))) {
      if (auto r = slots_->release(*slot); !r) return pass(r);
      return kNoSlot;
    }
    run(request, *slot);
    return slot;
  }

  /// Moves a request into a free slot that holds `state` already. Errors: Errc::capacity_exceeded.
  [[nodiscard]] Result<void> resume(Owned<ActiveRequest>& request, Span<const std::byte> state) noexcept {
    auto slot = slots_->acquire();
    if (!slot) return pass(slot);
    if (*slot == kNoSlot) return fail(Errc::capacity_exceeded, "no slot is free");
    auto filled = slots_->reserve(*slot, positions_needed(*request));
    if (filled) filled = slots_->restore(*slot, request->sequence.processed, state);
    if (!filled) {
      if (auto r = slots_->release(*slot); !r) return r;
      return filled;
    }
    run(request, *slot);
    return {};
  }

  /// Takes a request out of its slot.
  [[nodiscard]] Owned<ActiveRequest> end(std::size_t index) noexcept {
    Owned<ActiveRequest> ended = std::move(active_[index]);
    --running_;
    (void)slots_->release(ended->sequence.slot);
    return ended;
  }

 private:
  void run(Owned<ActiveRequest>& request, std::uint32_t slot) noexcept {
    request->sequence.slot = slot;
    active_[slot] = std::move(request);
    ++running_;
  }

  /// Returns the most positions that a request may use.
  [[nodiscard]] std::uint32_t positions_needed(const ActiveRequest& a) const noexcept {
    std::uint64_t most = std::uint64_t{a.sequence.prompt_tokens} + a.max_tokens;
    // A restored request may already have more tokens than it would be allowed now.
    if (a.sequence.tokens.size() > most) most = a.sequence.tokens.size();
    return most < context_ ? static_cast<std::uint32_t>(most) : context_;
  }

  std::optional<serve::SlotTable<B>> slots_;
  std::uint32_t context_ = 0;
  Vector<Owned<ActiveRequest>> active_;
  Vector<Owned<ActiveRequest>> waiting_;
  Vector<serve::Sequence*> sequences_;
  std::size_t running_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::detail
