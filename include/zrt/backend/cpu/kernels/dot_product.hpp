// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/dot_product.hpp: contractions of f32 in the order dot16.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_DOT_PRODUCT)
#define ZRT_BACKEND_CPU_KERNELS_DOT_PRODUCT

#include <zrt/backend/cpu/dot_shape.hpp>
#include <zrt/backend/cpu/kernels/dot16.hpp>
#include <zrt/backend/cpu/split.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// The products of a contraction.
struct DotKernels {
  /// y = lhs · rhs for each batch of a shape that fits_tiles; every worker calls it.
  void (*product)(const DotShape& shape, const float* lhs, const float* rhs, float* y,
                  const Worker& worker) noexcept = nullptr;
  /// y[j] = the sum of a[i] · b[j * pitch + i], i < depth, in the order dot16, for j < columns.
  void (*f64)(const double* a, const double* b, std::uint64_t pitch, std::uint64_t columns, std::uint64_t depth,
              double* y) noexcept = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/dot_product.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// DotKernels::f64 for kColumns columns, whose sums stay in registers.
template <std::size_t kColumns>
void dot16_f64(const double* a, const double* b, std::uint64_t pitch, std::uint64_t depth, double* y) noexcept {
  F64 sum[kColumns]{};
  std::uint64_t i = 0;
  for (; i + 16 <= depth; i += 16) {
    const F64 x = load(a + i);
    ZRT_UNROLL (j, kColumns) sum[j] = fma(x, load(b + j * pitch + i), sum[j]);
  }
  if (i < depth) {
    double rest[1 + kColumns][16]{};
    // As load_or_pad() has it: a sum that underflowed to -0 stays so.
    for (double& pad : rest[kColumns]) pad = -0.0;
    for (std::size_t k = 0; k < depth - i; ++k) {
      rest[kColumns][k] = a[i + k];
      for (std::size_t j = 0; j < kColumns; ++j) rest[j][k] = b[j * pitch + i + k];
    }
    ZRT_UNROLL (j, kColumns) sum[j] = fma(load(rest[kColumns]), load(rest[j]), sum[j]);
  }
  ZRT_UNROLL (j, kColumns) y[j] = reduce_tree(sum[j]);
}
/// With AVX-512 twelve registers of sums of 32, with AVX2 twelve of 16.
inline constexpr std::size_t kColumnsF64 = kIsa == Isa::v4 ? 6 : kIsa == Isa::v3 ? 3 : 1;

template <class T>
void dot16_columns_f64(const T* a, const T* b, std::uint64_t pitch, std::uint64_t columns, std::uint64_t depth,
                       T* y) noexcept {
  std::uint64_t j = 0;
  for (; j + kColumnsF64 <= columns; j += kColumnsF64) dot16_f64<kColumnsF64>(a, b + j * pitch, pitch, depth, y + j);
  for (; j < columns; ++j) dot16_f64<1>(a, b + j * pitch, pitch, depth, y + j);
}

/// A tile of kRows rows and kVectors vectors of columns, where neighbouring columns of rhs are neighbours in
/// memory: the lanes are columns, and the sixteen sums of the order are taken one after the other.
///
/// Each sum has its first row of rhs at `rhs`, `next_sum` floats behind that of the sum before, and its rows `next_row`
/// apart. `count` is how many columns of the last vector there are.
template <std::size_t kRows, std::size_t kVectors>
void outer_tile(const float* const* rows, std::uint64_t lhs_depth, const float* rhs, std::uint64_t next_sum,
                std::uint64_t next_row, std::uint64_t depth, std::size_t count,
                F32 (&sums)[16][kRows * kVectors]) noexcept {
  const float* a[kRows];
  ZRT_UNROLL (r, kRows) a[r] = rows[r];
  for (std::uint64_t lane = 0; lane < 16; ++lane) {
    F32 sum[kRows * kVectors];
    ZRT_UNROLL (i, kRows * kVectors) sum[i] = splat(0.0f);
    std::uint64_t at = lane * next_sum;
    for (std::uint64_t k = lane; k < depth; k += 16, at += next_row) {
      const float* row = rhs + at;
      F32 b[kVectors];
      ZRT_UNROLL (v, kVectors)
        b[v] = v + 1 < kVectors || count == 16 ? load(row + 16 * v) : load_first(row + 16 * v, count);
      ZRT_UNROLL (r, kRows) {
        const F32 x = splat(a[r][k * lhs_depth]);
        ZRT_UNROLL (v, kVectors) sum[r * kVectors + v] = fma(x, b[v], sum[r * kVectors + v]);
      }
    }
    ZRT_UNROLL (i, kRows * kVectors) sums[lane][i] = sum[i];
  }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j)
      for (std::size_t i = 0; i < kRows * kVectors; ++i) sums[j][i] = sums[j][i] + sums[j + half][i];
}

