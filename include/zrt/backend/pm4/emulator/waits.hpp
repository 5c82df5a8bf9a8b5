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
  void issue(WaitCounter counter, const RegisterSet& registers) noexcept {
    if (count_ == kOutstanding) drop(0);
    entries_[count_++] = {counter, registers};
    pending_.add(registers);
  }

  /// The program waits until at most `left` operations of `counter` are outstanding.
  void wait(WaitCounter counter, unsigned left) noexcept {
    const bool joined = isa_ == Isa::gfx11 && (counter == WaitCounter::ds || counter == WaitCounter::scalar);
    auto counts = [&](WaitCounter c) {
      return joined ? c == WaitCounter::ds || c == WaitCounter::scalar : c == counter;
    };
    unsigned outstanding = 0;
    bool unordered = false;
    for (unsigned i = 0; i < count_; ++i) {
      if (!counts(entries_[i].counter)) continue;
      ++outstanding;
      unordered = unordered || entries_[i].counter == WaitCounter::scalar;
    }
    if (outstanding <= left || (unordered && left != 0)) return;
    unsigned done = outstanding - left;
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i) {
      if (done != 0 && counts(entries_[i].counter)) {
        --done;
        continue;
      }
      entries_[kept++] = entries_[i];
    }
    count_ = kept;
    rebuild();
  }

 private:
  struct Entry {
    WaitCounter counter{};
    RegisterSet registers{};
  };

  void drop(unsigned at) noexcept {
    for (unsigned i = at; i + 1 < count_; ++i) entries_[i] = entries_[i + 1];
    --count_;
    rebuild();
  }
  void rebuild() noexcept {
    pending_ = {};
    for (unsigned i = 0; i < count_; ++i) pending_.add(entries_[i].registers);
  }

  Isa isa_;
  unsigned count_ = 0;
  RegisterSet pending_{};
  std::array<Entry, kOutstanding> entries_{};
};

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
