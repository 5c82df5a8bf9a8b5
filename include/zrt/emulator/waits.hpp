// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/waits.hpp: wait counters: which registers still wait for memory.
#pragma once

#include <zrt/emulator/isa/instruction.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI::emulator {

/// The counters of GFX12. On GFX11 vmcnt is `load`, vscnt `store`, and lgkmcnt counts both `ds` and `scalar`.
enum class WaitCounter : u8 { load, store, ds, scalar };

/// The memory operations of one wave whose end nobody has waited for.
///
/// The model finishes each operation at once; this ledger remembers what a program may rely on. Operations of one
/// counter end in order; scalar loads in any, so that each is known to have ended only at zero.
class Waits {
 public:
  /// A counter goes no further: a wave waits for its oldest operation before it begins one more.
  static constexpr unsigned kMost = 63;

  explicit Waits(Isa isa = Isa::gfx12) noexcept : isa_(isa) {}

  /// True while some register waits.
  [[nodiscard]] bool any() const noexcept { return count_ + scalars_ != 0; }
  /// The registers that wait.
  [[nodiscard]] const RegisterSet& pending() const noexcept { return pending_; }

  /// True while something that was written to local memory may still be on its way there.
  [[nodiscard]] bool stores_locally() const noexcept {
    for (unsigned i = 0; i < count_; ++i)
      if (entries_[i].counter == WaitCounter::ds && entries_[i].registers.count == 0) return true;
    return false;
  }

  /// Counts an operation that will write `registers` (none for a store).
  void issue(WaitCounter counter, const RegisterRange& registers) noexcept {
    RegisterSet own;
    own.add(registers);
    if (counter == WaitCounter::scalar) {
      ++scalars_;
      scalar_.add(own);
    } else {
      if (outstanding(counter) == kMost) end(counter, 1);
      entries_[count_++] = {counter, registers};
      ++outstanding(counter);
    }
    twice_ = twice_ || pending_.meets(own);
    pending_.add(own);
  }

  /// The program waits until at most `left` operations of `counter` are outstanding.
  void wait(WaitCounter counter, unsigned left) noexcept {
    const bool joined = isa_ == Isa::gfx11;
    if (counter == WaitCounter::scalar || (joined && counter == WaitCounter::ds)) {
      // While scalar loads are among them nothing is known above zero.
      if (left == 0)
        end_scalars();
      else if (scalars_ != 0)
        return;
    }
    if (counter == WaitCounter::scalar) {
      if (!joined) return;
      counter = WaitCounter::ds;
    }
    if (outstanding(counter) > left) end(counter, outstanding(counter) - left);
  }

 private:
  struct Entry {
    WaitCounter counter{};
    RegisterRange registers{};
  };

  [[nodiscard]] u8& outstanding(WaitCounter counter) noexcept { return outstanding_[static_cast<unsigned>(counter)]; }
  void end_scalars() noexcept {
    if (scalars_ == 0) return;
    scalars_ = 0;
    const RegisterSet ended = std::exchange(scalar_, RegisterSet{});
    release(ended);
  }
  /// The oldest operations of `counter` have ended, `done` of them.
  void end(WaitCounter counter, unsigned done) noexcept {
    unsigned kept = 0;
    RegisterSet ended;
    for (unsigned i = 0; i < count_; ++i) {
      if (done != 0 && entries_[i].counter == counter) {
        --done;
        --outstanding(counter);
        ended.add(entries_[i].registers);
        continue;
      }
      entries_[kept++] = entries_[i];
    }
    count_ = kept;
    release(ended);
  }
  void release(const RegisterSet& ended) noexcept {
    if (!twice_) {
      pending_.remove(ended);
      return;
    }
    pending_ = scalar_;
    for (unsigned i = 0; i < count_; ++i) pending_.add(entries_[i].registers);
    twice_ = any();
  }

  Isa isa_;
  unsigned count_ = 0;
  unsigned scalars_ = 0;
  std::array<u8, 3> outstanding_{};  ///< by WaitCounter, but for scalar loads
  RegisterSet pending_{};
  RegisterSet scalar_{};  ///< of scalar loads
  bool twice_ = false;    ///< a register may wait for two operations
  std::array<Entry, 3 * kMost> entries_{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
