// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/layout_loops.hpp: plain loops over a layout's own functions, for a type without other kernels.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_LAYOUT_LOOPS)
#define ZRT_BACKEND_CPU_KERNELS_LAYOUT_LOOPS

#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/weight_kernels.hpp>
#include <zrt/quant/dot.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/layout_loops.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Weight rows times activations as they are, in the order dot16, of a type that `dequantise` reads.
inline void dot16_dequantised(void (*dequantise)(const std::byte*, std::uint64_t, float*) noexcept, const HostWeight& w,
                              std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                              std::uint64_t stride) noexcept {
  constexpr std::uint32_t kRows = 16;
  const DTypeInfo& type = info(w.dtype);
  for (std::uint32_t t = 0; t < x.rows; t += kRows) {
    const std::uint32_t count = x.rows - t < kRows ? x.rows - t : kRows;
    for (std::uint32_t n = first; n < last; ++n) {
      alignas(64) float lanes[kRows][16]{};
      const std::byte* block = w.row(n);
      for (std::uint32_t k = 0; k < x.cols; k += type.block_elems, block += type.block_bytes) {
        float weights[256];
        dequantise(block, type.block_elems, weights);
        for (std::uint32_t r = 0; r < count; ++r) {
          const float* activations = x.x + std::uint64_t{t + r} * x.cols + k;
          F32 sum = load(lanes[r]);
          for (std::size_t i = 0; i < type.block_elems; i += 16)
            sum = fma(load(weights + i), load(activations + i), sum);
          store(lanes[r], sum);
        }
      }
      for (std::uint32_t r = 0; r < count; ++r) y[(t + r) * stride + (n - first)] = reduce_tree(load(lanes[r]));
    }
  }
}

/// `cols` elements of a row, each times `scale`.
template <DType kType> void widen_layout(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept {
  quant::Layout<kType>::dequantise(row, cols, y);
  for (std::uint32_t k = 0; k < cols; ++k) y[k] *= scale;
}

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
};

#endif
