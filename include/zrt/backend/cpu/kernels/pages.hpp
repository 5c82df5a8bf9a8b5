// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/pages.hpp: keys and values into their pages.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_PAGES)
#define ZRT_BACKEND_CPU_KERNELS_PAGES

#include <zrt/backend/cpu/kernels/unroll.hpp>
#include <zrt/ops/host.hpp>
#include <zrt/ops/kv_page.hpp>

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

/// Writes a key head: one element in each of key_dim lines of 16 tokens.
ZRT_NOINLINE inline void write_key(const KvPage& page, std::byte* at, std::uint32_t head, std::uint32_t token,
                                   const float* x) noexcept {
  const std::size_t size = page.dtype == DType::f32 ? 4 : 2;
  std::byte* to = at + page.key(head, token) * size;
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
  const std::size_t size = page.dtype == DType::f32 ? 4 : 2;
  std::byte* to = at + page.value(head, token) * size;
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
