// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/lm_head.hpp: the vocabulary projection as rounding, a product, and the cap behind it.
#pragma once

#include <zrt/device/adapters/projection.hpp>
#include <zrt/ops/lm_head.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::LmHead> {
  static CheckedSize scratch(const TypeCall<ops::LmHead>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    return ActivationRows::scratch(most_rows(x, bounds), x.last().extent, c.params.act);
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, ops::LmHead>& c) noexcept {
    const Shape& x = c.in[0].type.shape;
    Workspace workspace(recorder.scratch());
    const auto rows = round_rows(recorder, c.in[0].address, StepCount::rows(x), most_rows(x, recorder.bounds().extents),
                                 x.last().extent, c.params.act, workspace);
    if (!rows) return pass(rows);
    if (auto r = project(recorder, c.w[0], {}, *rows, c.out[0].address, false); !r) return r;
    if (c.params.scale == 1.0f && c.params.soft_cap == 0.0f) return {};
    const StepCount elements = StepCount::elements(c.out[0].type.shape);
    KernelCall call("soft_cap");
    call.buffer(c.out[0]).value(elements).value(c.params.scale).value(c.params.soft_cap);
    return recorder.push(call.grid(elements.over(256)));
  }
};
static_assert(RecordsDispatches<ops::LmHead> && HasScratch<ops::LmHead>);

}  // namespace zrt::inline ZRT_ABI::device
