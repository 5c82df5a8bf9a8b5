// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/weight_parts.cpp: the parts of a weight type divide its runs.
// expect-error: zrt: a block holds whole runs, a run whole parts, and a block at most 16 parts
// compiled alone: it writes a layout that the library has
#include <zrt/quant/forms.hpp>

#ifdef ZRT_COMPILE_FAIL
inline constexpr std::uint32_t kPart = 48;
#else
inline constexpr std::uint32_t kPart = 32;
#endif

namespace zrt::inline ZRT_ABI::quant {

template <> struct Layout<DType::q2_k> : BlockOfParts<DType::q2_k, kPart> {
  static constexpr void factors(const std::byte*, Factors&) noexcept {}
  static constexpr void unpack(const std::byte*, std::int8_t*) noexcept {}
};

}  // namespace zrt::inline ZRT_ABI::quant

void read(const std::byte* block, float* out) { zrt::quant::Layout<zrt::DType::q2_k>::dequantise(block, 256, out); }
