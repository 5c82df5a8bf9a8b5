// SPDX-License-Identifier: Apache-2.0
// tests/unit/quant.cpp: weight layouts, activation rounding and the three orders on small own data.
#include <zrt/quant/types.hpp>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace quant_test {
namespace {

namespace quant = zrt::quant;
using quant::Act;
using zrt::DType;

std::array<std::byte, 34> q8_block(std::uint16_t d, std::int8_t first) {
  std::array<std::byte, 34> block{};
  block[0] = static_cast<std::byte>(d & 255);
  block[1] = static_cast<std::byte>(d >> 8);
  for (int j = 0; j < 32; ++j) block[static_cast<std::size_t>(2 + j)] = static_cast<std::byte>(first + j);
  return block;
}

TEST(QuantTypes, EveryLayoutIsFoundByItsNumber) {
  for (const quant::RowFunctions& row : quant::kRowFunctions) {
    EXPECT_EQ(quant::find(row.dtype), &row);
    EXPECT_EQ(row.dot_blocks == nullptr, quant::facts(row.dtype)->act == Act::none);
  }
  EXPECT_EQ(quant::find(DType::si32), nullptr);
}

TEST(QuantTypes, Q8_0) {
  const auto block = q8_block(0x3800, -16);  // d = 0.5
  std::array<float, 32> out{};
  quant::find(DType::q8_0)->dequantise(block.data(), 32, out.data());
  std::array<std::int8_t, 32> x{};
  std::int32_t sum = 0;
  for (int j = 0; j < 32; ++j) {
    EXPECT_EQ(out[static_cast<std::size_t>(j)], 0.5f * static_cast<float>(j - 16));
    x[static_cast<std::size_t>(j)] = static_cast<std::int8_t>(127 - 8 * j);
    sum += (j - 16) * (127 - 8 * j);
  }
  EXPECT_EQ(quant::Layout<DType::q8_0>::dot(block.data(), 0, x.data()), sum);
  const float d = 0.25f;
  EXPECT_EQ(quant::dot_blocks<quant::Layout<DType::q8_0>>(block.data(), x.data(), &d, 32),
            0.125f * static_cast<float>(sum));
}

TEST(QuantTypes, Q4_0PutsHighHalvesSixteenFurther) {
  std::array<std::byte, 18> block{};
  block[1] = std::byte{0x3c};  // d = 1
  for (std::size_t j = 0; j < 16; ++j) block[2 + j] = static_cast<std::byte>(j | (15 - j) << 4);
  std::array<float, 32> out{};
  quant::find(DType::q4_0)->dequantise(block.data(), 32, out.data());
  std::array<std::int8_t, 32> q{}, x{};
  quant::Layout<DType::q4_0>::unpack(block.data(), q.data());
  std::int32_t sum = 0;
  for (std::size_t j = 0; j < 32; ++j) {
    const int expected = j < 16 ? static_cast<int>(j) - 8 : 7 - static_cast<int>(j - 16);
    EXPECT_EQ(out[j], static_cast<float>(expected));
    EXPECT_EQ(q[j], expected);
    x[j] = static_cast<std::int8_t>(j % 2 == 0 ? -127 : 100);
    sum += expected * x[j];
  }
  EXPECT_EQ(quant::Layout<DType::q4_0>::dot(block.data(), 0, x.data()), sum);
}

// The bits of f32, f16 and bf16 pass through, at addresses that are not aligned.
TEST(QuantTypes, PlainTypesReadUnalignedBytes) {
  const std::array<std::byte, 9> bytes{std::byte{0},    std::byte{0},    std::byte{0}, std::byte{0x80}, std::byte{0x3f},
                                       std::byte{0x00}, std::byte{0xc0}, std::byte{1}, std::byte{0}};
  float out[2];
  quant::find(DType::f32)->dequantise(bytes.data() + 1, 1, out);
  EXPECT_EQ(out[0], 1.0f);
  quant::find(DType::f16)->dequantise(bytes.data() + 5, 2, out);
  EXPECT_EQ(out[0], -2.0f);
  EXPECT_EQ(out[1], 0x1p-24f);
  quant::find(DType::bf16)->dequantise(bytes.data() + 3, 2, out);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], -2.0f);
}

