// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/unigram.hpp: the "t5" model: a text normalised, and cut so that the scores of its tokens add up to most.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/text/detail/character_map.hpp>
#include <zrt/text/detail/characters.hpp>
#include <zrt/text/detail/sorted_tokens.hpp>
#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace zrt::inline ZRT_ABI::text::detail {

/// A unigram vocabulary. Characters are mapped as the file says, runs of spaces become one mark where it says so, and the
/// best cut is found from left to right; a character without a token is unknown, and so are neighbours of it.
///
/// Scores are summed in f64; of equal sums the shorter last token's stays. Source: Kudo, "Subword Regularization".
class Unigram {
 public:
  explicit Unigram(Allocator allocator) noexcept : sorted_(allocator) {}

  /// `unk` stands for characters without a token. Errors: Errc::invalid_metadata, out_of_memory.
  template <class TypeOf>
  [[nodiscard]] Result<void> build(const VocabularySpec& spec, std::int32_t unk, const TypeOf& type_of) noexcept {
    if (unk == kNoToken) return fail(Errc::invalid_metadata, "the vocabulary has no unknown token");
    if (spec.scores.size() != spec.tokens.size())
      return fail(Errc::invalid_metadata, "the vocabulary has ", spec.tokens.size(), " tokens but ", spec.scores.size(),
                  " scores");
    unk_ = unk;
    tokens_ = spec.tokens;
    scores_ = spec.scores;
    merges_spaces_ = spec.remove_extra_whitespaces.value_or(false);
    spaces_ahead_ = spec.add_space_prefix.value_or(false);
    float least = std::numeric_limits<float>::max();
    for (std::size_t id = 0; id < scores_.size(); ++id) {
      if (!(scores_[id] > -1e30f && scores_[id] < 1e30f))
        return fail(Errc::invalid_metadata, "the score of token ", id, " is beyond 1e30, or no number");
      if (type_of(id) == TokenType::normal && scores_[id] < least) least = scores_[id];
    }
    unknown_score_ = double{least - 10.0f};
    if (auto r = characters_.open(spec.character_map); !r) return r;
    const auto takes = [&](std::size_t id) noexcept {
      const TokenType type = type_of(id);
      return type == TokenType::normal || type == TokenType::user_defined || type == TokenType::unused;
    };
    return sorted_.build(spec.tokens, takes);
  }

  /// Appends the tokens of `text`. `normal` is memory to work in.
  [[nodiscard]] Result<void> encode(std::string_view text, String& normal, Vector<std::int32_t>& out) const noexcept {
    normal.clear();
    if (auto r = normalise(text, normal); !r) return r;
    const std::string_view whole = normal.view();
    if (whole.empty()) return {};
    if (whole.size() > 0x7fffffffu)
      return fail(Errc::size_overflow, "a text of ", whole.size(), " bytes is too long to tokenize");
    Vector<Cut> best(out.allocator());
    if (auto r = best.resize(whole.size() + 1); !r) return r;
    for (Cut& cut : best) cut = {-std::numeric_limits<double>::max(), 0, unk_};
    best[0].score = 0.0;
    for (std::size_t at = 0; at < whole.size();) {
      std::size_t letter = announced_length(static_cast<unsigned char>(whole[at]));
      if (letter > whole.size() - at) letter = whole.size() - at;
      bool known = false;
      const auto reach = [&](std::size_t length, std::int32_t token, double score) noexcept {
        Cut& there = best[at + length];
        const double sum = best[at].score + score;
        if (sum > there.score) there = {sum, static_cast<std::uint32_t>(at), token};
      };
      sorted_.each_at(whole, at, [&](std::int32_t token) noexcept {
        const std::size_t length = tokens_[static_cast<std::size_t>(token)].size();
        known = known || length == letter;
        reach(length, token, double{scores_[static_cast<std::size_t>(token)]});
      });
      if (!known) reach(letter, unk_, unknown_score_);
      at += letter;
    }
    const std::size_t before = out.size();
    for (std::size_t end = whole.size(); end != 0; end = best[end].from) {
      const bool again = out.size() > before && out.back() == unk_ && best[end].token == unk_;
      if (again) continue;
      if (auto r = out.push_back(best[end].token); !r) return r;
    }
    for (std::size_t i = before, j = out.size(); i + 1 < j; ++i) std::swap(out[i], out[--j]);
    return {};
  }

 private:
  /// The best way to a place in a text.
  struct Cut {
    double score;
    std::uint32_t from;  ///< where its last token begins
    std::int32_t token;
  };

  [[nodiscard]] Result<void> normalise(std::string_view text, String& to) const noexcept {
    bool in_word = false;
    bool marked = false;
    for (std::size_t at = 0; at < text.size();) {
      MappedCharacters next = characters_.find(text, at);
      if (next.read == 0) {
        const CodePoint c = decode(text, at);
        next = {c.valid ? slice(text, at, c.length) : std::string_view("\xef\xbf\xbd"), c.length};
      }
      at += next.read;
      for (const char c : next.text) {
        if (c == ' ') {
          in_word = false;
          if (!merges_spaces_)
            if (auto r = to.append(kSpaceMark); !r) return r;
          continue;
        }
        if (!in_word && ((spaces_ahead_ && !marked) || merges_spaces_)) {
          if (auto r = to.append(kSpaceMark); !r) return r;
          marked = true;
        }
        in_word = true;
        if (auto r = to.push_back(c); !r) return r;
      }
    }
    return {};
  }

  Span<const std::string_view> tokens_;
  Span<const float> scores_;
  SortedTokens sorted_;
  CharacterMap characters_;
  std::int32_t unk_ = kNoToken;
  double unknown_score_ = 0.0;
  bool merges_spaces_ = false;
  bool spaces_ahead_ = false;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
