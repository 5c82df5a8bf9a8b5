// SPDX-License-Identifier: Apache-2.0
// tests/static/packed_layouts.cpp: which layouts are packed, and how.
#include <zrt/backend/cpu/pack.hpp>
#include <zrt/quant/types.hpp>

namespace zrt::inline ZRT_ABI::quant {

/// A host's type whose offset is not the f16 behind the scale.
template <> struct Layout<DType::q8_1> : BlockOfRuns<DType::q8_1> {
  static constexpr bool kHasOffset = true;
  using Integers = IntegerRange<0, 127>;

  static constexpr float offset(const std::byte*, std::uint32_t) noexcept { return 1.0f; }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t i = 0; i < 32; ++i) q[i] = static_cast<std::int8_t>(std::to_integer<int>(block[4 + i]) & 127);
  }
};
static_assert(OffsetLayout<Layout<DType::q8_1>>);

/// A host's type whose products are its own.
template <> struct Layout<DType::q8_k> : BlockOfParts<DType::q8_k, 256> {
  static constexpr std::int32_t dot(const std::byte*, std::uint32_t, const std::int8_t*) noexcept { return 1; }
  static constexpr void unpack(const std::byte*, std::int8_t* q) noexcept { q[0] = 0; }
};
static_assert(BlockLayout<Layout<DType::q8_k>>);

}  // namespace zrt::inline ZRT_ABI::quant

namespace packed_layouts_test {
namespace {

using zrt::DType;
using zrt::cpu::PackedForm;
template <DType kType> constexpr PackedForm kForm = zrt::cpu::kPackedType<kType>.form;

// As large as in the file, where sixteen rows fill whole vectors.
static_assert(kForm<DType::q4_0>.block_bytes() == 16 * 18 && kForm<DType::q8_0>.block_bytes() == 16 * 34);
static_assert(kForm<DType::q2_k>.half_factors && kForm<DType::q2_k>.block_bytes() == 16 * 84);
static_assert(kForm<DType::q5_1>.block_bytes() == 16 * 24 && kForm<DType::iq4_nl>.block_bytes() == 16 * 18);
static_assert(kForm<DType::q3_k>.bits == 3 && kForm<DType::q6_k>.bits == 6 && kForm<DType::tq1_0>.bits == 2);
static_assert(kForm<DType::q1_0>.bits == 1 && kForm<DType::q1_0>.levels[1] == 1);
// What a grid holds is six or sixteen values.
static_assert(kForm<DType::iq1_s>.bits == 4 && kForm<DType::iq1_s>.levels[0] == -7 && kForm<DType::iq1_m>.bits == 4);
static_assert(kForm<DType::iq2_xxs>.bits == 4 && kForm<DType::iq2_xs>.bits == 4 && kForm<DType::iq2_s>.bits == 4);
static_assert(kForm<DType::iq3_xxs>.bits == 4 && kForm<DType::iq3_s>.levels[15] == -15);
static_assert(kForm<DType::q4_k>.part == 32 && kForm<DType::q2_k>.part == 16 && kForm<DType::tq2_0>.part == 32);
static_assert(kForm<DType::nvfp4>.run == 16 && kForm<DType::nvfp4>.scale == DType::bf16);
static_assert(kForm<DType::q8_1>.scale == DType::f32 && kForm<DType::q8_1>.has_offset);
static_assert(kForm<DType::q8_1>.bits == 8 && kForm<DType::q8_1>.lowest == 0);
static_assert(!zrt::cpu::Packable<zrt::quant::Layout<DType::q8_k>>);

// Factors that fit half a byte take a whole one beside codes of four bits, whose loops read whole ones.
struct SmallFactors : zrt::quant::Layout<DType::q4_k> {
  static constexpr std::int32_t kMostFactor = 15;
};
static_assert(!zrt::cpu::detail::packed_form<SmallFactors>().half_factors);

}  // namespace
}  // namespace packed_layouts_test
