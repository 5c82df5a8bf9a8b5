// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/attention.hpp: what writes pages, with and without rotation, and attention over them.
#pragma once

#include <zrt/device/adapters/rotation.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/mla_kv_write.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>

namespace zrt::inline ZRT_ABI::device {

/// A kernel's name for the element type of its pages.
///
/// Errors: Errc::unimplemented for pages of block types; Errc::size_overflow for a page of 4 GiB or more.
[[nodiscard]] inline Result<Name> page_kernel(std::string_view kernel, const State& state) noexcept {
  if (is_block(state.info.dtype))
    return fail(Errc::unimplemented, "devices keep keys and values in f32, f16 or bf16, not in ",
                name(state.info.dtype));
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
    const auto table = frequency_table(recorder, p.rope, c.w[2]);
    if (!table) return pass(table);
    const std::uint32_t heads = c.in[0].type.shape.last().extent / p.kv.key_dim;
    KernelCall call(kernel->view());
    call.buffer(c.in[0]).buffer(c.in[1]).buffer(c.in[2]).buffer(c.in[3]);
    call.positions().slots().pages(c.state.info.group);
    call.table(*table).buffer(c.w[0]).buffer(c.w[1]).buffer(c.out[0]).buffer(c.state.address);
    call.value(heads).value(p.kv.kv_heads).value(p.kv.key_dim).value(p.kv.value_dim);
    add_rotation(call, p.rope);
    call.value(p.eps).value(p.weight_offset).value(recorder.bounds().pages_per_slot);
    call.value(static_cast<std::uint32_t>(c.state.unit_bytes));
    return recorder.push(call.grid(StepCount(heads + 2 * p.kv.kv_heads), StepCount::rows(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::RmsNormFusedRopeKvWrite>);

template <> struct Adapter<ops::KvWriteBatched> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::KvWriteBatched>& c) noexcept {
    const ops::KvWriteBatchedParams& p = c.params;
    const auto kernel = page_kernel("kv_write_", c.state);
    if (!kernel) return pass(kernel);
    KernelCall call(kernel->view());
    call.buffer(c.in[0]).buffer(c.in[1]).positions().slots().pages(c.state.info.group).buffer(c.state.address);
    call.value(p.kv_heads).value(p.key_dim).value(p.value_dim).value(recorder.bounds().pages_per_slot);
    call.value(static_cast<std::uint32_t>(c.state.unit_bytes));
    return recorder.push(call.grid(StepCount(2 * p.kv_heads), StepCount::rows(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::KvWriteBatched>);

template <> struct Adapter<ops::MlaKvWrite> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::MlaKvWrite>& c) noexcept {
    const ops::MlaKvWriteParams& p = c.params;
    const auto kernel = page_kernel("mla_kv_write_", c.state);
    if (!kernel) return pass(kernel);
    const auto table = frequency_table(recorder, p.rope, c.w[1]);
    if (!table) return pass(table);
    KernelCall call(kernel->view());
    call.buffer(c.in[0]).buffer(c.in[1]).positions().slots().pages(c.state.info.group).table(*table);
    call.buffer(c.w[0]).buffer(c.state.address).value(p.latent).value(p.rope.head_dim);
    add_rotation(call, p.rope);
    call.value(p.eps).value(recorder.bounds().pages_per_slot).value(static_cast<std::uint32_t>(c.state.unit_bytes));
    return recorder.push(call.grid(2, StepCount::rows(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::MlaKvWrite>);

template <> struct Adapter<ops::FlashAttnBatched> {
  /// What a workgroup has room for.
  static constexpr std::uint32_t kMostKeyDim = 1024, kMostValueDim = 512;

  static Result<void> record(Recorder& recorder, const Call<Operands, ops::FlashAttnBatched>& c) noexcept {
    const ops::FlashAttnBatchedParams& p = c.params;
    if (p.key_dim > kMostKeyDim || p.value_dim > kMostValueDim)
      return fail(Errc::unimplemented, "the device attends to keys of at most ", kMostKeyDim,
                  " dims and values of at most ", kMostValueDim, ", not to ", p.key_dim, " and ", p.value_dim);
    const auto kernel = page_kernel("paged_attention_", c.state);
    if (!kernel) return pass(kernel);
    KernelCall call(kernel->view());
    call.buffer(c.in[0]).buffer(c.w[0]).positions().slots().pages(c.state.info.group);
    call.buffer(c.state.address).buffer(c.out[0]);
    call.value(p.heads).value(p.kv_heads).value(p.key_dim).value(p.value_dim).value(p.scale).value(p.soft_cap);
    call.value(p.window).value(recorder.bounds().pages_per_slot).value(static_cast<std::uint32_t>(c.state.unit_bytes));
    call.value(p.chunk);
    return recorder.push(call.grid(p.heads, StepCount::rows(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::FlashAttnBatched>);

}  // namespace zrt::inline ZRT_ABI::device
