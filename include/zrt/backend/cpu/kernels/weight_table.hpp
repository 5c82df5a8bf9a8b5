// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/weight_table.hpp: what a variant does with each weight type.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_WEIGHT_TABLE)
#define ZRT_BACKEND_CPU_KERNELS_WEIGHT_TABLE

#include <zrt/backend/cpu/kernels/blocks.hpp>
#include <zrt/backend/cpu/kernels/dot16.hpp>
#include <zrt/backend/cpu/kernels/k_panels.hpp>

#include <array>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/weight_table.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

// A row is instantiated where a table lists its type, and with it the functions that it names.
template <DType kType, class W> struct PlainType {
  static constexpr WeightKernels kRow{kType, &widen_row<W>, &dot16_rows<W>, nullptr};
};
template <DType kType, class W, class Rows> struct BlockType {
  static constexpr WeightKernels kRow{kType, &widen_row<W>, &dot16_rows<W>, &block_rows<Rows>, quant::Act::q8_32};
};
template <DType kType, class K> struct KType {
  static constexpr WeightKernels kRow{kType, &widen_k_row<K>, &dot16_k_rows<K>, &k_products<K>, quant::Act::q8_256};
};

/// Plain loops over a layout's own functions, for a block type that has no kernels.
template <DType kType> struct LayoutLoops {
  using L = quant::Layout<kType>;
  static_assert(L::kElems % 16 == 0);

  static void widen(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept {
    L::dequantise(row, cols, y);
    for (std::uint32_t k = 0; k < cols; ++k) y[k] *= scale;
  }
  static void dot(const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                  std::uint64_t stride) noexcept {
    for (std::uint32_t n = first; n < last; ++n)
      for (std::uint32_t t = 0; t < x.rows; ++t) {
        const float* activations = x.x + std::uint64_t{t} * x.cols;
        float lanes[16]{};
        for (std::uint32_t k = 0; k < x.cols; k += L::kElems) {
          float block[L::kElems];
          L::dequantise(w.row(n) + k / L::kElems * L::kBytes, L::kElems, block);
          for (std::uint32_t i = 0; i < L::kElems; ++i)
            lanes[i % 16] = __builtin_fmaf(block[i], activations[k + i], lanes[i % 16]);
        }
        y[t * stride + (n - first)] = quant::reduce_tree(lanes);
      }
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
  static constexpr WeightKernels kRow{kType, &widen, &dot, &dot_rounded, L::kAct};
};

/// What this variant does with a weight type: one line per type that has kernels.
template <DType kType> struct KernelsOf : LayoutLoops<kType> {};
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
