// SPDX-License-Identifier: Apache-2.0
// zrt/text/tokenizer.hpp: from text to token ids and back, for all kinds of vocabularies.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/core/string.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/text/detail/byte_bpe.hpp>
#include <zrt/text/detail/clean_spaces.hpp>
#include <zrt/text/detail/k_mers.hpp>
#include <zrt/text/detail/known_tokens.hpp>
#include <zrt/text/detail/plamo2.hpp>
#include <zrt/text/detail/rwkv.hpp>
#include <zrt/text/detail/sentence_piece.hpp>
#include <zrt/text/detail/special_tokens.hpp>
#include <zrt/text/detail/token_spaces.hpp>
#include <zrt/text/detail/unigram.hpp>
#include <zrt/text/detail/word_piece.hpp>
#include <zrt/text/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace zrt::inline ZRT_ABI::text {

/// Says how a text becomes ids.
struct EncodeOptions {
  bool add_special = false;    ///< put BOS before and EOS behind, as the vocabulary wants it
  bool parse_special = false;  ///< find control tokens in the text; else their texts are plain text
  /// One for each byte of the text, or empty: whether somebody else wrote it, as ChatPrompt::given says. A control
  /// token that touches such a byte is plain text.
  Span<const bool> given{};
};

/// Says how ids become text.
struct DecodeOptions {
  bool special = false;      ///< write control tokens as their texts instead of leaving them out
  bool at_start = true;      ///< the ids begin a text: the space that encoding put in front is taken away
  bool clean_spaces = true;  ///< drop spaces before punctuation if the vocabulary's decoder does; whole sequences only
};

/// Turns text into token ids and ids into text. Movable; safe to use from several threads at once.
///
/// Keeps the views of the VocabularySpec, which must outlive it.
class Tokenizer {
 public:
  /// Checks `spec` and indexes it. `own` lists pre-tokenizers that the host adds to zrt's (kPreTokenizersOf).
  ///
  /// Errors: unsupported_tokenizer for a model or pre-tokenizer that this build does not have, invalid_metadata for a
  /// vocabulary that contradicts itself, out_of_memory.
  [[nodiscard]] static Result<Tokenizer> make(const VocabularySpec& spec, Allocator allocator = system_allocator(),
                                              Span<const PreTokenizerEntry> own = {}) noexcept;

  /// Returns the ids of `text`, which need not be valid UTF-8. Errors: size_overflow, out_of_memory.
  [[nodiscard]] Result<Vector<std::int32_t>> encode(std::string_view text, EncodeOptions options = {}) const noexcept {
    Vector<std::int32_t> ids(allocator_);
    if (auto r = encode_into(text, options, ids); !r) return pass(r);
    return ids;
  }
  /// Appends the ids of `text` to `out`; after an error some of them may be there.
  [[nodiscard]] Result<void> encode_into(std::string_view text, EncodeOptions options,
                                         Vector<std::int32_t>& out) const noexcept;

  /// Appends a second text to a pair whose first text `out` holds, encoded with `add_special`: the answer after a
  /// question, the document after a query.
  [[nodiscard]] Result<void> append_second(std::string_view text, bool parse_special,
                                           Vector<std::int32_t>& out) const noexcept {
    if (add_sep_ && !ends_with_sep_)
      if (auto r = out.push_back(*ids_.sep); !r) return r;
    if (auto r = encode_into(text, {.add_special = false, .parse_special = parse_special}, out); !r) return r;
    return end_text(out);
  }

  /// Returns the bytes that `ids` stand for; they are UTF-8 only as far as the ids make it.
  /// Errors: invalid_argument for an id outside the vocabulary, out_of_memory.
  [[nodiscard]] Result<String> decode(Span<const std::int32_t> ids, DecodeOptions options = {}) const noexcept;
  /// Appends the bytes of one id to `out`, as decode does for ids in the middle of a text.
  [[nodiscard]] Result<void> append_piece(std::int32_t id, bool special, String& out) const noexcept;

