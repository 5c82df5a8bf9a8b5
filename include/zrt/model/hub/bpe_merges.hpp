// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/bpe_merges.hpp: the merges of a BPE vocabulary; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/model/hub/json.hpp>

#include <string>
#include <vector>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

/// A merge is a text, or a list of two; spaces within its parts are written as bytes are.
[[nodiscard]] inline Result<std::string> merge_of(const HubJson& merge) {
  if (merge.is_string()) return merge.get<std::string>();
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string())
    return fail(Errc::invalid_file, "tokenizer.json: a merge is ", merge.type_name(), ", expected two texts");
  constexpr std::string_view kSpace = "\xc4\xa0";
  std::string out;
  for (const HubJson& part : merge) {
    if (&part != &merge[0]) out += ' ';
    for (const char c : text_of(&part)) {
      if (c == ' ')
        out += kSpace;
      else
        out += c;
    }
  }
  return out;
}

/// The merges of a BPE vocabulary, as a model's file has them. Errors: Errc::invalid_file.
[[nodiscard]] inline Result<std::vector<std::string>> read_merges(const HubJson& merges) {
  std::vector<std::string> pairs;
  for (const HubJson& merge : merges) {
    auto pair = merge_of(merge);
    if (!pair) return pass(pair);
    pairs.push_back(std::move(*pair));
  }
  return pairs;
}

/// Expects a model of BPE with a vocabulary and merges. Errors: Errc::unsupported_tokenizer.
[[nodiscard]] inline Result<void> expect_bpe(const HubJson* model) {
  const HubJson* vocabulary = find(model, "vocab");
  const HubJson* merges = find(model, "merges");
  const std::string_view type = text_of(find(model, "type"));
  if (vocabulary != nullptr && vocabulary->is_object() && merges != nullptr && merges->is_array() &&
      (type.empty() || type == "BPE"))
    return {};
  return fail(Errc::unsupported_tokenizer, "tokenizer.json holds a model '", Quoted(type).view(),
              "', expected BPE with vocab and merges");
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
