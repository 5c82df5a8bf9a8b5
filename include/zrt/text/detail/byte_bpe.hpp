// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/byte_bpe.hpp: the "gpt2" model: words of bytes or of characters, merged by rank.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/text/detail/byte_text.hpp>
#include <zrt/text/detail/characters.hpp>
#include <zrt/text/detail/folds.hpp>
#include <zrt/text/detail/merger.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/pre_tokenizers.hpp>
#include <zrt/text/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// From a pair of tokens to its merge.
class MergeTable {
 public:
  explicit MergeTable(Allocator allocator) noexcept : slots_(allocator) {}

  /// Room for `count` merges.
  [[nodiscard]] Result<void> reserve(std::size_t count) noexcept {
    count_ = count;
    return slots_.resize(table_slots(count));
  }

  /// Adds a merge unless the pair has one already; there is room for as many as were reserved.
  ///
  /// Errors: Errc::limit_exceeded for pairs that share their places whatever the way they are spread, out_of_memory.
  [[nodiscard]] Result<void> insert(std::int32_t left, std::int32_t right, Merge merge) noexcept {
    put({left, right, merge});
    while (steps_ > most_steps(count_))
      if (auto r = spread_again(); !r) return r;
    return {};
  }

  [[nodiscard]] Merge find(std::int32_t left, std::int32_t right) const noexcept {
    return slots_.empty() ? Merge{} : slots_[probe(left, right).slot].merge;
  }

 private:
  struct Slot {
    std::int32_t left = kNoToken;
    std::int32_t right = kNoToken;
    Merge merge;
  };

  struct Place {
    std::size_t slot;
    std::size_t steps;
  };

  [[nodiscard]] Place probe(std::int32_t left, std::int32_t right) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t pair =
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
    Place at{static_cast<std::size_t>(spread(pair, way_)) & mask, 0};
    while (slots_[at.slot].merge.token != kNoToken && (slots_[at.slot].left != left || slots_[at.slot].right != right))
      at = {(at.slot + 1) & mask, at.steps + 1};
    return at;
  }
  void put(const Slot& merge) noexcept {
    const Place at = probe(merge.left, merge.right);
    steps_ += at.steps;
    if (slots_[at.slot].merge.token == kNoToken) slots_[at.slot] = merge;
  }
  Result<void> spread_again() noexcept {
    if (++way_ == kWaysToSpread)
      return fail(Errc::limit_exceeded, "the pairs of the ", count_, " merges share too few places of a hash table");
    Vector<Slot> fresh(slots_.allocator());
    if (auto r = fresh.resize(slots_.size()); !r) return r;
    const Vector<Slot> before = std::move(slots_);
    slots_ = std::move(fresh);
    steps_ = 0;
    for (const Slot& merge : before)
      if (merge.merge.token != kNoToken) put(merge);
    return {};
  }

  Vector<Slot> slots_;
  std::size_t count_ = 0;
  std::size_t steps_ = 0;
  std::uint64_t way_ = 0;
};

class ByteBpe {
 public:
  explicit ByteBpe(Allocator allocator) noexcept : merges_(allocator) {}

  [[nodiscard]] Result<void> build(const VocabularySpec& spec, const PreTokenizerEntry& pre,
                                   const TextIndex& index) noexcept {
    pre_ = &pre;
    lowercase_ = spec.model == "whitespace" && spec.lowercase.value_or(false);
    for (unsigned byte = 0; byte < 256; ++byte)
      bytes_[byte] = spells_bytes() ? index.find(byte_letter(static_cast<unsigned char>(byte)).view())
                                    : find_hex_token(index, byte);
    if (auto r = merges_.reserve(spec.merges.size()); !r) return r;
    String joined(index.allocator());
    std::size_t usable = 0;
    for (std::size_t rank = 0; rank < spec.merges.size(); ++rank) {
      const std::string_view text = spec.merges[rank];
      const std::size_t space = text.find(' ', 1);
      if (space == std::string_view::npos || space + 1 == text.size())
        return fail(Errc::invalid_metadata, "merge ", rank, " does not read 'left right' but '", text, "'");
      const std::string_view left_text = slice(text, 0, space);
      const std::string_view right_text = slice(text, space + 1, text.size() - space - 1);
      joined.clear();
      if (auto r = joined.append(left_text); !r) return r;
      if (auto r = joined.append(right_text); !r) return r;
      const std::int32_t left = index.find(left_text);
      const std::int32_t right = index.find(right_text);
      const std::int32_t token = index.find(joined);
      // A merge into no token would have to be undone again: without it the same bytes come out.
      if (left == kNoToken || right == kNoToken || token == kNoToken) continue;
      if (auto r = merges_.insert(left, right, {static_cast<std::uint32_t>(rank), token}); !r) return r;
      ++usable;
    }
    if (usable == 0 && !spec.merges.empty())
      return fail(Errc::invalid_metadata, "none of the ", spec.merges.size(), " merges joins tokens of the vocabulary");
    return {};
  }

