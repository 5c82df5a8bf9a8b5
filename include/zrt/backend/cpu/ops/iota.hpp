// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/iota.hpp: the index on one axis.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/backend/cpu/typed_runs.hpp>
#include <zrt/ops/iota.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Iota> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Iota>& c) noexcept { return r.push(&indices, c); }

 private:
  /// Elements are split. Indices are whole numbers of 64 bits, cast in runs.
  static void indices(const HostCall<ops::Iota>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const ops::AxisSplit y(c.out[0], c.params.axis, step);
    const DType dtype = c.params.dtype;
    const Range part = split(c.out[0].elements(step), kTypedRun, worker);
    if (part.first == part.last) return;
    std::uint64_t index = part.first / y.inner % y.extent;
    std::uint64_t left = y.inner - part.first % y.inner;  // elements of this index
    std::int64_t values[kTypedRun];                       // an index is less than 2^32
    for (std::uint64_t first = part.first; first < part.last; first += kTypedRun) {
      const std::uint64_t run = std::min(part.last - first, kTypedRun);
      for (std::uint64_t i = 0; i < run;) {
        if (y.inner == 1) {
          const std::uint64_t n = std::min(run - i, y.extent - index);
          for (std::uint64_t k = 0; k < n; ++k) values[i + k] = static_cast<std::int64_t>(index + k);
          i += n;
          index = index + n == y.extent ? 0 : index + n;
          continue;
        }
        const std::uint64_t n = std::min(run - i, left);
        std::fill_n(values + i, n, static_cast<std::int64_t>(index));
        i += n;
        left -= n;
        if (left != 0) continue;
        left = y.inner;
        index = index + 1 == y.extent ? 0 : index + 1;
      }
      visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
        T elements[kTypedRun];
        if constexpr (std::integral<T>)
          for (std::uint64_t i = 0; i < run; ++i) elements[i] = static_cast<T>(values[i]);
        else
          convert_values(values, run, dtype, elements);  // rounded once, from the whole number
        element_functions<T>(dtype).pack(elements, first, run, c.out[0].data);
      });
    }
  }
};
static_assert(Records<ops::Iota>);

}  // namespace zrt::inline ZRT_ABI::cpu
