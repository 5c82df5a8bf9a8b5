// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/orientation.hpp: how a camera was held, as it notes in its files.
#pragma once

#include <zrt/model/fitted_image.hpp>

#include <cstdint>
#include <string_view>

namespace image {

/// Where the first line and the first column of a file's pixels are to be seen. Source: Exif 2.32, tag 0x0112.
enum class Orientation : std::uint8_t {
  top_left = 1,
  top_right,
  bottom_right,
  bottom_left,
  left_top,
  right_top,
  right_bottom,
  left_bottom,
};

/// The orientation in the data of an Exif segment, behind "Exif\0\0"; top_left where it has none or is damaged.
[[nodiscard]] Orientation exif_orientation(std::string_view tiff) noexcept;

/// Whether lines are seen as columns, so that width and height change places.
[[nodiscard]] constexpr bool swaps_sides(Orientation orientation) noexcept {
  return orientation >= Orientation::left_top;
}
/// The size as it is to be seen.
[[nodiscard]] constexpr zrt::model::ImageSize turned(zrt::model::ImageSize size, Orientation orientation) noexcept {
  if (!swaps_sides(orientation)) return size;
  return {size.height, size.width};
}

/// The image as it is to be seen. Errors: Errc::out_of_memory.
[[nodiscard]] zrt::Result<zrt::model::RgbImage> turned(zrt::model::RgbImage image, Orientation orientation);

}  // namespace image
