// SPDX-License-Identifier: Apache-2.0
// tests/unit/scalar.cpp: reading and writing elements of every computed type; fp8 in all its values.
// test-set: smoke brief
#include <zrt/core/scalar.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace scalar_test {
namespace {

using zrt::Domain;
using zrt::DType;
using zrt::DTypeKind;
using zrt::Scalar;

template <DType D> std::byte* bytes(std::vector<std::byte>& data) {
  data.assign(zrt::bytes_of(D, 8), std::byte{0});
  return data.data();
}

TEST(Scalar, DomainsFollowTheKind) {
  std::size_t computed = 0;
  for (const auto& row : zrt::kDTypes) {
    EXPECT_EQ(zrt::is_computed(row.dtype), row.kind != DTypeKind::complex && row.kind != DTypeKind::block);
    if (!zrt::is_computed(row.dtype)) continue;
    ++computed;
    const Domain expected = row.dtype == DType::f64                 ? Domain::f64
                            : row.kind == DTypeKind::floating       ? Domain::f32
                            : row.kind == DTypeKind::signed_integer ? Domain::i64
                                                                    : Domain::u64;
    EXPECT_EQ(zrt::domain_of(row.dtype), expected) << row.name;
    // The visitors meet the type itself, and the domain that its trait computes in.
    const bool met = zrt::visit_dtype(row.dtype, [&]<DType D>(zrt::DTypeConstant<D>) {
      return D == row.dtype && zrt::visit_domain(row.dtype, []<class T>(std::type_identity<T>) {
               return std::is_same_v<T, typename Scalar<D>::Value>;
             });
    });
    EXPECT_TRUE(met) << row.name;
  }
  EXPECT_EQ(computed, 17u);
}

TEST(Scalar, RangesAreThoseOfTheTypes) {
  EXPECT_EQ(Scalar<DType::i1>::highest, 1u);
  EXPECT_EQ(Scalar<DType::si4>::lowest, -8);
  EXPECT_EQ(Scalar<DType::si4>::highest, 7);
  EXPECT_EQ(Scalar<DType::ui4>::lowest, 0u);
  EXPECT_EQ(Scalar<DType::ui4>::highest, 15u);
  EXPECT_EQ(Scalar<DType::si16>::lowest, -32768);
  EXPECT_EQ(Scalar<DType::ui32>::highest, 0xffffffffu);
  EXPECT_EQ(Scalar<DType::si64>::lowest, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Scalar<DType::ui64>::highest, ~std::uint64_t{0});
  EXPECT_EQ(Scalar<DType::fp8_e4m3>::lowest, -448.0f);
  EXPECT_EQ(Scalar<DType::fp8_e5m2>::highest, std::numeric_limits<float>::infinity());
  EXPECT_EQ(Scalar<DType::bf16>::lowest, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(Scalar<DType::f64>::highest, std::numeric_limits<double>::infinity());
}

TEST(Scalar, IntegersKeepTheLowBits) {
  std::mt19937_64 random(1);
  for (const auto& row : zrt::kDTypes) {
    if (row.kind != DTypeKind::signed_integer && row.kind != DTypeKind::unsigned_integer) continue;
    zrt::visit_dtype(row.dtype, [&]<DType D>(zrt::DTypeConstant<D>) {
      using Value = typename Scalar<D>::Value;
      if constexpr (std::is_integral_v<Value>) {
        const unsigned bits = row.block_bytes * 8u / row.block_elems;
        std::vector<std::byte> data;
        std::byte* at = bytes<D>(data);
        std::vector<std::uint64_t> words{0, 1, 7, 8, 15, 16, 127, 128, 255, 256, ~std::uint64_t{0}};
        for (int i = 0; i < 100; ++i) words.push_back(random());
        for (std::size_t i = 0; i < words.size(); ++i) {
          Scalar<D>::store(at, i % 8, static_cast<Value>(words[i]));
          const std::uint64_t low = words[i] & ~std::uint64_t{0} >> (64 - bits);
          const bool negative = std::is_signed_v<Value> && low >> (bits - 1) != 0;
          const std::uint64_t expected = negative && bits < 64 ? low | ~std::uint64_t{0} << bits : low;
          ASSERT_EQ(static_cast<std::uint64_t>(Scalar<D>::load(at, i % 8)), expected) << row.name << " " << words[i];
        }
      }
    });
  }
}

TEST(Scalar, HalfBytesLieLowHalfFirstAndKeepTheirNeighbour) {
  std::byte data[2] = {std::byte{0xa5}, std::byte{0x3c}};
  const std::uint64_t expected[] = {0x5, 0xa, 0xc, 0x3};
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(Scalar<DType::ui4>::load(data, i), expected[i]);
  EXPECT_EQ(Scalar<DType::si4>::load(data, 1), -6);
  Scalar<DType::si4>::store(data, 1, 7);
  EXPECT_EQ(data[0], std::byte{0x75});
  Scalar<DType::ui4>::store(data, 2, 0x1f);
  EXPECT_EQ(data[1], std::byte{0x3f});
  EXPECT_EQ(data[0], std::byte{0x75});
}

TEST(Scalar, BooleansAreOneByteZeroOrOne) {
  std::byte data[3] = {std::byte{0}, std::byte{1}, std::byte{0x80}};
  EXPECT_EQ(Scalar<DType::i1>::load(data, 0), 0u);
  EXPECT_EQ(Scalar<DType::i1>::load(data, 1), 1u);
  EXPECT_EQ(Scalar<DType::i1>::load(data, 2), 1u);
  Scalar<DType::i1>::store(data, 0, 3);
  Scalar<DType::i1>::store(data, 1, 2);
  EXPECT_EQ(data[0], std::byte{1});
  EXPECT_EQ(data[1], std::byte{0});
}

TEST(Scalar, WordsAreLittleEndian) {
  std::byte data[16] = {};
  Scalar<DType::ui32>::store(data, 1, 0x04030201);
  Scalar<DType::f16>::store(data, 4, 1.0f);
  Scalar<DType::f32>::store(data, 3, -2.0f);
  const unsigned expected[16] = {0, 0, 0, 0, 1, 2, 3, 4, 0x00, 0x3c, 0, 0, 0, 0, 0, 0xc0};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(std::to_integer<unsigned>(data[i]), expected[i]) << i;
  // At compile time they are put together byte by byte.
  constexpr auto built = [] {
    std::array<std::byte, 8> word{};
    Scalar<DType::f64>::store(word.data(), 0, 0x1.23456789abcdep+3);
    return word;
  }();
  EXPECT_EQ(Scalar<DType::f64>::load(built.data(), 0), 0x1.23456789abcdep+3);
}

TEST(Scalar, RunsEqualElements) {
  for (const auto& row : zrt::kDTypes) {
    if (!zrt::is_computed(row.dtype)) continue;
    zrt::visit_dtype(row.dtype, [&]<DType D>(zrt::DTypeConstant<D>) {
      using Value = typename Scalar<D>::Value;
      const auto& functions = zrt::element_functions<Value>(D);
      EXPECT_EQ(functions.lowest, Scalar<D>::lowest);
      EXPECT_EQ(functions.highest, Scalar<D>::highest);
      std::vector<std::byte> data(zrt::bytes_of(D, 11)), one = data, copy = data;
      Value in[11];
      for (std::uint64_t i = 0; i < 11; ++i) {
        in[i] = static_cast<Value>(i % 2 + i / 4);
        Scalar<D>::store(one.data(), i, in[i]);
      }
      functions.pack(in, 0, 11, data.data());
      EXPECT_EQ(data, one) << row.name;
      Value out[5];
      functions.unpack(data.data(), 3, 5, out);
      for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(out[i], Scalar<D>::load(one.data(), 3 + i)) << row.name;
      // A part that begins and ends inside bytes leaves the rest.
      functions.pack(in + 3, 3, 5, copy.data());
      for (std::uint64_t i = 0; i < 11; ++i)
        EXPECT_EQ(Scalar<D>::load(copy.data(), i), i >= 3 && i < 8 ? Scalar<D>::load(one.data(), i) : Value{})
            << row.name << " " << i;
    });
  }
  EXPECT_EQ(zrt::element_functions<float>(DType::f64).unpack, nullptr);
  EXPECT_EQ(zrt::element_functions<float>(DType::q8_0).unpack, nullptr);
}

/// The number of an fp8 code by the definition of its format.
float fp8_number(unsigned code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int field = static_cast<int>(code & 0x7fu) >> mantissa_bits;
  const int mantissa = static_cast<int>(code) & ((1 << mantissa_bits) - 1);
  const float value =
      field == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits)
                 : std::ldexp(static_cast<float>(mantissa + (1 << mantissa_bits)), field - bias - mantissa_bits);
  return (code & 0x80u) != 0 ? -value : value;
}

TEST(Fp8, AllValuesWidenAndComeBack) {
  for (unsigned code = 0; code < 256; ++code) {
    const auto bits = static_cast<std::uint8_t>(code);
    const float e4m3 = to_f32(zrt::Fp8E4M3{bits});
    EXPECT_EQ(std::signbit(e4m3), code >= 128);
    EXPECT_EQ(zrt::to_fp8_e4m3(e4m3).bits, bits);
    EXPECT_EQ(zrt::to_fp8_e4m3(static_cast<double>(e4m3)).bits, bits);
    if ((code & 0x7fu) == 0x7f)
      EXPECT_TRUE(std::isnan(e4m3));
    else
      EXPECT_EQ(e4m3, fp8_number(code, 4, 3)) << code;

    const float e5m2 = to_f32(zrt::Fp8E5M2{bits});
    EXPECT_EQ(std::signbit(e5m2), code >= 128);
    // 0x7d is the signalling NaN; it comes back quiet.
    EXPECT_EQ(zrt::to_fp8_e5m2(e5m2).bits, (code & 0x7fu) == 0x7d ? bits | 2 : bits);
    if ((code & 0x7fu) > 0x7c)
      EXPECT_TRUE(std::isnan(e5m2));
    else if ((code & 0x7fu) == 0x7c)
      EXPECT_TRUE(std::isinf(e5m2));
    else
      EXPECT_EQ(e5m2, fp8_number(code, 5, 2)) << code;
  }
}

TEST(Fp8, OverflowIsNaNWithoutInfinitiesAndInfinityWithThem) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(zrt::to_fp8_e4m3(464.0f).bits, 0x7e);
  EXPECT_EQ(zrt::to_fp8_e4m3(std::nextafter(464.0f, 500.0f)).bits, 0x7f);
  EXPECT_EQ(zrt::to_fp8_e4m3(std::nextafter(464.0, 500.0)).bits, 0x7f);
  EXPECT_EQ(zrt::to_fp8_e4m3(-480.0f).bits, 0xff);
  EXPECT_EQ(zrt::to_fp8_e4m3(-infinity).bits, 0xff);
  EXPECT_EQ(zrt::to_fp8_e5m2(std::nextafter(61440.0f, 0.0f)).bits, 0x7b);
  EXPECT_EQ(zrt::to_fp8_e5m2(61440.0f).bits, 0x7c);
  EXPECT_EQ(zrt::to_fp8_e5m2(-1e300).bits, 0xfc);
  EXPECT_EQ(zrt::to_fp8_e5m2(infinity).bits, 0x7c);
}

}  // namespace
}  // namespace scalar_test
