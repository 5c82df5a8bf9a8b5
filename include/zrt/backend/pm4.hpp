// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4.hpp: AMD cards by packets: a step recorded once, replayed by one doorbell.
#pragma once

#include <zrt/backend/pm4/adapters/attention.hpp>
#include <zrt/backend/pm4/adapters/choice.hpp>
#include <zrt/backend/pm4/adapters/gated_act.hpp>
#include <zrt/backend/pm4/adapters/head_columns.hpp>
#include <zrt/backend/pm4/adapters/layer_norm_runs.hpp>
#include <zrt/backend/pm4/adapters/linear.hpp>
#include <zrt/backend/pm4/adapters/linear_heads.hpp>
#include <zrt/backend/pm4/adapters/lm_head.hpp>
#include <zrt/backend/pm4/adapters/moe_down_acc.hpp>
#include <zrt/backend/pm4/adapters/moe_gate_topk.hpp>
#include <zrt/backend/pm4/adapters/moe_gate_up.hpp>
#include <zrt/backend/pm4/adapters/recurrent.hpp>
#include <zrt/backend/pm4/adapters/residual.hpp>
#include <zrt/backend/pm4/adapters/rms_norm.hpp>
#include <zrt/backend/pm4/adapters/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/backend/pm4/adapters/rms_norm_fused_qkv.hpp>
#include <zrt/backend/pm4/adapters/rotation.hpp>
#include <zrt/backend/pm4/adapters/rows_of.hpp>
#include <zrt/backend/pm4/adapters/shared_expert.hpp>
#include <zrt/backend/pm4/adapters/weight_scale.hpp>
#include <zrt/backend/pm4/claims.hpp>
#include <zrt/backend/pm4/declaration.hpp>
#include <zrt/backend/pm4/step_program.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/ops/catalog.hpp>

namespace zrt::inline ZRT_ABI {

template <pm4::PacketTransport Transport, pm4::TargetChoice Target> struct BasicPm4Backend {
  static constexpr std::string_view name = "pm4";
  using Tensor = pm4::Tensor;
  using Weight = pm4::Weight;
  using State = pm4::State;
  using Scratch = pm4::Scratch;
  using Device = pm4::BackendDevice<Transport, Target>;
  using DeviceOptions = pm4::DeviceOptions<Transport>;
  using Memory = typename Device::Memory;
  using Program = pm4::StepProgram<Transport, Target>;
  using Recorder = pm4::DeviceRecorder<Transport, Target>;
  using Claims = pm4::Claims;
  using Unsupported = pm4::Unsupported;
};

template <pm4::PacketTransport Transport, pm4::TargetChoice Target, class O>
  requires pm4::RecordsDispatches<O>
struct Adapter<BasicPm4Backend<Transport, Target>, O> {
  using Backend = BasicPm4Backend<Transport, Target>;

  ZRT_COLD static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    if constexpr (pm4::HasScratch<O>)
      return pm4::Adapter<O>::scratch(call, bounds);
    else
      return 0;
  }
  ZRT_COLD static Result<void> record(typename Backend::Recorder& recorder, const Call<Backend, O>& c) noexcept {
    return pm4::Adapter<O>::record(recorder, Call<pm4::Operands, O>{c.in, c.out, c.w, c.state, c.params, {}});
  }
};

static_assert(CheckBackend<Pm4Backend, ops::Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI
