// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image_prompt.cpp: puts the tokens of images between those of texts.
#include "image_prompt.hpp"

#include <array>

namespace program {
namespace {

using zrt::Errc;

/// The texts before, between and behind the images.
std::vector<std::string_view> texts_around(std::string_view text) {
  std::vector<std::string_view> texts;
  for (std::size_t at = text.find(kImagePlace); at != text.npos; at = text.find(kImagePlace)) {
    texts.push_back(text.substr(0, at));
    text.remove_prefix(at + kImagePlace.size());
  }
  texts.push_back(text);
  return texts;
}

zrt::Result<void> add_image(ImagePrompt& prompt, const ImageTokens& ids, const zrt::ImageRows& image) {
  if (auto r = prompt.tokens.push_back(ids.start); !r) return r;
  prompt.spans.push_back(image.at(static_cast<std::uint32_t>(prompt.tokens.size())));
  for (std::uint32_t row = 0; row < image.count; ++row)
    if (auto r = prompt.tokens.push_back(ids.row); !r) return r;
  return prompt.tokens.push_back(ids.end);
}

}  // namespace

zrt::Result<ImageTokens> ImageTokens::of(const zrt::text::Tokenizer& tokenizer) {
  std::array<std::int32_t, 3> ids{};
  constexpr std::array<std::string_view, 3> texts{"<|vision_start|>", "<|image_pad|>", "<|vision_end|>"};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = tokenizer.find_token(texts[i]);
    if (!id) return zrt::fail(Errc::unsupported_tokenizer, "the vocabulary has no token ", texts[i], " for images");
    ids[i] = *id;
  }
  return ImageTokens{ids[0], ids[1], ids[2]};
}

zrt::Result<ImagePrompt> image_prompt(const zrt::text::Tokenizer& tokenizer, std::string_view text,
                                      std::span<const zrt::ImageRows> images) {
  const auto ids = ImageTokens::of(tokenizer);
  if (!ids) return zrt::pass(ids);
  std::vector<std::string_view> texts = texts_around(text);
  if (texts.size() == 1) texts.insert(texts.begin(), images.size(), std::string_view());
  if (texts.size() != images.size() + 1)
    return zrt::fail(Errc::invalid_argument, "the prompt has ", texts.size() - 1, " places ", kImagePlace, " for ",
                     images.size(), " images");
  ImagePrompt prompt;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (auto r = tokenizer.encode_into(texts[i], {.add_special = i == 0, .parse_special = false}, prompt.tokens); !r)
      return zrt::pass(r);
    if (i == images.size()) break;
    if (auto r = add_image(prompt, *ids, images[i]); !r) return zrt::pass(r);
  }
  return prompt;
}

}  // namespace program