  /// Returns the token's text as the vocabulary spells it; empty for an id outside of it.
  [[nodiscard]] std::string_view token_text(std::int32_t id) const noexcept {
    return knows(id) ? tokens_[static_cast<std::size_t>(id)] : std::string_view();
  }
  /// Returns the id of the token that is spelled `text`, if there is one.
  [[nodiscard]] std::optional<std::int32_t> find_token(std::string_view text) const noexcept {
    const std::int32_t id = index_.find(text);
    return id == detail::kNoToken ? std::nullopt : std::optional(id);
  }
  [[nodiscard]] TokenType type(std::int32_t id) const noexcept {
    return knows(id) ? facts_[static_cast<std::size_t>(id)].type : TokenType::undefined;
  }

  [[nodiscard]] std::size_t vocab_size() const noexcept { return tokens_.size(); }
  [[nodiscard]] std::optional<std::int32_t> bos() const noexcept { return ids_.bos; }
  [[nodiscard]] std::optional<std::int32_t> eos() const noexcept { return ids_.eos; }
  /// The token that ends a turn: the file's, else the first of well-known text.
  [[nodiscard]] std::optional<std::int32_t> eot() const noexcept { return ids_.eot; }
  /// The token that ends a message but no turn: the file's, else the one of well-known text.
  [[nodiscard]] std::optional<std::int32_t> eom() const noexcept { return ids_.eom; }
  [[nodiscard]] std::optional<std::int32_t> unk() const noexcept { return ids_.unk; }
  /// Returns the token that plays a part in infill prompts, where the vocabulary has it.
  [[nodiscard]] std::optional<std::int32_t> infill(InfillToken token) const noexcept {
    return ids_.infill[static_cast<std::size_t>(token)];
  }
  [[nodiscard]] bool adds_bos() const noexcept { return add_bos_; }
  [[nodiscard]] bool adds_eos() const noexcept { return add_eos_; }
  /// Says whether encoding puts a space in front of a text.
  [[nodiscard]] bool adds_space_prefix() const noexcept { return add_space_prefix_; }
  /// Says whether a model that emits `id` has finished: EOS, EOT, EOM and tokens well known to end a turn.
  [[nodiscard]] bool is_end_of_generation(std::int32_t id) const noexcept {
    return knows(id) && facts_[static_cast<std::size_t>(id)].ends_generation;
  }
  [[nodiscard]] bool is_control(std::int32_t id) const noexcept { return type(id) == TokenType::control; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }

 private:
  struct Ids {
    std::optional<std::int32_t> bos;
    std::optional<std::int32_t> eos;
    std::optional<std::int32_t> eot;
    std::optional<std::int32_t> eom;
    std::optional<std::int32_t> unk;
    std::optional<std::int32_t> sep;
    detail::KnownTokens::Infill infill;
  };

  explicit Tokenizer(Allocator allocator) noexcept
      : allocator_(allocator), facts_(allocator), index_(allocator), specials_(allocator) {}

  [[nodiscard]] bool knows(std::int32_t id) const noexcept {
    return id >= 0 && static_cast<std::size_t>(id) < tokens_.size();
  }
  [[nodiscard]] Result<void> read_types(const VocabularySpec& spec) noexcept;
  [[nodiscard]] Result<void> read_ids(const VocabularySpec& spec) noexcept;
  [[nodiscard]] Result<void> read_switches(const VocabularySpec& spec, bool bos_by_default,
                                           bool prefix_by_default) noexcept;
  [[nodiscard]] Result<void> build_model(const VocabularySpec& spec, Span<const PreTokenizerEntry> own) noexcept;
  void mark_known_tokens() noexcept;
  /// The text of token `id` as it is decoded; that of BPE and SentencePiece still spells its bytes or spaces.
  [[nodiscard]] std::string_view written(std::int32_t id) const noexcept {
    if (const auto* longest = model<detail::Rwkv>()) return longest->bytes(id);
    const std::string_view text = tokens_[static_cast<std::size_t>(id)];
    const auto* sequences = model<detail::KMers>();
    return sequences != nullptr ? sequences->written(id, text) : text;
  }
  /// Appends what ends a text, where the vocabulary wants it.
  [[nodiscard]] Result<void> end_text(Vector<std::int32_t>& out) const noexcept {
    if (add_eos_) return out.push_back(*ids_.eos);
    return ends_with_sep_ ? out.push_back(*ids_.sep) : Result<void>{};
  }

