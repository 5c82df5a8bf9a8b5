// SPDX-License-Identifier: Apache-2.0
// zrt/engine/vocabulary.hpp: a model file's vocabulary as the tokenizer takes it.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/model/gguf.hpp>
#include <zrt/text/tokenizer.hpp>

#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Lists of a file's vocabulary, which a tokenizer views. Move it freely; the file must outlive it.
struct Vocabulary {
  explicit Vocabulary(Allocator a = system_allocator()) noexcept
      : tokens(a), scores(a), types(a), merges(a), character_map(a) {}

  Vector<std::string_view> tokens;
  Vector<float> scores;
  Vector<std::int32_t> types;
  Vector<std::string_view> merges;
  Vector<std::uint8_t> character_map;
  text::VocabularySpec spec{};
  std::size_t longest = 0;  ///< bytes of the longest token
};

namespace detail {

class VocabularyReader {
 public:
  VocabularyReader(const model::GgufFile& file, Vocabulary& out) noexcept : file_(file), out_(out) {}

  [[nodiscard]] Result<void> read() noexcept {
    if (auto r = text(key("model"), out_.spec.model); !r) return r;
    if (auto r = text(key("pre"), out_.spec.pre); !r) return r;
    if (auto r = text(Name::of("general.name"), out_.spec.name); !r) return r;
    if (auto r = text(Name::of("general.architecture"), out_.spec.architecture); !r) return r;
    if (auto r = strings("tokens", out_.tokens); !r) return r;
    if (auto r = strings("merges", out_.merges); !r) return r;
    if (auto r = numbers("scores", out_.scores); !r) return r;
    if (auto r = numbers("token_type", out_.types); !r) return r;
    if (auto r = numbers("precompiled_charsmap", out_.character_map); !r) return r;
    struct Id {
      std::string_view key;
      std::optional<std::int32_t> text::VocabularySpec::* field;
    };
    constexpr Id ids[] = {
        {"bos_token_id", &text::VocabularySpec::bos},      {"eos_token_id", &text::VocabularySpec::eos},
        {"eot_token_id", &text::VocabularySpec::eot},      {"eom_token_id", &text::VocabularySpec::eom},
        {"unknown_token_id", &text::VocabularySpec::unk},  {"padding_token_id", &text::VocabularySpec::pad},
        {"seperator_token_id", &text::VocabularySpec::sep}};  // spelled so in files
    for (const Id& id : ids)
      if (auto r = value(id.key, out_.spec.*id.field); !r) return r;
    struct Infill {
      std::string_view key;
      text::InfillToken token;
    };
    // Older files call the first three by their parts alone.
    constexpr Infill infill[] = {
        {"prefix_token_id", text::InfillToken::prefix},    {"suffix_token_id", text::InfillToken::suffix},
        {"middle_token_id", text::InfillToken::middle},    {"fim_pre_token_id", text::InfillToken::prefix},
        {"fim_suf_token_id", text::InfillToken::suffix},   {"fim_mid_token_id", text::InfillToken::middle},
        {"fim_pad_token_id", text::InfillToken::pad},      {"fim_rep_token_id", text::InfillToken::repository},
        {"fim_sep_token_id", text::InfillToken::separator}};
    for (const Infill& id : infill)
      if (auto r = value(id.key, out_.spec.infill[static_cast<std::size_t>(id.token)]); !r) return r;
    struct Flag {
      std::string_view key;
      std::optional<bool> text::VocabularySpec::* field;
    };
    constexpr Flag flags[] = {{"add_bos_token", &text::VocabularySpec::add_bos},
                              {"add_eos_token", &text::VocabularySpec::add_eos},
                              {"add_sep_token", &text::VocabularySpec::add_sep},
                              {"add_space_prefix", &text::VocabularySpec::add_space_prefix},
                              {"remove_extra_whitespaces", &text::VocabularySpec::remove_extra_whitespaces},
                              {"normalizer.lowercase", &text::VocabularySpec::lowercase},
                              {"normalizer.strip_accents", &text::VocabularySpec::strip_accents}};
    for (const Flag& flag : flags)
      if (auto r = value(flag.key, out_.spec.*flag.field); !r) return r;
    for (std::string_view token : out_.tokens) out_.longest = token.size() > out_.longest ? token.size() : out_.longest;
    out_.spec.tokens = out_.tokens.span();
    out_.spec.scores = out_.scores.span();
    out_.spec.types = out_.types.span();
    out_.spec.merges = out_.merges.span();
    out_.spec.character_map = out_.character_map.span();
    return {};
  }

 private:
  [[nodiscard]] static Name key(std::string_view name) noexcept { return Name::of("tokenizer.ggml.", name); }
  [[nodiscard]] bool has(std::string_view name) const noexcept { return file_.find(key(name).view()) != nullptr; }

  [[nodiscard]] Result<void> text(const Name& name, std::string_view& to) const noexcept {
    if (file_.find(name.view()) == nullptr) return {};
    auto found = file_.get<std::string_view>(name.view());
    if (!found) return pass(found);
    to = *found;
    return {};
  }
  [[nodiscard]] Result<void> strings(std::string_view name, Vector<std::string_view>& to) const noexcept {
    if (!has(name)) return {};
    auto found = file_.strings(key(name).view());
    if (!found) return pass(found);
    to = std::move(*found);
    return {};
  }
  template <class T> [[nodiscard]] Result<void> numbers(std::string_view name, Vector<T>& to) const noexcept {
    if (!has(name)) return {};
    auto found = file_.list<T>(key(name).view());
    if (!found) return pass(found);
    to = std::move(*found);
    return {};
  }
  template <class T> [[nodiscard]] Result<void> value(std::string_view name, std::optional<T>& to) const noexcept {
    if (!has(name)) return {};
    auto found = file_.get<T>(key(name).view());
    if (!found) return pass(found);
    to = *found;
    return {};
  }

  const model::GgufFile& file_;
  Vocabulary& out_;
};

}  // namespace detail

/// Reads the tokenizer's keys. A file without a vocabulary gives an empty one.
///
/// Errors: Errc::invalid_metadata naming the key, Errc::out_of_memory.
[[nodiscard]] inline Result<Vocabulary> read_vocabulary(const model::GgufFile& file,
                                                        const Allocator& allocator) noexcept {
  Vocabulary vocabulary(allocator);
  if (auto r = detail::VocabularyReader(file, vocabulary).read(); !r) return pass(r);
  return vocabulary;
}

/// Demands a row of the embedding for every token, and a token for every row: an id without a row cannot be read,
/// one without a token cannot be written as text, and the head would choose it.
///
/// Files for padded embeddings name their unused rows as tokens.
/// Errors: Errc::invalid_metadata, naming both numbers.
[[nodiscard]] inline Result<void> expect_rows(const Vocabulary& vocabulary, std::uint32_t rows) noexcept {
  if (vocabulary.tokens.size() == rows) return {};
  return fail(Errc::invalid_metadata, "tokenizer.ggml.tokens has ", vocabulary.tokens.size(),
              " tokens, token_embd.weight has ", rows, " rows, expected as many");
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
