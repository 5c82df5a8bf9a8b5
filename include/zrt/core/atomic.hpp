// SPDX-License-Identifier: Apache-2.0
// zrt/core/atomic.hpp: an atomic number over the compiler's builtins.
#pragma once

#include <zrt/core/config.hpp>

#include <concepts>

namespace zrt::inline ZRT_ABI {

/// Which other accesses an atomic one orders, as the C++ memory model names it.
enum class MemoryOrder : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  seq_cst = __ATOMIC_SEQ_CST,
};

/// What the library needs of std::atomic, whose header brings mutexes, clocks and strings along: a
/// sixth of the time that the umbrella header takes to compile.
///
/// Neither copyable nor movable, and lock-free for every T that it accepts.
template <std::integral T> class Atomic {
  static_assert(__atomic_always_lock_free(sizeof(T), nullptr));

 public:
  constexpr Atomic(T value = {}) noexcept : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  [[nodiscard]] T load(MemoryOrder order = MemoryOrder::seq_cst) const noexcept {
    return __atomic_load_n(&value_, static_cast<int>(order));
  }
  void store(T value, MemoryOrder order = MemoryOrder::seq_cst) noexcept {
    __atomic_store_n(&value_, value, static_cast<int>(order));
  }
  /// Both return the value before.
  T fetch_add(T value, MemoryOrder order) noexcept {
    return __atomic_fetch_add(&value_, value, static_cast<int>(order));
  }
  T fetch_sub(T value, MemoryOrder order) noexcept {
    return __atomic_fetch_sub(&value_, value, static_cast<int>(order));
  }
  /// Stores `wanted` where `expected` is found, else tells in `expected` what was; may fail for no reason.
  bool compare_exchange_weak(T& expected, T wanted, MemoryOrder order) noexcept {
    return __atomic_compare_exchange_n(&value_, &expected, wanted, true, static_cast<int>(order), __ATOMIC_RELAXED);
  }
  /// The same, and fails only where something else was found.
  bool compare_exchange(T& expected, T wanted, MemoryOrder order) noexcept {
    return __atomic_compare_exchange_n(&value_, &expected, wanted, false, static_cast<int>(order), __ATOMIC_RELAXED);
  }

 private:
  alignas(sizeof(T)) T value_;
};

/// Lowers a number that other threads lower at the same time to `value`, if it is greater. Orders nothing.
template <std::integral T> void lower_to(T& number, T value) noexcept {
  T seen = __atomic_load_n(&number, __ATOMIC_RELAXED);
  while (value < seen &&
         !__atomic_compare_exchange_n(&number, &seen, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

}  // namespace zrt::inline ZRT_ABI
