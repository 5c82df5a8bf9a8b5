// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/read_image.cpp: finds out which format the bytes are of.
#include "formats.hpp"

namespace image {

zrt::Result<zrt::model::RgbImage> blank(zrt::model::ImageSize size) {
  constexpr std::uint32_t most = zrt::model::ImageSize::kMostSide;
  if (size.width > most || size.height > most || size.pixels() > kMostPixels)
    return zrt::fail(zrt::Errc::limit_exceeded, "the image has ", size.width, " x ", size.height,
                     " pixels, expected sides up to ", most, " and ", kMostPixels, " pixels at most");
  zrt::model::RgbImage out(zrt::system_allocator());
  out.width = size.width;
  out.height = size.height;
  if (auto r = out.rgb.resize(static_cast<std::size_t>(size.pixels() * 3)); !r) return zrt::pass(r);
  return out;
}

zrt::Result<zrt::model::RgbImage> read_image(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return read_png(bytes);
  if (bytes.starts_with("\xff\xd8\xff")) return read_jpeg(bytes);
  return zrt::fail(zrt::Errc::invalid_file, "the file is neither a PNG nor a JPEG");
}

}  // namespace image
