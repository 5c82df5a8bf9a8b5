// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/served_model.cpp: reads names, template and vocabulary of a model.
#include "served_model.hpp"
#include <zrt/core/version.hpp>

#include <algorithm>
#include <ctime>

namespace program::server {
namespace {

std::string_view text_of(const zrt::text::Tokenizer& tokenizer, std::optional<std::int32_t> id) {
  return id ? tokenizer.token_text(*id) : std::string_view();
}

/// One vector for a text: as the file says, or the last token's where it says none or one for each token.
zrt::Pooling pooling_of(const zrt::model::Config& config) {
  const bool one = config.pooling != zrt::Pooling::from_file && config.pooling != zrt::Pooling::none;
  return one ? config.pooling : zrt::Pooling::last;
}

}  // namespace

const ServedModel* find_model(const ServedModels& models, std::string_view id) {
  for (const auto& model : models)
    if (model->id == id || std::ranges::find(model->adapters, id, &ServedAdapter::id) != model->adapters.end())
      return model.get();
  return nullptr;
}

zrt::Result<std::unique_ptr<ServedModel>> served_model(const Model& model, std::string id,
                                                       std::string_view chat_template) {
  auto served = std::make_unique<ServedModel>();
  served->id = std::move(id);
  served->fingerprint = "zrt-" + std::string(zrt::version()) + "-" + std::string(model.backend());
  served->created = std::time(nullptr);
  served->tokenizer = model.tokenizer();
  served->context = model.context();
  served->embeds = model.config().embeddings;
  served->pooling = pooling_of(model.config());
  if (served->pooling != zrt::Pooling::rank) served->width = model.config().width;
  if (served->tokenizer == nullptr) return zrt::fail(zrt::Errc::unsupported_tokenizer, "the model has no vocabulary");
  served->vocabulary = static_cast<std::uint32_t>(served->tokenizer->vocab_size());
  auto trie = zrt::text::grammar::TokenTrie::make(*served->tokenizer);
  if (!trie) return zrt::pass(trie);
  served->grammars = std::make_unique<GrammarCache>(std::move(*trie));
  auto read = zrt::text::chat::ChatTemplate::make(chat_template, text_of(*served->tokenizer, served->tokenizer->bos()),
                                                  text_of(*served->tokenizer, served->tokenizer->eos()));
  if (!read) return zrt::pass(read);
  served->chat_template.emplace(std::move(*read));
  served->format = &zrt::text::chat::reply_format_of(chat_template);
  return served;
}

}  // namespace program::server