  Allocator allocator_;
  Span<const std::string_view> tokens_;
  Vector<detail::TokenFacts> facts_;
  Ids ids_;
  bool add_bos_ = false;
  bool add_eos_ = false;
  bool add_sep_ = false;        ///< between the texts of a pair
  bool ends_with_sep_ = false;  ///< behind each text of a pair, and a single one
  bool add_space_prefix_ = false;
  detail::TextIndex index_;
  detail::SpecialTokens specials_;
  /// The vocabulary's model; none before `make`. A variant would bring a function that aborts.
  std::tuple<std::optional<detail::SentencePiece>, std::optional<detail::ByteBpe>, std::optional<detail::WordPiece>,
             std::optional<detail::Unigram>, std::optional<detail::Rwkv>, std::optional<detail::Plamo2>,
             std::optional<detail::KMers>>
      models_;
  template <class M> [[nodiscard]] const M* model() const noexcept {
    const auto& held = std::get<std::optional<M>>(models_);
    return held ? &*held : nullptr;
  }
  template <class M> [[nodiscard]] M& make_model() noexcept {
    return std::get<std::optional<M>>(models_).emplace(allocator_);
  }
};

inline Result<Tokenizer> Tokenizer::make(const VocabularySpec& spec, Allocator allocator,
                                         Span<const PreTokenizerEntry> own) noexcept {
  Tokenizer tokenizer(allocator);
  if (spec.tokens.empty()) return fail(Errc::invalid_metadata, "the vocabulary has no tokens");
  if (spec.tokens.size() > 0x7fffffffu)
    return fail(Errc::size_overflow, "the vocabulary has ", spec.tokens.size(), " tokens");
  tokenizer.tokens_ = spec.tokens;
  if (auto r = tokenizer.read_types(spec); !r) return pass(r);
  if (auto r = tokenizer.read_ids(spec); !r) return pass(r);
  if (auto r = tokenizer.index_.build(spec.tokens); !r) return pass(r);
  tokenizer.mark_known_tokens();
  detail::mark_spaces(spec, tokenizer.index_, tokenizer.facts_.span());
  const auto type_of = [&](std::size_t id) { return tokenizer.facts_[id].type; };
  // Files know a control token that stands for itself in answers as one too.
  const auto steers = [&](std::size_t id) {
    const TokenType stated = spec.types.empty() ? TokenType::normal : static_cast<TokenType>(spec.types[id]);
    return type_of(id) != TokenType::user_defined || stated == TokenType::control;
  };
  if (auto r = tokenizer.specials_.build(spec.tokens, type_of, steers); !r) return pass(r);
  if (auto r = tokenizer.build_model(spec, own); !r) return pass(r);
  return tokenizer;
}

