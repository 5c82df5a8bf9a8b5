// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/quant_offset_missing.cpp: a weight type with an offset says how to read it.
// expect-error: zrt: a weight type with kHasOffset needs offset\(\) and offset_sum\(\) in its header
// expect-error: dot_blocks.*ShiftedLayout
#include <zrt/quant/types.hpp>

struct ShiftedLayout : zrt::quant::Layout<zrt::DType::q8_0> {
  static constexpr bool kHasOffset = true;
#ifndef ZRT_COMPILE_FAIL
  static float offset(const std::byte*, std::uint32_t) noexcept { return 0.0f; }
  static std::int32_t offset_sum(const std::byte*, std::uint32_t, const std::int8_t*) noexcept { return 0; }
#endif
};

float dot_row(const std::byte* row, const std::int8_t* q, const float* d) {
  return zrt::quant::dot_blocks<ShiftedLayout>(row, q, d, 32);
}
