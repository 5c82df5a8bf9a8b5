// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image_prompt.hpp: a prompt with images among its text.
#pragma once

#include <zrt/engine/image_rows.hpp>
#include <zrt/text/tokenizer.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace program {

/// Tokens, and rows that stand in place of some.
struct ImagePrompt {
  zrt::Vector<std::int32_t> tokens{zrt::system_allocator()};
  std::vector<zrt::EmbeddingSpan> spans;  ///< views of the images
};

/// The tokens of an image: before its rows, in place of each, and behind them.
struct ImageTokens {
  std::int32_t start, row, end;

  /// Errors: Errc::unsupported_tokenizer for a vocabulary without them.
  [[nodiscard]] static zrt::Result<ImageTokens> of(const zrt::text::Tokenizer& tokenizer);
};

/// Where an image stands in a text, as chat templates of the family write it.
inline constexpr std::string_view kImagePlace = "<|vision_start|><|image_pad|><|vision_end|>";

/// Puts an image at each kImagePlace of the text, in their order, or before the text if it has none. As llama.cpp does,
/// each text between two images is encoded by itself.
///
/// Errors: Errc::invalid_argument for another number of places than images; Errc::unsupported_tokenizer for a vocabulary
/// without these tokens.
[[nodiscard]] zrt::Result<ImagePrompt> image_prompt(const zrt::text::Tokenizer& tokenizer, std::string_view text,
                                                    std::span<const zrt::ImageRows> images);

}  // namespace program