inline Result<void> Tokenizer::build_model(const VocabularySpec& spec, Span<const PreTokenizerEntry> own) noexcept {
  if (spec.model == "llama") {
    auto& model = make_model<detail::SentencePiece>();
    if (auto r = model.build(spec, index_, ids_.unk.value_or(detail::kNoToken)); !r) return r;
    return read_switches(spec, true, true);
  }
  // "gemma4" names its pre-tokenizer by the model; "whitespace" has words of other case than the text; "hybriddna" has
  // sequences between its texts.
  if (spec.model == "gpt2" || spec.model == "gemma4" || spec.model == "whitespace" || spec.model == "hybriddna") {
    const std::string_view name = spec.model == "gemma4" ? spec.model : spec.pre;
    const PreTokenizerEntry* pre = find_pre_tokenizer(name, own);
    if (pre == nullptr) return fail(Errc::unsupported_tokenizer, "no pre-tokenizer '", name, "' in this build");
    auto& model = make_model<detail::ByteBpe>();
    if (auto r = model.build(spec, *pre, index_); !r) return r;
    if (spec.model == "hybriddna") make_model<detail::KMers>().build(index_);
    if (auto r = read_switches(spec, pre->traits.adds_bos, false); !r) return r;
    add_bos_ = add_bos_ || (pre->traits.always_adds_bos && ids_.bos.has_value());
    add_sep_ = spec.add_sep.value_or(pre->traits.adds_sep && ids_.sep.has_value());
    return {};
  }
  if (spec.model == "bert") {
    auto& model = make_model<detail::WordPiece>();
    if (auto r = model.build(spec, ids_.unk.value_or(detail::kNoToken)); !r) return r;
    if (auto r = read_switches(spec, true, false); !r) return r;
    // A text stands between [CLS], which is its beginning, and [SEP].
    ends_with_sep_ = !add_eos_ && ids_.sep.has_value();
    return {};
  }
  if (spec.model == "t5") {
    auto& model = make_model<detail::Unigram>();
    const auto type_of = [&](std::size_t id) noexcept { return facts_[id].type; };
    if (auto r = model.build(spec, ids_.unk.value_or(detail::kNoToken), type_of); !r) return r;
    if (auto r = read_switches(spec, false, false); !r) return r;
    add_eos_ = spec.add_eos.value_or(ids_.eos.has_value());
    add_space_prefix_ = spec.add_space_prefix.value_or(false);
    return {};
  }
  const auto type_of = [&](std::size_t id) noexcept { return facts_[id].type; };
  // Texts of these two stand alone, whatever the file says of BOS and EOS.
  if (spec.model == "rwkv") return make_model<detail::Rwkv>().build(spec, ids_.unk.value_or(detail::kNoToken), type_of);
  if (spec.model == "plamo2") return make_model<detail::Plamo2>().build(spec, index_, type_of);
  return fail(Errc::unsupported_tokenizer, "no tokenizer model '", spec.model,
              "' in this build, only 'llama', 'gpt2', 'gemma4', 'whitespace', 'hybriddna', 'bert', 't5', 'rwkv' and "
              "'plamo2'");
}

inline Result<void> Tokenizer::read_types(const VocabularySpec& spec) noexcept {
  if (!spec.types.empty() && spec.types.size() != tokens_.size())
    return fail(Errc::invalid_metadata, "the vocabulary has ", tokens_.size(), " tokens but ", spec.types.size(),
                " token types");
  if (auto r = facts_.resize(tokens_.size()); !r) return r;
  for (std::size_t id = 0; id < spec.types.size(); ++id) {
    const std::int32_t type = spec.types[id];
    if (type < 0 || type > 6)
      return fail(Errc::invalid_metadata, "token ", id, " has the type ", type, ", 0 to 6 expected");
    facts_[id].type = static_cast<TokenType>(type);
    if (facts_[id].type == TokenType::byte && !detail::hex_byte(tokens_[id]))
      return fail(Errc::invalid_metadata, "byte token ", id, " does not read '<0xHH>' but '", tokens_[id], "'");
  }
  return {};
}

