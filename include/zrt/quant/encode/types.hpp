// SPDX-License-Identifier: Apache-2.0
// zrt/quant/encode/types.hpp: how rows of each weight type are written, by DType at run time.
#pragma once

#include <zrt/quant/encode/encode_blocks.hpp>
#include <zrt/quant/encode/encode_grid.hpp>
#include <zrt/quant/types.hpp>

namespace zrt::inline ZRT_ABI::quant {

/// What writes `elems` numbers, a multiple of the type's block, as blocks. `weight` has the numbers' importance, one for
/// each element of a row; types without blocks heed none.
using Encode = void (*)(const float* x, const float* weight, std::uint64_t elems, std::byte* blocks) noexcept;

namespace detail {

inline void encode_f32(const float* x, const float*, std::uint64_t elems, std::byte* out) noexcept {
  for (std::uint64_t i = 0; i < elems; ++i) write_little(out + 4 * i, std::bit_cast<std::uint32_t>(x[i]));
}
inline void encode_f16(const float* x, const float*, std::uint64_t elems, std::byte* out) noexcept {
  for (std::uint64_t i = 0; i < elems; ++i) write_little(out + 2 * i, to_f16(x[i]).bits);
}
inline void encode_bf16(const float* x, const float*, std::uint64_t elems, std::byte* out) noexcept {
  for (std::uint64_t i = 0; i < elems; ++i) write_little(out + 2 * i, to_bf16(x[i]).bits);
}

/// Whether something writes type L.
template <class L>
inline constexpr bool kIsWritten = WritableLayout<L> || GridLayout<L> || L::kDType == DType::f32 ||
                                   L::kDType == DType::f16 || L::kDType == DType::bf16;

template <class L> consteval Encode encoder() {
  if constexpr (WritableLayout<L>)
    return &encode_blocks<L>;
  else if constexpr (GridLayout<L>)
    return &encode_grid<L>;
  else if constexpr (L::kDType == DType::f32)
    return &encode_f32;
  else if constexpr (L::kDType == DType::f16)
    return &encode_f16;
  else if constexpr (L::kDType == DType::bf16)
    return &encode_bf16;
  else
    return nullptr;
}

struct Encoder {
  DType dtype;
  bool exists;  // asked at compile time, where sanitizers compare no addresses
  Encode encode;
};
template <class... L> consteval auto encoder_table(boost::mp11::mp_list<L...>) {
  return std::array{Encoder{L::kDType, kIsWritten<L>, encoder<L>()}...};
}

}  // namespace detail

/// What writes each type of a list, in its order; null where nothing does.
template <class List> inline constexpr auto kEncodersOf = detail::encoder_table(List{});

/// Whether `dtype` is a type of the list that can be written.
template <class List = Types> [[nodiscard]] constexpr bool can_write(DType dtype) noexcept {
  for (const detail::Encoder& row : kEncodersOf<List>)
    if (row.dtype == dtype) return row.exists;
  return false;
}

/// Returns what writes `dtype`, or null for one that is only read.
template <class List = Types> [[nodiscard]] constexpr Encode find_encoder(DType dtype) noexcept {
  for (const detail::Encoder& row : kEncodersOf<List>)
    if (row.dtype == dtype) return row.encode;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::quant
