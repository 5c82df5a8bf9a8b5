// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/without_png.cpp: in place of png.cpp in a build without libpng.
#include "formats.hpp"

namespace image {

zrt::Result<zrt::model::RgbImage> read_png(std::string_view) {
  return zrt::fail(zrt::Errc::unimplemented, "the image is a PNG, and this build found no libpng");
}

}  // namespace image
