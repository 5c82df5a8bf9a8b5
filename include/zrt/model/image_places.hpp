// SPDX-License-Identifier: Apache-2.0
// zrt/model/image_places.hpp: where the rows of an image stand for a decoder that turns them by several axes.
#pragma once

#include <zrt/core/vector.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Time, line and column of each row of an image, and how many positions the rows take together.
struct ImagePlaces {
  Vector<std::uint32_t> places;  ///< [lines · columns][3]
  std::uint32_t advance = 0;     ///< the longer side: what comes after the image stands behind all of it

  /// Of an image of `lines` by `columns` rows. Source: the positions of the Qwen 2 VL and Qwen 3 VL families.
  ///
  /// Errors: Errc::invalid_argument for sides outside 1..2^12; Errc::out_of_memory.
  [[nodiscard]] static Result<ImagePlaces> of(std::uint32_t lines, std::uint32_t columns,
                                              const Allocator& allocator = system_allocator()) noexcept {
    constexpr std::uint32_t most = 1u << 12;
    if (lines - 1 >= most || columns - 1 >= most)
      return fail(Errc::invalid_argument, "an image of ", lines, " x ", columns, " rows, expected sides of 1..", most);
    ImagePlaces out{Vector<std::uint32_t>(allocator), lines > columns ? lines : columns};
    if (auto r = out.places.reserve(std::size_t{lines} * columns * 3); !r) return pass(r);
    for (std::uint32_t line = 0; line < lines; ++line)
      for (std::uint32_t column = 0; column < columns; ++column)
        if (auto r = out.places.append(std::array<std::uint32_t, 3>{0, line, column}); !r) return pass(r);
    return out;
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
