// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/read_image.cpp: finds out which format the bytes are of.
#include "formats.hpp"

namespace image {

namespace {

enum class ImageFormat : std::uint8_t { png, jpeg };

zrt::Result<ImageFormat> format_of(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::png;
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::jpeg;
  return zrt::fail(zrt::Errc::invalid_file, "the file is neither a PNG nor a JPEG");
}

zrt::Result<void> expect_size(zrt::model::ImageSize size, std::uint64_t most_pixels) {
  constexpr std::uint32_t most = zrt::model::ImageSize::kMostSide;
  if (size.width <= most && size.height <= most && size.pixels() <= most_pixels) return {};
  return zrt::fail(zrt::Errc::limit_exceeded, "the image has ", size.width, " x ", size.height,
                   " pixels, expected sides up to ", most, " and ", most_pixels, " pixels at most");
}

}  // namespace

zrt::Result<zrt::model::RgbImage> blank(zrt::model::ImageSize size, std::uint64_t most_pixels) {
  if (auto r = expect_size(size, most_pixels); !r) return zrt::pass(r);
  zrt::model::RgbImage out(zrt::system_allocator());
  out.width = size.width;
  out.height = size.height;
  if (auto r = out.rgb.resize(static_cast<std::size_t>(size.pixels() * 3)); !r) return zrt::pass(r);
  return out;
}

zrt::Result<zrt::model::ImageSize> read_image_size(std::string_view bytes, std::uint64_t most_pixels) {
  const auto format = format_of(bytes);
  if (!format) return zrt::pass(format);
  const auto size = *format == ImageFormat::png ? png_size(bytes) : jpeg_size(bytes);
  if (!size) return size;
  if (auto r = expect_size(*size, most_pixels); !r) return zrt::pass(r);
  return size;
}

zrt::Result<zrt::model::RgbImage> read_image(std::string_view bytes, std::uint64_t most_pixels) {
  const auto format = format_of(bytes);
  if (!format) return zrt::pass(format);
  return *format == ImageFormat::png ? read_png(bytes, most_pixels) : read_jpeg(bytes, most_pixels);
}

}  // namespace image
