// SPDX-License-Identifier: Apache-2.0
// tests/support/peer_pixels.hpp: image files with the pixels that llama.cpp reads from them and gives its encoder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace zrt::test {

inline const std::string kImageFolder = std::string(ZRT_TEST_DATA_DIR) + "/image/";

/// See tools/peer_pixels.py.
struct Pixels {
  std::uint32_t least = 0, most = 0;  ///< rows
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
  std::uint32_t fitted_width = 0, fitted_height = 0;
  std::vector<float> fitted;  ///< [height][width][3]
};

/// Names of the image files in order.
inline std::vector<std::string> image_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kImageFolder))
    if (entry.path().extension() == ".pixels") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

/// Those of one of the files.
inline Pixels pixels(const std::string& name) {
  std::ifstream in(kImageFolder + name + ".pixels", std::ios::binary);
  const auto number = [&] {
    std::uint32_t value = 0;
    in.read(reinterpret_cast<char*>(&value), 4);
    return value;
  };
  EXPECT_EQ(number(), 0x5849505au);
  EXPECT_EQ(number(), 1u);
  Pixels p;
  p.least = number();
  p.most = number();
  p.width = number();
  p.height = number();
  p.rgb.resize(std::size_t{p.width} * p.height * 3);
  in.read(reinterpret_cast<char*>(p.rgb.data()), static_cast<std::streamsize>(p.rgb.size()));
  in.ignore(static_cast<std::streamsize>((4 - p.rgb.size() % 4) % 4));
  p.fitted_width = number();
  p.fitted_height = number();
  p.fitted.resize(std::size_t{p.fitted_width} * p.fitted_height * 3);
  in.read(reinterpret_cast<char*>(p.fitted.data()), static_cast<std::streamsize>(p.fitted.size() * 4));
  EXPECT_TRUE(in) << name;
  return p;
}

}  // namespace zrt::test
