// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/token_trie.hpp: the bytes of all tokens of a vocabulary as one tree.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/text/tokenizer.hpp>

namespace zrt::inline ZRT_ABI::text::grammar {

/// A node of the tree, in the order of a walk that goes down first.
struct TrieNode {
  std::uint32_t past = 0;   ///< the node behind the last one below this
  std::uint32_t first = 0;  ///< of the tokens that end here, in the tree's list
  std::uint32_t count = 0;
  std::uint16_t depth = 0;  ///< bytes before this node's
  std::uint8_t byte = 0;
};

/// The tokens of a vocabulary by their bytes. Immutable once made; about 16 bytes a node and 4 a token.
///
/// Tokens without bytes are in no node: control tokens, and what a vocabulary leaves unused. The tokens that end a
/// generation are listed apart.
class TokenTrie {
 public:
  static constexpr std::size_t kMostBytes = 4096;  ///< of a token; a longer one is never allowed

  [[nodiscard]] static Result<TokenTrie> make(const Tokenizer& tokenizer) noexcept {
    TokenTrie trie(tokenizer.allocator());
    trie.vocabulary_ = static_cast<std::uint32_t>(tokenizer.vocab_size());
    String bytes(tokenizer.allocator());
    Vector<Piece> pieces(tokenizer.allocator());
    for (std::uint32_t id = 0; id < trie.vocabulary_; ++id) {
      const auto token = static_cast<std::int32_t>(id);
      if (tokenizer.is_end_of_generation(token)) {
        if (auto r = trie.ends_.push_back(id); !r) return pass(r);
        continue;
      }
      const std::size_t begin = bytes.size();
      if (auto r = tokenizer.append_piece(token, false, bytes); !r) return pass(r);
      const std::size_t size = bytes.size() - begin;
      if (size == 0 || size > kMostBytes) continue;
      if (auto r = pieces.push_back({begin, size, id}); !r) return pass(r);
    }
    if (auto r = trie.build(bytes.view(), pieces.span()); !r) return pass(r);
    return trie;
  }

  [[nodiscard]] Span<const TrieNode> nodes() const noexcept { return nodes_.span(); }
  [[nodiscard]] Span<const std::uint32_t> tokens(const TrieNode& node) const noexcept {
    return tokens_.span().subspan(node.first, node.count);
  }
  [[nodiscard]] Span<const std::uint32_t> ends_of_generation() const noexcept { return ends_.span(); }
  [[nodiscard]] std::uint32_t vocabulary() const noexcept { return vocabulary_; }
  [[nodiscard]] std::size_t deepest() const noexcept { return deepest_; }

 private:
  struct Piece {
    std::size_t begin;
    std::size_t size;
    std::uint32_t id;
  };

  explicit TokenTrie(const Allocator& a) noexcept : nodes_(a), tokens_(a), ends_(a) {}

  [[nodiscard]] Result<void> build(std::string_view bytes, Span<Piece> pieces) noexcept {
    const auto text = [&](const Piece& p) { return slice(bytes, p.begin, p.size); };
    heap_sort(pieces, [&](const Piece& a, const Piece& b) {
      const int order = text(a).compare(text(b));
      return order != 0 ? order < 0 : a.id < b.id;
    });
    Vector<std::uint32_t> open(nodes_.allocator());  // the path to the last token
    std::string_view last{};
    for (const Piece& piece : pieces) {
      const std::string_view now = text(piece);
      std::size_t shared = 0;
      while (shared < last.size() && shared < now.size() && last[shared] == now[shared]) ++shared;
      close(open, shared);
      for (std::size_t i = shared; i < now.size(); ++i) {
        if (auto r = open.push_back(static_cast<std::uint32_t>(nodes_.size())); !r) return r;
        const TrieNode node{.first = static_cast<std::uint32_t>(tokens_.size()),
                            .depth = static_cast<std::uint16_t>(i),
                            .byte = static_cast<std::uint8_t>(now[i])};
        if (auto r = nodes_.push_back(node); !r) return r;
      }
      deepest_ = now.size() > deepest_ ? now.size() : deepest_;
      ++nodes_[open.back()].count;
      if (auto r = tokens_.push_back(piece.id); !r) return r;
      last = now;
    }
    close(open, 0);
    return {};
  }
  void close(Vector<std::uint32_t>& open, std::size_t keep) noexcept {
    while (open.size() > keep) {
      nodes_[open.back()].past = static_cast<std::uint32_t>(nodes_.size());
      open.pop_back();
    }
  }

  Vector<TrieNode> nodes_;
  Vector<std::uint32_t> tokens_;
  Vector<std::uint32_t> ends_;
  std::uint32_t vocabulary_ = 0;
  std::size_t deepest_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::text::grammar
