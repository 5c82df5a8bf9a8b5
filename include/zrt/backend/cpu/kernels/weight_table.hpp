// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/weight_table.hpp: what a variant does with each weight type.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_WEIGHT_TABLE)
#define ZRT_BACKEND_CPU_KERNELS_WEIGHT_TABLE

#include <zrt/backend/cpu/kernels/dot16.hpp>
#include <zrt/backend/cpu/kernels/k_blocks.hpp>
#include <zrt/backend/cpu/kernels/layout_loops.hpp>
#include <zrt/backend/cpu/kernels/packed_products.hpp>
#include <zrt/backend/cpu/pack.hpp>

#include <array>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/weight_table.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

// What `kType` does with activations as they are: one line per type that has kernels of its own. A row is instantiated
// where a table lists its type.

/// A type whose rows are read sixteen elements at a time.
template <class W> struct RowsOf {
  static constexpr WidenRow kWiden = &widen_row<W>;
  static constexpr DotRows kDot = &dot16_rows<W>;
};
/// A type of blocks of 256 that are unpacked by vectors.
template <class K> struct BlocksOf {
  static void widen(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept {
    widen_k_row(K{}, row, cols, scale, y);
  }
  static void dot(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                  std::uint64_t stride) noexcept {
    dot16_k_rows(K{}, w, first, last, x, y, stride);
  }
  static constexpr WidenRow kWiden = &widen;
  static constexpr DotRows kDot = &dot;
};
template <DType kType> struct ExactOf {
  static constexpr WidenRow kWiden = &widen_layout<kType>;
  static constexpr DotRows kDot = &LayoutLoops<kType>::dot;
};
// clang-format off
template <> struct ExactOf<DType::f32> : RowsOf<F32Row> {};
template <> struct ExactOf<DType::f16> : RowsOf<F16Row> {};
template <> struct ExactOf<DType::bf16> : RowsOf<Bf16Row> {};
template <> struct ExactOf<DType::q4_0> : RowsOf<Q4Row> {};
template <> struct ExactOf<DType::q8_0> : RowsOf<Q8Row> {};
template <> struct ExactOf<DType::q4_k> : BlocksOf<Q4KBlock> {};
template <> struct ExactOf<DType::q5_k> : BlocksOf<Q5KBlock> {};
template <> struct ExactOf<DType::q6_k> : BlocksOf<Q6KBlock> {};
// clang-format on

template <DType kType> [[nodiscard]] consteval WeightKernels kernels_of_type() noexcept {
  using L = quant::Layout<kType>;
  WeightKernels row{kType, ExactOf<kType>::kWiden, ExactOf<kType>::kDot, L::kAct};
  if constexpr (Packable<L>)
    row.packed = &kPackedType<kType>;
  else if constexpr (L::kAct != quant::Act::none)
    row.dot_rounded = &LayoutLoops<kType>::dot_rounded;
  return row;
}

template <DType... kTypes>
inline constexpr std::array<WeightKernels, sizeof...(kTypes)> kWeightKernels{kernels_of_type<kTypes>()...};

#endif
