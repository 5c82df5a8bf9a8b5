// SPDX-License-Identifier: Apache-2.0
// zrt/core/string.hpp: an owned byte string over the allocator hook whose growth can fail.
#pragma once

#include <zrt/core/vector.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI {

/// Owned characters, usually UTF-8; move-only; not null-terminated.
class String {
 public:
  explicit String(Allocator allocator = system_allocator()) noexcept : chars_(allocator) {}

  /// Copies `text`.
  [[nodiscard]] static Result<String> of(std::string_view text, const Allocator& allocator) noexcept {
    String string(allocator);
    if (auto r = string.append(text); !r) return pass(r);
    return string;
  }

  [[nodiscard]] Result<void> append(std::string_view text) noexcept {
    return chars_.append(Span<const char>(text.data(), text.size()));
  }
  [[nodiscard]] Result<void> push_back(char c) noexcept { return chars_.push_back(c); }
  [[nodiscard]] Result<void> reserve(std::size_t count) noexcept { return chars_.reserve(count); }
  void clear() noexcept { chars_.clear(); }
  /// Cuts the string to its first `count` characters; a longer count changes nothing.
  void truncate(std::size_t count) noexcept {
    while (chars_.size() > count) chars_.pop_back();
  }

  /// Removes the first `count` characters, at most all.
  void erase_front(std::size_t count) noexcept {
    if (count > chars_.size()) count = chars_.size();
    const std::size_t left = chars_.size() - count;
    for (std::size_t i = 0; i < left; ++i) chars_[i] = chars_[i + count];
    truncate(left);
  }

  [[nodiscard]] std::string_view view() const noexcept { return {chars_.data(), chars_.size()}; }
  [[nodiscard]] std::size_t size() const noexcept { return chars_.size(); }
  [[nodiscard]] bool empty() const noexcept { return chars_.empty(); }
  operator std::string_view() const noexcept { return view(); }  // NOLINT: a string reads as its view

 private:
  Vector<char> chars_;
};

}  // namespace zrt::inline ZRT_ABI