inline Result<void> Tokenizer::read_ids(const VocabularySpec& spec) noexcept {
  ids_ = {spec.bos, spec.eos, spec.eot, spec.eom, spec.unk, spec.sep, spec.infill};
  struct Named {
    std::string_view name;
    std::optional<std::int32_t> id;
  };
  for (const Named& named :
       {Named{"bos", spec.bos}, Named{"eos", spec.eos}, Named{"eot", spec.eot}, Named{"eom", spec.eom},
        Named{"unk", spec.unk}, Named{"sep", spec.sep}, Named{"pad", spec.pad}})
    if (named.id && !knows(*named.id))
      return fail(Errc::invalid_metadata, "the ", named.name, " token is ", *named.id, " in a vocabulary of ",
                  tokens_.size());
  for (const auto& id : spec.infill)
    if (id && !knows(*id))
      return fail(Errc::invalid_metadata, "a token of infill prompts is ", *id, " in a vocabulary of ", tokens_.size());
  // Their own numbers, which files of SentencePiece and PLaMo need not repeat.
  if (spec.model == "llama" || spec.model == "plamo2") {
    if (!ids_.unk) ids_.unk = 0;
    if (!ids_.bos && knows(1)) ids_.bos = 1;
    if (!ids_.eos && knows(2)) ids_.eos = 2;
  }
  if (spec.model == "t5") {
    if (!ids_.eos && knows(1)) ids_.eos = 1;
    if (!ids_.unk && knows(2)) ids_.unk = 2;
  }
  // Those of the vocabularies that came with BERT.
  if (spec.model == "bert") {
    if (!ids_.unk && knows(100)) ids_.unk = 100;
    if (!ids_.bos && knows(101)) ids_.bos = 101;
    if (!ids_.sep && knows(102)) ids_.sep = 102;
  }
  return {};
}

inline Result<void> Tokenizer::read_switches(const VocabularySpec& spec, bool bos_by_default,
                                             bool prefix_by_default) noexcept {
  if (spec.add_bos.value_or(false) && !ids_.bos)
    return fail(Errc::invalid_metadata, "add_bos is set but there is no bos token");
  if (spec.add_eos.value_or(false) && !ids_.eos)
    return fail(Errc::invalid_metadata, "add_eos is set but there is no eos token");
  if (spec.add_sep.value_or(false) && !ids_.sep)
    return fail(Errc::invalid_metadata, "add_sep is set but there is no sep token");
  add_sep_ = spec.add_sep.value_or(false);
  add_bos_ = spec.add_bos.value_or(bos_by_default && ids_.bos.has_value());
  add_eos_ = spec.add_eos.value_or(false);
  add_space_prefix_ = prefix_by_default && spec.add_space_prefix.value_or(true);
  return {};
}

inline void Tokenizer::mark_known_tokens() noexcept {
  detail::KnownTokens known(index_, facts_.span());
  known.find_ends(ids_.eot, ids_.eom);
  for (const auto& id : {ids_.eos, ids_.eot, ids_.eom})
    if (id) facts_[static_cast<std::size_t>(*id)].ends_generation = true;
  known.mark(ids_.infill);
}

inline Result<void> Tokenizer::encode_into(std::string_view text, EncodeOptions options,
                                           Vector<std::int32_t>& out) const noexcept {
  // The merger counts bytes in 32 bits, and escaping spaces makes a text up to three times as long.
  if (text.size() > 0x40000000u)
    return fail(Errc::size_overflow, "a text of ", text.size(), " bytes is too long to tokenize");
  Vector<detail::TextPart> fragments(allocator_);
  if (auto r = specials_.split(text, {options.parse_special, options.given}, fragments); !r) return r;
  detail::Merger merger(allocator_);
  String scratch(allocator_);
  if (options.add_special && add_bos_)
    if (auto r = out.push_back(*ids_.bos); !r) return r;
  bool after_special = true;
  const auto facts_at = [&](std::size_t i) noexcept -> const detail::TokenFacts* {
    const bool token = i < fragments.size() && fragments[i].token != detail::kNoToken;
    return token ? &facts_[static_cast<std::size_t>(fragments[i].token)] : nullptr;
  };
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    const detail::TextPart& fragment = fragments[i];
    std::string_view part = slice(text, fragment.begin, fragment.end - fragment.begin);
    if (fragment.token == detail::kNoToken) {
      part = detail::without_taken_space(part, i == 0 ? nullptr : facts_at(i - 1), facts_at(i + 1));
      if (part.empty()) continue;
    }
    Result<void> done;
    if (fragment.token != detail::kNoToken)
      done = out.push_back(fragment.token);
    else if (const auto* pieces = model<detail::SentencePiece>())
      done = pieces->encode(part, add_space_prefix_ && after_special, index_, merger, scratch, out);
    else if (const auto* sequences = model<detail::KMers>())
      done = sequences->encode(
          part, index_,
          [&](std::string_view words) noexcept {
            return model<detail::ByteBpe>()->encode(words, index_, merger, scratch, out);
          },
          out);
    else if (const auto* bpe = model<detail::ByteBpe>())
      done = bpe->encode(part, index_, merger, scratch, out);
    else if (const auto* words = model<detail::WordPiece>())
      done = words->encode(part, scratch, out);
    else if (const auto* unigram = model<detail::Unigram>())
      done = unigram->encode(part, scratch, out);
    else if (const auto* longest = model<detail::Rwkv>())
      done = longest->encode(part, out);
    else if (const auto* plamo = model<detail::Plamo2>())
      done = plamo->encode(part, out);
    if (!done) return done;
    after_special = fragment.token != detail::kNoToken;
  }
  return options.add_special ? end_text(out) : Result<void>{};
}

