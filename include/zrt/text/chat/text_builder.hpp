// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/text_builder.hpp: a text under construction that keeps its first error.
#pragma once

#include <zrt/text/chat/value.hpp>

#include <charconv>

namespace zrt::inline ZRT_ABI::text::chat {

/// Appends pieces; the first error is kept, and nothing is appended after it.
class TextBuilder {
 public:
  /// Errors: Errc::limit_exceeded past `most` bytes, Errc::out_of_memory.
  explicit TextBuilder(const Allocator& allocator, std::size_t most = std::size_t{16} << 20) noexcept
      : text_(allocator), given_(allocator), most_(most) {}
  /// The same, and keeps which bytes are given ones of `values`.
  TextBuilder(const Values& values, std::size_t most) noexcept : TextBuilder(values.allocator(), most) {
    values_ = &values;
  }

  TextBuilder& operator<<(std::string_view piece) noexcept {
    if (!append(piece) || values_ == nullptr) return *this;
    const Span<const bool> given = values_->given(piece);
    result_ = given.empty() ? append_own(piece.size()) : given_.append(given);
    return *this;
  }
  TextBuilder& operator<<(char c) noexcept { return *this << std::string_view(&c, 1); }
  TextBuilder& operator<<(std::int64_t value) noexcept {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  /// What was appended behind the first `from` bytes stands for `original`, and is given where that is.
  void stands_for(std::string_view original, std::size_t from) noexcept {
    if (values_ == nullptr || !values_->any_given(original)) return;
    for (std::size_t i = from; i < given_.size(); ++i) given_[i] = true;
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
  /// By byte, where values were said; else empty.
  [[nodiscard]] Span<const bool> given() const noexcept { return given_.span(); }
  [[nodiscard]] String take() noexcept { return std::move(text_); }
  [[nodiscard]] Vector<bool> take_given() noexcept { return std::move(given_); }

 private:
  [[nodiscard]] bool append(std::string_view piece) noexcept {
    if (!result_) return false;
    if (piece.size() > most_ - text_.size())
      result_ = fail(Errc::limit_exceeded, "a text has more than ", most_, " bytes");
    else
      result_ = text_.append(piece);
    return result_.has_value();
  }

  /// Marks `count` bytes as not given. A vector grows by what it is asked for, so that asking for each piece would copy
  /// all before it each time.
  [[nodiscard]] Result<void> append_own(std::size_t count) noexcept {
    const std::size_t size = given_.size() + count;
    if (size > given_.capacity())
      if (auto r = given_.reserve(2 * size); !r) return r;
    return given_.resize(size);
  }

  String text_;
  Vector<bool> given_;
  const Values* values_ = nullptr;
  std::size_t most_;
  Result<void> result_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat
