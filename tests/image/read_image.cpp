// SPDX-License-Identifier: Apache-2.0
// tests/image/read_image.cpp: image files against the pixels that llama.cpp reads, how they are turned, what is refused.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <image/orientation.hpp>
#include <image/read_image.hpp>
#include <iterator>
#include <random>
#include <support/peer_pixels.hpp>
#include <utility>

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

/// A camera's notes: a directory with another tag in front of the orientation.
std::string notes(std::uint16_t orientation, bool little) {
  std::string out = little ? "II" : "MM";
  const auto put = [&](std::uint32_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) out += static_cast<char>(value >> 8 * (little ? i : size - 1 - i) & 0xff);
  };
  put(42, 2), put(8, 4), put(2, 2);
  put(0x0100, 2), put(4, 2), put(1, 4), put(7, 4);
  put(0x0112, 2), put(3, 2), put(1, 4), put(orientation, 2), put(0, 2);
  put(0, 4);
  return out;
}

/// The file of a JPEG with notes behind its first marker.
std::string with_notes(const std::string& jpeg, const std::string& tiff) {
  const std::string data = std::string("Exif\0\0", 6) + tiff;
  std::string segment = "\xff\xe1";
  segment += static_cast<char>((data.size() + 2) >> 8);
  segment += static_cast<char>((data.size() + 2) & 0xff);
  return jpeg.substr(0, 2) + segment + data + jpeg.substr(2);
}

/// Where in the file's image of w by h pixels the seen pixel (x, y) stands, as Exif says it: which side the first line
/// and the first column are.
std::pair<std::uint32_t, std::uint32_t> seen(unsigned orientation, std::uint32_t x, std::uint32_t y, std::uint32_t w,
                                             std::uint32_t h) {
  const std::array<std::pair<std::uint32_t, std::uint32_t>, 8> from{{{x, y},
                                                                     {w - 1 - x, y},
                                                                     {w - 1 - x, h - 1 - y},
                                                                     {x, h - 1 - y},
                                                                     {y, x},
                                                                     {y, h - 1 - x},
                                                                     {w - 1 - y, h - 1 - x},
                                                                     {w - 1 - y, x}}};
  return from.at(orientation - 1);
}

TEST(ReadImage, AJpegIsTurnedAsTheCameraNotes) {
  const std::string file = contents("baseline.jpg");
  const auto plain = image::read_image(file);
  if (!plain && plain.error().code() == Errc::unimplemented) GTEST_SKIP() << plain.error().text();
  ASSERT_TRUE(plain);
  ASSERT_NE(plain->width, plain->height);
  for (unsigned orientation = 1; orientation <= 8; ++orientation)
    for (const bool little : {false, true}) {
      SCOPED_TRACE(orientation);
      const std::string held = with_notes(file, notes(static_cast<std::uint16_t>(orientation), little));
      const auto turned = image::read_image(held);
      ASSERT_TRUE(turned) << turned.error().text();
      ASSERT_EQ(turned->width, orientation > 4 ? plain->height : plain->width);
      ASSERT_EQ(turned->height, orientation > 4 ? plain->width : plain->height);
      const auto size = image::read_image_size(held);
      ASSERT_TRUE(size);
      EXPECT_EQ(size->width, turned->width);
      EXPECT_EQ(size->height, turned->height);
      for (std::uint32_t y = 0; y < turned->height; ++y)
        for (std::uint32_t x = 0; x < turned->width; ++x) {
          const auto [column, line] = seen(orientation, x, y, plain->width, plain->height);
          for (std::size_t channel = 0; channel < 3; ++channel)
            ASSERT_EQ(turned->rgb[(std::size_t{y} * turned->width + x) * 3 + channel],
                      plain->rgb[(std::size_t{line} * plain->width + column) * 3 + channel]);
        }
    }
}

