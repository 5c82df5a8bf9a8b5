// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/rms_norm.hpp: rms_norm in one launch.
#pragma once

#include <zrt/device/adapters/norm.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::RmsNorm> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::RmsNorm>& c) noexcept {
    return record_norm(recorder, c.in[0].address, c.w[0], c.out[0].address, c.params,
                       StepCount::elements(c.in[0].type.shape));
  }
};
static_assert(RecordsDispatches<ops::RmsNorm>);

}  // namespace zrt::inline ZRT_ABI::device
