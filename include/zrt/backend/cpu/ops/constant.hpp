// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/constant.hpp: a weight as a value.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/box_copy.hpp>
#include <zrt/ops/constant.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Constant> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Constant>& c) noexcept {
    if (c.out[0].type.dtype == c.w[0].dtype) return r.push(&copy, c);
    const auto kernels = r.kernels_of(c.w[0]);
    if (!kernels) return pass(kernels);
    return r.push(&widen, Widen{c.w[0], c.out[0].as<float>(), (*kernels)->widen});
  }

 private:
  struct Widen {
    HostWeight w;
    float* y;
    WidenRow row;
  };

  static void copy(const HostCall<ops::Constant>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    copy_all(c.w[0].dtype, c.w[0].data, c.out[0].data, c.out[0].elements(step), step, worker);
  }
  /// Rows are split.
  static void widen(const Widen& a, const ExecutionContext&, const Worker& worker) noexcept {
    const Range part = split(a.w.rows, 1, worker);
    for (std::uint64_t row = part.first; row < part.last; ++row)
      a.row(a.w.row(row), a.w.cols, 1.0f, a.y + row * a.w.cols);
  }
};
static_assert(Records<ops::Constant>);

}  // namespace zrt::inline ZRT_ABI::cpu