/// Rows and vectors of columns of a tile: with AVX-512 24 sums in 32 registers, with AVX2, where a vector is two
/// registers, 12 of 16.
inline constexpr std::size_t kOuterRows = kVectors >= 8 ? 6 : 1;
inline constexpr std::size_t kOuterVectors = kIsa == Isa::v4 ? 4 : 1;

/// Floats of a panel of columns that is packed on the stack.
inline constexpr std::uint64_t kPackedPanel = 16 * 1024;

/// Rows times a panel of columns. Where several tiles of rows read it, each sum's rows of it are brought together: as they
/// lie, those of a long pitch fall into few sets of the caches.
template <std::size_t kRows, std::size_t kVectors>
void outer_columns(const DotShape& s, const float* lhs, const float* rhs, std::uint64_t first, std::uint64_t last,
                   std::size_t count, float* y) noexcept {
  constexpr std::uint64_t kPanel = 16 * kVectors;
  const std::uint64_t steps = (s.depth + 15) / 16;
  std::uint64_t next_sum = s.rhs_depth;
  std::uint64_t next_row = 16 * s.rhs_depth;
  alignas(64) float packed[kPackedPanel];
  if (last - first > 2 * kRows && 16 * steps * kPanel <= kPackedPanel) {
    for (std::uint64_t k = 0; k < s.depth; ++k) {
      const float* from = rhs + k * s.rhs_depth;
      float* to = packed + (k % 16 * steps + k / 16) * kPanel;
      ZRT_UNROLL (v, kVectors)
        store(to + 16 * v, v + 1 < kVectors || count == 16 ? load(from + 16 * v) : load_first(from + 16 * v, count));
    }
    rhs = packed;
    next_sum = steps * kPanel;
    next_row = kPanel;
  }
  F32 sums[16][kRows * kVectors];
  for (std::uint64_t m = first; m < last; m += kRows) {
    const float* rows[kRows];
    for (std::size_t r = 0; r < kRows; ++r) rows[r] = lhs + (m + r < last ? m + r : last - 1) * s.lhs_row;
    outer_tile<kRows, kVectors>(rows, s.lhs_depth, rhs, next_sum, next_row, s.depth, count, sums);
    for (std::size_t r = 0; r < kRows && m + r < last; ++r)
      for (std::size_t v = 0; v < kVectors; ++v) {
        float* to = y + (m + r) * s.cols + 16 * v;
        if (v + 1 < kVectors || count == 16)
          store(to, sums[0][r * kVectors + v]);
        else
          store_first(to, sums[0][r * kVectors + v], count);
      }
  }
}

/// A block of rows times a panel of columns that are neighbours in memory.
inline void outer_block(const DotShape& s, const float* lhs, const float* rhs, Range rows, Range cols,
                        float* y) noexcept {
  constexpr std::uint64_t kPanel = 16 * kOuterVectors;
  std::uint64_t n = cols.first;
  for (; n + kPanel <= cols.last; n += kPanel)
    outer_columns<kOuterRows, kOuterVectors>(s, lhs, rhs + n, rows.first, rows.last, 16, y + n);
  for (; n < cols.last; n += 16) {
    const std::size_t count = cols.last - n < 16 ? static_cast<std::size_t>(cols.last - n) : 16;
    outer_columns<kOuterRows, 1>(s, lhs, rhs + n, rows.first, rows.last, count, y + n);
  }
}

