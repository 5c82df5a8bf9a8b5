// SPDX-License-Identifier: Apache-2.0
// zrt/ops/kv_page.hpp: where a key or value element lies in a page, and how it is stored.
#pragma once

#include <zrt/core/half.hpp>
#include <zrt/ops/op.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI {

/// Layout of one page: keys [kv head][key dim][16 tokens], then values [kv head][16 tokens][value dim].
///
/// Tokens are innermost for keys because scores put the page's tokens in the vector lanes, and
/// dims are innermost for values because the outputs are the lanes there.
struct KvPage {
  std::uint32_t heads = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  DType dtype = DType::f32;

  [[nodiscard]] static constexpr KvPage of(const StateInfo& state) noexcept {
    return {state.extents[0], state.extents[1], state.extents[2], state.dtype};
  }
  /// Element index of key dim 0 of `token`; the next dim is kPageTokens further.
  [[nodiscard]] constexpr std::uint64_t key(std::uint32_t head, std::uint32_t token) const noexcept {
    return std::uint64_t{head} * key_dim * kPageTokens + token;
  }
  /// Element index of value dim 0 of `token`; dims are adjacent.
  [[nodiscard]] constexpr std::uint64_t value(std::uint32_t head, std::uint32_t token) const noexcept {
    return std::uint64_t{heads} * key_dim * kPageTokens + (std::uint64_t{head} * kPageTokens + token) * value_dim;
  }
  [[nodiscard]] static constexpr bool stores(DType dtype) noexcept {
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  }
  /// Writes element `index`, rounded to the page's type.
  void store(std::byte* page, std::uint64_t index, float x) const noexcept {
    if (dtype == DType::f32) {
      std::memcpy(page + index * 4, &x, 4);
    } else {
      const std::uint16_t bits = dtype == DType::f16 ? to_f16(x).bits : to_bf16(x).bits;
      std::memcpy(page + index * 2, &bits, 2);
    }
  }
  /// Reads element `index`, widened.
  [[nodiscard]] float load(const std::byte* page, std::uint64_t index) const noexcept {
    if (dtype == DType::f32) {
      float x;
      std::memcpy(&x, page + index * 4, 4);
      return x;
    }
    std::uint16_t bits;
    std::memcpy(&bits, page + index * 2, 2);
    return dtype == DType::f16 ? to_f32(Half{bits}) : to_f32(BFloat16{bits});
  }
};

/// Demands a kv_paged state that holds `heads` of `key_dim` and `value_dim`.
template <class O>
[[nodiscard]] constexpr Result<void> expect_kv(const StateInfo& state, std::uint32_t heads, std::uint32_t key_dim,
                                               std::uint32_t value_dim) noexcept {
  if (state.lifecycle != StateLifecycle::kv_paged)
    return fail(Errc::invalid_state, O::name, ": a kv_paged state is required");
  if (state.extents[0] != heads || state.extents[1] != key_dim || state.extents[2] != value_dim)
    return fail(Errc::invalid_state, O::name, ": the state holds ", state.extents[0], " heads of ", state.extents[1],
                " and ", state.extents[2], ", expected ", heads, " of ", key_dim, " and ", value_dim);
  if (!KvPage::stores(state.dtype))
    return fail(Errc::invalid_state, O::name, ": pages of ", name(state.dtype), " are not computed");
  return {};
}

/// Demands a state that keeps all that attention over `window` positions, 0 for all, sees.
template <class O>
[[nodiscard]] constexpr Result<void> expect_kept(const StateInfo& state, std::uint32_t window) noexcept {
  const std::uint32_t kept = window_of(state);
  if (kept == 0 || (window != 0 && window <= kept)) return {};
  return fail(Errc::invalid_state, O::name, ": the state keeps the last ", kept, " positions, attention sees ", window,
              ", where 0 is all");
}

}  // namespace zrt::inline ZRT_ABI
