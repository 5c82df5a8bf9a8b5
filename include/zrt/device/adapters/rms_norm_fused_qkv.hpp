// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/rms_norm_fused_qkv.hpp: norm, rounding, and three products beside each other.
#pragma once

#include <zrt/device/adapters/normed_projection.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::RmsNormFusedQkv> {
  using O = ops::RmsNormFusedQkv;

  static CheckedSize scratch(const TypeCall<O>& c, const Extents& bounds) noexcept {
    return NormedRows::scratch(c.in[0].type.shape, bounds, acts(c.params));
  }

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    Workspace workspace(recorder.scratch());
    NormedRows normed;
    if (auto r = normed.record(recorder, c.in[0], c.w[0], c.params.norm, acts(c.params), workspace); !r) return r;
    for (std::size_t i = 0; i < 3; ++i)
      if (auto r = project(recorder, c.w[1 + i], c.w[4 + i], normed.rows(acts(c.params)[i]), c.out[i].address, i != 0);
          !r)
        return r;
    return {};
  }

 private:
  static constexpr std::array<quant::Act, 3> acts(const O::Params& p) noexcept { return {p.act_q, p.act_k, p.act_v}; }
};
static_assert(RecordsDispatches<ops::RmsNormFusedQkv> && HasScratch<ops::RmsNormFusedQkv>);

}  // namespace zrt::inline ZRT_ABI::device