/// Notes that say nothing, or cannot be read, turn nothing and refuse nothing.
TEST(ReadImage, NotesThatAreDamagedTurnNothing) {
  using image::Orientation;
  const std::string whole = notes(6, true);
  EXPECT_EQ(image::exif_orientation(whole), Orientation::right_top);
  EXPECT_EQ(image::exif_orientation(notes(8, false)), Orientation::left_bottom);
  EXPECT_EQ(image::exif_orientation(notes(0, true)), Orientation::top_left);
  EXPECT_EQ(image::exif_orientation(notes(9, true)), Orientation::top_left);
  // Up to the value, the last two bytes of which are none of it.
  for (std::size_t size = 0; size < whole.size() - 6; ++size)
    EXPECT_EQ(image::exif_orientation(std::string_view(whole).substr(0, size)), Orientation::top_left) << size;
  std::string far = whole;
  far.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(image::exif_orientation(far), Orientation::top_left);
  std::string other = whole;
  other[0] = 'X';
  EXPECT_EQ(image::exif_orientation(other), Orientation::top_left);
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

/// A progressive image whose first pass over the pixels is there a thousand times: a small file, and much work.
TEST(ReadImage, AJpegOfTooManyScansIsRefused) {
  const std::string file = contents("progressive.jpg");
  const std::size_t scan = file.find("\xff\xda");
  ASSERT_NE(scan, file.npos);
  std::size_t end = scan + 2;
  while (file[end] != '\xff' || file[end + 1] == '\0') ++end;
  const auto times = [&](std::size_t count) {
    std::string out = file.substr(0, scan);
    for (std::size_t i = 0; i < count; ++i) out += file.substr(scan, end - scan);
    return out + file.substr(end);
  };
  refused(times(1000), Errc::limit_exceeded, "more than 100 scans");
  const auto once = image::read_image(file), few = image::read_image(times(50));
  if (!once && once.error().code() == Errc::unimplemented) GTEST_SKIP() << once.error().text();
  ASSERT_TRUE(few) << few.error().text();
  EXPECT_EQ(farthest(few->rgb.span(), {once->rgb.data(), once->rgb.size()}), 0);
}

/// The head alone tells the size, before any memory is taken for pixels.
TEST(ReadImage, TheHeadTellsTheSize) {
  for (const std::string& name : zrt::test::image_files()) {
    SCOPED_TRACE(name);
    const auto size = image::read_image_size(contents(name));
    if (!size && size.error().code() == Errc::unimplemented) GTEST_SKIP() << size.error().text();
    ASSERT_TRUE(size) << size.error().text();
    const zrt::test::Pixels p = zrt::test::pixels(name);
    EXPECT_EQ(size->width, p.width);
    EXPECT_EQ(size->height, p.height);
    const std::uint64_t pixels = size->pixels();
    EXPECT_TRUE(image::read_image_size(contents(name), pixels));
    EXPECT_TRUE(image::read_image(contents(name), pixels));
    EXPECT_EQ(image::read_image_size(contents(name), pixels - 1).error().code(), Errc::limit_exceeded);
    EXPECT_EQ(image::read_image(contents(name), pixels - 1).error().code(), Errc::limit_exceeded);
  }
}

/// Files with bytes changed, cut out and put in: each is read at the size that its head tells, or refused.
TEST(ReadImage, FilesNearValidOnesAreReadOrRefused) {
  std::mt19937_64 random(1);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  std::size_t good = 0, bad = 0;
  for (const std::string& name : zrt::test::image_files()) {
    SCOPED_TRACE(name);
    std::string whole = contents(name);
    if (name.ends_with(".jpg")) whole = with_notes(whole, notes(6, true));
    for (int i = 0; i < 300; ++i) {
      std::string file = whole;
      for (std::size_t left = 1 + below(3); left != 0; --left) {
        // Heads are where most of what can be wrong stands.
        const std::size_t at = below(std::min<std::size_t>(file.size(), below(2) == 0 ? 200 : file.size()));
        if (const std::size_t what = below(3); what == 0)
          file[at] = static_cast<char>(random());
        else if (what == 1)
          file.erase(at, 1 + below(8));
        else
          file.insert(at, file.substr(below(file.size()), 1 + below(8)));
      }
      const auto read = image::read_image(file, 1u << 20);
      const auto size = image::read_image_size(file, 1u << 20);
      ++(read ? good : bad);
      if (!read) continue;
      ASSERT_TRUE(size) << size.error().text();
      ASSERT_EQ(read->width, size->width);
      ASSERT_EQ(read->height, size->height);
      ASSERT_EQ(read->rgb.size(), size->pixels() * 3);
    }
  }
  EXPECT_GT(bad, 100u);
  if (!image::read_image_size(contents("baseline.jpg"))) GTEST_SKIP() << "no libjpeg";
  EXPECT_GT(good, 100u);
}

}  // namespace
}  // namespace read_image_test
