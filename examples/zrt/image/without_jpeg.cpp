// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/without_jpeg.cpp: in place of jpeg.cpp in a build without libjpeg.
#include "formats.hpp"

namespace image {

namespace {

std::unexpected<zrt::Error> none() {
  return zrt::fail(zrt::Errc::unimplemented, "the image is a JPEG, and this build found no libjpeg");
}

}  // namespace

zrt::Result<zrt::model::ImageSize> jpeg_size(std::string_view) { return none(); }
zrt::Result<zrt::model::RgbImage> read_jpeg(std::string_view, std::uint64_t) { return none(); }

}  // namespace image
