// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lexer.hpp: tokens of the text form with the line and column where each stands.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/core/string.hpp>
#include <zrt/ir/ptir/print.hpp>

#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

struct Lexeme {
  enum class Kind : std::uint8_t { end, identifier, number, string, symbol, bad };
  Kind kind = Kind::end;
  std::string_view text{};  ///< as written; of a string, what stands between the quotes
  std::size_t offset = 0;
  std::uint32_t line = 1;
  std::uint32_t column = 1;  ///< in bytes, from 1

  [[nodiscard]] constexpr bool is(char c) const noexcept {
    return kind == Kind::symbol && text.size() == 1 && text[0] == c;
  }
};

/// Splits a text into tokens. Spaces, line ends and comments (`//` to the end of the line) separate.
class Lexer {
 public:
  explicit Lexer(std::string_view text) noexcept : text_(text) { advance(); }

  [[nodiscard]] const Lexeme& token() const noexcept { return token_; }

  /// Moves to the next token; the end stays the end.
  void advance() noexcept {
    skip_space();
    token_ = {Lexeme::Kind::end, slice(text_, at_, 0), at_, line_, column()};
    if (at_ == text_.size()) return;
    const std::size_t first = at_;
    const char c = text_[at_];
    if (detail::starts_identifier(c)) {
      while (at_ < text_.size() && detail::continues_identifier(text_[at_])) ++at_;
      token_.kind = Lexeme::Kind::identifier;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      number();
      token_.kind = Lexeme::Kind::number;
    } else if (c == '"') {
      string();
      return;
    } else {
      ++at_;
      token_.kind = static_cast<unsigned char>(c) < 0x80 ? Lexeme::Kind::symbol : Lexeme::Kind::bad;
    }
    token_.text = slice(text_, first, at_ - first);
  }

 private:
  [[nodiscard]] std::uint32_t column() const noexcept { return static_cast<std::uint32_t>(at_ - line_start_ + 1); }

  void skip_space() noexcept {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (slice(text_, at_).starts_with("//")) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        continue;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
      ++at_;
    }
  }

  // A sign, then letters, digits and points; a sign after an exponent's e. "-inf" is a number too.
  void number() noexcept {
    const bool bits = slice(text_, at_).starts_with("0x");
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent_sign = !bits && (c == '+' || c == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
      if (!detail::continues_identifier(c) && !exponent_sign) return;
      ++at_;
    }
  }

  void string() noexcept {
    const std::size_t first = ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2u : 1u;
    if (at_ >= text_.size() || text_[at_] != '"') {
      at_ = at_ < text_.size() ? at_ : text_.size();
      token_.kind = Lexeme::Kind::bad;
      token_.text = slice(text_, first - 1, at_ - (first - 1));
      return;
    }
    token_.kind = Lexeme::Kind::string;
    token_.text = slice(text_, first, at_ - first);
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t line_start_ = 0;
  Lexeme token_{};
};

/// Appends what the inside of a quoted string stands for: \" \\ \n \xNN and plain bytes. Tells whether
/// every escape was one of these.
[[nodiscard]] inline Result<bool> append_unescaped(String& out, std::string_view inside) noexcept {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  for (std::size_t i = 0; i < inside.size(); ++i) {
    char c = inside[i];
    if (c == '\\') {
      if (++i == inside.size()) return false;
      c = inside[i];
      if (c == 'n') {
        c = '\n';
      } else if (c == 'x') {
        if (inside.size() - i < 3 || digit(inside[i + 1]) < 0 || digit(inside[i + 2]) < 0) return false;
        c = static_cast<char>(digit(inside[i + 1]) * 16 + digit(inside[i + 2]));
        i += 2;
      } else if (c != '"' && c != '\\') {
        return false;
      }
    }
    if (auto r = out.push_back(c); !r) return pass(r);
  }
  return true;
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