TEST(RoundActivation, RoundsHalvesToEvenAndKeepsTheLargest) {
  std::vector<float> x(32, 0.0f);
  x[0] = -127.0f;
  x[1] = 0.5f;
  x[2] = 1.5f;
  x[3] = -2.5f;
  x[4] = 126.49f;
  std::int8_t q[32];
  float d = 0;
  quant::round_activation(x.data(), 32, 32, q, &d);
  EXPECT_EQ(d, 1.0f);
  EXPECT_EQ(q[0], -127);
  EXPECT_EQ(q[1], 0);
  EXPECT_EQ(q[2], 2);
  EXPECT_EQ(q[3], -2);
  EXPECT_EQ(q[4], 126);
  EXPECT_EQ(q[31], 0);
}

TEST(RoundActivation, ZeroTinyAndNonFiniteGroups) {
  std::vector<float> x(160, 0.0f);
  x[32] = 1e-38f;  // 127 / max is infinite
  x[64] = std::numeric_limits<float>::infinity();
  x[96] = std::numeric_limits<float>::quiet_NaN();
  x[97] = 3.0f;
  x[128] = std::numeric_limits<float>::max();
  std::vector<std::int8_t> q(160, 1);
  std::vector<float> d(5, -1.0f);
  quant::round_activation(x.data(), 160, 32, q.data(), d.data());
  EXPECT_EQ(d[0], 0.0f);
  EXPECT_EQ(d[1], 0.0f);
  EXPECT_TRUE(std::isnan(d[2]));
  EXPECT_TRUE(std::isnan(d[3]));
  EXPECT_EQ(d[4], std::numeric_limits<float>::max() / 127.0f);
  EXPECT_EQ(q[128], 127);
  for (std::size_t i = 0; i < 160; ++i) EXPECT_EQ(q[i], i == 128 ? 127 : 0);

  std::vector<std::byte> row;
  for (int i = 0; i < 3; ++i)
    for (std::byte b : q8_block(0x3c00, 1)) row.push_back(b);
  EXPECT_TRUE(std::isnan(quant::dot_blocks<quant::Layout<DType::q8_0>>(row.data(), q.data(), d.data(), 96)));
}

TEST(Orders, Dot16IsSixteenLanesAndATree) {
  float a[35], b[35], lanes[16]{};
  for (std::size_t i = 0; i < 35; ++i) {
    a[i] = 1.0f / static_cast<float>(i + 1);
    b[i] = static_cast<float>(i) - 16.7f;
    lanes[i % 16] = std::fma(a[i], b[i], lanes[i % 16]);
  }
  for (std::size_t i = 35; i < 48; ++i) lanes[i % 16] = std::fma(0.0f, 0.0f, lanes[i % 16]);
  float s8[8], s4[4];
  for (std::size_t j = 0; j < 8; ++j) s8[j] = lanes[j] + lanes[j + 8];
  for (std::size_t j = 0; j < 4; ++j) s4[j] = s8[j] + s8[j + 4];
  const float even = s4[0] + s4[2], odd = s4[1] + s4[3];
  EXPECT_EQ(std::bit_cast<std::uint32_t>(quant::dot16(a, b, 35)), std::bit_cast<std::uint32_t>(even + odd));
}

TEST(Orders, ChainStartsWhereItIsTold) {
  const float a[]{1e8f, 3.0f, -1e8f}, b[]{1.0f, 1.0f, 1.0f};
  EXPECT_EQ(quant::chain(a, b, 3), 0.0f);  // 1e8 + 3 rounds to 1e8: its neighbours are 8 apart
  EXPECT_EQ(quant::chain(a, b, 0, 5.0f), 5.0f);
  EXPECT_EQ(quant::chain(a, b, 2, 1.0f, 2, 1), 0.0f);
}

}  // namespace
}  // namespace quant_test
