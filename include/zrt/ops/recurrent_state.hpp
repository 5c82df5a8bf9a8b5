// SPDX-License-Identifier: Apache-2.0
// zrt/ops/recurrent_state.hpp: the part of a slot's recurrent block that an op keeps, and how its matrices lie.
#pragma once

#include <zrt/ops/op.hpp>

namespace zrt::inline ZRT_ABI {

/// Where an op's part of a block lies. The ops of one mixer share its block.
struct StatePart {
  std::uint32_t first = 0;  ///< floats before the part
  std::uint32_t total = 0;  ///< floats of the whole block

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&StatePart::first, "first"}, Member{&StatePart::total, "total"});

  /// The part in the block of a slot.
  [[nodiscard]] float* of(const HostState& state, std::uint32_t slot) const noexcept {
    return reinterpret_cast<float*>(state.unit(slot)) + first;
  }
};

/// Lets parts of `first_floats` and `second_floats` share a block.
constexpr void share_block(StatePart& first, std::uint32_t first_floats, StatePart& second,
                           std::uint32_t second_floats) noexcept {
  first = {0, first_floats + second_floats};
  second = {first_floats, first_floats + second_floats};
}

/// What a graph says of a block of `floats` floats.
[[nodiscard]] constexpr StateInfo recurrent_block(std::uint32_t floats) noexcept {
  return {StateLifecycle::recurrent, DType::f32, 0, 0, {floats, 0, 0, 0}};
}

/// Demands a recurrent block of `part.total` floats that holds the part's `size`.
template <class O>
[[nodiscard]] constexpr Result<void> expect_part(const StateInfo& state, const StatePart& part,
                                                 CheckedSize size) noexcept {
  if (state.lifecycle != StateLifecycle::recurrent)
    return fail(Errc::invalid_state, O::name, ": a recurrent state is required");
  if (!(state == recurrent_block(part.total)))
    return fail(Errc::invalid_state, O::name, ": the state is no block of ", part.total, " f32");
  const CheckedSize end = size + part.first;
  if (!end.ok() || end.raw() > part.total)
    return fail(Errc::invalid_state, O::name, ": the part does not fit a block of ", part.total, " f32");
  return {};
}

/// A matrix of `rows` rows whose columns are the lanes of kernels: tiles of sixteen columns, the last one narrower,
/// each with its rows one after the other.
struct LaneMatrix {
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;

  /// Columns of the tile that column `col` begins.
  [[nodiscard]] constexpr std::uint32_t width(std::uint32_t col) const noexcept {
    return cols - col < 16 ? cols - col : 16;
  }
  /// Index of an element.
  [[nodiscard]] constexpr std::uint64_t at(std::uint32_t row, std::uint32_t col) const noexcept {
    const std::uint32_t tile = col / 16 * 16;
    return std::uint64_t{tile} * rows + std::uint64_t{row} * width(tile) + (col - tile);
  }
};
static_assert(LaneMatrix{3, 20}.at(2, 17) == 16 * 3 + 2 * 4 + 1);

}  // namespace zrt::inline ZRT_ABI
