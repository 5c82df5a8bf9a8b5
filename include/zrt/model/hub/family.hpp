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
  characters,             ///< tokenizer.json, BPE over characters
  sentence_piece,         ///< tokenizer.model
  sentence_piece_or_bpe,  ///< tokenizer.model where it is there
  word_piece,             ///< tokenizer.json, or vocab.txt
  unigram,                ///< tokenizer.json
  unigram_pieces,         ///< tokenizer.model or spiece.model
};

/// A family of models: its names on both sides, its tensors, its keys.
struct HubFamily {
  std::string_view name;                       ///< general.architecture
  Span<const std::string_view> architectures;  ///< what config.json says in `architectures`
  Span<const TensorRule> tensors{};            ///< searched before kDecoderTensors
  std::string_view within{};                   ///< goes before names that do not begin with it, but for the head's
  Span<const Renaming> renamings{};            ///< applied one behind the other, each to the first place
  void (*add_keys)(Settings&, Keys&) = nullptr;
  VocabularyFiles vocabulary = VocabularyFiles::bpe;
  /// Tensors of layers behind the last, which predict further tokens, mean nothing to a file.
  bool drops_later_layers = false;
  /// Texts of added tokens stay as they are, and only those that the files call special are markup.
  bool added_as_listed = false;
  /// A head that equals the embeddings is left out.
  bool drops_equal_head = false;
  /// A head is left out where the configuration says that the embeddings are it.
  bool drops_tied_head = false;
  /// Experts may be blocks of MXFP4 already.
  bool takes_mxfp4 = false;
  /// Vectors of tokens become one of a text, as modules.json says.
  bool pools = false;
  /// Whether a folder is of a model whose answer to a prompt is "yes" or "no"; null: never.
  bool (*answers_yes)(const Folder&, Settings&) = nullptr;
  /// What the number of tokens is a multiple of, where config.json has no `pad_vocab_size_multiple`; 0: any.
  std::uint32_t token_multiple = 0;
  /// Which of the families with one architecture a configuration is of; null: any.
  bool (*suits)(Settings&) = nullptr;
  /// Counts of heads and their size, for rows that follow from them.
  HeadSizes (*heads)(Settings&) = nullptr;
  /// Adds what rows of a tensor of the file are multiplied with.
  void (*add_scales)(Settings&, std::string_view name, std::vector<RowScale>&) = nullptr;
  /// Adds tensors that follow from the configuration.
  void (*add_tensors)(Settings&, Keys&, std::vector<MadeTensor>&) = nullptr;
  /// Adds or changes keys of the vocabulary.
  void (*add_vocabulary_keys)(Settings&, const TokenizerFiles&, Keys&) = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
