// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/reranker.hpp: decoders that score a document by the answers "yes" and "no"; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/folder.hpp>
#include <zrt/model/hub/keys.hpp>
#include <zrt/model/hub/settings.hpp>
#include <zrt/model/pooling.hpp>

#include <algorithm>
#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// The answers whose rows of the head are the head of a reranker.
inline constexpr std::array<std::string_view, 2> kAnswers{"yes", "no"};

namespace detail {

/// Qwen's prompt of Qwen3-Reranker, as llama.cpp keeps it in files.
inline constexpr std::string_view kRerankPrompt =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a "
    "web search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: "
    "{document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

/// Whether `text` holds `words`, whose letters are small, in letters of any size.
[[nodiscard]] inline bool holds(std::string_view text, std::string_view words) {
  const auto same = [](char of_text, char small) {
    return small == (of_text >= 'A' && of_text <= 'Z' ? of_text - 'A' + 'a' : of_text);
  };
  return std::search(text.begin(), text.end(), words.begin(), words.end(), same) != text.end();
}

}  // namespace detail

/// Whether a folder says that it is Qwen3-Reranker: nothing but names tells it from another decoder. Source: llama.cpp.
[[nodiscard]] inline bool is_qwen3_reranker(const Folder& folder, Settings& settings) {
  for (const std::string_view name : {folder.name(), settings.text({"_name_or_path"})})
    if (detail::holds(name, "qwen3-reranker")) return true;
  if (!folder.has("README.md")) return false;
  const auto page = folder.text("README.md");
  return page && detail::holds(*page, "# qwen3-reranker");
}

/// Says that scores are those of the answers, and by which prompt.
inline void add_reranker_keys(Keys& out) {
  out.of_model("pooling_type", static_cast<std::uint32_t>(Pooling::rank));
  out.of_model("classifier.output_labels", std::vector<std::string>(kAnswers.begin(), kAnswers.end()));
  out.set("tokenizer.chat_templates", std::vector<std::string>{"rerank"});
  out.set("tokenizer.chat_template.rerank", std::string(detail::kRerankPrompt));
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
