// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_lexer.hpp: the source of a chat template to tokens.
#pragma once

#include <zrt/text/chat/text_builder.hpp>
#include <zrt/text/chat/value.hpp>
#include <zrt/text/detail/unicode.hpp>

namespace zrt::inline ZRT_ABI::text::chat::detail {

namespace unicode = zrt::text::detail;

/// Where a piece of a template stands, from 1.
struct TemplatePlace {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

/// An error of a template at a place.
template <class... Pieces>
[[nodiscard]] Error template_error(Errc code, TemplatePlace place, Pieces... pieces) noexcept {
  return Error::of(code, "chat template, line ", place.line, ", column ", place.column, ": ", pieces...);
}

enum class TemplateTokenKind : std::uint8_t {
  end,
  text,
  begin_output,
  end_output,
  begin_block,
  end_block,
  name,
  string,
  integer,
  real,
  op
};

struct TemplateToken {
  TemplateTokenKind kind = TemplateTokenKind::end;
  std::string_view text{};  ///< as written; of a text or string: what it means
  Value value{};            ///< of a literal
  TemplatePlace place{};
};

/// Whether a code point is white space to Python.
[[nodiscard]] constexpr bool is_space(char32_t c) noexcept {
  return (c >= 0x1c && c <= 0x1f) || unicode::properties_of(c).space();
}

/// Where the text without the white space in front of it begins.
[[nodiscard]] constexpr std::size_t left_of_text(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const unicode::CodePoint c = unicode::decode(text, at);
    if (!c.valid || !is_space(c.value)) break;
    at += c.length;
  }
  return at;
}
/// Where the text without the white space behind it ends.
[[nodiscard]] constexpr std::size_t right_of_text(std::string_view text) noexcept {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t at = end - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u) --at;
    const unicode::CodePoint c = unicode::decode(text, at);
    if (!c.valid || at + c.length != end || !is_space(c.value)) break;
    end = at;
  }
  return end;
}

/// Splits a template as Jinja does with trim_blocks and lstrip_blocks: a line of white space before a statement or
/// comment goes, and so does the line end behind one.
class TemplateLexer {
 public:
  /// `source` has line feeds alone as line ends, and outlives the tokens, whose texts lie in `values`.
  TemplateLexer(std::string_view source, Values& values) noexcept
      : source_(source), values_(values), tokens_(values.allocator()) {}

  [[nodiscard]] Result<Vector<TemplateToken>> read() noexcept {
    while (ok_ && at_ < source_.size()) read_text();
    token_ = at_;
    if (ok_) push(TemplateTokenKind::end, {});
    if (!ok_) return std::unexpected<Error>(error_);
    return std::move(tokens_);
  }

 private:
  enum class Tag : std::uint8_t { output, block, comment };

  [[nodiscard]] bool at(std::string_view text) const noexcept { return slice(source_, at_, text.size()) == text; }
  [[nodiscard]] TemplatePlace place_of(std::size_t offset) noexcept {
    for (; placed_ < offset; ++placed_) {
      const auto byte = static_cast<unsigned char>(source_[placed_]);
      if (byte == '\n')
        place_ = {place_.line + 1, 1};
      else if ((byte & 0xc0u) != 0x80u)
        ++place_.column;
    }
    return place_;
  }
  void push(TemplateTokenKind kind, std::string_view text, Value value = {}) noexcept {
    const auto r = tokens_.push_back({kind, text, value, place_of(token_)});
    if (!r) ok_ = false, error_ = r.error();
  }
  template <class... Pieces> void fault(Pieces... pieces) noexcept {
    if (ok_) error_ = template_error(Errc::invalid_argument, place_of(token_), pieces...);
    ok_ = false;
  }

