// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/args.hpp: what the CPU kernels are called with.
#pragma once

#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/greedy_token.hpp>
#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/residual_rms_norm.hpp>
#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/ops/sample.hpp>
#include <zrt/ops/softmax.hpp>
#include <zrt/ops/take.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// Elements under one scale of activations rounded for types with blocks of 32, and for blocks of 256.
inline constexpr std::uint32_t kGroup = quant::group_elems(quant::Act::q8_32);
inline constexpr std::uint32_t kWideGroup = quant::group_elems(quant::Act::q8_256);

/// Which rounded forms of the activations an instruction's projections read.
struct RoundedForms {
  bool narrow = false;  ///< q8_32
  bool wide = false;    ///< q8_256

  constexpr void add(quant::Act act) noexcept {
    narrow = narrow || act == quant::Act::q8_32;
    wide = wide || act == quant::Act::q8_256;
  }
  [[nodiscard]] constexpr bool any() const noexcept { return narrow || wide; }
};

/// Activation rows, plain and rounded; a form that no projection reads is null.
struct Activations {
  const float* x = nullptr;                ///< [rows][cols]
  const std::int8_t* q = nullptr;          ///< [rows][cols]
  const float* d = nullptr;                ///< [rows][cols / kGroup]
  const std::int32_t* sum = nullptr;       ///< [rows][cols / kGroup] sums of q
  const std::int8_t* wide_q = nullptr;     ///< [rows][cols]
  const float* wide_d = nullptr;           ///< [rows][cols / kWideGroup]
  const std::int32_t* wide_sum = nullptr;  ///< [rows][cols / kGroup] sums of wide_q
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;

  /// Rows first..first+count-1 of these.
  [[nodiscard]] Activations part(std::uint32_t first, std::uint32_t count) const noexcept {
    const std::uint64_t at = std::uint64_t{first} * cols;
    const std::uint64_t group = std::uint64_t{first} * (cols / kGroup);
    const std::uint64_t wide = std::uint64_t{first} * (cols / kWideGroup);
    auto past = [](auto* p, std::uint64_t n) noexcept { return p == nullptr ? nullptr : p + n; };
    return {past(x, at),
            past(q, at),
            past(d, group),
            past(sum, group),
            past(wide_q, at),
            past(wide_d, wide),
            past(wide_sum, group),
            count,
            cols};
  }
};

/// Computes y[t · stride + n - first] = W[n] · x[t] for weight rows n in first..last-1 and every row t.
using DotRows = void (*)(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                         std::uint64_t stride) noexcept;
/// Writes `cols` dequantised elements of one weight row, each times `scale`.
using WidenRow = void (*)(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept;

/// A weight with the function that multiplies by it.
struct Projection {
  HostWeight w{};
  DotRows dot = nullptr;
  const float* bias = nullptr;
  quant::Act act = quant::Act::none;
};

struct RoundArgs {
  HostTensor x{};
  RoundedForms forms{};
};
/// linear, and lm_head with its scale and soft cap.
struct LinearArgs {
  HostTensor x{};
  HostTensor y{};
  Projection projection{};
  float scale = 1.0f;
  float soft_cap = 0.0f;
};
/// The first stage of the ops that project a normed row: norm, and rounding if a projection wants it.
struct NormRoundArgs {
  HostTensor x{};
  const float* weight = nullptr;
  ops::RmsNormParams norm{};
  RoundedForms forms{};
};
struct QkvArgs {
  HostTensor x{};
  std::array<HostTensor, 3> y{};
  std::array<Projection, 3> projections{};
};
struct GateUpArgs {
  HostTensor x{};
  HostTensor h{};
  Projection gate{};
  Projection up{};
  Activation act = Activation::silu;
};
struct RmsNormArgs {
  HostCall<ops::RmsNorm> call{};
};
struct ResidualAddArgs {
  HostCall<ops::ResidualAdd> call{};
};
struct ResidualRmsNormArgs {
  HostCall<ops::ResidualRmsNorm> call{};
};
struct GatedActArgs {
  HostCall<ops::GatedAct> call{};
};
struct SoftmaxArgs {
  HostCall<ops::Softmax> call{};
};
struct GreedyTokenArgs {
  HostCall<ops::GreedyToken> call{};
};
struct SampleArgs {
  HostCall<ops::Sample> call{};
};
struct TakeArgs {
  HostCall<ops::Take> call{};
};
struct ReshapeArgs {
  HostCall<ops::Reshape> call{};
};
struct EmbeddingArgs {
  HostCall<ops::Embedding> call{};
  WidenRow widen = nullptr;
};
/// `frequency` holds n_rot / 2 angles per position, padded to whole lanes.
struct RopeArgs {
  HostCall<ops::Rope> call{};
  const float* frequency = nullptr;
  float magnitude = 1.0f;
};
struct RopeKvWriteArgs {
  HostCall<ops::RmsNormFusedRopeKvWrite> call{};
  const float* frequency = nullptr;
  float magnitude = 1.0f;
};
struct KvWriteArgs {
  HostCall<ops::KvWriteBatched> call{};
};

/// Attention handles up to this many rows (queries or heads) that read the same keys together.
inline constexpr std::size_t kAttentionRows = 4;
inline constexpr std::size_t kStepPages = ops::FlashAttnBatched::kStepTokens / kPageTokens;

/// The parts of attention that read pages, for one page type.
///
/// `keys` and `values` point to a head's block in each of the step's pages; a page without a visible
/// token is null. Rows lie kMaxHeadDim (queries, sums) or kStepTokens (scores) elements apart.
struct PageKernels {
  using Scores = void (*)(const std::byte* const* keys, const float* q, std::uint32_t key_dim, float* scores) noexcept;
  /// Adds tokens first..last-1 of the step, weighted by their probabilities, to the running sums.
  using Values = void (*)(const std::byte* const* values, const float* p, std::uint32_t first, std::uint32_t last,
                          std::uint32_t value_dim, float* o) noexcept;

  Scores scores_of_one = nullptr;
  Scores scores_of_all = nullptr;  ///< kAttentionRows rows
  Values values_of_one = nullptr;
  Values values_of_all = nullptr;
};
struct FlashAttnArgs {
  HostCall<ops::FlashAttnBatched> call{};
  PageKernels pages{};
};

}  // namespace zrt::inline ZRT_ABI::cpu
