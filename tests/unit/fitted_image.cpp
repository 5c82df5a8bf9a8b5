// SPDX-License-Identifier: Apache-2.0
// tests/unit/fitted_image.cpp: images of all sizes become the pixels that llama.cpp gives its encoder.
#include <zrt/model/fitted_image.hpp>
#include <zrt/model/vision_inputs.hpp>

#include <gtest/gtest.h>

#include <support/peer_images.hpp>
#include <support/peer_pixels.hpp>

namespace fitted_image_test {
namespace {

using namespace zrt;

class FittedImage : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(file_) << file_.error().text();
    auto read = model::read_vision_config(*file_);
    ASSERT_TRUE(read) << read.error().text();
    config_ = *read;
  }
  [[nodiscard]] std::uint32_t block() const { return config_.patch * config_.merge; }

  Result<model::GgufFile> file_ = model::GgufFile::open(test::kPeerFolder + "qwen3vl-vision.gguf");
  model::VisionConfig config_;
};

/// What the encoder reads at a pixel of the image. Patches of a block of merge × merge stand together.
float patch_pixel(const model::VisionInputs& inputs, const model::VisionConfig& c, std::uint32_t width, std::uint32_t x,
                  std::uint32_t y, std::uint32_t channel) {
  const std::uint32_t block = c.patch * c.merge;
  const std::size_t row = std::size_t{y / block} * (width / block) + x / block;
  const std::size_t patch = row * c.merged() + y % block / c.patch * c.merge + x % block / c.patch;
  return inputs.patches[patch * c.patch_elements() + (channel * c.patch + y % c.patch) * c.patch + x % c.patch];
}

/// To the bit: bytes are interpolated, cut and normalised as the peer does it.
TEST_F(FittedImage, PatchesAreThoseOfThePeer) {
  std::size_t files = 0;
  for (const std::string& name : test::image_files()) {
    SCOPED_TRACE(name);
    const test::Pixels p = test::pixels(name);
    const auto image = model::fitted_image(config_, p.rgb, {p.width, p.height}, {p.least, p.most});
    ASSERT_TRUE(image) << image.error().text();
    ASSERT_EQ(image->width, p.fitted_width);
    ASSERT_EQ(image->height, p.fitted_height);
    const auto inputs = model::vision_inputs(*file_, config_, image->rgb.span(), image->width, image->height);
    ASSERT_TRUE(inputs) << inputs.error().text();
    std::size_t at = 0;
    for (std::uint32_t y = 0; y < image->height; ++y)
      for (std::uint32_t x = 0; x < image->width; ++x)
        for (std::uint32_t channel = 0; channel < 3; ++channel, ++at)
          ASSERT_EQ(patch_pixel(*inputs, config_, image->width, x, y, channel), p.fitted[at])
              << x << ", " << y << ", " << channel;
    ++files;
  }
  EXPECT_GE(files, 12u);
}

TEST_F(FittedImage, SizesStayWithinTheLimitsAndAreWholeBlocks) {
  for (const std::uint32_t width : {1u, 7u, 100u, 640u, 4000u, 16384u})
    for (const std::uint32_t height : {1u, 9u, 33u, 480u, 3000u}) {
      const model::ImageSize size = model::fitted_size(config_, {width, height}, {4, 600});
      SCOPED_TRACE(testing::Message() << width << " x " << height << " -> " << size.width << " x " << size.height);
      EXPECT_EQ(size.width % block(), 0u);
      EXPECT_EQ(size.height % block(), 0u);
      const std::uint64_t rows = size.pixels() / block() / block();
      EXPECT_GE(rows, 4u);
      // A side of one block at least may be longer than its part of the pixels.
      if (size.width > block() && size.height > block()) {
        EXPECT_LE(rows, 600u);
      }
    }
}

TEST_F(FittedImage, WhatIsNotFilledIsBlack) {
  const std::vector<std::uint8_t> white(std::size_t{2} * 40 * 3, 255);
  const auto image = model::fitted_image(config_, white, {2, 40}, {1, 100});
  ASSERT_TRUE(image) << image.error().text();
  ASSERT_EQ(image->width, 8u);
  ASSERT_EQ(image->height, 40u);
  for (std::uint32_t y = 0; y < 40; ++y)
    for (std::uint32_t x = 0; x < 8; ++x)
      EXPECT_EQ(image->rgb[(std::size_t{y} * 8 + x) * 3], x == 3 || x == 4 ? 255 : 0) << x << ", " << y;
}

TEST_F(FittedImage, SizesBytesAndLimitsAreChecked) {
  const std::vector<std::uint8_t> rgb(3 * 16385);
  const auto refused = [&](model::ImageSize size, std::size_t bytes, model::ImageLimits limits, std::string_view why) {
    const auto image = model::fitted_image(config_, std::span(rgb).first(bytes), size, limits);
    ASSERT_FALSE(image) << why;
    EXPECT_EQ(image.error().code(), Errc::invalid_argument);
    EXPECT_NE(image.error().text().find(why), std::string_view::npos) << image.error().text();
  };
  refused({0, 4}, 0, {}, "an image of 0 x 4 pixels, expected sides of 1..16384");
  refused({1, 16385}, 3 * 16385, {}, "an image of 1 x 16385 pixels, expected sides of 1..16384");
  refused({2, 2}, 11, {}, "2 x 2 pixels has 11 bytes");
  refused({2, 2}, 12, {0, 4}, "0..4 rows");
  refused({2, 2}, 12, {5, 4}, "5..4 rows");
}

}  // namespace
}  // namespace fitted_image_test
