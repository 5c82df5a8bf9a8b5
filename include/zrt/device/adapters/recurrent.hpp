// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/recurrent.hpp: ops that keep a block of state for each slot: convolution, scan, the delta rule, and the norm behind them.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/ssm_conv1d.hpp>
#include <zrt/ops/ssm_delta_net.hpp>
#include <zrt/ops/ssm_gated_norm.hpp>
#include <zrt/ops/ssm_scan.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Floats from one slot's block to the next's.
///
/// Errors: Errc::size_overflow for 2^32 floats or more.
[[nodiscard]] inline Result<std::uint32_t> block_floats(const State& state) noexcept {
  const std::uint64_t floats = state.unit_bytes / 4;
  if (floats > 0xffffffffu)
    return fail(Errc::size_overflow, "a block of state has ", floats, " floats, fewer than 2^32 expected");
  return static_cast<std::uint32_t>(floats);
}

/// One workgroup for each 64 channels and each row, of which that of a slot's first row has work; so do the others.
template <> struct Adapter<ops::SsmConv1d> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::SsmConv1d>& c) noexcept {
    const auto block = block_floats(c.state);
    if (!block) return pass(block);
    const Shape& x = c.in[0].type.shape;
    KernelCall call("ssm_conv1d");
    call.buffer(c.in[0]).buffer(c.w[0]).buffer(c.w[1]).slots().buffer(c.state.address).buffer(c.out[0]);
    call.value(StepCount::rows(x)).value(x.last().extent).value(c.w[0].cols).value(c.params.state.first).value(*block);
    call.value(static_cast<std::uint32_t>(c.params.act));
    return recorder.push(call.grid(StepCount(x.last().extent).over(64), StepCount::rows(x)));
  }
};
static_assert(RecordsDispatches<ops::SsmConv1d>);

template <> struct Adapter<ops::SsmScan> {
  using O = ops::SsmScan;

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    const auto block = block_floats(c.state);
    if (!block) return pass(block);
    const O::Params& p = c.params;
    const Tensor& shared = c.in[2].present() ? c.in[2] : c.in[0];
    const StepCount rows = StepCount::rows(c.in[0].type.shape);
    KernelCall call("ssm_scan");
    call.buffer(c.in[0]).buffer(c.in[1]).buffer(shared).buffer(c.w[O::a]).buffer(c.w[O::d]).buffer(c.w[O::dt_bias]);
    call.slots().buffer(c.state.address).buffer(c.out[0]);
    call.value(rows).value(p.heads).value(p.head_dim).value(p.groups).value(p.states);
    call.value(std::uint32_t{p.by_channel}).value(c.in[0].type.shape.last().extent);
    call.value(shared.type.shape.last().extent).value(c.in[2].present() ? 0u : p.channels());
    call.value(p.state.first).value(*block);
    return recorder.push(call.grid(StepCount(p.channels()).over(64), rows));
  }
};
static_assert(RecordsDispatches<ops::SsmScan>);

template <> struct Adapter<ops::SsmDeltaNet> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::SsmDeltaNet>& c) noexcept {
    const auto block = block_floats(c.state);
    if (!block) return pass(block);
    const ops::SsmDeltaNetParams& p = c.params;
    const StepCount rows = StepCount::rows(c.in[0].type.shape);
    KernelCall call("ssm_delta_net");
    call.buffer(c.in[0]).buffer(c.in[1]).buffer(c.in[2]).buffer(c.w[0]).buffer(c.w[1]).slots();
    call.buffer(c.state.address).buffer(c.out[0]).value(rows).value(p.key_heads).value(p.value_heads);
    call.value(p.key_dim).value(p.value_dim).value(std::uint32_t{p.alternates}).value(p.norm_eps);
    call.value(p.state.first).value(*block);
    return recorder.push(call.grid(p.value_heads, rows));
  }
};
static_assert(RecordsDispatches<ops::SsmDeltaNet>);

template <> struct Adapter<ops::SsmGatedNorm> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::SsmGatedNorm>& c) noexcept {
    const ops::SsmGatedNormParams& p = c.params;
    KernelCall call("ssm_gated_norm");
    call.buffer(c.in[0]).buffer(c.in[1]).buffer(c.w[0]).buffer(c.out[0]).value(p.dim).value(p.eps);
    call.value(std::uint32_t{p.gate_first}).value(c.w[0].is_vector ? 0u : c.w[0].rows);
    return recorder.push(call.grid(StepCount::elements(c.in[0].type.shape).over(p.dim)));
  }
};
static_assert(RecordsDispatches<ops::SsmGatedNorm>);

}  // namespace zrt::inline ZRT_ABI::device
