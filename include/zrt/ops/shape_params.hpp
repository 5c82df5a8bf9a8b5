// SPDX-License-Identifier: Apache-2.0
// zrt/ops/shape_params.hpp: a shape as it stands in a parameter block.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/ops/params.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// A Shape with a fixed layout.
struct ShapeParams {
  std::array<std::uint32_t, kMaxRank> extent{};
  std::array<std::uint8_t, kMaxRank> symbol{};
  std::uint32_t rank = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ShapeParams::extent, "extent"},
                                            Member{&ShapeParams::symbol, "symbol"}, Member{&ShapeParams::rank, "rank"});

  [[nodiscard]] static constexpr ShapeParams of(const Shape& shape) noexcept {
    ShapeParams params;
    params.rank = shape.rank;
    for (std::size_t axis = 0; axis < shape.rank && axis < kMaxRank;
         ++axis) {  // the second for GCC, which warns at -O3
      params.extent[axis] = shape.dims[axis].extent;
      params.symbol[axis] = shape.dims[axis].symbol;
    }
    return params;
  }
  /// False when the rank or a symbol number is out of range.
  [[nodiscard]] constexpr bool valid() const noexcept {
    if (rank > kMaxRank) return false;
    for (std::uint8_t s : symbol)
      if (s >= kMaxSymbols) return false;
    return true;
  }
  [[nodiscard]] constexpr Shape shape() const noexcept {
    Shape result;
    result.rank = static_cast<std::uint8_t>(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) result.dims[axis] = Dim(extent[axis], symbol[axis]);
    return result;
  }
};

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
