// SPDX-License-Identifier: Apache-2.0
// tests/unit/cast.cpp: every pair of computed types against exact vectors; the small floats in all their values.
// test-set: smoke brief
#include <zrt/core/cast.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace cast_test {
namespace {

using zrt::DType;
using zrt::DTypeKind;

std::vector<DType> computed_types() {
  std::vector<DType> types;
  for (const auto& row : zrt::kDTypes)
    if (zrt::is_computed(row.dtype)) types.push_back(row.dtype);
  return types;
}

unsigned bits_of(DType dtype) { return zrt::info(dtype).block_bytes * 8u / zrt::info(dtype).block_elems; }

/// The stored bits of element `index`, found without the code under test.
std::uint64_t bits_at(DType dtype, const std::vector<std::byte>& data, std::size_t index) {
  std::uint64_t word = 0;
  if (bits_of(dtype) == 4) return std::to_integer<std::uint64_t>(data[index / 2]) >> (index % 2 * 4) & 0xf;
  const std::size_t bytes = bits_of(dtype) / 8;
  for (std::size_t b = 0; b < bytes; ++b) word |= std::to_integer<std::uint64_t>(data[index * bytes + b]) << 8 * b;
  return word;
}

std::vector<std::byte> stored(DType dtype, const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> data(zrt::bytes_of(dtype, words.size()));
  const std::size_t bytes = bits_of(dtype) / 8;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (bits_of(dtype) == 4) data[i / 2] |= static_cast<std::byte>(words[i] << (i % 2 * 4));
    for (std::size_t b = 0; b < bytes; ++b) data[i * bytes + b] = static_cast<std::byte>(words[i] >> 8 * b & 0xff);
  }
  return data;
}

std::vector<std::uint64_t> cast(DType from, DType to, const std::vector<std::uint64_t>& words) {
  const auto src = stored(from, words);
  std::vector<std::byte> dst(zrt::bytes_of(to, words.size()), std::byte{0xa5});
  zrt::cast_elements(from, src.data(), to, dst.data(), 0, words.size());
  std::vector<std::uint64_t> result(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) result[i] = bits_at(to, dst, i);
  return result;
}

