// SPDX-License-Identifier: Apache-2.0
// zrt/quant/layout.hpp: what a weight type's header says about it, and the concepts that hold it.
#pragma once

#include <zrt/core/dtype.hpp>
#include <zrt/core/half.hpp>
#include <zrt/core/little_endian.hpp>
#include <zrt/quant/activation.hpp>

#include <boost/mp11/list.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::quant {

/// Describes one weight type: its block, its dequantisation, its exact integer dot.
///
/// A type has one header with one specialisation, followed by a static_assert of its concept. zrt's types have a line
/// in types.hpp; a host's stand in HostTypes.
template <DType T> struct Layout;

/// The weight types that a host adds to zrt's: specialise it for void in the header of the Layouts, and include that
/// header first in every source of the program. docs/adding-a-weight-type.md shows one.
template <class> struct HostTypes {
  using List = boost::mp11::mp_list<>;
};

/// A type that can be stored in weights: block size and dequantisation.
///
/// `dequantise(blocks, elems, out)` writes `elems` values, a multiple of kElems.
template <class L>
concept WeightLayout = requires(const std::byte* blocks, std::uint64_t elems, float* out) {
  { L::kDType } -> std::convertible_to<DType>;
  { L::kElems } -> std::convertible_to<std::uint32_t>;
  { L::kBytes } -> std::convertible_to<std::uint32_t>;
  { L::kAct } -> std::convertible_to<Act>;
  { L::dequantise(blocks, elems, out) } noexcept -> std::same_as<void>;
  requires L::kElems == info(L::kDType).block_elems;
  requires L::kBytes == info(L::kDType).block_bytes;
};

/// A block type whose rows meet rounded activations in integers.
///
/// A run is the part of a block under one weight scale and one activation scale: kRun elements,
/// kElems / kRun of them in a block. For run `r` of a block and its kRun activations `x`:
/// `scale(block, r)` is d_w, and `dot(block, r, x)` the exact integer sum of weight times
/// activation, integer sub-scales included. With kHasOffset there are also `offset(block, r)`,
/// which is m_w with its sign, and `offset_sum(block, r, x)`, its exact integer factor.
/// `unpack(block, q)` writes the kElems integers of a block, without sub-scales.
template <class L>
concept BlockLayout =
    WeightLayout<L> && requires(const std::byte* block, std::uint32_t run, const std::int8_t* x, std::int8_t* q) {
      { L::kRun } -> std::convertible_to<std::uint32_t>;
      { L::kHasOffset } -> std::convertible_to<bool>;
      { L::scale(block, run) } noexcept -> std::same_as<float>;
      { L::dot(block, run, x) } noexcept -> std::same_as<std::int32_t>;
      { L::unpack(block, q) } noexcept -> std::same_as<void>;
      requires L::kAct != Act::none;
      requires L::kElems % L::kRun == 0;
      requires group_elems(L::kAct) % L::kRun == 0;
    };

/// A block type with an offset beside its scale.
template <class L>
concept OffsetLayout =
    BlockLayout<L> && L::kHasOffset && requires(const std::byte* block, std::uint32_t run, const std::int8_t* x) {
      { L::offset(block, run) } noexcept -> std::same_as<float>;
      { L::offset_sum(block, run, x) } noexcept -> std::same_as<std::int32_t>;
    };

/// A block type that can be written.
///
/// `Integers` are those that a block can hold, as `unpack` gives them, and `pack(q, block)` is the inverse of it: it
/// leaves scales, offsets and factors alone. `store_scale(block, run, d)` stores what is nearest to d, so that `scale`
/// returns it. Where parts have integer factors, `store_factors(f, block)` is the inverse of `factors`, and kLeastFactor
/// and kMostFactor bound them. With an offset there is `store_offset(block, m)`; offsets of types with factors are never
/// positive.
template <class L>
concept WritableLayout = BlockLayout<L> && requires(std::byte* block, const std::int8_t* q) {
  { L::Integers::nearest(0.0f) } -> std::same_as<std::int8_t>;
  { L::pack(q, block) } noexcept -> std::same_as<void>;
  { L::store_scale(block, 0u, 1.0f) } noexcept -> std::same_as<void>;
};

/// Sees stored bytes as the signed bytes that they are.
///
/// A layout multiplies what it reads through this, never `static_cast<std::int8_t>(byte)`: GCC 12
/// takes the sum of such products for a product of unsigned bytes where it has AVX512_VNNI, and the
/// answer is wrong.
[[nodiscard]] inline const std::int8_t* signed_bytes(const std::byte* bytes) noexcept {
  return reinterpret_cast<const std::int8_t*>(bytes);
}

/// Reads a little-endian 16-bit word, which need not be aligned.
[[nodiscard]] constexpr std::uint16_t read_u16(const std::byte* bytes) noexcept {
  return read_little<std::uint16_t>(bytes);
}

/// Reads a little-endian 32-bit word, which need not be aligned.
[[nodiscard]] constexpr std::uint32_t read_u32(const std::byte* bytes) noexcept {
  return read_little<std::uint32_t>(bytes);
}

/// Stores a number as the nearest f16; what is too large becomes the largest.
constexpr void store_f16(std::byte* bytes, float x) noexcept {
  constexpr float kMost = 65504.0f;
  write_little<std::uint16_t>(bytes, to_f16(x > kMost ? kMost : x < -kMost ? -kMost : x).bits);
}

/// Reads an f16, as the scales of most block types are stored.
[[nodiscard]] constexpr float read_f16(const std::byte* bytes) noexcept { return to_f32(Half{read_u16(bytes)}); }

}  // namespace zrt::inline ZRT_ABI::quant
