// SPDX-License-Identifier: Apache-2.0
// tests/unit/kv_page.cpp: what a page gives back of the keys and values that it was given.
#include <zrt/ops/kv_page.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace zrt::test::kv_page_test {
namespace {

/// By how much a number of a group with these extremes may be off.
double step_of(DType dtype, float low, float high, float x) {
  const double largest = std::max(std::abs(low), std::abs(high));
  switch (dtype) {
    case DType::f32:
      return 0;
    case DType::f16:
      return std::abs(x) * 0x1p-11 + 0x1p-25;
    case DType::bf16:
      return std::abs(x) * 0x1p-8;
    case DType::q8_0:
      return largest / 127 * 0.5 + largest * 0x1p-11 + 127 * 0x1p-25;
    default:
      // The end that is not the extreme one has a code less, so it may be off by a whole step.
      return largest / 8 * (std::min(-low, high) >= largest * 7.5 / 8 ? 1 : 0.5) + largest * 0x1p-11 + 8 * 0x1p-25;
  }
}

struct Written {
  std::vector<float> keys, values;  ///< [token][head][dim]
};

void expect_close(const KvPage& page, const std::byte* at, const Written& w, bool of_keys) {
  const std::uint32_t dims = of_keys ? page.key_dim : page.value_dim;
  for (std::uint32_t row = 0; row < kPageTokens * page.heads; ++row) {
    const float* x = (of_keys ? w.keys : w.values).data() + std::size_t{row} * dims;
    const std::uint32_t token = row / page.heads, head = row % page.heads;
    for (std::uint32_t i = 0; i < dims; ++i) {
      const std::uint32_t group = i / 32 * 32;
      const auto [low, high] = std::minmax_element(x + group, x + std::min(group + 32, dims));
      const float found = of_keys ? page.load_key(at, head, token, i) : page.load_value(at, head, token, i);
      EXPECT_NEAR(found, x[i], step_of(page.dtype, std::min(*low, 0.0f), std::max(*high, 0.0f), x[i]))
          << name(page.dtype) << ", dim " << i << " of " << dims << ", token " << token << ", head " << head;
    }
  }
}

TEST(KvPages, GiveBackWhatTheirTypeHolds) {
  std::mt19937 random(7);
  for (const DType dtype : kPageTypes)
    for (const auto& [key_dim, value_dim] : {std::pair{1u, 33u}, {16u, 16u}, {40u, 24u}, {64u, 130u}}) {
      StateInfo state{StateLifecycle::kv_paged, dtype, 0, 0, {3, key_dim, value_dim, 0}};
      const KvPage page = KvPage::of(state);
      std::vector<std::byte> bytes(unit_bytes(state).raw());
      EXPECT_EQ(page.values_at(3), bytes.size());
      Written w;
      std::normal_distribution<float> normal;
      const auto draw = [&](std::vector<float>& to, std::uint32_t dims) {
        for (std::uint32_t i = 0; i < 3 * kPageTokens * dims; ++i)
          to.push_back(normal(random) * (i / dims % 5 == 0 ? 1e-3f : 4.0f));
      };
      draw(w.keys, key_dim);
      draw(w.values, value_dim);
      // In any order, so that a token that overwrites its neighbour shows.
      std::vector<std::uint32_t> order(kPageTokens * page.heads);
      for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      for (const std::uint32_t row : order) {
        const std::uint32_t token = row / page.heads, head = row % page.heads;
        page.store_key(bytes.data(), head, token, w.keys.data() + std::size_t{row} * key_dim);
        page.store_value(bytes.data(), head, token, w.values.data() + std::size_t{row} * value_dim);
      }
      expect_close(page, bytes.data(), w, true);
      expect_close(page, bytes.data(), w, false);
    }
}

TEST(KvPages, ZerosAreZeroAndWhatIsNoNumberShows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const DType dtype : {DType::q8_0, DType::q4_0}) {
    StateInfo state{StateLifecycle::kv_paged, dtype, 0, 0, {1, 64, 32, 0}};
    const KvPage page = KvPage::of(state);
    std::vector<std::byte> bytes(unit_bytes(state).raw(), std::byte{0xff});
    std::vector<float> x(64);
    x[40] = -std::numeric_limits<float>::denorm_min();
    page.store_key(bytes.data(), 0, 3, x.data());
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(page.load_key(bytes.data(), 0, 3, i), 0.0f);
    for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
      x[40] = bad;
      page.store_key(bytes.data(), 0, 3, x.data());
      for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(page.load_key(bytes.data(), 0, 3, i)), i >= 32);
    }
  }
}

/// A page of q8_0 takes 34 bytes for what f16 stores in 64, one of q4_0 takes 18.
TEST(KvPages, BlocksTakeTheirTypesBytes) {
  const auto bytes = [](DType dtype) {
    return unit_bytes({StateLifecycle::kv_paged, dtype, 0, 0, {2, 128, 96, 0}}).raw();
  };
  EXPECT_EQ(bytes(DType::q8_0) * 64, bytes(DType::f16) * 34);
  EXPECT_EQ(bytes(DType::q4_0) * 64, bytes(DType::f16) * 18);
}

}  // namespace
}  // namespace zrt::test::kv_page_test
