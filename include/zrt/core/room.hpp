// SPDX-License-Identifier: Apache-2.0
// zrt/core/room.hpp: an array on the stack whose elements are made one by one.
#pragma once

#include <zrt/core/config.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>

namespace zrt::inline ZRT_ABI {

/// Room for N values of T, none of which is there at first. An array of a large N that few uses fill costs nothing but
/// its place.
template <class T, std::size_t N> class Room {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  // Not defaulted: the values stay as they are.
  Room() noexcept {}  // NOLINT(modernize-use-equals-default)

  /// Makes value `i`.
  T& make(std::size_t i, const T& value) noexcept { return *std::construct_at(&values_[i], value); }

  [[nodiscard]] T* data() noexcept { return values_; }
  [[nodiscard]] const T* data() const noexcept { return values_; }

 private:
  union {
    T values_[N];  // NOLINT(modernize-avoid-c-arrays): an element of an array, not yet made, has an address
  };
};

}  // namespace zrt::inline ZRT_ABI
