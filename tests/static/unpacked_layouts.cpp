// SPDX-License-Identifier: Apache-2.0
// tests/static/unpacked_layouts.cpp: which layouts go through the kernels that types of a form share.
#include <zrt/backend/cpu/kernels/unpacked.hpp>
#include <zrt/quant/types.hpp>

namespace zrt::inline ZRT_ABI::quant {

/// A host's type whose offset is not the f16 behind the scale.
template <> struct Layout<DType::q8_1> : BlockOfRuns<DType::q8_1> {
  static constexpr bool kHasOffset = true;

  static constexpr float offset(const std::byte*, std::uint32_t) noexcept { return 1.0f; }
  static constexpr void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t i = 0; i < 32; ++i) q[i] = static_cast<std::int8_t>(std::to_integer<int>(block[4 + i]) & 127);
  }
};
static_assert(OffsetLayout<Layout<DType::q8_1>>);

}  // namespace zrt::inline ZRT_ABI::quant

namespace unpacked_layouts_test {
namespace {

using zrt::DType;
template <DType kType> using Layout = zrt::quant::Layout<kType>;

static_assert(zrt::cpu::UnpackedRun<Layout<DType::q4_1>> && zrt::cpu::UnpackedRun<Layout<DType::q5_0>>);
static_assert(zrt::cpu::UnpackedRun<Layout<DType::q5_1>> && zrt::cpu::UnpackedRun<Layout<DType::mxfp4>>);
static_assert(zrt::cpu::UnpackedParts<Layout<DType::iq1_s>> && zrt::cpu::UnpackedParts<Layout<DType::q3_k>>);
static_assert(!zrt::cpu::UnpackedRun<Layout<DType::nvfp4>> && !zrt::cpu::UnpackedParts<Layout<DType::q2_k>>);
static_assert(!zrt::cpu::UnpackedRun<Layout<DType::q8_1>> && !zrt::cpu::UnpackedParts<Layout<DType::q8_1>>);

}  // namespace
}  // namespace unpacked_layouts_test
