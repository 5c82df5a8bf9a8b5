// SPDX-License-Identifier: Apache-2.0
// zrt/engine/image_rows.hpp: an encoded image, ready for a prompt.
#pragma once

#include <zrt/engine/request.hpp>
#include <zrt/model/image_places.hpp>

namespace zrt::inline ZRT_ABI {

/// An image as a prompt takes it.
struct ImageRows {
  Vector<float> rows;  ///< [count × columns of the encoder]
  std::uint32_t count = 0;
  model::ImagePlaces places;

  /// The rows from the prompt's token `first` on; it views them.
  [[nodiscard]] EmbeddingSpan at(std::uint32_t first) const noexcept {
    return {first, rows.span(), places.places.span(), places.advance};
  }
};

}  // namespace zrt::inline ZRT_ABI
