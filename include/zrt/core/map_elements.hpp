// SPDX-License-Identifier: Apache-2.0
// zrt/core/map_elements.hpp: a function of single elements, applied to tensors run by run in its domain.
#pragma once

#include <zrt/core/scalar.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI {

/// Elements that a loop over runs holds at a time, on the stack. Even, so that a run of 4-bit elements
/// begins at a byte.
inline constexpr std::uint64_t kElementRun = 128;

/// out[i] = f(src[i]...) for `count` elements: sources of dtype `from` and domain T, results of `to` and R.
///
/// `out` may be one of the sources if an element of `to` is no larger than one of `from`; else they are apart.
template <DomainValue T, DomainValue R, class F, std::convertible_to<const std::byte*>... S>
void map_elements(DType from, DType to, std::byte* out, std::uint64_t count, F&& f, const S... src) noexcept {
  const ElementFunctions<T>& source = element_functions<T>(from);
  const ElementFunctions<R>& destination = element_functions<R>(to);
  T in[sizeof...(S)][kElementRun];
  R results[kElementRun];
  for (std::uint64_t first = 0; first < count; first += kElementRun) {
    const std::uint64_t run = std::min(count - first, kElementRun);
    std::size_t operand = 0;
    (source.unpack(src, first, run, in[operand++]), ...);
    for (std::uint64_t i = 0; i < run; ++i)
      results[i] = [&]<std::size_t... K>(std::index_sequence<K...>) {
        return f(in[K][i]...);
      }(std::index_sequence_for<S...>{});
    destination.pack(results, first, run, out);
  }
}

}  // namespace zrt::inline ZRT_ABI
