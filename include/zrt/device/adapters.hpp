// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters.hpp: every adapter of the room, and the one line by which a backend takes one.
#pragma once

#include <zrt/device/adapters/attention.hpp>
#include <zrt/device/adapters/choice.hpp>
#include <zrt/device/adapters/gated_act.hpp>
#include <zrt/device/adapters/head_columns.hpp>
#include <zrt/device/adapters/layer_norm_runs.hpp>
#include <zrt/device/adapters/linear.hpp>
#include <zrt/device/adapters/linear_heads.hpp>
#include <zrt/device/adapters/lm_head.hpp>
#include <zrt/device/adapters/lora_add.hpp>
#include <zrt/device/adapters/moe_down_acc.hpp>
#include <zrt/device/adapters/moe_gate_topk.hpp>
#include <zrt/device/adapters/moe_gate_up.hpp>
#include <zrt/device/adapters/recurrent.hpp>
#include <zrt/device/adapters/residual.hpp>
#include <zrt/device/adapters/rms_norm.hpp>
#include <zrt/device/adapters/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/device/adapters/rms_norm_fused_qkv.hpp>
#include <zrt/device/adapters/rotation.hpp>
#include <zrt/device/adapters/rows_of.hpp>
#include <zrt/device/adapters/shared_expert.hpp>
#include <zrt/device/adapters/weight_scale.hpp>
#include <zrt/exec/backend.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Base of a backend's zrt::Adapter<B, O>: O as the room records it, or by another adapter `A` of the room. A backend that
/// records an op otherwise derives that adapter from nothing.
template <class B, class O, class A = Adapter<O>>
  requires RecordsDispatches<O>
struct SharedAdapter {
  ZRT_COLD static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    if constexpr (requires { A::scratch(call, bounds); })
      return A::scratch(call, bounds);
    else
      return 0;
  }
  template <class Recorder> ZRT_COLD static Result<void> record(Recorder& recorder, const Call<B, O>& c) noexcept {
    return A::record(recorder, Call<Operands, O>{c.in, c.out, c.w, c.state, c.params, {}});
  }
};

}  // namespace zrt::inline ZRT_ABI::device
