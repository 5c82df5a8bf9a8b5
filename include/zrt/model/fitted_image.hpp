// SPDX-License-Identifier: Apache-2.0
// zrt/model/fitted_image.hpp: an image of any size as one that a vision encoder of the Qwen 3 VL family takes.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/model/vision_config.hpp>

#include <algorithm>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// An image in memory.
struct RgbImage {
  explicit RgbImage(const Allocator& a) noexcept : rgb(a) {}

  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Vector<std::uint8_t> rgb;  ///< [height][width][3]
};

/// Sides in pixels.
struct ImageSize {
  std::uint32_t width = 0;
  std::uint32_t height = 0;

  static constexpr std::uint32_t kMostSide = 1u << 14;

  [[nodiscard]] constexpr std::uint64_t pixels() const noexcept { return std::uint64_t{width} * height; }
};

/// Between how many rows an image becomes: a smaller one is enlarged, a larger one shrunk. The defaults are llama.cpp's.
struct ImageLimits {
  std::uint32_t least = 8;
  std::uint32_t most = 4096;
};

namespace detail {

/// A side of `side` times `scale` pixels, as a multiple of `block` up or down, and of one at least.
[[nodiscard]] constexpr std::uint32_t scaled_side(float scaled, std::uint32_t block, bool up) noexcept {
  const float blocks = scaled / static_cast<float>(block);
  const auto whole = static_cast<std::uint32_t>(blocks);
  return block * std::max(1u, whole + (up && static_cast<float>(whole) < blocks ? 1u : 0u));
}
static_assert(scaled_side(31.5f, 8, true) == 32 && scaled_side(31.5f, 8, false) == 24 &&
              scaled_side(3.0f, 8, false) == 8);

/// Draws an image on a part of another, from the corners of the one to the corners of the other: each pixel lies between
/// four of the image.
class Drawing {
 public:
  Drawing(Span<const std::uint8_t> from, ImageSize size, ImageSize drawn) noexcept
      : from_(from), size_(size), across_(ratio(size.width, drawn.width)), down_(ratio(size.height, drawn.height)) {}

  /// The three channels of a pixel, cut to whole numbers.
  void pixel(std::uint32_t x, std::uint32_t y, std::uint8_t* to) const noexcept {
    const Between column(static_cast<float>(x) * across_, size_.width),
        line(static_cast<float>(y) * down_, size_.height);
    const std::uint8_t* const low = row(line.low);
    const std::uint8_t* const high = row(line.high);
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const float above = column.of(low + channel), below = column.of(high + channel);
      to[channel] = static_cast<std::uint8_t>(above + (below - above) * line.share);
    }
  }

 private:
  /// Two neighbours along one axis, and how far the second counts.
  struct Between {
    std::uint32_t low, high;
    float share;

    Between(float at, std::uint32_t side) noexcept
        : low(std::min(static_cast<std::uint32_t>(at), side - 1)),
          high(std::min(low + 1, side - 1)),
          share(at - static_cast<float>(low)) {}
    [[nodiscard]] float of(const std::uint8_t* line) const noexcept {
      const auto first = static_cast<float>(line[std::size_t{low} * 3]);
      return first + (static_cast<float>(line[std::size_t{high} * 3]) - first) * share;
    }
  };

  [[nodiscard]] static float ratio(std::uint32_t from, std::uint32_t to) noexcept {
    return to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1) : 0.0f;
  }
  [[nodiscard]] const std::uint8_t* row(std::uint32_t y) const noexcept {
    return from_.data() + std::size_t{y} * size_.width * 3;
  }

  Span<const std::uint8_t> from_;
  ImageSize size_;
  float across_;
  float down_;
};

