// SPDX-License-Identifier: Apache-2.0
// tests/support/peer_images.hpp: images with llama.cpp's rows, and its logits of text around one.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace zrt::test {

inline const std::string kPeerFolder = std::string(ZRT_TEST_DATA_DIR) + "/peer/";

struct Image {
  std::uint32_t width = 0, height = 0, rows = 0;
  std::vector<std::uint8_t> rgb;
  std::vector<float> expected;  ///< [rows][columns]
};

/// See tools/peer_vision.py.
inline std::vector<Image> images(std::uint32_t& columns) {
  std::ifstream in(kPeerFolder + "qwen3vl-vision.vis", std::ios::binary);
  const auto number = [&] {
    std::uint32_t value = 0;
    in.read(reinterpret_cast<char*>(&value), 4);
    return value;
  };
  EXPECT_EQ(number(), 0x5349565au);
  EXPECT_EQ(number(), 1u);
  std::vector<Image> all(number());
  columns = number();
  for (Image& image : all) {
    image.width = number();
    image.height = number();
    image.rows = number();
    image.rgb.resize(std::size_t{image.width} * image.height * 3);
    image.expected.resize(std::size_t{image.rows} * columns);
    in.read(reinterpret_cast<char*>(image.rgb.data()), static_cast<std::streamsize>(image.rgb.size()));
    in.ignore(static_cast<std::streamsize>((4 - image.rgb.size() % 4) % 4));
    in.read(reinterpret_cast<char*>(image.expected.data()), static_cast<std::streamsize>(image.expected.size() * 4));
  }
  EXPECT_TRUE(in);
  return all;
}

/// See tools/peer_images.py.
struct TextAroundImage {
  std::uint32_t image = 0, before = 0, after = 0, vocabulary = 0;
  std::vector<std::uint32_t> tokens;
  std::vector<float> expected;  ///< [before + rows + after][vocabulary]
};
inline TextAroundImage text_around_image() {
  std::ifstream in(kPeerFolder + "qwen3vl-images.bin", std::ios::binary);
  const std::string data(std::istreambuf_iterator<char>(in), {});
  std::vector<std::uint32_t> words(data.size() / 4);
  std::memcpy(words.data(), data.data(), words.size() * 4);
  EXPECT_GT(words.size(), 6u);
  TextAroundImage text{words[2], words[3], words[4], words[5], {}, {}};
  const auto ids = words.begin() + 6, end = ids + text.before + text.after;
  text.tokens.assign(ids, end);
  for (auto word = end; word != words.end(); ++word) text.expected.push_back(std::bit_cast<float>(*word));
  return text;
}

}  // namespace zrt::test
