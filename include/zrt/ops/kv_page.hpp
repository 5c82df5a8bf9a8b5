// SPDX-License-Identifier: Apache-2.0
// zrt/ops/kv_page.hpp: where keys and values lie in a page, and how they are stored.
#pragma once

#include <zrt/core/half.hpp>
#include <zrt/ops/op.hpp>
#include <zrt/quant/activation.hpp>
#include <zrt/quant/round_nibbles.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace zrt::inline ZRT_ABI {

/// Element types that pages are stored in.
inline constexpr auto kPageTypes = std::to_array({DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0});
inline constexpr std::string_view kPageTypeNames = "f32, f16, bf16, q8_0 or q4_0";

/// Layout of one page: the keys of each kv head, then the values of each.
///
/// f32, f16 and bf16: keys [key dim][16 tokens], values [16 tokens][value dim]. Tokens are innermost for keys because
/// scores put the page's tokens in the vector lanes, and dims are innermost for values because the outputs are the lanes
/// there.
/// q8_0 and q4_0: a token's dims in groups of 32 under one scale, the last filled up with zeros. First the codes in the
/// same order, a byte each; a byte of q4_0 holds the codes, plus 8, of dims j (low bits) and j + 16 of its group. Then the
/// f16 scales [groups][16 tokens].
struct KvPage {
  std::uint32_t heads = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  DType dtype = DType::f32;

  static constexpr std::uint32_t kGroup = 32;  ///< dims under one scale

  [[nodiscard]] static constexpr KvPage of(const StateInfo& state) noexcept {
    return {state.extents[0], state.extents[1], state.extents[2], state.dtype};
  }
  [[nodiscard]] static constexpr bool stores(DType dtype) noexcept {
    for (const DType stored : kPageTypes)
      if (stored == dtype) return true;
    return false;
  }
  /// The byte at which the keys of a head begin, and its values.
  [[nodiscard]] constexpr std::uint64_t keys_at(std::uint32_t head) const noexcept {
    return head * page_bytes(dtype, key_dim).raw();
  }
  [[nodiscard]] constexpr std::uint64_t values_at(std::uint32_t head) const noexcept {
    return keys_at(heads) + head * page_bytes(dtype, value_dim).raw();
  }
  /// Bytes of the codes of one token of a head, `dims` numbers.
  [[nodiscard]] constexpr std::uint64_t code_bytes(std::uint32_t dims) const noexcept {
    return std::uint64_t{(dims + kGroup - 1) / kGroup} * (dtype == DType::q4_0 ? kGroup / 2 : kGroup);
  }

  /// Writes the key of `token` of a head, key_dim numbers, rounded to the page's type.
  void store_key(std::byte* page, std::uint32_t head, std::uint32_t token, const float* x) const noexcept {
    store(page + keys_at(head), key_places(token), x);
  }
  /// Writes the value of `token` of a head, value_dim numbers, rounded to the page's type.
  void store_value(std::byte* page, std::uint32_t head, std::uint32_t token, const float* x) const noexcept {
    store(page + values_at(head), value_places(token), x);
  }
  /// Reads dim `i` of a key, widened.
  [[nodiscard]] float load_key(const std::byte* page, std::uint32_t head, std::uint32_t token,
                               std::uint32_t i) const noexcept {
    return load(page + keys_at(head), key_places(token), i);
  }
  /// Reads dim `i` of a value, widened.
  [[nodiscard]] float load_value(const std::byte* page, std::uint32_t head, std::uint32_t token,
                                 std::uint32_t i) const noexcept {
    return load(page + values_at(head), value_places(token), i);
  }

 private:
  /// Where a token's numbers lie in what a head has in a page: the first element, and how far the others lie apart.
  struct Places {
    std::uint32_t dims;
    std::uint32_t token;
    std::uint64_t first;
    std::uint64_t stride;
  };
  [[nodiscard]] constexpr Places key_places(std::uint32_t token) const noexcept {
    return {key_dim, token, token, kPageTokens};
  }
  [[nodiscard]] constexpr Places value_places(std::uint32_t token) const noexcept {
    return {value_dim, token, token * (is_block(dtype) ? code_bytes(value_dim) : value_dim), 1};
  }
  /// The byte of dim `i` among a token's codes.
  [[nodiscard]] constexpr std::uint64_t line(std::uint32_t i) const noexcept {
    return dtype == DType::q4_0 ? i / kGroup * (kGroup / 2) + i % (kGroup / 2) : i;
  }
  [[nodiscard]] constexpr std::uint64_t scale_at(const Places& p, std::uint32_t group) const noexcept {
    return code_bytes(p.dims) * kPageTokens + 2 * (std::uint64_t{group} * kPageTokens + p.token);
  }

  void store(std::byte* at, const Places& p, const float* x) const noexcept {
    if (is_block(dtype)) return store_groups(at, p, x);
    for (std::uint32_t i = 0; i < p.dims; ++i) {
      const std::uint64_t index = p.first + i * p.stride;
      if (dtype == DType::f32) {
        std::memcpy(at + index * 4, x + i, 4);
      } else {
        const std::uint16_t bits = dtype == DType::f16 ? to_f16(x[i]).bits : to_bf16(x[i]).bits;
        std::memcpy(at + index * 2, &bits, 2);
      }
    }
  }
  void store_groups(std::byte* at, const Places& p, const float* x) const noexcept {
    for (std::uint32_t i = 0; i < p.dims; i += kGroup) {
      float numbers[kGroup] = {};
      std::int8_t codes[kGroup];
      std::memcpy(numbers, x + i, (p.dims - i < kGroup ? p.dims - i : kGroup) * sizeof(float));
      const bool nibbles = dtype == DType::q4_0;
      const float d =
          nibbles ? quant::round_nibbles(numbers, kGroup, codes) : quant::round_group(numbers, kGroup, codes);
      const std::uint16_t scale = to_f16(d).bits;
      std::memcpy(at + scale_at(p, i / kGroup), &scale, 2);
      for (std::uint32_t j = 0; j < (nibbles ? kGroup / 2 : kGroup); ++j)
        at[p.first + line(i + j) * p.stride] = nibbles
                                                   ? static_cast<std::byte>((codes[j] + 8) | (codes[j + 16] + 8) << 4)
                                                   : static_cast<std::byte>(codes[j]);
    }
  }
  [[nodiscard]] float load(const std::byte* at, const Places& p, std::uint32_t i) const noexcept {
    if (is_block(dtype)) {
      std::uint16_t scale;
      std::memcpy(&scale, at + scale_at(p, i / kGroup), 2);
      const auto byte = std::to_integer<std::int32_t>(at[p.first + line(i) * p.stride]);
      const std::int32_t code = dtype == DType::q8_0 ? static_cast<std::int8_t>(byte)
                                                     : ((i % kGroup < kGroup / 2 ? byte : byte >> 4) & 15) - 8;
      return to_f32(Half{scale}) * static_cast<float>(code);
    }
    const std::uint64_t index = p.first + i * p.stride;
    if (dtype == DType::f32) {
      float x;
      std::memcpy(&x, at + index * 4, 4);
      return x;
    }
    std::uint16_t bits;
    std::memcpy(&bits, at + index * 2, 2);
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
    return fail(Errc::invalid_state, O::name, ": pages of ", name(state.dtype), ", expected ", kPageTypeNames);
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
