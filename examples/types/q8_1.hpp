// SPDX-License-Identifier: Apache-2.0
// examples/types/q8_1.hpp: the weight type Q8_1, added by a host; every source of the program includes it first.
#pragma once

#include <zrt/quant/layout.hpp>

ZRT_FP_BEGIN

/// Block of 32: f16 d, f16 s, then 32 signed bytes. Value j is byte j times d; s is d times the sum of the bytes, which
/// nothing here needs.
template <> struct zrt::quant::Layout<zrt::DType::q8_1> {
  static constexpr DType kDType = DType::q8_1;
  static constexpr std::uint32_t kElems = 32;
  static constexpr std::uint32_t kBytes = 36;
  static constexpr Act kAct = Act::q8_32;    // activations are rounded in groups of 32
  static constexpr std::uint32_t kRun = 32;  // elements under one weight scale and one activation scale
  static constexpr bool kHasOffset = false;

  static constexpr float scale(const std::byte* block, std::uint32_t) noexcept { return read_f16(block); }

  static void unpack(const std::byte* block, std::int8_t* q) noexcept {
    for (std::uint32_t j = 0; j < kElems; ++j) q[j] = signed_bytes(block + 4)[j];
  }
  /// The exact integer sum of bytes times activations.
  static std::int32_t dot(const std::byte* block, std::uint32_t, const std::int8_t* x) noexcept {
    const std::int8_t* q = signed_bytes(block + 4);
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < kRun; ++j) sum += q[j] * x[j];
    return sum;
  }

  static void dequantise(const std::byte* blocks, std::uint64_t elems, float* out) noexcept {
    for (std::uint64_t i = 0; i < elems; i += kElems, blocks += kBytes) {
      const float d = read_f16(blocks);
      for (std::uint32_t j = 0; j < kElems; ++j) out[i + j] = static_cast<float>(signed_bytes(blocks + 4)[j]) * d;
    }
  }
};
static_assert(zrt::quant::BlockLayout<zrt::quant::Layout<zrt::DType::q8_1>>);

template <> struct zrt::quant::HostTypes<void> {
  using List = boost::mp11::mp_list<Layout<DType::q8_1>>;
};

ZRT_FP_END
