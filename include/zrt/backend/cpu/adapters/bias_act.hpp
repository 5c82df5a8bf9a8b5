// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/bias_act.hpp: a bias along one axis, and the activation of the sum.
#pragma once

#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::BiasAct> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::BiasAct>& c, const PrimitiveSet& set) noexcept {
    return r.push(set.bias_act, c);
  }
};
static_assert(RecordsPrimitive<ops::BiasAct>);

}  // namespace zrt::inline ZRT_ABI::cpu
