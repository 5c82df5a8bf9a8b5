// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/plane_product.hpp: convolutions of planes in two stages, padded copies and sums of them.
#pragma once

#include <zrt/backend/cpu/kernels/dot_product.hpp>
#include <zrt/backend/cpu/kernels/plane_sums.hpp>
#include <zrt/backend/cpu/plane_shape.hpp>
#include <zrt/backend/cpu/split.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::cpu {

/// A convolution of planes, which PlaneShape measures.
///
/// Many rows of weights take panels: the first stage orders the weights for tiles and pads the planes, the second
/// gathers a panel of places for the whole depth and multiplies it. Few places, for which ordering the weights does not
/// pay, are gathered as rows of a product of rows. Few rows take the taps as they lie in a padded copy of the planes of
/// one group, which each worker makes for itself.
class PlaneProduct {
 public:
  PlaneProduct(const HostCall<ops::Convolve>& c, const PlaneShape& shape, const PlaneKernels& kernels,
               const DotKernels& rows) noexcept
      : x_(c.in[0].as<float>()),
        w_(c.in[1].as<float>()),
        y_(c.out[0].as<float>()),
        shape_(shape),
        kernels_(&kernels),
        rows_(&rows) {}

  [[nodiscard]] static CheckedSize scratch(const PlaneShape& s) noexcept {
    if (by_taps(s)) return CheckedSize(kLanes) * CheckedSize(taps_floats(s)) * CheckedSize(sizeof(float));
    if (by_places(s))
      return (shared_floats(s) + CheckedSize(Blocks(s).lanes) * row_floats(s)) * CheckedSize(sizeof(float));
    const Panels panels(s);
    return (shared_floats(s) + CheckedSize(panels.lanes) * panels.lane_floats(s)) * CheckedSize(sizeof(float));
  }
  template <class R> [[nodiscard]] static Result<void> record(R& r, const PlaneProduct& product) noexcept {
    if (by_taps(product.shape_)) return r.push(&PlaneProduct::sum_taps, product);
    if (auto prepared = r.push(&PlaneProduct::prepare, product); !prepared) return prepared;
    return r.push(by_places(product.shape_) ? &PlaneProduct::multiply_places : &PlaneProduct::multiply, product);
  }

 private:
  /// Workers that have scratch of their own.
  static constexpr std::uint64_t kLanes = 16;
  /// Rows of weights of a group below which a panel costs more to gather than it gives.
  static constexpr std::uint64_t kFewRows = 8;
  /// Most elements of the depth, and floats of the copies, that the taps are meant for.
  static constexpr std::uint64_t kTapDepth = 512;
  static constexpr std::uint64_t kTapPlanes = 256 * 1024;
  /// Tiles are the same for every variant here: memory is planned before the variant is known.
  static constexpr std::uint64_t kMostTile = 8;
  /// Vectors of places in a panel.
  static constexpr std::uint64_t kPanelVectors = 6;
  /// Floats of a panel that stays in the second-level cache while all rows pass.
  static constexpr std::uint64_t kCachedPanel = 96 * 1024;
  /// Places that are gathered at a time where each is a row.
  static constexpr std::uint64_t kBlockPlaces = 24;
  /// Rows that pass over a lane of a larger panel.
  static constexpr std::uint64_t kBlockRows = 96;

