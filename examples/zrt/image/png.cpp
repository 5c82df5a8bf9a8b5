// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/png.cpp: PNG, by libpng.
#include "formats.hpp"

#include <algorithm>
#include <png.h>
#include <vector>

namespace image {
namespace {

/// What libpng holds of an image, and its words about one that it does not read.
struct Png {
  Png() { png.version = PNG_IMAGE_VERSION; }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() { png_image_free(&png); }

  [[nodiscard]] std::unexpected<zrt::Error> fault() const {
    const std::string_view why = png.message;
    // libpng knows its file's end by reading beyond it.
    const bool cut = why.find("beyond") != why.npos || why.find("Not enough") != why.npos;
    return zrt::fail(cut ? zrt::Errc::truncated_file : zrt::Errc::invalid_file, "the PNG is ",
                     cut ? "cut off: " : "damaged: ", why);
  }

  png_image png{};
};

}  // namespace

zrt::Result<zrt::model::ImageSize> png_size(std::string_view bytes) {
  Png file;
  if (png_image_begin_read_from_memory(&file.png, bytes.data(), bytes.size()) == 0) return file.fault();
  return zrt::model::ImageSize{file.png.width, file.png.height};
}

zrt::Result<zrt::model::RgbImage> read_png(std::string_view bytes, std::uint64_t most_pixels) {
  Png file;
  png_image& png = file.png;
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) return file.fault();
  auto out = blank({png.width, png.height}, most_pixels);
  if (!out) return out;
  const bool transparent = (png.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  png.format = transparent ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // as viewers take 16 bits, which the library else takes for linear light
  if (!transparent)
    return png_image_finish_read(&png, nullptr, out->rgb.data(), 0, nullptr) != 0
               ? std::move(out)
               : zrt::Result<zrt::model::RgbImage>(file.fault());
  std::vector<std::uint8_t> rgba(PNG_IMAGE_SIZE(png));
  if (png_image_finish_read(&png, nullptr, rgba.data(), 0, nullptr) == 0) return file.fault();
  for (std::size_t pixel = 0; pixel * 4 < rgba.size(); ++pixel)
    std::copy_n(rgba.data() + pixel * 4, 3, out->rgb.data() + pixel * 3);
  return out;
}

}  // namespace image
