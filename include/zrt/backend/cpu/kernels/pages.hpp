// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/pages.hpp: keys and values into their pages.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_PAGES)
#define ZRT_BACKEND_CPU_KERNELS_PAGES

#include <zrt/backend/cpu/kernels/largest.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/kernels/round.hpp>
#include <zrt/ops/host.hpp>
#include <zrt/ops/kv_page.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/pages.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Stores `count` elements, at most 16, rounded to the page's type; `to` has room for 16 f32.
ZRT_NOINLINE inline void store_rounded(DType dtype, const float* x, std::size_t count, std::byte* to) noexcept {
  const F32 v = load_first(x, count);
  if (dtype == DType::f32)
    store(reinterpret_cast<float*>(to), v);
  else if (dtype == DType::f16)
    store_f16(to, v);
  else
    store_bf16(to, v);
}

/// Rounds a group of 32 as quant::round_nibbles does.
inline float round_one_group_to_nibbles(const float* x, std::int8_t* q) noexcept {
  const F32 low = load(x);
  const F32 high = load(x + 16);
  const I32 magnitude = splat_i32(0x7fffffff);
  const I32 a = iand(as_i32(low), magnitude);
  const I32 b = iand(as_i32(high), magnitude);
  const bool finite = reduce_max(iselect(igreater(a, b), a, b)) < 0x7f800000;
  const F32 zero = splat(0.0f);
  const float highest = largest_lane(max(max(low, high), zero));
  const float lowest = -largest_lane(max(max(zero - low, zero - high), zero));
  const float extreme = -lowest >= highest ? lowest : highest;
  const float inverse = -8.0f / extreme;
  if (!finite || (std::bit_cast<std::uint32_t>(inverse) & 0x7fffffffu) >= 0x7f800000u) {
    store_i8(q, splat_i32(0));
    store_i8(q + 16, splat_i32(0));
    return finite ? 0.0f : std::bit_cast<float>(0x7fc00000u);
  }
  // No product is below -8 by as much as a half.
  const I32 most = splat_i32(7);
  const I32 first = to_i32(low * splat(inverse));
  const I32 second = to_i32(high * splat(inverse));
  store_i8(q, iselect(igreater(first, most), most, first));
  store_i8(q + 16, iselect(igreater(second, most), most, second));
  return extreme / -8.0f;
}

/// Writes `dims` numbers of a token as KvPage does: codes `stride` apart from `codes` on, scales from `scales` on.
inline void write_groups(DType dtype, const float* x, std::uint32_t dims, std::byte* codes, std::size_t stride,
                         std::byte* scales) noexcept {
  for (std::uint32_t i = 0; i < dims; i += KvPage::kGroup, scales += 2 * kPageTokens) {
    alignas(64) float numbers[KvPage::kGroup] = {};
    std::int8_t q[KvPage::kGroup];
    std::memcpy(numbers, x + i, (dims - i < KvPage::kGroup ? dims - i : KvPage::kGroup) * sizeof(float));
    float d = 0.0f;
    if (dtype == DType::q4_0) {
      d = round_one_group_to_nibbles(numbers, q);
      for (std::size_t j = 0; j < 16; ++j, codes += stride)
        *codes = static_cast<std::byte>((q[j] + 8) | (q[j + 16] + 8) << 4);
    } else {
      std::int32_t sum = 0;
      std::int32_t halves[2];
      round_one_group(numbers, q, d, sum, halves);
      for (std::size_t j = 0; j < KvPage::kGroup; ++j, codes += stride) *codes = static_cast<std::byte>(q[j]);
    }
    const std::uint16_t scale = to_f16(d).bits;
    std::memcpy(scales, &scale, sizeof scale);
  }
}

/// Writes a key head: one element in each of key_dim lines of 16 tokens.
ZRT_NOINLINE inline void write_key(const KvPage& page, std::byte* at, std::uint32_t head, std::uint32_t token,
                                   const float* x) noexcept {
  at += page.keys_at(head);
  if (is_block(page.dtype))
    return write_groups(page.dtype, x, page.key_dim, at + token, kPageTokens,
                        at + kPageTokens * page.code_bytes(page.key_dim) + 2 * token);
  const std::size_t size = page.dtype == DType::f32 ? 4 : 2;
  std::byte* to = at + token * size;
  alignas(64) std::byte rounded[64];
  for (std::uint32_t i = 0; i < page.key_dim; i += 16) {
    const std::size_t count = page.key_dim - i < 16 ? page.key_dim - i : 16;
    store_rounded(page.dtype, x + i, count, rounded);
    for (std::size_t j = 0; j < count; ++j) {
      if (size == 4)
        std::memcpy(to + (i + j) * (kPageTokens * 4), rounded + j * 4, 4);
      else
        std::memcpy(to + (i + j) * (kPageTokens * 2), rounded + j * 2, 2);
    }
  }
}
ZRT_NOINLINE inline void write_value(const KvPage& page, std::byte* at, std::uint32_t head, std::uint32_t token,
                                     const float* x) noexcept {
  at += page.values_at(head);
  if (is_block(page.dtype)) {
    const std::uint64_t codes = page.code_bytes(page.value_dim);
    return write_groups(page.dtype, x, page.value_dim, at + token * codes, 1, at + kPageTokens * codes + 2 * token);
  }
  const std::size_t size = page.dtype == DType::f32 ? 4 : 2;
  std::byte* to = at + std::uint64_t{token} * page.value_dim * size;
  alignas(64) std::byte rounded[64];
  for (std::uint32_t i = 0; i < page.value_dim; i += 16) {
    const std::size_t count = page.value_dim - i < 16 ? page.value_dim - i : 16;
    store_rounded(page.dtype, x + i, count, rounded);
    std::memcpy(to + i * size, rounded, count * size);
  }
}

/// The page of row `t`'s position, and the position's place in it.
struct PagePlace {
  std::byte* page;
  std::uint32_t token;
};
[[nodiscard]] inline PagePlace place_of(const HostState& state, const ExecutionContext& step,
                                        std::uint64_t t) noexcept {
  const std::uint32_t position = step.positions[t];
  const std::uint32_t* list = step.page_list(state.info.group, step.slots[t]);
  return {state.unit(list[position / kPageTokens]), position % kPageTokens};
}

#endif
