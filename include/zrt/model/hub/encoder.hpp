// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/encoder.hpp: tensors and keys that encoders share; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/decoder.hpp>

#include <map>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// What stands around the layers, and the head of a classifier.
inline constexpr auto kEncoderTensors = std::to_array<TensorRule>({{"embeddings.word_embeddings", "token_embd"},
                                                                   {"embeddings.token_type_embeddings", "token_types"},
                                                                   {"embeddings.position_ids"},
                                                                   {"pooler.dense"},
                                                                   {"classifier.dense", "cls"},
                                                                   {"classifier.out_proj", "cls.output"},
                                                                   {"classifier", "cls.output"}});

/// Labels of classes by their numbers.
inline void add_labels(Settings& in, Keys& out) {
  const HubJson* labels = in.find({"id2label"});
  if (labels == nullptr || !labels->is_object() || labels->empty()) return;
  const HubJson* first = hub::find(labels, "0");
  if (labels->size() == 2 && text_of(first) == "LABEL_0") return;
  std::map<std::uint32_t, std::string> by_number;
  for (const auto& [key, label] : labels->items()) {
    std::string_view digits = key;
    std::uint32_t number = 0;
    if (!detail::take_number(digits, number) || !digits.empty())
      return in.refuse(Errc::invalid_metadata, "id2label has '", detail::Quoted(key).view(), "', expected a number");
    by_number[number] = std::string(text_of(&label));
  }
  std::vector<std::string> list;
  for (auto& [number, label] : by_number) list.push_back(std::move(label));
  out.of_model("classifier.output_labels", std::move(list));
}

/// Sizes and norms, attention to both sides, and the labels of a classifier.
inline void add_encoder_keys(Settings& in, Keys& out) {
  add_decoder_keys(in, out);
  out.of_model("attention.causal", false);
  add_labels(in, out);
}

inline void add_token_type_count(Settings& in, const TokenizerFiles&, Keys& out) {
  out.set("tokenizer.ggml.token_type_count", in.count_if({"type_vocab_size"}).value_or(1));
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
