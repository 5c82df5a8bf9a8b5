// SPDX-License-Identifier: Apache-2.0
// tests/serve/image_field.cpp: images of a chat's messages: what a data URL may hold, and where rows stand in a prompt.
#include <gtest/gtest.h>

#include <base64.hpp>
#include <fstream>
#include <functional>
#include <image/read_image.hpp>
#include <image_field.hpp>
#include <iterator>

namespace image_field_test {
namespace {

using namespace program::server;

ApiError error_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const ApiError& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

std::string contents(const std::string& name) {
  std::ifstream in(ZRT_TEST_DATA_DIR "/image/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A row is 8 pixels wide and high.
ServedImages model_of_images() {
  ServedImages model;
  model.config.patch = 4;
  model.config.merge = 2;
  model.row_token = 3;
  return model;
}

RequestImage read(const std::string& url, std::uint64_t pixels = 0) {
  const Json json{{"image_url", {{"url", url}, {"detail", "high"}}}};
  Fields part(json, "messages[0].content[1]");
  const ServedImages model = model_of_images();
  return read_image_part(part, model, pixels);
}

std::string url_of(const std::string& file, const std::string& head = "data:image/png;base64,") {
  return head + base64_of(file);
}

/// Whether this build reads PNG.
bool reads_png() { return image::read_image_size(contents("exact.png")).has_value(); }

TEST(ImageField, ADataUrlIsAnImage) {
  if (!reads_png()) GTEST_SKIP() << "no libpng";
  const std::string file = contents("exact.png");
  const auto size = image::read_image_size(file);
  ASSERT_TRUE(size);
  for (const char* head : {"data:image/png;base64,", "DATA:Image/PNG;Base64,", "data:image/png;charset=utf-8;base64,",
                           "data:image/jpeg;base64,"}) {
    const RequestImage image = read(url_of(file, head));
    EXPECT_EQ(image.path, "messages[0].content[1].image_url.url");
    EXPECT_EQ(image.file, file);
    EXPECT_EQ(image.rows, size->width / 8 * (size->height / 8));
  }
}

TEST(ImageField, WhatIsNoImageIsRefusedByName) {
  const auto refused = [](const std::string& url, const std::string& code, const std::string& why) {
    const ApiError error = error_of([&] { (void)read(url); });
    EXPECT_EQ(error.status, 400) << url;
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_EQ(error.param, "messages[0].content[1].image_url.url");
    EXPECT_NE(error.message.find(why), std::string::npos) << error.message;
  };
  const std::string digits = base64_of("GIF89a");
  for (const char* url : {"https://example.com/a.png", "http://127.0.0.1/", "file:///etc/passwd", "", "a", "data"})
    refused(url, "invalid_image_url", "fetches nothing from the network");
  for (const std::string& url : {"data:image/png," + digits, "data:image/png;base64" + digits, std::string("data:")})
    refused(url, "invalid_image_url", "without ;base64,");
  for (const std::string type : {"image/gif", "image/webp", "text/plain", ""})
    refused("data:" + type + ";base64," + digits, "unsupported_image_media_type", "'" + type + "'");
  for (const char* data : {"%", "AAA", "AA A", "AAAA\n"})
    refused(std::string("data:image/png;base64,") + data, "invalid_base64_image", "no base64");
  refused("data:image/png;base64,", "empty_image_file", "no data");
  refused(url_of("GIF89a"), "image_parse_error", "neither a PNG nor a JPEG");
  if (!reads_png()) GTEST_SKIP() << "no libpng";
  refused(url_of(contents("exact.png").substr(0, 20)), "image_parse_error", "cut off");
}

/// A PNG whose head alone says how large it is: refused before any memory is taken for pixels.
std::string png_of(std::uint32_t width, std::uint32_t height) {
  std::string head = "IHDR";
  for (const std::uint32_t side : {width, height})
    for (int shift = 24; shift >= 0; shift -= 8) head += static_cast<char>(side >> shift & 0xff);
  head += std::string("\x08\x02\0\0\0", 5);
  std::uint32_t check = ~0u;
  for (const char c : head) {
    check ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) check = check >> 1 ^ (0xedb88320u & (0u - (check & 1u)));
  }
  std::string out("\x89PNG\r\n\x1a\n\0\0\0\x0d", 12);
  out += head;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(~check >> shift & 0xff);
  return out + std::string("\0\0\0\0IDAT", 8);
}

TEST(ImageField, PixelsAreBoundedForAnImageAndForAll) {
  if (!reads_png()) GTEST_SKIP() << "no libpng";
  const auto code = [](std::uint32_t width, std::uint32_t height, std::uint64_t before) {
    return error_of([&] { (void)read(url_of(png_of(width, height)), before); }).code;
  };
  constexpr std::uint64_t side = 4096, pixels = side * side;
  static_assert(2 * pixels == kMostRequestPixels);
  EXPECT_EQ(read(url_of(png_of(side, 2 * side))).rows, 45u * 90) << "shrunk to within the most rows";
  EXPECT_EQ(read(url_of(png_of(side, side)), pixels).rows, 64u * 64);
  EXPECT_EQ(code(side + 1, 2 * side, 0), "image_too_large");
  EXPECT_EQ(code(side, side, pixels + 1), "image_too_large");
  EXPECT_EQ(code(16385, 1, 0), "image_too_large");
}

ServedModel model_with_room(std::uint32_t context) {
  ServedModel model;
  model.context = context;
  model.images = model_of_images();
  return model;
}

std::vector<RequestImage> images_of(std::initializer_list<std::uint32_t> rows) {
  std::vector<RequestImage> images(rows.size());
  for (std::size_t i = 0; i < images.size(); ++i) images[i].rows = rows.begin()[i];
  return images;
}

TEST(ImageField, RowsStandWhereTheTemplateWroteAToken) {
  auto images = images_of({2, 3});
  const ServedModel model = model_with_room(11);
  const std::vector<std::int32_t> expected{9, 1, 3, 3, 2, 8, 1, 3, 3, 3, 2};
  EXPECT_EQ(with_image_rows({9, 1, 3, 2, 8, 1, 3, 2}, model, images), expected);
  EXPECT_EQ(images[0].first, 2u);
  EXPECT_EQ(images[1].first, 7u);
  std::vector<RequestImage> none;
  EXPECT_EQ(with_image_rows({9, 1}, model, none), (std::vector<std::int32_t>{9, 1}));
}

TEST(ImageField, PlacesAndRoomAreChecked) {
  auto images = images_of({2, 3});
  EXPECT_EQ(error_of([&] { (void)with_image_rows({1, 3, 2}, model_with_room(99), images); }).message,
            "the model's template writes 1 places for 2 images");
  EXPECT_EQ(error_of([&] { (void)with_image_rows({3, 3, 3}, model_with_room(99), images); }).status, 400);
  EXPECT_EQ(error_of([&] { (void)with_image_rows({9, 3, 3}, model_with_room(5), images); }).code,
            "context_length_exceeded");
}

}  // namespace
}  // namespace image_field_test
