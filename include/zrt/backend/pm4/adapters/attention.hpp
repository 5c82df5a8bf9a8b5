// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/adapters/attention.hpp: rotation with page write, and attention over pages.
#pragma once

#include <zrt/backend/pm4/adapters/adapter.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A kernel's name for the element type of its pages.
///
/// Errors: Errc::unimplemented for pages of bf16; size_overflow for a page of 4 GiB or more.
[[nodiscard]] inline Result<Name> page_kernel(std::string_view kernel, const State& state) noexcept {
  if (state.info.dtype != DType::f32 && state.info.dtype != DType::f16)
    return fail(Errc::unimplemented, "pm4 has pages of f32 and f16, not of ", name(state.info.dtype));
  if (state.unit_bytes > 0xffffffffu)
    return fail(Errc::size_overflow, "a page has ", state.unit_bytes, " bytes, fewer than 2^32 expected");
  return Name::of(kernel, name(state.info.dtype));
}

template <> struct Adapter<ops::RmsNormFusedRopeKvWrite> {
  using O = ops::RmsNormFusedRopeKvWrite;

  static Result<void> record(Recorder& recorder, const Call<Operands, O>& c) noexcept {
    const O::Params& p = c.params;
    const auto kernel = page_kernel("rope_kv_write_", c.state);
    if (!kernel) return pass(kernel);
    // Computed where the model file still lies, as the reference computes it.
    const auto* factors = reinterpret_cast<const float*>(c.w[2].file);
    std::array<float, ops::Rope::kMaxPairs> frequency;
    for (std::uint32_t i = 0; i < p.rope.n_rot / 2; ++i) frequency[i] = ops::rope_frequency(p.rope, factors, i);
    const auto table = recorder.table(as_bytes(Span(frequency).first(p.rope.n_rot / 2)));
    if (!table) return pass(table);
    const std::uint32_t heads = c.in[0].type.shape.last().extent / p.kv.key_dim;
    KernelCall call(kernel->view());
    call.buffer(c.in[0]).buffer(c.in[1]).buffer(c.in[2]).positions().slots().pages(c.state.info.group);
    call.table(*table).buffer(c.w[0]).buffer(c.w[1]).buffer(c.out[0]).buffer(c.state.address);
    call.value(heads).value(p.kv.kv_heads).value(p.kv.key_dim).value(p.kv.value_dim).value(p.rope.n_rot);
    call.value(p.rope.style == ops::RopeStyle::neox ? 1u : 0u).value(ops::rope_magnitude(p.rope));
    call.value(p.eps).value(p.weight_offset).value(recorder.bounds().pages_per_slot);
    call.value(static_cast<std::uint32_t>(c.state.unit_bytes));
    return recorder.push(call.grid(StepCount(heads + 2 * p.kv.kv_heads), StepCount::rows(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::RmsNormFusedRopeKvWrite>);

template <> struct Adapter<ops::FlashAttnBatched> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::FlashAttnBatched>& c) noexcept {
    const ops::FlashAttnBatchedParams& p = c.params;
    const auto kernel = page_kernel("paged_attention_", c.state);
    if (!kernel) return pass(kernel);
    KernelCall call(kernel->view());
    call.buffer(c.in[0]).buffer(c.w[0]).positions().slots().pages(c.state.info.group);
    call.buffer(c.state.address).buffer(c.out[0]);
    call.value(p.heads).value(p.kv_heads).value(p.key_dim).value(p.value_dim).value(p.scale).value(p.soft_cap);
    call.value(p.window).value(recorder.bounds().pages_per_slot).value(static_cast<std::uint32_t>(c.state.unit_bytes));
    return recorder.push(call.grid(p.heads, StepCount::rows(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::FlashAttnBatched>);

}  // namespace zrt::inline ZRT_ABI::pm4