  /// Reads text up to the next tag, and the tag.
  void read_text() noexcept {
    const std::size_t begin = at_;
    std::size_t open = begin;
    while (open < source_.size() && !is_tag(open)) ++open;
    std::string_view text = slice(source_, begin, open - begin);
    token_ = begin;
    if (open == source_.size()) {
      at_ = open;
      if (!text.empty()) push(TemplateTokenKind::text, text);
      return;
    }
    const char kind = source_[open + 1];
    const Tag tag = kind == '{' ? Tag::output : kind == '%' ? Tag::block : Tag::comment;
    const char sign = open + 2 < source_.size() ? source_[open + 2] : '\0';
    if (sign == '-')
      text = slice(text, 0, right_of_text(text));
    else if (sign != '+' && tag != Tag::output)
      text = without_indent(text);
    if (!text.empty()) push(TemplateTokenKind::text, text);
    at_ = token_ = open;
    at_ += 2 + (sign == '-' || (sign == '+' && tag != Tag::output) ? 1 : 0);
    tag == Tag::comment ? skip_comment() : read_code(tag);
  }
  [[nodiscard]] bool is_tag(std::size_t at) const noexcept {
    return source_[at] == '{' && at + 1 < source_.size() &&
           (source_[at + 1] == '{' || source_[at + 1] == '%' || source_[at + 1] == '#');
  }
  /// Cuts the white space between the last line's beginning and a tag, if there is nothing else.
  [[nodiscard]] std::string_view without_indent(std::string_view text) const noexcept {
    const std::size_t line = text.rfind('\n');
    if (line == std::string_view::npos && !line_starting_) return text;
    const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
    const std::string_view last = slice(text, begin);
    return left_of_text(last) == last.size() ? slice(text, 0, begin) : text;
  }
  /// Behind a tag that ends at `at_`: all white space, or one line end.
  void after_tag(bool trims, bool is_output) noexcept {
    const std::size_t begin = at_;
    if (trims)
      at_ += left_of_text(slice(source_, at_));
    else if (!is_output && at("\n"))
      ++at_;
    line_starting_ = at_ != begin && source_[at_ - 1] == '\n';
  }
  void skip_comment() noexcept {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) return fault("expected '#}', found the end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    at_ = end + 2;
    if (sign != '+')
      after_tag(sign == '-', false);
    else
      line_starting_ = false;
  }

  void read_code(Tag tag) noexcept {
    const bool output = tag == Tag::output;
    push(output ? TemplateTokenKind::begin_output : TemplateTokenKind::begin_block, output ? "{{" : "{%");
    const std::string_view end = output ? "}}" : "%}";
    std::uint32_t open = 0;  // brackets
    while (ok_) {
      at_ += left_of_text(slice(source_, at_));
      token_ = at_;
      if (at_ >= source_.size()) return fault("expected '", end, "', found the end");
      const bool minus = source_[at_] == '-';
      const bool plus = source_[at_] == '+' && !output;
      if (open == 0 && slice(source_, at_ + (minus || plus ? 1 : 0), 2) == end) {
        at_ += 2 + (minus || plus ? 1 : 0);
        push(output ? TemplateTokenKind::end_output : TemplateTokenKind::end_block, end);
        if (plus)
          line_starting_ = false;
        else
          after_tag(minus, output);
        return;
      }
      read_token(open);
    }
  }