/// The part of an image of `whole` that one of `size` fills when it keeps its ratio.
[[nodiscard]] constexpr ImageSize filled(ImageSize size, ImageSize whole) noexcept {
  const float across = static_cast<float>(whole.width) / static_cast<float>(size.width);
  const float down = static_cast<float>(whole.height) / static_cast<float>(size.height);
  const float scale = std::min(across, down);
  return {std::min(scaled_side(static_cast<float>(size.width) * scale, 1, true), whole.width),
          std::min(scaled_side(static_cast<float>(size.height) * scale, 1, true), whole.height)};
}

}  // namespace detail

/// The size that an image gets: sides are multiples of patch · merge near its own, and the rows stay within `limits`.
/// Source: llama.cpp's mtmd for qwen3vl_merger.
[[nodiscard]] inline ImageSize fitted_size(const VisionConfig& c, ImageSize image, ImageLimits limits = {}) noexcept {
  const std::uint32_t block = c.patch * c.merge;
  const auto nearest = [&](std::uint32_t side) { return block * std::max(1u, (2 * side + block) / (2 * block)); };
  const ImageSize near{nearest(image.width), nearest(image.height)};
  const auto pixels = [&](std::uint32_t rows) { return std::uint64_t{rows} * block * block; };
  const auto scaled = [&](std::uint64_t wanted, bool up) {
    const auto own = static_cast<float>(image.pixels()), to = static_cast<float>(wanted);
    const float ratio = __builtin_sqrtf(up ? to / own : own / to);
    const auto side = [&](std::uint32_t n) {
      const auto pixels_of_side = static_cast<float>(n);
      return detail::scaled_side(up ? pixels_of_side * ratio : pixels_of_side / ratio, block, up);
    };
    return ImageSize{side(image.width), side(image.height)};
  };
  if (near.pixels() > pixels(limits.most)) return scaled(pixels(limits.most), false);
  if (near.pixels() < pixels(limits.least)) return scaled(pixels(limits.least), true);
  return near;
}

/// Resizes an image of `rgb`, three bytes a pixel, line by line, to fitted_size. It keeps its ratio, in the middle of
/// what is black. Source: llama.cpp's mtmd for qwen3vl_merger, whose bytes these are: bilinear from corner to corner.
///
/// Errors: Errc::invalid_argument for sides outside 1..2^14, another number of bytes, or limits that are not 1 at least
/// and in order; Errc::out_of_memory.
[[nodiscard]] inline Result<RgbImage> fitted_image(const VisionConfig& c, Span<const std::uint8_t> rgb, ImageSize size,
                                                   ImageLimits limits = {},
                                                   const Allocator& allocator = system_allocator()) noexcept {
  for (const std::uint32_t side : {size.width, size.height})
    if (side - 1 >= ImageSize::kMostSide)
      return fail(Errc::invalid_argument, "an image of ", size.width, " x ", size.height,
                  " pixels, expected sides of 1..", ImageSize::kMostSide);
  if (rgb.size() != size.pixels() * 3)
    return fail(Errc::invalid_argument, "an image of ", size.width, " x ", size.height, " pixels has ", rgb.size(),
                " bytes, expected three a pixel");
  if (limits.least == 0 || limits.most < limits.least)
    return fail(Errc::invalid_argument, "an image may become ", limits.least, "..", limits.most,
                " rows, expected 1 at least and no more than the most");
  const ImageSize whole = fitted_size(c, size, limits);
  const ImageSize part = detail::filled(size, whole);
  const std::uint32_t left = (whole.width - part.width) / 2, top = (whole.height - part.height) / 2;
  RgbImage out(allocator);
  if (auto r = out.rgb.resize(static_cast<std::size_t>(whole.pixels() * 3)); !r) return pass(r);
  out.width = whole.width;
  out.height = whole.height;
  const detail::Drawing drawing(rgb, size, part);
  for (std::uint32_t y = 0; y < part.height; ++y)
    for (std::uint32_t x = 0; x < part.width; ++x)
      drawing.pixel(x, y, out.rgb.data() + ((std::size_t{top} + y) * whole.width + left + x) * 3);
  return out;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