  /// A worker as one of the first `lanes`; of the others the index is not below the count.
  [[nodiscard]] static Worker among(Worker worker, std::uint64_t lanes) noexcept {
    worker.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(worker.count, lanes));
    return worker;
  }
  [[nodiscard]] static bool by_taps(const PlaneShape& s) noexcept {
    const CheckedSize copies = CheckedSize(s.channels + 1) * CheckedSize(s.plane);
    return s.rows < kFewRows && s.depth() <= kTapDepth && copies.ok() && copies.raw() <= kTapPlanes;
  }
  [[nodiscard]] static std::uint64_t padded_depth(const PlaneShape& s) noexcept { return align_up(s.depth(), 16); }
  [[nodiscard]] static std::uint64_t flat_floats(const PlaneShape& s) noexcept {
    const std::size_t last = s.patches.spatial - 1u;
    return s.out[last] >= kShortLine ? 0 : align_up((last == 0 ? 1 : s.out[last - 1]) * s.pitch_of_lines(), 16) + 16;
  }
  /// A group's planes and one of zeros, a row of weights, where the taps are, and short lines.
  [[nodiscard]] static CheckedSize taps_floats(const PlaneShape& s) noexcept {
    return (CheckedSize(s.channels + 1) * CheckedSize(s.plane)).aligned(16) + CheckedSize(16 + 3 * padded_depth(s)) +
           CheckedSize(flat_floats(s));
  }
  [[nodiscard]] static std::uint64_t tiles(const PlaneShape& s) noexcept {
    return (s.rows + kMostTile - 1) / kMostTile;
  }
  [[nodiscard]] static std::uint64_t ordered_rows(const PlaneShape& s) noexcept {
    return by_places(s) ? 0 : s.groups * tiles(s) * kMostTile;
  }
  /// Whether places are gathered one by one: ordering weights costs as much as multiplying by them some 50 times.
  [[nodiscard]] static bool by_places(const PlaneShape& s) noexcept {
    const std::uint64_t places = s.images * s.places;
    return places <= 64 || (places <= 256 && s.depth() >= 512);
  }
  /// Places of a group of an image in blocks of much the same size.
  struct Blocks {
    std::uint64_t in_image;
    std::uint64_t places;
    std::uint64_t all;
    std::uint64_t lanes;

    explicit Blocks(const PlaneShape& s) noexcept
        : in_image((s.places + kBlockPlaces - 1) / kBlockPlaces),
          places((s.places + in_image - 1) / in_image),
          all(s.images * s.groups * in_image),
          lanes(std::min(all, kLanes)) {}
  };
  [[nodiscard]] static CheckedSize row_floats(const PlaneShape& s) noexcept {
    return ((CheckedSize(s.depth()) + CheckedSize(s.rows)) * CheckedSize(kBlockPlaces)).aligned(16);
  }
  /// Ordered weights, where the depth is in an image's planes, the planes.
  [[nodiscard]] static CheckedSize shared_floats(const PlaneShape& s) noexcept {
    const CheckedSize weights = CheckedSize(ordered_rows(s)) * CheckedSize(s.depth());
    const CheckedSize planes = s.in_place ? CheckedSize(0) : CheckedSize(s.planes()) * CheckedSize(s.plane);
    return weights.aligned(16) + CheckedSize(2 * padded_depth(s)) + planes.aligned(16);
  }

  /// How places are cut into panels, and rows where there are few panels.
  struct Panels {
    std::uint64_t columns;  ///< of all but the last panel of an image
    std::uint64_t of_image;
    std::uint64_t parts;  ///< of the rows
    std::uint64_t all;
    std::uint64_t block;
    std::uint64_t lanes;

    explicit Panels(const PlaneShape& s) noexcept {
      const std::uint64_t vectors = (s.places + 15) / 16;
      // The last panel is no narrower than half of one: all weights pass over each.
      of_image = vectors <= kPanelVectors ? 1 : (vectors + kPanelVectors / 2) / kPanelVectors;
      columns = align_up((s.places + of_image - 1) / of_image, 16);
      of_image = (s.places + columns - 1) / columns;
      const std::uint64_t panels = s.images * s.groups * of_image;
      parts = panels >= 8 ? 1 : std::min(tiles(s), (8 + panels - 1) / panels);
      all = panels * parts;
      block = s.depth() * columns <= kCachedPanel ? kMostTile : std::min(align_up(s.rows, kMostTile), kBlockRows);
      lanes = std::min(all, kLanes);
    }
    [[nodiscard]] CheckedSize lane_floats(const PlaneShape& s) const noexcept {
      return (CheckedSize(s.depth()) * CheckedSize(columns) + CheckedSize(16)).aligned(16) +
             CheckedSize(4 * block * columns);
    }
  };

  /// Weights by tile, where the depth lies, and planes are split.
  static void prepare(const PlaneProduct& a, const ExecutionContext&, const Worker& worker) noexcept {
    const PlaneShape& s = a.shape_;
    const Shared to = a.shared(worker);
    const std::uint64_t tile = a.kernels_->tile;
    const std::uint64_t group_tiles = (s.rows + tile - 1) / tile;
    const Range part = split(by_places(s) ? 0 : s.groups * group_tiles, 1, worker);
    for (std::uint64_t i = part.first; i < part.last; ++i) {
      const std::uint64_t first = i % group_tiles * tile;
      const float* from = a.w_ + (i / group_tiles * s.rows + first) * s.depth();
      float* out = to.weights + i / group_tiles * tiles(s) * kMostTile * s.depth() + first * s.depth();
      a.kernels_->order(from, s.depth(), s.rows - first, out);
    }
    if (worker.index == 0) {
      std::uint64_t* at = to.at;
      const auto put = [&](std::uint64_t k) noexcept {
        *at++ = k / s.window * (s.in_place ? s.source : s.plane) + s.tap_at(k % s.window);
      };
      if (by_places(s))
        for (std::uint64_t k = 0; k < s.depth(); ++k) put(k);
      else
        for (const std::uint8_t lane : kMeetingLanes)
          for (std::uint64_t k = lane; k < s.depth(); k += 16) put(k);
    }
    if (s.in_place) return;
    const Range planes = split(s.planes(), 1, worker);
    for (std::uint64_t i = planes.first; i < planes.last; ++i) {
      s.pad(to.planes + i * s.plane);
      s.copy(a.x_ + i * s.source, to.planes + i * s.plane, a.kernels_->copy);
    }
  }

  /// Panels are split, and parts of the rows of one.
  static void multiply(const PlaneProduct& a, const ExecutionContext&, const Worker& worker) noexcept {
    const PlaneShape& s = a.shape_;
    const Panels panels(s);
    const Worker lane = among(worker, panels.lanes);
    if (lane.index >= lane.count) return;
    const Shared from = a.shared(worker);
    const std::uint64_t own = panels.lane_floats(s).raw();
    float* const panel = from.end + worker.index * own;
    float* const kept = panel + align_up(s.depth() * panels.columns + 16, 16);
    const float* planes = s.in_place ? a.x_ : from.planes;
    const std::uint64_t plane = s.in_place ? s.source : s.plane;
    const Range part = split(panels.all, 1, lane);
    std::uint64_t gathered = panels.all;
    for (std::uint64_t i = part.first; i < part.last; ++i) {
      const std::uint64_t at = i / panels.parts;
      const std::uint64_t first = at % panels.of_image * panels.columns;
      const std::uint64_t group = at / panels.of_image;  // of an image
      const std::uint64_t columns = std::min(panels.columns, s.places - first);
      const std::uint64_t pitch = align_up(columns, 16);
      if (gathered != at) a.gather(planes + group * s.channels * plane, from.at, first, columns, pitch, panel);
      gathered = at;
      const std::uint64_t image = group / s.groups;
      const std::uint64_t g = group % s.groups;
      const Range rows = split(
          s.rows, kMostTile, {static_cast<std::uint32_t>(i % panels.parts), static_cast<std::uint32_t>(panels.parts)});
      if (rows.first == rows.last) continue;
      PanelProduct p;
      p.w = from.weights + (g * tiles(s) * kMostTile + rows.first) * s.depth();
      p.panel = panel;
      p.depth = s.depth();
      p.rows = rows.last - rows.first;
      p.columns = columns;
      p.pitch = pitch;
      p.block = panels.block;
      p.alpha = s.alpha;
      p.kept = kept;
      p.y_row = s.images * s.places;
      p.y = a.y_ + ((g * s.rows + rows.first) * s.images + image) * s.places + first;
      a.kernels_->multiply(p);
    }
  }

  void gather(const float* planes, const std::uint64_t* at, std::uint64_t first, std::uint64_t count,
              std::uint64_t pitch, float* panel) const noexcept {
    PlaceRun runs[(kPanelVectors + kPanelVectors / 2 + 1) * 16];
    std::size_t used = 0;
    const std::uint64_t line = shape_.out[shape_.patches.spatial - 1u];
    for (std::uint64_t i = 0; i < count; ++used) {
      const std::uint64_t rest = line - (first + i) % line;
      runs[used] = {shape_.place_at(first + i), i, std::min(rest, count - i)};
      const PlaceRun& now = runs[used];
      i += now.count;
      // Lines that lie one after the other are one run.
      if (used != 0 && runs[used - 1].from + runs[used - 1].count == now.from) runs[--used].count += now.count;
    }
    kernels_->pack(planes, at, shape_.depth(), Span<const PlaceRun>(runs, used), pitch, panel);
  }

  /// Blocks of places are split.
  static void multiply_places(const PlaneProduct& a, const ExecutionContext&, const Worker& worker) noexcept {
    const PlaneShape& s = a.shape_;
    const Blocks blocks(s);
    const Worker lane = among(worker, blocks.lanes);
    if (lane.index >= lane.count) return;
    const Shared from = a.shared(worker);
    float* const block = from.end + worker.index * row_floats(s).raw();
    float* const sums = block + s.depth() * kBlockPlaces;
    const Range part = split(blocks.all, 1, lane);
    for (std::uint64_t i = part.first; i < part.last; ++i) {
      const std::uint64_t group = i / blocks.in_image;  // of an image
      const std::uint64_t first = i % blocks.in_image * blocks.places;
      const std::uint64_t count = std::min(blocks.places, s.places - std::min(s.places, first));
      if (count == 0) continue;
      const float* planes =
          s.in_place ? a.x_ + group * s.channels * s.source : from.planes + group * s.channels * s.plane;
      for (std::uint64_t p = 0; p < count; ++p) {
        const float* at_place = planes + s.place_at(first + p);
        for (std::uint64_t k = 0; k < s.depth(); ++k) block[p * s.depth() + k] = at_place[from.at[k]];
      }
      DotShape shape;
      shape.rows = count;
      shape.cols = s.rows;
      shape.depth = shape.lhs_row = shape.rhs_col = s.depth();
      shape.lhs_depth = shape.rhs_depth = 1;
      shape.alpha = s.alpha;
      const std::uint64_t g = group % s.groups;
      a.rows_->product(shape, block, a.w_ + g * s.rows * s.depth(), sums, Worker{});
      for (std::uint64_t m = 0; m < s.rows; ++m) {
        float* to = a.y_ + ((g * s.rows + m) * s.images + group / s.groups) * s.places + first;
        for (std::uint64_t p = 0; p < count; ++p) to[p] = sums[p * s.rows + m];
      }
    }
  }

  /// Groups of images are split.
  static void sum_taps(const PlaneProduct& a, const ExecutionContext&, const Worker& worker) noexcept {
    const PlaneShape& s = a.shape_;
    const Worker lane = among(worker, kLanes);
    if (lane.index >= lane.count) return;
    const std::uint64_t copies = align_up((s.channels + 1) * s.plane, 16) + 16;
    float* const planes = reinterpret_cast<float*>(worker.scratch.data()) + worker.index * taps_floats(s).raw();
    float* const zeros = planes + s.channels * s.plane;
    float* const w = planes + copies;
    std::uint64_t* const at = reinterpret_cast<std::uint64_t*>(w + padded_depth(s));
    float* const flat = w + 3 * padded_depth(s);
    for (std::uint64_t c = 0; c < s.channels; ++c) s.pad(planes + c * s.plane);
    std::fill(zeros, planes + copies, 0.0f);
    for (std::uint64_t k = 0; k < padded_depth(s); ++k)
      at[k] = k < s.depth() ? k / s.window * s.plane + s.tap_at(k % s.window) : s.channels * s.plane;
    // Times the plane of zeros -0, which changes no sum.
    std::fill(w, w + padded_depth(s), -0.0f);

    const std::size_t last = s.patches.spatial - 1u;
    const std::uint64_t lines = last == 0 ? 1 : s.out[last - 1];
    const std::uint64_t slab = lines * s.out[last];
    const Range part = split(s.images * s.groups, 1, lane);
    for (std::uint64_t i = part.first; i < part.last; ++i) {
      const std::uint64_t image = i / s.groups;
      const std::uint64_t group = i % s.groups;
      for (std::uint64_t c = 0; c < s.channels; ++c)
        s.copy(a.x_ + (i * s.channels + c) * s.source, planes + c * s.plane, a.kernels_->copy);
      for (std::uint64_t row = 0; row < s.rows; ++row) {
        const std::uint64_t of = group * s.rows + row;
        std::copy_n(a.w_ + of * s.depth(), s.depth(), w);
        float* y = a.y_ + (of * s.images + image) * s.places;
        for (std::uint64_t place = 0; place < s.places; place += slab)
          a.kernels_->taps({w, at, s.depth(), planes + s.place_at(place), lines, s.pitch_of_lines(), s.out[last],
                            s.alpha, flat, y + place});
      }
    }
  }

  struct Shared {
    float* weights;
    std::uint64_t* at;
    float* planes;
    float* end;
  };
  [[nodiscard]] Shared shared(const Worker& worker) const noexcept {
    const PlaneShape& s = shape_;
    Shared to;
    to.weights = reinterpret_cast<float*>(worker.scratch.data());
    float* next = to.weights + align_up(ordered_rows(s) * s.depth(), 16);
    to.at = reinterpret_cast<std::uint64_t*>(next);
    to.planes = next + 2 * padded_depth(s);
    to.end = to.planes + (s.in_place ? 0 : align_up(s.planes() * s.plane, 16));
    return to;
  }

  const float* x_;
  const float* w_;
  float* y_;
  PlaneShape shape_;
  const PlaneKernels* kernels_;
  const DotKernels* rows_;
};

}  // namespace zrt::inline ZRT_ABI::cpu
