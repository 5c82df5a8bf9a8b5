// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/formats.hpp: the readers of single formats, and what they share.
#pragma once

#include "read_image.hpp"

namespace image {

[[nodiscard]] zrt::Result<zrt::model::ImageSize> png_size(std::string_view bytes);
[[nodiscard]] zrt::Result<zrt::model::ImageSize> jpeg_size(std::string_view bytes);
[[nodiscard]] zrt::Result<zrt::model::RgbImage> read_png(std::string_view bytes, std::uint64_t most_pixels);
[[nodiscard]] zrt::Result<zrt::model::RgbImage> read_jpeg(std::string_view bytes, std::uint64_t most_pixels);

/// An image of this size, still black. Errors: Errc::limit_exceeded, Errc::out_of_memory.
[[nodiscard]] zrt::Result<zrt::model::RgbImage> blank(zrt::model::ImageSize size, std::uint64_t most_pixels);

}  // namespace image