  [[nodiscard]] static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  [[nodiscard]] static constexpr bool begins_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  void read_token(std::uint32_t& open) noexcept {
    const char c = source_[at_];
    if (is_digit(c)) return read_number();
    if (c == '"' || c == '\'') return read_string(c);
    if (begins_name(c)) {
      const std::size_t begin = at_;
      while (at_ < source_.size() && (begins_name(source_[at_]) || is_digit(source_[at_]))) ++at_;
      return push(TemplateTokenKind::name, slice(source_, begin, at_ - begin));
    }
    constexpr std::string_view operators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
                                              "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view op : operators) {
      if (!at(op)) continue;
      if (op == "(" || op == "[" || op == "{") ++open;
      if (op == ")" || op == "]" || op == "}") {
        if (open == 0) return fault("'", op, "' closes nothing");
        --open;
      }
      at_ += op.size();
      return push(TemplateTokenKind::op, op);
    }
    fault("expected an expression, found '", slice(source_, at_, unicode::decode(source_, at_).length), "'");
  }

  void read_number() noexcept {
    const std::size_t begin = at_;
    const auto skip = [&] {
      while (at_ < source_.size() && is_digit(source_[at_])) ++at_;
    };
    skip();
    bool whole = true;
    if (at(".") && at_ + 1 < source_.size() && is_digit(source_[at_ + 1])) {
      whole = false;
      ++at_;
      skip();
    }
    const std::size_t sign = at("e+") || at("e-") || at("E+") || at("E-") ? 2 : at("e") || at("E") ? 1 : 0;
    if (sign != 0 && at_ + sign < source_.size() && is_digit(source_[at_ + sign])) {
      whole = false;
      at_ += sign;
      skip();
    }
    const char* first = source_.data() + begin;
    const char* last = source_.data() + at_;
    const std::string_view text = slice(source_, begin, at_ - begin);
    std::int64_t integer = 0;
    double real = 0.0;
    if (whole && std::from_chars(first, last, integer).ec == std::errc())
      push(TemplateTokenKind::integer, text, Value::of(integer));
    else if (!whole && std::from_chars(first, last, real).ec == std::errc())
      push(TemplateTokenKind::real, text, Value::of(real));
    else
      fault("expected a number of 64 bits, found ", text);
  }

  void read_string(char quote) noexcept {
    TextBuilder out(values_.allocator());
    for (++at_; at_ < source_.size() && source_[at_] != quote;) {
      if (source_[at_] == '\\')
        read_escape(out);
      else
        out << source_[at_++];
    }
    if (at_ >= source_.size()) return fault("expected ", quote, ", found the end");
    ++at_;
    if (!out.result()) values_.fail(out.result().error());
    const Value value = values_.string(out.view());
    if (!values_.ok()) return void((ok_ = false, error_ = values_.error()));
    push(TemplateTokenKind::string, value.text, value);
  }
  /// As Python has them; an unknown escape stands for itself.
  void read_escape(TextBuilder& out) noexcept {
    ++at_;
    const char c = at_ < source_.size() ? source_[at_] : '\0';
    constexpr std::string_view names = "\\'\"abfnrtv";
    constexpr std::string_view meanings = "\\'\"\a\b\f\n\r\t\v";
    if (const std::size_t which = names.find(c); c != '\0' && which != std::string_view::npos) {
      ++at_;
      out << meanings[which];
      return;
    }
    const std::size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (c == '\n') {
      ++at_;
    } else if (digits != 0) {
      ++at_;
      read_code_point(digits, out);
    } else if (c >= '0' && c <= '7') {
      char32_t value = 0;
      for (int i = 0; i < 3 && at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '7'; ++i)
        value = value * 8 + static_cast<char32_t>(source_[at_++] - '0');
      out.code_point(value);
    } else {
      out << '\\';
    }
  }
  void read_code_point(std::size_t digits, TextBuilder& out) noexcept {
    std::uint32_t value = 0;
    const std::string_view text = slice(source_, at_, digits);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (text.size() != digits || error != std::errc() || end != text.data() + digits || value > 0x10ffff ||
        (value >= 0xd800 && value < 0xe000))
      return fault("expected ", digits, " hexadecimal digits of a character, found '", text, "'");
    at_ += digits;
    out.code_point(value);
  }

  std::string_view source_;
  Values& values_;
  Vector<TemplateToken> tokens_;
  std::size_t at_ = 0;
  std::size_t token_ = 0;   ///< where the tag or token being read begins
  std::size_t placed_ = 0;  ///< whose place is `place_`
  TemplatePlace place_{};
  bool line_starting_ = true;
  bool ok_ = true;
  Error error_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
