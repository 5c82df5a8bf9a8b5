// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/without_png.cpp: in place of png.cpp in a build without libpng.
#include "formats.hpp"

namespace image {

namespace {

std::unexpected<zrt::Error> none() {
  return zrt::fail(zrt::Errc::unimplemented, "the image is a PNG, and this build found no libpng");
}

}  // namespace

zrt::Result<zrt::model::ImageSize> png_size(std::string_view) { return none(); }
zrt::Result<zrt::model::RgbImage> read_png(std::string_view, std::uint64_t) { return none(); }

}  // namespace image