inline Result<void> Tokenizer::append_piece(std::int32_t id, bool special, String& out) const noexcept {
  if (!knows(id)) return fail(Errc::invalid_argument, "token ", id, " in a vocabulary of ", tokens_.size());
  const std::string_view text = written(id);
  switch (facts_[static_cast<std::size_t>(id)].type) {
    case TokenType::unknown:
    case TokenType::control:
      return special ? out.append(text) : Result<void>{};
    case TokenType::user_defined:
      return out.append(text);
    case TokenType::byte:
      return out.push_back(static_cast<char>(detail::hex_byte(text).value_or(0)));
    case TokenType::undefined:
    case TokenType::unused:
      return {};
    case TokenType::normal:
      break;
  }
  if (model<detail::Rwkv>() != nullptr || model<detail::Plamo2>() != nullptr) return out.append(text);
  const auto* bpe = model<detail::ByteBpe>();
  const pre::Spelling spelling = bpe != nullptr ? bpe->pre().traits.spelling : pre::Spelling::marked_text;
  for (std::size_t at = 0; at < text.size();) {
    const detail::CodePoint letter = detail::decode(text, at);
    const std::string_view spelled = slice(text, at, letter.length);
    at += letter.length;
    Result<void> done;
    if (spelling == pre::Spelling::byte_letters) {
      const auto byte = letter.valid ? detail::letter_byte(letter.value) : std::nullopt;
      done = byte ? out.push_back(static_cast<char>(*byte)) : out.append(spelled);
    } else {
      const bool space = spelling == pre::Spelling::marked_text && spelled == detail::kSpaceMark;
      done = out.append(space ? std::string_view(" ") : spelled);
    }
    if (!done) return done;
  }
  return {};
}

inline Result<String> Tokenizer::decode(Span<const std::int32_t> ids, DecodeOptions options) const noexcept {
  String text(allocator_);
  if (!ids.empty()) {
    String first(allocator_);
    if (auto r = append_piece(ids[0], options.special, first); !r) return pass(r);
    const bool drop_space = options.at_start && add_space_prefix_ && first.view().starts_with(' ');
    if (auto r = text.append(slice(first, drop_space ? 1 : 0, first.size() - (drop_space ? 1 : 0))); !r) return pass(r);
    for (const std::int32_t id : ids.subspan(1))
      if (auto r = append_piece(id, options.special, text); !r) return pass(r);
  }
  const auto* bpe = model<detail::ByteBpe>();
  const bool cleans = bpe != nullptr ? bpe->pre().traits.cleans_spaces : model<detail::WordPiece>() != nullptr;
  if (!options.clean_spaces || !cleans) return text;
  Vector<char> cleaned(allocator_);
  if (auto r = cleaned.append(Span<const char>(text.view().data(), text.size())); !r) return pass(r);
  return String::of({cleaned.data(), detail::clean_spaces(cleaned.span())}, allocator_);
}

}  // namespace zrt::inline ZRT_ABI::text
