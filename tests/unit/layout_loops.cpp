// SPDX-License-Identifier: Apache-2.0
// tests/unit/layout_loops.cpp: the loops that a weight type without kernels runs give the bits of the plain orders.
#include <zrt/backend/cpu.hpp>

#include <boost/mp11/algorithm.hpp>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace layout_loops_test {
namespace {

using namespace zrt;

#if ZRT_HAS_V1

constexpr std::uint32_t kCols = 512;
constexpr std::uint32_t kRows = 5;
constexpr std::uint32_t kTokens = 3;

/// Rows of blocks whose scales are finite, and activations with their rounded form.
template <DType kType> struct Case {
  using L = quant::Layout<kType>;
  static constexpr std::uint32_t kRowBytes = kCols / L::kElems * L::kBytes;
  static constexpr std::uint32_t kGroup = quant::group_elems(L::kAct);

  Case() : bytes(kRows * kRowBytes), x(kTokens * kCols), q(kTokens * kCols), d(kTokens * kCols / kGroup) {
    std::mt19937 random(7);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0x3bu);  // no exponent of all ones
    for (float& value : x) value = static_cast<float>(random() % 2001) * 1e-3f - 1.0f;
    quant::round_activation(x.data(), x.size(), kGroup, q.data(), d.data());
    weight = {bytes.data(), kType, kRows, kCols, kRowBytes};
    activations.x = x.data();
    (L::kAct == quant::Act::q8_256 ? activations.wide_q : activations.q) = q.data();
    (L::kAct == quant::Act::q8_256 ? activations.wide_d : activations.d) = d.data();
    activations.rows = kTokens;
    activations.cols = kCols;
  }

  std::vector<std::byte> bytes;
  std::vector<float> x;
  std::vector<std::int8_t> q;
  std::vector<float> d;
  HostWeight weight{};
  cpu::Activations activations{};
};

template <class Type> class LayoutLoops : public testing::Test {};
template <class L> using IsBlock = boost::mp11::mp_bool<quant::BlockLayout<L>>;
using Types = boost::mp11::mp_rename<boost::mp11::mp_copy_if<quant::Types, IsBlock>, testing::Types>;
TYPED_TEST_SUITE(LayoutLoops, Types);

TYPED_TEST(LayoutLoops, GiveTheBitsOfThePlainOrders) {
  using L = TypeParam;
  using Loops = cpu::v1::LayoutLoops<L::kDType>;
  const Case<L::kDType> c;
  // Rows 1..4 of the weight, outputs further apart than they are many.
  constexpr std::uint32_t kFirst = 1, kStride = 7;
  std::vector<float> exact(kTokens * kStride), rounded(kTokens * kStride), row(kCols), widened(kCols);
  Loops::dot(c.weight, kFirst, kRows, c.activations, exact.data(), kStride);
  Loops::dot_rounded(c.weight, kFirst, kRows, c.activations, rounded.data(), kStride);
  for (std::uint32_t n = kFirst; n < kRows; ++n) {
    L::dequantise(c.weight.row(n), kCols, row.data());
    cpu::v1::widen_layout<L::kDType>(c.weight.row(n), kCols, 0.75f, widened.data());
    for (std::uint32_t k = 0; k < kCols; ++k) EXPECT_EQ(widened[k], row[k] * 0.75f);
    for (std::uint32_t t = 0; t < kTokens; ++t) {
      const std::size_t at = t * kStride + (n - kFirst);
      EXPECT_EQ(exact[at], quant::dot16(row.data(), c.x.data() + t * kCols, kCols));
      EXPECT_EQ(rounded[at], quant::dot_blocks<L>(c.weight.row(n), c.q.data() + t * kCols,
                                                  c.d.data() + t * (kCols / Case<L::kDType>::kGroup), kCols));
      EXPECT_NE(rounded[at], 0.0f);
    }
  }
  EXPECT_EQ(exact[kRows - kFirst], 0.0f) << "beyond the last row";
}

#endif

}  // namespace
}  // namespace layout_loops_test
