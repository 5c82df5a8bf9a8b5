// SPDX-License-Identifier: Apache-2.0
// tests/image/read_image.cpp: image files against the pixels that llama.cpp reads, and what is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <image/read_image.hpp>
#include <iterator>
#include <support/peer_pixels.hpp>

namespace read_image_test {
namespace {

using zrt::Errc;

std::string contents(const std::string& name) {
  std::ifstream in(zrt::test::kImageFolder + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The largest difference of a byte.
int farthest(std::span<const std::uint8_t> found, std::span<const std::uint8_t> expected) {
  int most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) most = std::max(most, std::abs(int{found[i]} - int{expected[i]}));
  return most;
}

/// PNG is without loss. Of a JPEG the peer's reader rounds the transform and the colours otherwise than libjpeg, and
/// draws the halved colours between pixels otherwise.
TEST(ReadImage, PixelsAreThoseOfThePeer) {
  for (const std::string& name : zrt::test::image_files()) {
    SCOPED_TRACE(name);
    const zrt::test::Pixels p = zrt::test::pixels(name);
    const auto read = image::read_image(contents(name));
    if (!read && read.error().code() == Errc::unimplemented) GTEST_SKIP() << read.error().text();
    ASSERT_TRUE(read) << read.error().text();
    ASSERT_EQ(read->width, p.width);
    ASSERT_EQ(read->height, p.height);
    ASSERT_EQ(read->rgb.size(), p.rgb.size());
    const int far = farthest(read->rgb.span(), p.rgb);
    RecordProperty(name, far);
    EXPECT_LE(far, name.ends_with(".png") ? 0 : 3);
  }
}

void refused(std::string_view bytes, Errc code, std::string_view why) {
  const auto read = image::read_image(bytes);
  ASSERT_FALSE(read) << why;
  if (read.error().code() == Errc::unimplemented) GTEST_SKIP() << read.error().text();
  EXPECT_EQ(read.error().code(), code) << read.error().text();
  EXPECT_NE(read.error().text().find(why), std::string_view::npos) << read.error().text();
}

TEST(ReadImage, WhatIsNoImageIsRefused) {
  refused("", Errc::invalid_file, "neither a PNG nor a JPEG");
  refused("GIF89a", Errc::invalid_file, "neither a PNG nor a JPEG");
  refused(contents("exact.png").substr(1), Errc::invalid_file, "neither a PNG nor a JPEG");
}

/// Wherever a file ends, it is no image.
TEST(ReadImage, AFileThatIsCutOffIsRefused) {
  for (const std::string name : {"palette.png", "alpha.png", "baseline.jpg", "progressive.jpg"}) {
    const std::string whole = contents(name);
    // What stands behind the pixels: the last chunk of a PNG, the end marker of a JPEG.
    const std::size_t behind = name.ends_with(".png") ? 12 : 2;
    for (std::size_t size = 8; size < whole.size() - behind; ++size) {
      const auto read = image::read_image(std::string_view(whole).substr(0, size));
      ASSERT_FALSE(read) << name << " cut to " << size;
      if (read.error().code() == Errc::unimplemented) GTEST_SKIP() << read.error().text();
    }
    refused(whole.substr(0, whole.size() / 2), Errc::truncated_file, "is cut off: ");
  }
}

TEST(ReadImage, ADamagedFileIsRefused) {
  std::string png = contents("palette.png");
  png[20] = static_cast<char>(png[20] ^ 1);
  refused(png, Errc::invalid_file, "the PNG is damaged: ");
  std::string jpeg = contents("baseline.jpg");
  jpeg.replace(jpeg.find("\xff\xc0"), 2, "\xff\xc3");
  refused(jpeg, Errc::invalid_file, "the JPEG is damaged: ");
}

/// An image whose head asks for 60000 x 60000 pixels.
TEST(ReadImage, AnImageThatIsTooLargeIsRefused) {
  std::string jpeg = contents("baseline.jpg");
  const std::size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, "\xea\x60\xea\x60");
  refused(jpeg, Errc::limit_exceeded, "60000 x 60000 pixels, expected sides up to 16384");
  jpeg.replace(frame + 5, 4, "\x3f\x00\x3f\x00", 4);
  refused(jpeg, Errc::limit_exceeded, "16128 x 16128 pixels");
}

}  // namespace
}  // namespace read_image_test