/// A block of rows times a block of columns, both with their depth contiguous.
template <std::size_t kRows, std::size_t kCols>
void inner_block(const DotShape& s, const float* lhs, const float* rhs, Range rows, Range cols, float* y) noexcept {
  for (std::uint64_t n = cols.first; n < cols.last; n += kCols) {
    const std::byte* b[kCols];
    for (std::size_t j = 0; j < kCols; ++j)
      b[j] = reinterpret_cast<const std::byte*>(rhs + (n + j < cols.last ? n + j : cols.last - 1) * s.rhs_col);
    for (std::uint64_t m = rows.first; m < rows.last; m += kRows) {
      const float* a[kRows];
      for (std::size_t i = 0; i < kRows; ++i) a[i] = lhs + (m + i < rows.last ? m + i : rows.last - 1) * s.lhs_row;
      float out[kRows * kCols];
      dot16_tile<F32Row, kRows, kCols>(a, b, static_cast<std::uint32_t>(s.depth), out);
      for (std::size_t i = 0; i < kRows && m + i < rows.last; ++i)
        for (std::size_t j = 0; j < kCols && n + j < cols.last; ++j) y[(m + i) * s.cols + n + j] = out[i * kCols + j];
    }
  }
}

/// Blocks of the product are split. `s` is one that DotShape::fits_tiles.
template <class Shape>
void dot_product(const Shape& s, const float* lhs_data, const float* rhs_data, float* y_data,
                 const Worker& worker) noexcept {
  const bool inner = s.depth_is_contiguous();
  if (s.batch.elements() * s.rows * s.cols == 0) return;
  // Whole tiles of every variant. Panels that are packed want many rows.
  const std::uint64_t block_rows = inner || s.rows < 480 ? 60 : 240;
  constexpr std::uint64_t kBlockCols = 64;
  const std::uint64_t row_blocks = (s.rows + block_rows - 1) / block_rows;
  const std::uint64_t col_blocks = (s.cols + kBlockCols - 1) / kBlockCols;
  const auto block = [](std::uint64_t at, std::uint64_t size, std::uint64_t end) noexcept {
    return Range{at * size, (at + 1) * size < end ? (at + 1) * size : end};
  };
  const Range part = split(s.batch.elements() * col_blocks * row_blocks, 1, worker);
  for (std::uint64_t i = part.first; i < part.last; ++i) {
    const std::uint64_t b = i / row_blocks / col_blocks;
    const auto base = s.batch.offsets(b);
    const float* lhs = lhs_data + base[0];
    const float* rhs = rhs_data + base[1];
    float* y = y_data + b * s.rows * s.cols;
    const Range rows = block(i % row_blocks, block_rows, s.rows);
    const Range cols = block(i / row_blocks % col_blocks, kBlockCols, s.cols);
    if (!inner)
      outer_block(s, lhs, rhs, rows, cols, y);
    else if (rows.last - rows.first == 1)
      inner_block<1, kVectorWeights>(s, lhs, rhs, rows, cols, y);
    else
      inner_block<kTileActivations, kTileWeights>(s, lhs, rhs, rows, cols, y);
    if (s.alpha == 1.0f) continue;
    // The block is in the first-level cache still.
    const F32 alpha = splat(s.alpha);
    for (std::uint64_t m = rows.first; m < rows.last; ++m)
      map(y + m * s.cols, y + m * s.cols, cols.first, cols.last, [&](F32 sum) ZRT_UNROLLED { return sum * alpha; });
  }
}

template <class> inline constexpr DotKernels kDotKernels{&dot_product<DotShape>, &dot16_columns_f64<double>};

#endif
