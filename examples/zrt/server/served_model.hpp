// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/served_model.hpp: what readers and writers of requests know of the model behind them.
#pragma once

#include "../model.hpp"
#include "grammar_cache.hpp"
#include <zrt/engine/image_rows.hpp>
#include <zrt/engine/model_set.hpp>
#include <zrt/model/fitted_image.hpp>
#include <zrt/text/chat/chat_template.hpp>
#include <zrt/text/chat/reply_parser.hpp>

#include <functional>
#include <optional>

namespace program::server {

/// An adapter as the API shows it: a model of its own.
struct ServedAdapter {
  std::string id;
  zrt::AdapterId adapter{};
};

/// How a model takes images.
struct ServedImages {
  zrt::model::VisionConfig config{};
  zrt::model::ImageLimits limits{};
  std::int32_t row_token = 0;     ///< stands for a row; templates write one for each image
  std::uint32_t row_numbers = 0;  ///< numbers in a row
  /// The rows of a PNG or JPEG. One call at a time of all models.
  std::function<zrt::Result<zrt::ImageRows>(std::string_view file)> encode{};
};

/// A model as the API shows it. Views the model, which outlives it; any thread may use it.
struct ServedModel {
  std::string id;
  zrt::ModelId place{};  ///< in the set
  std::vector<ServedAdapter> adapters{};
  std::string fingerprint;  ///< of numbers: equal ones give equal answers
  std::int64_t created = 0;
  const zrt::text::Tokenizer* tokenizer = nullptr;
  std::uint32_t context = 0;
  std::uint32_t vocabulary = 0;
  bool embeds = false;                        ///< it gives vectors, not text
  zrt::Pooling pooling = zrt::Pooling::last;  ///< of those vectors
  std::uint32_t width = 0;                    ///< of those vectors; of scores of labels it is not known before
  std::optional<zrt::text::chat::ChatTemplate> chat_template{};
  const zrt::text::chat::ReplyFormat* format = nullptr;
  std::unique_ptr<GrammarCache> grammars{};
  std::optional<ServedImages> images{};  ///< none of a model that reads text alone
};

/// All models of a server, by their places in the set.
using ServedModels = std::vector<std::unique_ptr<ServedModel>>;

/// The model that has this id, or an adapter of it; null for another.
[[nodiscard]] const ServedModel* find_model(const ServedModels& models, std::string_view id);

/// Reads what a server needs of an open model. `chat_template` is the source of one.
[[nodiscard]] zrt::Result<std::unique_ptr<ServedModel>> served_model(const Model& model, std::string id,
                                                                     std::string_view chat_template);

}  // namespace program::server
