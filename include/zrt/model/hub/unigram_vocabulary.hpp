// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/unigram_vocabulary.hpp: pieces with likelihoods from tokenizer.json or a SentencePiece model; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/hub/character_vocabulary.hpp>
#include <zrt/model/hub/pieces.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

/// How a SentencePiece model normalises texts: fields of its message NormalizerSpec.
struct PieceNormalizer {
  std::string character_map;
  bool add_space_prefix = true;
  bool remove_extra_whitespaces = true;
};

/// Reads a message NormalizerSpec of sentencepiece_model.proto.
[[nodiscard]] inline Result<PieceNormalizer> read_normalizer(std::string_view message) {
  PieceNormalizer made;
  ir::onnx::WireReader reader(message);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return pass(field);
    if (field->number == 2 && field->type == ir::onnx::WireType::bytes) made.character_map = std::string(field->bytes);
    if (field->number == 3 && field->type == ir::onnx::WireType::varint) made.add_space_prefix = field->value != 0;
    if (field->number == 4 && field->type == ir::onnx::WireType::varint)
      made.remove_extra_whitespaces = field->value != 0;
  }
  return made;
}
/// Reads the normalizer of a message ModelProto, whose pieces are likelihoods. Errors: Errc::unsupported_tokenizer.
[[nodiscard]] inline Result<PieceNormalizer> read_unigram_normalizer(std::string_view model) {
  constexpr std::uint32_t kTrainer = 2;
  constexpr std::uint32_t kNormalizer = 3;
  PieceNormalizer made;
  ir::onnx::WireReader reader(model);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return pass(field);
    if (field->type != ir::onnx::WireType::bytes) continue;
    if (field->number == kNormalizer) {
      auto read = read_normalizer(field->bytes);
      if (!read) return pass(read);
      made = std::move(*read);
    }
    if (field->number != kTrainer) continue;
    ir::onnx::WireReader trainer(field->bytes);
    while (!trainer.at_end()) {
      const auto inner = trainer.next();
      if (!inner) return pass(inner);
      if (inner->number == 3 && inner->type == ir::onnx::WireType::varint && inner->value != 1)
        return fail(Errc::unsupported_tokenizer, "the model is of type ", inner->value, ", expected 1, unigram");
    }
  }
  return made;
}

inline void write_unigram(TokenTable&& table, const PieceNormalizer& normalizer, Keys& out) {
  out.set("tokenizer.ggml.model", std::string("t5"));
  out.set("tokenizer.ggml.pre", std::string("default"));
  std::move(table).write(out, true);
  out.set("tokenizer.ggml.add_space_prefix", normalizer.add_space_prefix);
  out.set("tokenizer.ggml.remove_extra_whitespaces", normalizer.remove_extra_whitespaces);
  if (normalizer.character_map.empty()) return;
  std::vector<std::uint8_t> bytes;
  for (const char c : normalizer.character_map) bytes.push_back(static_cast<std::uint8_t>(c));
  out.set("tokenizer.ggml.precompiled_charsmap", std::move(bytes));
}

/// Adds a SentencePiece model of likelihoods. Errors: those of Folder, read_pieces and table_size.
[[nodiscard]] inline Result<void> add_unigram_pieces(const Folder& folder, const HubFamily& family, Settings& settings,
                                                     Keys& out) {
  const std::string_view name = folder.has("tokenizer.model") ? "tokenizer.model" : "spiece.model";
  const auto pieces = read_piece_file(folder, name);
  if (!pieces) return pass(pieces);
  const auto text = folder.text(name);
  if (!text) return pass(text);
  const auto normalizer = read_unigram_normalizer(*text);
  if (!normalizer) return Folder::in(name, normalizer.error());
  const auto size = table_size(family, settings, static_cast<std::uint32_t>(pieces->size()));
  if (!size) return pass(size);
  TokenTable table(*size);
  set_pieces(*pieces, table);
  if (auto r = set_added(folder, table); !r) return r;
  write_unigram(std::move(table), *normalizer, out);
  return {};
}

/// The bytes of a text of base 64; none for one that is no such text.
[[nodiscard]] inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const auto digit = kDigits.find(c);
    if (digit == kDigits.npos) return {};
    bits = (bits << 6 | static_cast<std::uint32_t>(digit)) & 0xffffu;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xffu);
  }
  return bytes;
}

/// A token of tokenizer.json's list of texts and likelihoods.
[[nodiscard]] inline Result<void> set_likely(const HubJson& vocabulary, std::uint32_t unknown,
                                             const std::set<std::string, std::less<>>& named,
                                             const TokenizerFiles& files, TokenTable& table) {
  std::uint32_t id = 0;
  for (const HubJson& entry : vocabulary) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      return fail(Errc::invalid_file, "tokenizer.json: token ", id, " is no text with a likelihood");
    if (id >= table.size()) return bad_token(text_of(&entry[0]));
    const std::string_view text = text_of(&entry[0]);
    const TokenKind kind = id == unknown          ? TokenKind::unknown
                           : named.contains(text) ? TokenKind::control
                           : files.added(text)    ? TokenKind::user_defined
                                                  : TokenKind::normal;
    table.set(id++, std::string(text), kind, static_cast<float>(entry[1].get<double>()));
  }
  return {};
}

/// Adds a unigram vocabulary of tokenizer.json. Errors: Errc::unsupported_tokenizer, Errc::invalid_file.
[[nodiscard]] inline Result<void> add_unigram(const TokenizerFiles& files, const HubFamily& family, Settings& settings,
                                              Keys& out) {
  const HubJson* model = find(&files.tokenizer, "model");
  const HubJson* vocabulary = find(model, "vocab");
  if (text_of(find(model, "type")) != "Unigram" || vocabulary == nullptr || !vocabulary->is_array())
    return fail(Errc::unsupported_tokenizer, "tokenizer.json holds a model '",
                Quoted(text_of(find(model, "type"))).view(), "', expected Unigram with vocab");
  const auto own = static_cast<std::uint32_t>(vocabulary->size());
  const auto size = table_size(family, settings, own);
  if (!size) return pass(size);
  TokenTable table(std::max(*size, own));
  std::uint32_t unknown = 3;
  if (const auto id = files.added(text_of(find(&files.config, "unk_token"))))
    unknown = *id;
  else
    (void)is_count(find(model, "unk_id"), unknown);
  if (auto r = set_likely(*vocabulary, unknown, named_tokens(files.config), files, table); !r) return r;
  PieceNormalizer normalizer;
  normalizer.character_map = from_base64(text_of(find(find(&files.tokenizer, "normalizer"), "precompiled_charsmap")));
  const HubJson* prefix = find(&files.config, "add_prefix_space");
  normalizer.add_space_prefix = prefix == nullptr || is_true(prefix);
  normalizer.remove_extra_whitespaces = is_true(find(&files.config, "clean_up_tokenization_spaces"));
  write_unigram(std::move(table), normalizer, out);
  return {};
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
