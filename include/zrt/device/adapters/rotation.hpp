// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/rotation.hpp: rotary position embedding: its table of frequencies, and the op alone.
#pragma once

#include <zrt/device/adapters/adapter.hpp>
#include <zrt/ops/rope.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Keeps the frequencies of all pairs, computed where the model file still lies, as the reference computes them.
///
/// Errors: those of Recorder::table.
[[nodiscard]] inline Result<std::uint32_t> frequency_table(Recorder& recorder, const ops::RopeParams& p,
                                                           const Weight& factors) noexcept {
  std::array<float, ops::Rope::kMaxPairs> frequency;
  for (std::uint32_t i = 0; i < p.n_rot / 2; ++i)
    frequency[i] = ops::rope_frequency(p, reinterpret_cast<const float*>(factors.file), i);
  return recorder.table(as_bytes(Span(frequency).first(p.n_rot / 2)));
}

/// The values of a kernel's Rotation.
inline void add_rotation(KernelCall& call, const ops::RopeParams& p) noexcept {
  call.value(p.n_rot).value(p.style == ops::RopeStyle::neox ? 1u : 0u).value(ops::rope_magnitude(p));
}

template <> struct Adapter<ops::Rope> {
  static Result<void> record(Recorder& recorder, const Call<Operands, ops::Rope>& c) noexcept {
    const auto table = frequency_table(recorder, c.params, c.w[0]);
    if (!table) return pass(table);
    const std::uint32_t heads = c.in[0].type.shape.last().extent / c.params.head_dim;
    KernelCall call("rope");
    call.buffer(c.in[0]).buffer(c.in[1]).table(*table).buffer(c.out[0]).value(heads).value(c.params.head_dim);
    add_rotation(call, c.params);
    return recorder.push(call.grid(heads, StepCount::rows(c.in[0].type.shape)));
  }
};
static_assert(RecordsDispatches<ops::Rope>);

}  // namespace zrt::inline ZRT_ABI::device
