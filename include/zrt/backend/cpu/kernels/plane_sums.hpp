// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/plane_sums.hpp: sums of planes under a window in the order dot16, places in the lanes.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_PLANE_SUMS)
#define ZRT_BACKEND_CPU_KERNELS_PLANE_SUMS

#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/kernels/shuffles.hpp>
#include <zrt/core/span.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// The lanes of dot16 in the order in which their sums meet: each joins the one before it, then pairs do, then fours.
inline constexpr std::uint8_t kMeetingLanes[16]{0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

/// Elements of the contracted axis that lane `lane` adds.
[[nodiscard]] constexpr std::uint64_t lane_steps(std::uint64_t depth, std::uint64_t lane) noexcept {
  return (depth + 15 - lane) / 16;
}

/// Places that lie side by side, in planes and in a panel.
struct PlaceRun {
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t count;
};

/// Rows of weights times a panel of places.
struct PanelProduct {
  const float* w;      ///< [rows / tile][depth][tile], the depth in the order of kMeetingLanes
  const float* panel;  ///< [depth][pitch], in the same order
  std::uint64_t depth;
  std::uint64_t rows;
  std::uint64_t columns;
  std::uint64_t pitch;  ///< a multiple of 16
  std::uint64_t block;  ///< rows that pass over a lane before the next lane; a multiple of a tile
  float alpha;
  float* kept;  ///< four times block x pitch
  float* y;
  std::uint64_t y_row;
};

/// One row of weights over planes that lie padded.
struct TapSums {
  const float* w;           ///< padded with -0 to a multiple of 16
  const std::uint64_t* at;  ///< where each tap begins; that of the padding are zeros
  std::uint64_t depth;
  const float* planes;
  std::uint64_t lines;    ///< along the axis before the last
  std::uint64_t pitch;    ///< between lines of the planes
  std::uint64_t columns;  ///< of a line
  float alpha;
  float* flat;  ///< lines x pitch, and 16 more; where lines are short
  float* y;     ///< lines x columns
};

struct PlaneKernels {
  std::uint64_t tile = 0;  ///< rows of weights that a panel meets at once
  void (*pack)(const float* planes, const std::uint64_t* at, std::uint64_t depth, Span<const PlaceRun> runs,
               std::uint64_t pitch, float* panel) noexcept = nullptr;
  /// PlaneShape::CopyLines.
  void (*copy)(const float* from, std::uint64_t from_pitch, std::uint64_t stride, float* to, std::uint64_t to_pitch,
               std::uint64_t count, std::uint64_t lines) noexcept = nullptr;
  /// Orders a tile of weights, rows of `depth`, as PanelProduct takes them.
  void (*order)(const float* w, std::uint64_t depth, std::uint64_t rows, float* to) noexcept = nullptr;
  void (*multiply)(const PanelProduct& p) noexcept = nullptr;
  void (*taps)(const TapSums& t) noexcept = nullptr;
};

/// Lines that are shorter are computed with the padding between them, as one.
inline constexpr std::uint64_t kShortLine = 33;

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/plane_sums.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// A tile's rows and vectors of places: with AVX-512 24 sums and 3 vectors of x in 32 registers, with AVX2, where a
/// vector is two registers, 8 sums and 2 of 16.
inline constexpr std::size_t kPlaneRows = kVectors >= 32 ? 8 : kVectors >= 8 ? 4 : 1;
inline constexpr std::size_t kPlaneVectors = kIsa == Isa::v4 ? 3 : 1;

/// Gathers the runs of every element of the depth. What is behind the last run is zero.
template <class Run>
void pack_panel(const float* planes, const std::uint64_t* at, std::uint64_t depth, Span<const Run> runs,
                std::uint64_t pitch, float* panel) noexcept {
  for (std::uint64_t k = 0; k < depth; ++k, panel += pitch) {
    store(panel + pitch - 16, splat(0.0f));
    for (const Run& run : runs) {
      const float* from = planes + at[k] + run.from;
      std::uint64_t i = 0;
      for (; i + 16 <= run.count; i += 16) store(panel + run.to + i, load(from + i));
      if (i < run.count) store(panel + run.to + i, load_first(from + i, static_cast<std::size_t>(run.count - i)));
    }
  }
}

template <class T>
void copy_lines(const T* from, std::uint64_t from_pitch, std::uint64_t stride, T* to, std::uint64_t to_pitch,
                std::uint64_t count, std::uint64_t lines) noexcept {
  for (std::uint64_t line = 0; line < lines; ++line, from += from_pitch, to += to_pitch) {
    if (stride == 1) {
      map(from, to, 0, count, [](F32 x) ZRT_UNROLLED { return x; });
      continue;
    }
    std::uint64_t i = 0;
    // Nothing behind the last element is read.
    if (stride == 2)
      for (; i + 16 < count; i += 16) store(to + i, even_lanes(load(from + 2 * i), load(from + 2 * i + 16)));
    for (; i < count; ++i) to[i] = from[i * stride];
  }
}

/// Sixteen elements of each row are read together, because a row is longer than a page.
template <class T> void order_tile(const T* w, std::uint64_t depth, std::uint64_t rows, T* to) noexcept {
  T* lanes[16];
  for (const std::uint8_t lane : kMeetingLanes) {
    lanes[lane] = to;
    to += lane_steps(depth, lane) * kPlaneRows;
  }
  for (std::uint64_t k = 0; k < depth; k += 16)
    for (std::uint64_t lane = 0; lane < 16 && k + lane < depth; ++lane) {
      T* out = lanes[lane] + k / 16 * kPlaneRows;
      ZRT_UNROLL (r, kPlaneRows) out[r] = w[(r < rows ? r : 0) * depth + k + lane];
    }
}

/// Lane `order` of a tile, joined with the lanes before it that it meets; the last one writes the tile's sums.
template <std::size_t kRows, std::size_t kVectors, class Product>
ZRT_ALWAYS_INLINE void panel_lane(const Product& p, const float* w, const float* x, std::uint64_t steps,
                                  std::size_t order, float* kept, std::uint64_t row, std::uint64_t column) noexcept {
  F32 sum[kRows * kVectors];
  ZRT_UNROLL (i, kRows * kVectors) sum[i] = splat(0.0f);
  for (std::uint64_t k = 0; k < steps; ++k, w += kRows, x += p.pitch) {
    F32 b[kVectors];
    ZRT_UNROLL (v, kVectors) b[v] = load(x + 16 * v);
    ZRT_UNROLL (r, kRows) {
      const F32 a = splat(w[r]);
      ZRT_UNROLL (v, kVectors) sum[r * kVectors + v] = fma(a, b[v], sum[r * kVectors + v]);
    }
  }
  const std::uint64_t level = p.block * p.pitch;
  for (; (order & 1u) != 0; order /= 2, kept += level)
    ZRT_UNROLL (i, kRows * kVectors) sum[i] = load(kept + 16 * i) + sum[i];
  if (kept < p.kept + 4 * level) {
    ZRT_UNROLL (i, kRows * kVectors) store(kept + 16 * i, sum[i]);
    return;
  }
  const F32 alpha = splat(p.alpha);
  ZRT_UNROLL (r, kRows) {
    if (row + r < p.rows)
      ZRT_UNROLL (v, kVectors) {
        const std::uint64_t at = column + 16 * v;
        float* to = p.y + (row + r) * p.y_row + at;
        const F32 y = p.alpha == 1.0f ? sum[r * kVectors + v] : sum[r * kVectors + v] * alpha;
        if (at + 16 <= p.columns)
          store(to, y);
        else
          store_first(to, y, static_cast<std::size_t>(p.columns - at));
      }
  }
}

template <class Product> void panel_product(const Product& p) noexcept {
  for (std::uint64_t first = 0; first < p.rows; first += p.block) {
    const std::uint64_t last = first + p.block < p.rows ? first + p.block : p.rows;
    std::uint64_t begin = 0;
    for (std::size_t order = 0; order < 16; ++order) {
      const std::uint64_t steps = lane_steps(p.depth, kMeetingLanes[order]);
      for (std::uint64_t row = first; row < last; row += kPlaneRows) {
        const float* w = p.w + row * p.depth + begin * kPlaneRows;
        const float* x = p.panel + begin * p.pitch;
        float* kept = p.kept + (row - first) * p.pitch;
        std::uint64_t column = 0;
        for (; column + 16 * kPlaneVectors <= p.pitch; column += 16 * kPlaneVectors)
          panel_lane<kPlaneRows, kPlaneVectors>(p, w, x + column, steps, order, kept + column * kPlaneRows, row,
                                                column);
        if constexpr (kPlaneVectors > 1)
          for (; column < p.pitch; column += 16)
            panel_lane<kPlaneRows, 1>(p, w, x + column, steps, order, kept + column * kPlaneRows, row, column);
      }
      begin += steps;
    }
  }
}

/// Vectors of places of a row of weights at once: with AVX-512 24 sums of 32 registers.
inline constexpr std::size_t kTapVectors = kIsa == Isa::v4 ? 3 : 1;

/// The sums of every other lane, which meet before they meet those of the other half. kRest elements of the depth are
/// left after whole sixteens; `read` loads the places of a tap.
template <std::size_t kHalf, std::size_t kRest, std::size_t kVectors, class Taps, class Read>
ZRT_ALWAYS_INLINE void half_sums(const Taps& t, const float* x, const Read& read, F32 (&sum)[kVectors]) noexcept {
  F32 lane[8][kVectors];
  ZRT_UNROLL (i, 8)
    ZRT_UNROLL (v, kVectors) lane[i][v] = splat(0.0f);
  const auto add = [&](F32(&to)[kVectors], std::uint64_t k) ZRT_UNROLLED {
    const F32 w = splat(t.w[k]);
    const float* from = x + t.at[k];
    ZRT_UNROLL (v, kVectors) to[v] = fma(w, read(from + 16 * v), to[v]);
  };
  std::uint64_t k = 0;
  for (; k + 16 <= t.depth; k += 16)
    ZRT_UNROLL (i, 8) add(lane[i], k + 2 * i + kHalf);
  constexpr std::size_t kLeft = (kRest + 1 - kHalf) / 2;
  if constexpr (kLeft != 0)
    ZRT_UNROLL (i, kLeft) add(lane[i], k + 2 * i + kHalf);
  ZRT_UNROLL (v, kVectors) {
    ZRT_UNROLL (i, 4) lane[i][v] = lane[i][v] + lane[i + 4][v];
    ZRT_UNROLL (i, 2) lane[i][v] = lane[i][v] + lane[i + 2][v];
    sum[v] = lane[0][v] + lane[1][v];
  }
}

template <std::size_t kRest, std::size_t kVectors, class Taps, class Read>
ZRT_ALWAYS_INLINE void tap_vectors(const Taps& t, const float* x, const Read& read, F32 (&sum)[kVectors]) noexcept {
  F32 odd[kVectors];
  half_sums<0, kRest, kVectors>(t, x, read, sum);
  half_sums<1, kRest, kVectors>(t, x, read, odd);
  const F32 alpha = splat(t.alpha);
  ZRT_UNROLL (v, kVectors) {
    sum[v] = sum[v] + odd[v];
    if (t.alpha != 1.0f) sum[v] = sum[v] * alpha;
  }
}

template <std::size_t kRest, class Taps>
void tap_run(const Taps& t, const float* x, std::uint64_t count, float* y) noexcept {
  const auto whole = [](const float* p) ZRT_UNROLLED { return load(p); };
  std::uint64_t i = 0;
  for (; i + 16 * kTapVectors <= count; i += 16 * kTapVectors) {
    F32 sum[kTapVectors];
    tap_vectors<kRest, kTapVectors>(t, x + i, whole, sum);
    ZRT_UNROLL (v, kTapVectors) store(y + i + 16 * v, sum[v]);
  }
  for (; i < count; i += 16) {
    const auto rest = static_cast<std::size_t>(count - i < 16 ? count - i : 16);
    F32 sum[1];
    tap_vectors<kRest, 1>(t, x + i, [&](const float* p) ZRT_UNROLLED { return load_first(p, rest); }, sum);
    store_first(y + i, sum[0], rest);
  }
}

template <std::size_t kRest, class Taps> void tap_lines(const Taps& t) noexcept {
  if (t.columns >= kShortLine) {
    for (std::uint64_t line = 0; line < t.lines; ++line)
      tap_run<kRest>(t, t.planes + line * t.pitch, t.columns, t.y + line * t.columns);
    return;
  }
  tap_run<kRest>(t, t.planes, (t.lines - 1) * t.pitch + t.columns, t.flat);
  for (std::uint64_t line = 0; line < t.lines; ++line)
    for (std::uint64_t i = 0; i < t.columns; i += 16) {
      const auto count = static_cast<std::size_t>(t.columns - i < 16 ? t.columns - i : 16);
      store_first(t.y + line * t.columns + i, load_first(t.flat + line * t.pitch + i, count), count);
    }
}

/// Windows of 3 x 3 leave 9 elements, those of 7 x 7 one; the others take padding with them.
template <class Taps> void tap_sums(const Taps& t) noexcept {
  const std::uint64_t rest = t.depth % 16;
  if (rest == 0) return tap_lines<0>(t);
  if (rest == 1) return tap_lines<1>(t);
  if (rest <= 9) return tap_lines<9>(t);
  return tap_lines<16>(t);
}

template <class>
inline constexpr PlaneKernels kPlaneKernels{kPlaneRows,         &pack_panel<PlaceRun>,        &copy_lines<float>,
                                            &order_tile<float>, &panel_product<PanelProduct>, &tap_sums<TapSums>};

#endif
