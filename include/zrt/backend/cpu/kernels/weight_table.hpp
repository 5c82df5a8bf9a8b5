// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/weight_table.hpp: what a variant does with each weight type.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_WEIGHT_TABLE)
#define ZRT_BACKEND_CPU_KERNELS_WEIGHT_TABLE

#include <zrt/backend/cpu/kernels/blocks.hpp>
#include <zrt/backend/cpu/kernels/dot16.hpp>
#include <zrt/backend/cpu/kernels/k_panels.hpp>
#include <zrt/backend/cpu/kernels/unpacked.hpp>

#include <array>
#include <type_traits>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/weight_table.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

// A row is instantiated where a table lists its type, and with it the functions that it names. These are thin: what
// they call is compiled once for all types of a form.
template <DType kType, class W> struct PlainType {
  static constexpr WeightKernels kRow{kType, &widen_row<W>, &dot16_rows<W>, nullptr};
};
template <DType kType, class W, class Rows> struct BlockType {
  static void rounded(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                      std::uint64_t stride) noexcept {
    block_rows(Rows{}, w, first, last, x, y, stride);
  }
  static constexpr WeightKernels kRow{kType, &widen_row<W>, &dot16_rows<W>, &rounded, quant::Act::q8_32};
};
template <DType kType, class K> struct KType {
  static consteval K block() noexcept {
    if constexpr (std::is_same_v<K, UnpackedBlock>)
      return {&UnpackedBlock::read_as<kType>, quant::Layout<kType>::kBytes};
    else
      return {};
  }
  static void widen(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept {
    widen_k_row(block(), row, cols, scale, y);
  }
  static void dot(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                  std::uint64_t stride) noexcept {
    dot16_k_rows(block(), w, first, last, x, y, stride);
  }
  static void rounded(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                      std::uint64_t stride) noexcept {
    k_products(block(), w, first, last, x, y, stride);
  }
  static constexpr WeightKernels kRow{kType, &widen, &dot, &rounded, quant::Act::q8_256};
};

/// `cols` elements of a row, each times `scale`.
template <DType kType> void widen_layout(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept {
  quant::Layout<kType>::dequantise(row, cols, y);
  for (std::uint32_t k = 0; k < cols; ++k) y[k] *= scale;
}

/// Plain loops over a layout's own functions, for a block type that has no kernels.
template <DType kType> struct LayoutLoops {
  using L = quant::Layout<kType>;
  static_assert(L::kElems % 16 == 0 && L::kElems <= 256);

  static void dot(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                  std::uint64_t stride) noexcept {
    dot16_dequantised(&L::dequantise, w, first, last, x, y, stride);
  }
  static void dot_rounded(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                          std::uint64_t stride) noexcept {
    constexpr bool kWide = L::kAct == quant::Act::q8_256;
    constexpr std::uint32_t kElems = quant::group_elems(L::kAct);
    for (std::uint32_t n = first; n < last; ++n)
      for (std::uint32_t t = 0; t < x.rows; ++t)
        y[t * stride + (n - first)] =
            quant::dot_blocks<L>(w.row(n), (kWide ? x.wide_q : x.q) + std::uint64_t{t} * x.cols,
                                 (kWide ? x.wide_d : x.d) + std::uint64_t{t} * (x.cols / kElems), x.cols);
  }
  static constexpr WeightKernels kRow{kType, &widen_layout<kType>, &dot, &dot_rounded, L::kAct};
};

/// A type whose unpacked blocks go through kernels that are the same for all.
template <DType kType> struct UnpackedType {
  using L = quant::Layout<kType>;

  static consteval RunFunctions functions() noexcept {
    constexpr bool kF16 = &L::scale == &quant::BlockOfRuns<kType>::scale;
    return {&sixteen_integers<kType>, kF16 ? nullptr : &L::scale, L::kBytes};
  }
  static void rounded(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                      std::uint64_t stride) noexcept {
    block_rows(UnpackedRows<L::kHasOffset>{functions()}, w, first, last, x, y, stride);
  }
  static constexpr WeightKernels kRow{kType, &widen_layout<kType>, &LayoutLoops<kType>::dot, &rounded, L::kAct};
};

template <DType kType> consteval WeightKernels kernels_by_form() noexcept {
  using L = quant::Layout<kType>;
  if constexpr (UnpackedParts<L>)
    return KType<kType, UnpackedBlock>::kRow;
  else if constexpr (UnpackedRun<L>)
    return UnpackedType<kType>::kRow;
  else
    return LayoutLoops<kType>::kRow;
}

/// What this variant does with a weight type: one line per type that has kernels of its own.
template <DType kType> struct KernelsOf {
  static constexpr WeightKernels kRow = kernels_by_form<kType>();
};
// clang-format off
template <> struct KernelsOf<DType::f32> : PlainType<DType::f32, F32Row> {};
template <> struct KernelsOf<DType::f16> : PlainType<DType::f16, F16Row> {};
template <> struct KernelsOf<DType::bf16> : PlainType<DType::bf16, Bf16Row> {};
template <> struct KernelsOf<DType::q4_0> : BlockType<DType::q4_0, Q4Row, Q4Rows> {};
template <> struct KernelsOf<DType::q8_0> : BlockType<DType::q8_0, Q8Row, Q8Rows> {};
template <> struct KernelsOf<DType::q4_k> : KType<DType::q4_k, Q4KBlock> {};
template <> struct KernelsOf<DType::q5_k> : KType<DType::q5_k, Q5KBlock> {};
template <> struct KernelsOf<DType::q6_k> : KType<DType::q6_k, Q6KBlock> {};
// clang-format on

template <DType... kTypes>
inline constexpr std::array<WeightKernels, sizeof...(kTypes)> kWeightKernels{KernelsOf<kTypes>::kRow...};

#endif