/// A binary format by its definition: bit widths, and whether its last exponent has infinities.
struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits;
  bool ieee;

  std::uint64_t sign() const { return std::uint64_t{1} << (exponent_bits + mantissa_bits); }
  std::uint64_t largest() const { return ieee ? sign() - (std::uint64_t{1} << mantissa_bits) - 1 : sign() - 2; }
  bool is_nan(std::uint64_t code) const { return (code & (sign() - 1)) > largest() + (ieee ? 1 : 0); }

  /// The number of a code as if no code were an infinity or NaN: after the largest one the number that would follow.
  double number(std::uint64_t code) const {
    const std::uint64_t magnitude = code & (sign() - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto field = static_cast<int>(magnitude >> mantissa_bits);
    const auto mantissa = static_cast<double>(magnitude & ((std::uint64_t{1} << mantissa_bits) - 1));
    const double value = field == 0
                             ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                             : std::ldexp(mantissa + std::ldexp(1.0, mantissa_bits), field - bias - mantissa_bits);
    return (code & sign()) != 0 ? -value : value;
  }

  /// The nearest code by search, ties to the even one; differences of these formats are exact in f64.
  std::uint64_t nearest(double x) const {
    const std::uint64_t negative = std::signbit(x) ? sign() : 0;
    if (std::isnan(x)) return sign() - 1;
    const double magnitude = std::abs(x);
    if (magnitude >= number(largest() + 1)) return negative | (largest() + 1);
    std::uint64_t low = 0, high = largest() + 1;  // number(low) <= magnitude < number(high)
    while (high - low > 1) {
      const std::uint64_t middle = (low + high) / 2;
      (number(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - number(low), above = number(high) - magnitude;
    return negative | (below < above || (below == above && low % 2 == 0) ? low : high);
  }
};

const Format kFormats[] = {{DType::fp8_e4m3, 4, 3, false}, {DType::fp8_e5m2, 5, 2, true}, {DType::bf16, 8, 7, true},
                           {DType::f16, 5, 10, true},      {DType::f32, 8, 23, true},     {DType::f64, 11, 52, true}};

const Format* format_of(DType dtype) {
  const auto* found = std::ranges::find(kFormats, dtype, &Format::dtype);
  return found == std::end(kFormats) ? nullptr : found;
}

bool same(DType dtype, std::uint64_t a, std::uint64_t b) {
  const Format* format = format_of(dtype);
  return a == b || (format != nullptr && format->is_nan(a) && format->is_nan(b));
}

struct Vectors {
  DType from;
  std::vector<std::uint64_t> words;
  std::map<DType, std::vector<std::uint64_t>> results;
};

DType type_named(const std::string& name) {
  for (const auto& row : zrt::kDTypes)
    if (row.name == name) return row.dtype;
  ADD_FAILURE() << "no type " << name;
  return DType::i1;
}

std::vector<Vectors> read_vectors() {
  std::ifstream file(ZRT_TEST_DATA_DIR "/ptir/cast_vectors.txt");
  std::vector<Vectors> all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string name;
    in >> name;
    std::vector<std::uint64_t>* words;
    if (name == "from") {
      in >> name;
      words = &all.emplace_back(Vectors{type_named(name), {}, {}}).words;
    } else {
      words = &all.back().results[type_named(name)];
    }
    for (std::uint64_t word; in >> std::hex >> word;) words->push_back(word);
  }
  return all;
}

void check_vectors() {
  const auto vectors = read_vectors();
  const auto types = computed_types();
  ASSERT_EQ(vectors.size(), types.size());
  for (const auto& v : vectors) {
    ASSERT_EQ(v.results.size(), types.size());
    for (const auto& [to, expected] : v.results) {
      const auto got = cast(v.from, to, v.words);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_TRUE(same(to, got[i], expected[i])) << zrt::name(v.from) << " " << std::hex << v.words[i] << " to "
                                                   << zrt::name(to) << ": " << got[i] << ", expected " << expected[i];
    }
  }
}

TEST(Cast, EveryPairEqualsExactArithmetic) { check_vectors(); }

TEST(Cast, TheHostsRoundingModeHasNoEffect) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    check_vectors();
    std::fesetround(FE_TONEAREST);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "mode " << mode;
  }
}

// Every value of every type of at most 16 bits, to every type, as numpy and torch have them.
TEST(Cast, SmallTypesInAllTheirValuesGiveNumpysSums) {
  std::ifstream file(ZRT_TEST_DATA_DIR "/ptir/cast_digests.txt");
  int pairs = 0;
  std::string source, destination;
  for (std::uint64_t expected = 0; file >> source >> destination >> std::hex >> expected; ++pairs) {
    const DType from = type_named(source), to = type_named(destination);
    std::vector<std::uint64_t> words(from == DType::i1 ? 2 : std::size_t{1} << bits_of(from));
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = i;
    const Format* format = format_of(to);
    std::uint64_t sum = 0;
    const auto results = cast(from, to, words);
    for (std::size_t i = 0; i < results.size(); ++i)
      sum += ((format != nullptr && format->is_nan(results[i]) ? format->sign() - 1 : results[i]) + 1) * (2 * i + 1);
    EXPECT_EQ(sum, expected) << source << " to " << destination;
  }
  EXPECT_EQ(pairs, 11 * 17);
}

