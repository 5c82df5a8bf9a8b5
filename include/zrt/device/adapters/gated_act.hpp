// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/gated_act.hpp: gated_act in one launch.
#pragma once

#include <zrt/device/adapters/activation.hpp>

namespace zrt::inline ZRT_ABI::device {

template <> struct Adapter<ops::GatedAct> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::GatedAct>& c) noexcept {
    return record_activation(recorder, c.in[0].address, c.in[1].address, c.out[0].address, c.params.act,
                             StepCount::elements(c.in[0].type.shape));
  }
};
static_assert(RecordsDispatches<ops::GatedAct>);

}  // namespace zrt::inline ZRT_ABI::device
