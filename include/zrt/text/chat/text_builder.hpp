// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/text_builder.hpp: a text under construction that keeps its first error.
#pragma once

#include <zrt/core/string.hpp>

#include <charconv>

namespace zrt::inline ZRT_ABI::text::chat {

/// Appends pieces; the first error is kept, and nothing is appended after it.
class TextBuilder {
 public:
  /// Errors: Errc::limit_exceeded past `most` bytes, Errc::out_of_memory.
  explicit TextBuilder(const Allocator& allocator, std::size_t most = std::size_t{16} << 20) noexcept
      : text_(allocator), most_(most) {}

  TextBuilder& operator<<(std::string_view piece) noexcept {
    if (!result_) return *this;
    if (piece.size() > most_ - text_.size())
      result_ = fail(Errc::limit_exceeded, "a text has more than ", most_, " bytes");
    else
      result_ = text_.append(piece);
    return *this;
  }
  TextBuilder& operator<<(char c) noexcept { return *this << std::string_view(&c, 1); }
  TextBuilder& operator<<(std::int64_t value) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  /// Appends a code point as UTF-8.
  TextBuilder& code_point(char32_t c) noexcept {
    const auto byte = [&](char32_t bits) { *this << static_cast<char>(static_cast<unsigned char>(bits)); };
    const std::uint32_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    constexpr unsigned char leads[] = {0x00, 0xc0, 0xe0, 0xf0};
    byte(leads[more] | (c >> (6 * more)));
    for (std::uint32_t i = more; i-- > 0;) byte(0x80u | ((c >> (6 * i)) & 0x3fu));
    return *this;
  }

  [[nodiscard]] std::string_view view() const noexcept { return text_.view(); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] const Result<void>& result() const noexcept { return result_; }
  [[nodiscard]] String take() noexcept { return std::move(text_); }

 private:
  String text_;
  std::size_t most_;
  Result<void> result_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat
