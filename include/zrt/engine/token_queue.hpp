// SPDX-License-Identifier: Apache-2.0
// zrt/engine/token_queue.hpp: the tokens that a step drew for a request, on their way to its callable.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/engine/request.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Holds tokens with copies of their texts, in order. The text of a token that was taken holds until the next is put in.
class TokenQueue {
 public:
  explicit TokenQueue(const Allocator& a) noexcept : tokens_(a), texts_(a) {}

  /// Makes room for `count` tokens of at most `longest` bytes each.
  [[nodiscard]] Result<void> reserve(std::size_t count, std::size_t longest) noexcept {
    if (auto r = tokens_.reserve(count); !r) return r;
    return texts_.reserve(count * longest);
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(tokens_.size() - first_); }

  [[nodiscard]] Result<void> put(const Token& token) noexcept {
    if (first_ == tokens_.size()) clear();
    const std::size_t begin = texts_.size();
    if (auto r = texts_.append(token.text); !r) return r;
    return tokens_.push_back({token, begin});
  }

  /// The oldest; there is one.
  [[nodiscard]] Token take() noexcept {
    const Held& held = tokens_[first_++];
    Token token = held.token;
    token.text = {texts_.view().data() + held.begin, token.text.size()};
    return token;
  }

 private:
  struct Held {
    Token token;
    std::size_t begin = 0;  ///< of its text
  };

  void clear() noexcept {
    first_ = 0;
    tokens_.clear();
    texts_.clear();
  }

  std::size_t first_ = 0;
  Vector<Held> tokens_;
  String texts_;
};

}  // namespace zrt::inline ZRT_ABI::detail