// f32 and f64 to the small floats at random and at every point halfway between two of them.
TEST(Cast, NarrowingTakesTheNearest) {
  std::mt19937_64 random(1);
  for (const Format& to : kFormats) {
    if (bits_of(to.dtype) > 16) continue;
    std::vector<std::uint64_t> words;
    for (std::uint64_t code = 0; code <= to.largest(); ++code) {
      const double half = (to.number(code) + to.number(code + 1)) / 2;
      for (const double x : {half, std::nextafter(half, 0.0), std::nextafter(half, 1e300), -half})
        words.push_back(std::bit_cast<std::uint64_t>(x));
    }
    for (int i = 0; i < 20000; ++i)
      words.push_back(std::bit_cast<std::uint64_t>(to.number(random() % to.largest()) *
                                                   (1.0 + std::ldexp(static_cast<double>(random() >> 12), -52))));
    auto got = cast(DType::f64, to.dtype, words);
    for (std::size_t i = 0; i < words.size(); ++i)
      ASSERT_TRUE(same(to.dtype, got[i], to.nearest(std::bit_cast<double>(words[i]))))
          << std::hexfloat << std::bit_cast<double>(words[i]) << " to " << zrt::name(to.dtype) << ": " << got[i];
    for (auto& word : words) word = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(word)));
    got = cast(DType::f32, to.dtype, words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto x = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(words[i])));
      ASSERT_TRUE(same(to.dtype, got[i], to.nearest(x)))
          << std::hexfloat << x << " to " << zrt::name(to.dtype) << ": " << got[i];
    }
  }
}

// A part of a tensor is converted like the whole, and nothing beside it is touched.
TEST(Cast, RangesBeginAndEndAnywhere) {
  for (const auto& [from, to] : {std::pair{DType::f32, DType::si4},
                                 {DType::si4, DType::bf16},
                                 {DType::ui4, DType::si4},
                                 {DType::f16, DType::f16},
                                 {DType::si4, DType::si4},
                                 {DType::si64, DType::ui8}}) {
    std::vector<std::uint64_t> words(300);
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = from == DType::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(i % 7)) : i * 5 % 16;
    const auto whole = cast(from, to, words);
    const auto src = stored(from, words);
    const std::uint64_t blank = std::uint64_t{0xa5a5} & ~std::uint64_t{0} >> (64 - bits_of(to));
    for (const auto& [first, count] : {std::pair{0u, 1u}, {1u, 1u}, {1u, 0u}, {3u, 128u}, {3u, 129u}, {7u, 293u}}) {
      std::vector<std::byte> dst(zrt::bytes_of(to, words.size()), std::byte{0xa5});
      zrt::cast_elements(from, src.data(), to, dst.data(), first, count);
      for (std::size_t i = 0; i < words.size(); ++i) {
        const std::uint64_t untouched = bits_of(to) == 4 ? (i % 2 == 0 ? 0x5 : 0xa) : blank;
        ASSERT_EQ(bits_at(to, dst, i), i >= first && i < first + count ? whole[i] : untouched)
            << zrt::name(from) << " to " << zrt::name(to) << " [" << first << ", +" << count << ") at " << i;
      }
    }
  }
}

TEST(Cast, InPlaceWhereTheElementDoesNotGrow) {
  for (const DType from : computed_types()) {
    for (const DType to : computed_types()) {
      if (bits_of(to) > bits_of(from)) continue;
      std::vector<std::uint64_t> words(300);
      for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = (i * 0x9e3779b97f4a7c15u) >> (64 - bits_of(from)) & (from == DType::i1 ? 1u : ~std::uint64_t{0});
      const auto expected = cast(from, to, words);
      auto data = stored(from, words);
      zrt::cast_elements(from, data.data(), to, data.data(), 0, words.size());
      for (std::size_t i = 0; i < words.size(); ++i)
        ASSERT_EQ(bits_at(to, data, i), expected[i]) << zrt::name(from) << " to " << zrt::name(to) << " at " << i;
    }
  }
}

TEST(Cast, ATypeToItselfKeepsEveryBit) {
  for (const DType dtype : computed_types()) {
    std::vector<std::uint64_t> words{0, 1, 2, 3};
    // A signalling NaN with a payload, where the type has one.
    if (dtype == DType::fp8_e5m2) words = {0x7d, 0xfd};
    if (dtype == DType::f16 || dtype == DType::bf16) words = {0x7f81, 0xff85, 0x7d01};
    if (dtype == DType::f32) words = {0x7f800001, 0xff812345};
    if (dtype == DType::f64) words = {0x7ff0000000000001, 0xfff0000012345678};
    if (dtype == DType::i1) words = {0, 1};
    EXPECT_EQ(cast(dtype, dtype, words), words) << zrt::name(dtype);
  }
}

}  // namespace
}  // namespace cast_test
