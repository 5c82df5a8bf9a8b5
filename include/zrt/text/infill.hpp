// SPDX-License-Identifier: Apache-2.0
// zrt/text/infill.hpp: prompts whose middle the model writes.
#pragma once

#include <zrt/text/tokenizer.hpp>

namespace zrt::inline ZRT_ABI::text {

/// Returns the ids of a prompt after which a model writes what stands between `before` and `after`: BOS where the
/// vocabulary wants it, prefix, `before`, suffix, `after`, middle ("Efficient Training of Language Models to Fill in
/// the Middle", Bavarian et al. 2022, the form PSM). Control tokens written in the texts are plain text.
///
/// Errors: Errc::unsupported_tokenizer where the vocabulary lacks a token of such prompts, and those of encode().
[[nodiscard]] inline Result<Vector<std::int32_t>> encode_infill(const Tokenizer& tokenizer, std::string_view before,
                                                                std::string_view after) noexcept {
  const auto prefix = tokenizer.infill(InfillToken::prefix);
  const auto suffix = tokenizer.infill(InfillToken::suffix);
  const auto middle = tokenizer.infill(InfillToken::middle);
  if (!prefix || !suffix || !middle)
    return fail(Errc::unsupported_tokenizer, "the vocabulary has no ",
                !prefix   ? "prefix"
                : !suffix ? "suffix"
                          : "middle",
                " token: the model writes no middle of a text");
  Vector<std::int32_t> ids(tokenizer.allocator());
  if (tokenizer.adds_bos())
    if (auto r = ids.push_back(*tokenizer.bos()); !r) return pass(r);
  if (auto r = ids.push_back(*prefix); !r) return pass(r);
  if (auto r = tokenizer.encode_into(before, {}, ids); !r) return pass(r);
  if (auto r = ids.push_back(*suffix); !r) return pass(r);
  if (auto r = tokenizer.encode_into(after, {}, ids); !r) return pass(r);
  if (auto r = ids.push_back(*middle); !r) return pass(r);
  return ids;
}

}  // namespace zrt::inline ZRT_ABI::text