  [[nodiscard]] const PreTokenizerEntry& pre() const noexcept { return *pre_; }

  /// Appends the tokens of `text`. A byte without a token gives nothing: some vocabularies leave out bytes
  /// that UTF-8 never has, and their unknown token is a control token, which no plain text may make.
  [[nodiscard]] Result<void> encode(std::string_view text, const TextIndex& index, Merger& merger, String& spelled,
                                    Vector<std::int32_t>& out) const noexcept {
    struct Work {
      const ByteBpe& self;
      const TextIndex& index;
      Merger& merger;
      String& spelled;
      Vector<std::int32_t>& out;
      Result<void> result;
    } work{*this, index, merger, spelled, out, {}};
    cut(pre_->stages, text, {&work, [](void* context, std::string_view word) noexcept {
                               Work& w = *static_cast<Work*>(context);
                               w.result = w.self.encode_word(word, w.index, w.merger, w.spelled, w.out);
                               return w.result.has_value();
                             }});
    return work.result;
  }

 private:
  [[nodiscard]] bool spells_bytes() const noexcept { return pre_->traits.spelling == pre::Spelling::byte_letters; }

  [[nodiscard]] Result<void> encode_word(std::string_view word, const TextIndex& index, Merger& merger, String& spelled,
                                         Vector<std::int32_t>& out) const noexcept {
    if (pre_->traits.drops_spaces && properties_of(decode(word, 0).value).space()) return {};
    std::string_view text = word;
    if (whole_first(word) && word.size() <= index.longest()) {
      if (auto r = spell(word, spelled); !r) return r;
      const std::int32_t whole = index.find(spelled);
      if (whole != kNoToken) return out.push_back(whole);
    }
    if (lowercase_ || pre_->traits.spelling == pre::Spelling::marked_text) {
      if (auto r = spell(word, spelled); !r) return r;
      text = spelled.view();
    }
    if (auto r = start(text, index, merger); !r) return r;
    const auto lookup = [&](std::uint32_t, std::uint32_t, std::int32_t left, std::int32_t right) noexcept {
      return merges_.find(left, right);
    };
    if (auto r = merger.run(lookup); !r) return r;
    return push_merged(text, merger, bytes_, out);
  }

  /// Says whether `word` is looked up as a whole before it is merged.
  [[nodiscard]] bool whole_first(std::string_view word) const noexcept {
    const pre::Traits& traits = pre_->traits;
    return traits.ignore_merges || (traits.whole_line_feeds && word.find_first_not_of('\n') == std::string_view::npos);
  }

  /// Writes `word` to `spelled` as a token of the vocabulary would spell it.
  [[nodiscard]] Result<void> spell(std::string_view word, String& spelled) const noexcept {
    spelled.clear();
    if (pre_->traits.spelling == pre::Spelling::marked_text) return mark_spaces(word, spelled);
    if (pre_->traits.spelling == pre::Spelling::text) return lowercase_ ? lower(word, spelled) : spelled.append(word);
    for (const char c : word)
      if (auto r = spelled.append(byte_letter(static_cast<unsigned char>(c)).view()); !r) return r;
    return {};
  }

  [[nodiscard]] static Result<void> lower(std::string_view word, String& out) noexcept {
    for (std::size_t at = 0; at < word.size();) {
      const CodePoint read = decode(word, at);
      if (auto r = append_utf8(lowercase(read.value), out); !r) return r;
      at += read.length;
    }
    return {};
  }

  [[nodiscard]] Result<void> start(std::string_view text, const TextIndex& index, Merger& merger) const noexcept {
    if (!spells_bytes()) return start_with_characters(text, index, merger);
    if (auto r = merger.start(text.size()); !r) return r;
    for (std::size_t at = 0; at < text.size(); ++at)
      merger.add(static_cast<std::uint32_t>(at), 1, bytes_[static_cast<unsigned char>(text[at])]);
    return {};
  }

  MergeTable merges_;
  const PreTokenizerEntry* pre_ = nullptr;
  ByteTokens bytes_{};
  bool lowercase_ = false;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
