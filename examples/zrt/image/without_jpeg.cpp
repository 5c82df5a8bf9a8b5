// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/without_jpeg.cpp: in place of jpeg.cpp in a build without libjpeg.
#include "formats.hpp"

namespace image {

zrt::Result<zrt::model::RgbImage> read_jpeg(std::string_view) {
  return zrt::fail(zrt::Errc::unimplemented, "the image is a JPEG, and this build found no libjpeg");
}

}  // namespace image
