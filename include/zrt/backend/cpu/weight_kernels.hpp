// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/weight_kernels.hpp: what the kernels of weight types are called with, and the table of them.
#pragma once

#include <zrt/backend/cpu/packed_weight.hpp>
#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/core/span.hpp>
#include <zrt/ops/host.hpp>
#include <zrt/quant/activation.hpp>

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
  const float* x = nullptr;                     ///< [rows][cols]
  const std::int8_t* q = nullptr;               ///< [rows][cols]
  const float* d = nullptr;                     ///< [rows][cols / kGroup]
  const std::int32_t* sum = nullptr;            ///< [rows][cols / kGroup] sums of q
  const std::int32_t* half_sum = nullptr;       ///< [rows][cols / 16] sums of q
  const std::int8_t* wide_q = nullptr;          ///< [rows][cols]
  const float* wide_d = nullptr;                ///< [rows][cols / kWideGroup]
  const std::int32_t* wide_sum = nullptr;       ///< [rows][cols / kGroup] sums of wide_q
  const std::int32_t* wide_half_sum = nullptr;  ///< [rows][cols / 16] sums of wide_q
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
            past(half_sum, 2 * group),
            past(wide_q, at),
            past(wide_d, wide),
            past(wide_sum, group),
            past(wide_half_sum, 2 * group),
            count,
            cols};
  }
};

/// Computes y[t · stride + n - first] = W[n] · x[t] for weight rows n in first..last-1 and every row t.
using DotRows = void (*)(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                         std::uint64_t stride) noexcept;
/// Writes `cols` dequantised elements of one weight row, each times `scale`.
using WidenRow = void (*)(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept;

/// DotRows of packed rows and rounded activations, in the order blocks; `first` begins a group.
using DotPacked = void (*)(const PackedWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x,
                           float* y, std::uint64_t stride) noexcept;

/// What one variant does with one weight type. A block type meets rounded activations in packed form, or else, if it
/// cannot be packed, as it lies.
struct WeightKernels {
  DType dtype = DType::f32;
  WidenRow widen = nullptr;
  DotRows dot = nullptr;  ///< activations as they are: dot16
  quant::Act act = quant::Act::none;
  const PackedType* packed = nullptr;
  DotRows dot_rounded = nullptr;  ///< activations rounded as `act` says: blocks
};

/// One variant's kernels for weights.
struct WeightTable {
  Isa isa = Isa::v1;
  Span<const WeightKernels> weights{};
  DotPacked dot_packed = nullptr;

  /// Returns the kernels of a weight type, or null when there are none.
  [[nodiscard]] constexpr const WeightKernels* find(DType dtype) const noexcept {
    for (const WeightKernels& row : weights)
      if (row.dtype == dtype) return &row;
    return nullptr;
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu
