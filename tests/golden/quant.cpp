// SPDX-License-Identifier: Apache-2.0
// tests/golden/quant.cpp: dequantisation and dots against the files of an independent implementation.
#include <zrt/quant/types.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace quant_test {

#ifndef ZRT_SHARED_DIR
#error "zrt: compile this test with ZRT_SHARED_DIR, the folder that holds golden/"
#endif

namespace {

namespace quant = zrt::quant;
using zrt::DType;

struct Section {
  std::vector<std::byte> blocks;
  std::vector<float> values;
  std::vector<double> dots;
};

struct Golden {
  std::int32_t rows = 0, columns = 0, block_elems = 0, block_bytes = 0, row_bytes = 0;
  std::vector<float> x;
  std::vector<Section> sections;
};

class Reader {
 public:
  explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class T> std::vector<T> take(std::size_t count) {
    std::vector<T> out(count);
    if (at_ + count * sizeof(T) > bytes_.size()) {
      ADD_FAILURE() << "the golden file ends early";
      return out;
    }
    std::memcpy(out.data(), bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return out;
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

class QuantGolden : public testing::TestWithParam<std::pair<DType, std::string>> {
 protected:
  void SetUp() override {
    const std::string folder = std::string(ZRT_SHARED_DIR) + "/golden/quant";
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "NOT RUN: there is no golden data at " << folder;
    const std::string path = folder + "/" + GetParam().second + ".bin";
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file) << "GOLDEN DATA MISSING: " << path << " cannot be read";
    Reader reader(std::string(std::istreambuf_iterator<char>(file), {}));
    const auto magic = reader.take<char>(4);
    ASSERT_EQ(std::string(magic.begin(), magic.end()), "ZQNT");
    const auto head = reader.take<std::int32_t>(9);
    reader.take<char>(16);
    golden_.rows = head[2];
    golden_.columns = head[3];
    golden_.block_elems = head[4];
    golden_.block_bytes = head[5];
    golden_.row_bytes = head[6];
    const auto rows = static_cast<std::size_t>(golden_.rows), columns = static_cast<std::size_t>(golden_.columns);
    golden_.x = reader.take<float>(columns);
    reader.take<float>(rows * columns);
    for (int i = 0; i < 2; ++i) {
      Section section;
      section.blocks = reader.take<std::byte>(rows * static_cast<std::size_t>(golden_.row_bytes));
      section.values = reader.take<float>(rows * columns);
      section.dots = reader.take<double>(rows);
      reader.take<float>(rows);
      golden_.sections.push_back(std::move(section));
    }
  }

  Golden golden_;
};

TEST_P(QuantGolden, DequantisesToTheSameBits) {
  const quant::RowFunctions* row = quant::find(GetParam().first);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(zrt::info(row->dtype).block_elems, golden_.block_elems);
  EXPECT_EQ(zrt::info(row->dtype).block_bytes, golden_.block_bytes);
  for (const Section& section : golden_.sections) {
    std::vector<float> out(section.values.size());
    row->dequantise(section.blocks.data(), out.size(), out.data());
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(section.values[i])) << i;
  }
}

// The bound of n fused steps in f32: gamma_n = n u / (1 - n u), u = 2^-24. Sixteen lanes of n/16
// steps and four tree levels for dot16; for blocks one step per run and one product per scale.
TEST_P(QuantGolden, DotsStayInsideTheBoundOfTheirOrder) {
  const quant::RowFunctions* row = quant::find(GetParam().first);
  ASSERT_NE(row, nullptr);
  const quant::Act act = quant::facts(row->dtype)->act;
  const auto columns = static_cast<std::size_t>(golden_.columns);
  std::vector<float> x = golden_.x;
  std::vector<std::int8_t> q(columns);
  std::vector<float> d(columns);
  const std::uint32_t group = quant::group_elems(act);
  if (act != quant::Act::none) {
    quant::round_activation(golden_.x.data(), columns, group, q.data(), d.data());
    for (std::size_t i = 0; i < columns; ++i) x[i] = static_cast<float>(q[i]) * d[i / group];
  }
  for (const Section& section : golden_.sections) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(golden_.rows); ++r) {
      const float* w = section.values.data() + r * columns;
      double exact = 0, magnitude = 0, rounding = 0;
      for (std::size_t i = 0; i < columns; ++i) {
        exact += static_cast<double>(w[i]) * static_cast<double>(x[i]);
        magnitude += std::abs(static_cast<double>(w[i]) * static_cast<double>(x[i]));
        if (act != quant::Act::none)
          rounding += std::abs(static_cast<double>(w[i])) * 0.502 * static_cast<double>(d[i / group]);
      }
      const double bound = 40 * 0x1p-24 * magnitude + 1e-30;
      const float got = act == quant::Act::none
                            ? quant::dot16(w, x.data(), columns)
                            : row->dot_blocks(section.blocks.data() + r * static_cast<std::size_t>(golden_.row_bytes),
                                              q.data(), d.data(), columns);
      EXPECT_NEAR(static_cast<double>(got), exact, bound) << "row " << r;
      EXPECT_NEAR(static_cast<double>(got), section.dots[r], bound + rounding) << "row " << r;
    }
  }
}

/// Every weight type but F32; the files are called by ggml's names of the types, with a capital K alone.
std::vector<std::pair<DType, std::string>> golden_types() {
  std::vector<std::pair<DType, std::string>> types;
  for (const quant::TypeFacts& row : quant::kTypeFactsOf<quant::OwnTypes>) {
    std::string file(zrt::name(row.dtype));
    if (file.ends_with("_k")) file.back() = 'K';
    if (row.dtype != DType::f32) types.emplace_back(row.dtype, file);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(Types, QuantGolden, testing::ValuesIn(golden_types()),
                         [](const auto& type) { return type.param.second; });

}  // namespace
}  // namespace quant_test
