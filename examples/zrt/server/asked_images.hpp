// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/asked_images.hpp: the encoded images of a prompt.
#pragma once

#include <zrt/engine/image_rows.hpp>

#include <memory>
#include <vector>

namespace program::server {

/// Encoded images, and where their rows begin among the prompt's tokens.
struct AskedImages {
  std::vector<zrt::ImageRows> rows;
  std::vector<std::uint32_t> firsts;

  /// Views of them for the engine, which copies what it is given.
  [[nodiscard]] std::vector<zrt::EmbeddingSpan> spans() const {
    std::vector<zrt::EmbeddingSpan> out;
    for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows[i].at(firsts[i]));
    return out;
  }
};

/// Room for rows of images: dropped when the engine has no more of them.
using ImageLease = std::shared_ptr<const void>;

}  // namespace program::server
