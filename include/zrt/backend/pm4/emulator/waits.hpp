// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/waits.hpp: wait counters: which registers still wait for memory.
#pragma once

#include <zrt/backend/pm4/emulator/isa/instruction.hpp>

namespace zrt::inline ZRT_ABI::pm4::emulator {

/// The counters of GFX12. On GFX11 vmcnt is `load`, vscnt `store`, and lgkmcnt counts both `ds` and `scalar`.
enum class WaitCounter : u8 { load, store, ds, scalar };

/// The memory operations of one wave whose end nobody has waited for.
///
/// The model finishes each operation at once; this ledger remembers what a program may rely on. Operations of one
/// counter end in order, scalar loads in any order: those are known to have ended only at zero.
class Waits {
 public:
  /// More outstanding operations than the hardware counts (63) are taken to be waited for.
  static constexpr unsigned kOutstanding = 64;

  explicit Waits(Isa isa = Isa::gfx12) noexcept : isa_(isa) {}

  /// True while some register waits.
  [[nodiscard]] bool any() const noexcept { return count_ != 0; }
  /// The registers that wait.
  [[nodiscard]] const RegisterSet& pending() const noexcept { return pending_; }

  /// Counts an operation that will write `registers` (none for a store).
  void issue(WaitCounter counter, const RegisterRange& registers) noexcept {
    if (count_ == kOutstanding) drop_first();
    entries_[count_++] = {counter, registers};
    ++outstanding(counter);
    RegisterSet own;
    own.add(registers);
    twice_ = twice_ || pending_.meets(own);
    pending_.add(own);
  }

  /// The program waits until at most `left` operations of `counter` are outstanding.
  void wait(WaitCounter counter, unsigned left) noexcept {
    const bool joined = isa_ == Isa::gfx11 && (counter == WaitCounter::ds || counter == WaitCounter::scalar);
    auto counts = [&](WaitCounter c) {
      return joined ? c == WaitCounter::ds || c == WaitCounter::scalar : c == counter;
    };
    const unsigned scalars = counts(WaitCounter::scalar) ? outstanding(WaitCounter::scalar) : 0u;
    const unsigned all = joined ? outstanding(WaitCounter::ds) + scalars : outstanding(counter);
    if (all <= left || (scalars != 0 && left != 0)) return;
    unsigned done = all - left;
    unsigned kept = 0;
    RegisterSet ended;
    for (unsigned i = 0; i < count_; ++i) {
      if (done != 0 && counts(entries_[i].counter)) {
        --done;
        --outstanding(entries_[i].counter);
        ended.add(entries_[i].registers);
        continue;
      }
      entries_[kept++] = entries_[i];
    }
    count_ = kept;
    if (twice_)
      find_pending();
    else
      pending_.remove(ended);
  }

 private:
  struct Entry {
    WaitCounter counter{};
    RegisterRange registers{};
  };

  [[nodiscard]] u8& outstanding(WaitCounter counter) noexcept { return outstanding_[static_cast<unsigned>(counter)]; }
  void drop_first() noexcept {
    --outstanding(entries_[0].counter);
    --count_;
    for (unsigned i = 0; i < count_; ++i) entries_[i] = entries_[i + 1];
    find_pending();
  }
  void find_pending() noexcept {
    pending_ = {};
    for (unsigned i = 0; i < count_; ++i) pending_.add(entries_[i].registers);
    if (count_ == 0) twice_ = false;
  }

  Isa isa_;
  unsigned count_ = 0;
  std::array<u8, 4> outstanding_{};  ///< by WaitCounter
  RegisterSet pending_{};
  bool twice_ = false;  ///< a register may wait for two operations
  std::array<Entry, kOutstanding> entries_{};
};

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
