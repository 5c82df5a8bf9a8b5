// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/pieces.hpp: the pieces of a SentencePiece model; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/ir/onnx/wire.hpp>
#include <zrt/model/hub/token_table.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

namespace detail {

struct VocabularyPiece {
  std::string text;
  float score = 0.0f;
  TokenKind kind = TokenKind::normal;
};

/// Reads a message SentencePiece of sentencepiece_model.proto.
[[nodiscard]] inline Result<VocabularyPiece> read_piece(std::string_view message) {
  VocabularyPiece piece;
  ir::onnx::WireReader reader(message);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return pass(field);
    if (field->number == 1 && field->type == ir::onnx::WireType::bytes) piece.text = std::string(field->bytes);
    if (field->number == 2 && field->type == ir::onnx::WireType::fixed32) piece.score = field->real();
    if (field->number == 3 && field->type == ir::onnx::WireType::varint) {
      if (field->value < 1 || field->value > 6)
        return fail(Errc::invalid_file, "piece '", Quoted(piece.text).view(), "' is of type ", field->value,
                    ", expected 1 to 6");
      piece.kind = static_cast<TokenKind>(field->value);
    }
  }
  return piece;
}

/// Reads the pieces of a message ModelProto of sentencepiece_model.proto.
[[nodiscard]] inline Result<std::vector<VocabularyPiece>> read_pieces(std::string_view message) {
  std::vector<VocabularyPiece> pieces;
  ir::onnx::WireReader reader(message);
  while (!reader.at_end()) {
    const auto field = reader.next();
    if (!field) return pass(field);
    if (field->number != 1 || field->type != ir::onnx::WireType::bytes) continue;
    auto piece = read_piece(field->bytes);
    if (!piece) return pass(piece);
    if (pieces.size() == TokenTable::kMaxTokens)
      return fail(Errc::limit_exceeded, "more than ", TokenTable::kMaxTokens, " pieces");
    pieces.push_back(std::move(*piece));
  }
  if (pieces.empty()) return fail(Errc::invalid_file, "expected pieces of a SentencePiece model, found none");
  return pieces;
}

/// Reads the pieces of a folder's file. Errors: those of Folder and read_pieces, with the file's name.
[[nodiscard]] inline Result<std::vector<VocabularyPiece>> read_piece_file(const Folder& folder, std::string_view name) {
  const auto file = folder.open(name);
  if (!file) return pass(file);
  auto pieces = read_pieces({reinterpret_cast<const char*>(file->span().data()), file->span().size()});
  if (!pieces) return Folder::in(name, pieces.error());
  return pieces;
}

/// Sets as many pieces as the table has room for.
inline void set_pieces(const std::vector<VocabularyPiece>& pieces, TokenTable& table) {
  for (std::uint32_t id = 0; id < pieces.size() && id < table.size(); ++id) {
    const VocabularyPiece& piece = pieces[id];
    table.set(id, piece.text, piece.kind == TokenKind::user_defined ? TokenKind::normal : piece.kind, piece.score);
  }
}

/// Tokens that added_tokens.json lists by their texts.
[[nodiscard]] inline Result<void> set_added(const Folder& folder, TokenTable& table) {
  const auto added = folder.json_if("added_tokens.json");
  if (!added) return pass(added);
  if (added->is_object())
    for (const auto& [text, id] : added->items())
      if (std::uint32_t number = 0; is_count(&id, number) && number < table.size())
        table.set(number, text, TokenKind::user_defined, -1000.0f);
  return {};
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
