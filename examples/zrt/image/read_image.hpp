// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/read_image.hpp: PNG and JPEG as pixels, by libpng and libjpeg, each where the build found it.
#pragma once

#include <zrt/model/fitted_image.hpp>

#include <string_view>

namespace image {

/// Most pixels of an image; more are refused before any memory is taken for them.
inline constexpr std::uint64_t kMostPixels = 1u << 26;

/// Reads the bytes of a PNG or JPEG file. Transparency is dropped, grey becomes three equal channels; a JPEG is turned as
/// the camera's note says.
///
/// Errors: Errc::invalid_file for what is neither or is damaged, Errc::truncated_file for what is cut off,
/// Errc::limit_exceeded for sides above 2^14, more than `most_pixels` or a JPEG of more than 100 scans,
/// Errc::unimplemented for a format that this build lacks the library of, Errc::out_of_memory.
[[nodiscard]] zrt::Result<zrt::model::RgbImage> read_image(std::string_view bytes,
                                                           std::uint64_t most_pixels = kMostPixels);

/// The size of the image that `read_image` gives, from the file's head alone: no memory is taken for pixels. Errors: those
/// that the head shows.
[[nodiscard]] zrt::Result<zrt::model::ImageSize> read_image_size(std::string_view bytes,
                                                                 std::uint64_t most_pixels = kMostPixels);

}  // namespace image
