// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/family.hpp: what a family of models says of its folders; an optional header that needs nlohmann-json.
#pragma once

#include <zrt/model/hub/keys.hpp>
#include <zrt/model/hub/made_tensor.hpp>
#include <zrt/model/hub/settings.hpp>
#include <zrt/model/hub/tokenizer_files.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Which files a vocabulary is read from.
enum class VocabularyFiles : std::uint8_t {
  bpe,                    ///< tokenizer.json
  sentence_piece,         ///< tokenizer.model
  sentence_piece_or_bpe,  ///< tokenizer.model where it is there
};

/// A family of models: its names on both sides, its tensors, its keys.
struct Family {
  std::string_view name;                       ///< general.architecture
  Span<const std::string_view> architectures;  ///< what config.json says in `architectures`
  Span<const TensorRule> tensors{};            ///< searched before kDecoderTensors
  void (*add_keys)(Settings&, Keys&) = nullptr;
  VocabularyFiles vocabulary = VocabularyFiles::bpe;
  /// Tensors of layers behind the last, which predict further tokens, mean nothing to a file.
  bool drops_later_layers = false;
  /// Texts of added tokens stay as they are, and only those that the files call special are markup.
  bool added_as_listed = false;
  /// Counts of heads and their size, for rows that follow from them.
  HeadSizes (*heads)(Settings&) = nullptr;
  /// Adds tensors that follow from the configuration.
  void (*add_tensors)(Settings&, Keys&, std::vector<MadeTensor>&) = nullptr;
  /// Adds or changes keys of the vocabulary.
  void (*add_vocabulary_keys)(Settings&, const TokenizerFiles&, Keys&) = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
