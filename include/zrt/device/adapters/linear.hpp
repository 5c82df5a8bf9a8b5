// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/linear.hpp: linear as rounding and a product.
#pragma once

#include <zrt/device/adapters/projection.hpp>
#include <zrt/ops/linear.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::Linear> {
  static CheckedSize scratch(const TypeCall<ops::Linear>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    return ActivationRows::scratch(most_rows(x, bounds), x.last().extent, c.params.act);
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, ops::Linear>& c) noexcept {
    const Shape& x = c.in[0].type.shape;
    Workspace workspace(recorder.scratch());
    const auto rows = round_rows(recorder, c.in[0].address, StepCount::rows(x), most_rows(x, recorder.bounds().extents),
                                 x.last().extent, c.params.act, workspace);
    if (!rows) return pass(rows);
    return project(recorder, c.w[0], c.w[1], *rows, c.out[0].address, false);
  }
};
static_assert(RecordsDispatches<ops::Linear> && HasScratch<ops::Linear>);

}  // namespace zrt::inline ZRT_ABI::device
