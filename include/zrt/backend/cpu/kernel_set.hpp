// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernel_set.hpp: the table of one variant's kernels.
#pragma once

#include <zrt/backend/cpu/args.hpp>
#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/core/span.hpp>
#include <zrt/exec/host_program.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::cpu {

/// What one variant does with one weight type; `dot_rounded` is null for a type without blocks.
struct WeightKernels {
  DType dtype = DType::f32;
  WidenRow widen = nullptr;
  DotRows dot = nullptr;          ///< activations as they are: dot16
  DotRows dot_rounded = nullptr;  ///< activations rounded as `act` says: blocks
  quant::Act act = quant::Act::none;
};

/// The kernels of one variant, as plain function pointers. Immutable; chosen once per engine.
struct KernelSet {
  Isa isa = Isa::v1;
  Span<const WeightKernels> weights{};
  std::array<PageKernels, 3> pages{};  ///< f32, f16, bf16

  exec::HostKernel<RmsNormArgs> rms_norm = nullptr;
  exec::HostKernel<EmbeddingArgs> embedding = nullptr;
  exec::HostKernel<ResidualAddArgs> residual_add = nullptr;
  exec::HostKernel<ResidualRmsNormArgs> residual_rms_norm = nullptr;
  exec::HostKernel<RoundArgs> round_rows = nullptr;
  exec::HostKernel<NormRoundArgs> norm_round_rows = nullptr;
  exec::HostKernel<LinearArgs> linear = nullptr;
  exec::HostKernel<QkvArgs> qkv = nullptr;
  exec::HostKernel<GateUpArgs> gate_up = nullptr;
  exec::HostKernel<GatedActArgs> gated_act = nullptr;
  exec::HostKernel<RopeArgs> rope = nullptr;
  exec::HostKernel<RopeKvWriteArgs> rope_kv_write = nullptr;
  exec::HostKernel<KvWriteArgs> kv_write = nullptr;
  exec::HostKernel<FlashAttnArgs> flash_attn = nullptr;
  exec::HostKernel<SoftmaxArgs> softmax = nullptr;
  exec::HostKernel<GreedyTokenArgs> greedy_token = nullptr;
  exec::HostKernel<SampleArgs> sample = nullptr;
  exec::HostKernel<TakeArgs> take = nullptr;
  exec::HostKernel<ReshapeArgs> reshape = nullptr;

  /// Returns the kernels of a weight type, or null when there are none.
  [[nodiscard]] constexpr const WeightKernels* find(DType dtype) const noexcept {
    for (const WeightKernels& row : weights)
      if (row.dtype == dtype) return &row;
    return nullptr;
  }
  /// The kernels of a page type that KvPage stores.
  [[nodiscard]] constexpr const PageKernels& pages_of(DType dtype) const noexcept {
    return pages[dtype == DType::f32 ? 0 : dtype == DType::f16 ? 1 : 2];
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu
