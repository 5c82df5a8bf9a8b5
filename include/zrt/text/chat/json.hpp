// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/json.hpp: JSON (RFC 8259) to values and back.
#pragma once

#include <zrt/core/json_escape.hpp>
#include <zrt/text/chat/text_builder.hpp>
#include <zrt/text/chat/value.hpp>
#include <zrt/text/detail/unicode.hpp>

#include <cmath>

namespace zrt::inline ZRT_ABI::text::chat {

/// How a value is written as JSON.
struct JsonStyle {
  bool ascii = false;        ///< escape what is beyond ASCII
  std::int64_t indent = -1;  ///< spaces of a level; below 0: one line
  std::string_view item_separator = ", ";
  std::string_view key_separator = ": ";
  bool sort_keys = false;
};

namespace detail {

using zrt::text::detail::CodePoint;
using zrt::text::detail::decode;

class JsonReader {
 public:
  static constexpr std::uint32_t kDepth = 64;

  JsonReader(std::string_view text, Values& values) noexcept : text_(text), values_(values) {}

  [[nodiscard]] Result<Value> read() noexcept {
    const Value value = any(0);
    skip_spaces();
    if (ok_ && at_ != text_.size()) fault("the end of the text");
    if (!ok_) return std::unexpected<Error>(error_);
    if (!values_.ok()) return std::unexpected<Error>(values_.error());
    return value;
  }

 private:
  [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] bool takes(char c) noexcept {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_spaces() noexcept {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  void fault(std::string_view expected) noexcept {
    if (!ok_) return;
    ok_ = false;
    error_ = Error::of(Errc::invalid_argument, "JSON: expected ", expected, " at byte ", at_, ", found ");
    if (at_ < text_.size())
      error_.append("'").append(slice(text_, at_, decode(text_, at_).length)).append("'");
    else
      error_.append("the end");
    error_.at_offset(at_);
  }

  [[nodiscard]] Value any(std::uint32_t depth) noexcept {
    skip_spaces();
    if (depth > kDepth) {
      fault("no more than 64 levels");
      return {};
    }
    switch (peek()) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return string();
      case 't':
        return word("true", Value::of(true));
      case 'f':
        return word("false", Value::of(false));
      case 'n':
        return word("null", Value::none());
      default:
        return number();
    }
  }
  [[nodiscard]] Value word(std::string_view text, Value value) noexcept {
    if (slice(text_, at_, text.size()) == text)
      at_ += text.size();
    else
      fault("a value");
    return value;
  }
  [[nodiscard]] Value array(std::uint32_t depth) noexcept {
    ++at_;
    const Value list = values_.list();
    skip_spaces();
    if (takes(']')) return list;
    while (good()) {
      values_.push(list, any(depth + 1));
      skip_spaces();
      if (takes(']')) break;
      if (!takes(',')) fault("',' or ']'");
    }
    return list;
  }
  /// Of equal keys the last one counts.
  [[nodiscard]] Value object(std::uint32_t depth) noexcept {
    ++at_;
    const Value dict = values_.dict();
    skip_spaces();
    if (takes('}')) return dict;
    while (good()) {
      skip_spaces();
      if (peek() != '"') return fault("a key in quotes"), dict;
      const Value key = string();
      skip_spaces();
      if (good() && !takes(':')) fault("':'");
      const Value value = good() ? any(depth + 1) : Value{};
      if (good()) values_.set(dict, key.text, value);
      skip_spaces();
      if (takes('}')) break;
      if (!takes(',')) fault("',' or '}'");
    }
    return dict;
  }
  [[nodiscard]] bool good() const noexcept { return ok_ && values_.ok(); }

  [[nodiscard]] Value string() noexcept {
    ++at_;
    TextBuilder out(values_.allocator());
    while (ok_ && !takes('"')) {
      if (at_ >= text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20) {
        fault("a character of a string or '\"'");
      } else if (text_[at_] == '\\') {
        escape(out);
      } else {
        const CodePoint c = decode(text_, at_);
        if (!c.valid) fault("UTF-8");
        out << slice(text_, at_, c.length);
        at_ += c.length;
      }
    }
    if (!out.result()) values_.fail(out.result().error());
    return values_.string(out.view());
  }
  void escape(TextBuilder& out) noexcept {
    ++at_;
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const std::size_t which = names.find(peek());
    if (at_ < text_.size() && which != std::string_view::npos) {
      ++at_;
      out << meanings[which];
    } else if (takes('u')) {
      char32_t c = hex4();
      if (c >= 0xd800 && c < 0xdc00 && slice(text_, at_, 2) == "\\u") {
        at_ += 2;
        const char32_t low = hex4();
        if (low < 0xdc00 || low > 0xdfff)
          fault("the second half of a surrogate pair");
        else
          c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
      }
      if (c >= 0xd800 && c < 0xe000) fault("a surrogate pair");
      if (ok_) out.code_point(c);
    } else {
      fault("an escape of JSON");
    }
  }
  [[nodiscard]] char32_t hex4() noexcept {
    char32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = peek();
      const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                             : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                             : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                                                    : 16;
      if (digit == 16) return fault("a hexadecimal digit"), char32_t{0};
      value = value * 16 + digit;
      ++at_;
    }
    return value;
  }

  void digits(std::string_view expected) noexcept {
    if (peek() < '0' || peek() > '9') return fault(expected);
    while (peek() >= '0' && peek() <= '9') ++at_;
  }
  /// A whole number that fits 64 bits is an integer, a larger one a real that keeps its digits, any other a real.
  [[nodiscard]] Value number() noexcept {
    const std::size_t begin = at_;
    const bool negative = takes('-');
    if (peek() == '0' && at_ + 1 < text_.size() && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9') ++at_, fault("'.'");
    digits(negative ? "a digit" : "a value");
    bool whole = true;
    if (ok_ && takes('.')) whole = false, digits("a digit behind the point");
    if (ok_ && (takes('e') || takes('E'))) {
      whole = false;
      if (!takes('+')) (void)takes('-');
      digits("a digit of the exponent");
    }
    if (!ok_) return {};
    const char* first = text_.data() + begin;
    const char* last = text_.data() + at_;
    std::int64_t integer = 0;
    if (whole && std::from_chars(first, last, integer).ec == std::errc()) return Value::of(integer);
    double real = 0.0;
    if (std::from_chars(first, last, real).ec != std::errc()) {
      at_ = begin;
      fault("a number that a double holds");
    }
    Value value = Value::of(real);
    if (whole) value.text = values_.string(slice(text_, begin, at_ - begin)).text;
    return value;
  }

  std::string_view text_;
  Values& values_;
  std::size_t at_ = 0;
  bool ok_ = true;
  Error error_{};
};

}  // namespace detail

/// Reads one JSON text into `values`. Of equal keys the last counts.
///
/// Errors: Errc::invalid_argument with the byte, what was expected and what was found; Errc::limit_exceeded.
[[nodiscard]] inline Result<Value> read_json(std::string_view text, Values& values) noexcept {
  return detail::JsonReader(text, values).read();
}

/// Appends a double as Python writes it: the shortest digits that read back, an exponent below 1e-4 and from 1e16 on.
inline void write_real(double value, TextBuilder& out) noexcept {
  if (std::isnan(value)) return void(out << "nan");
  if (std::isinf(value)) return void(out << (value < 0 ? "-inf" : "inf"));
  const double size = value < 0 ? -value : value;
  const bool fixed = size == 0.0 || (size >= 1e-4 && size < 1e16);
  char digits[400];
  const auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(digits, digits + sizeof digits, value, format).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  out << text;
  if (fixed && text.find('.') == std::string_view::npos) out << ".0";
}

/// The same of a value, of a whole number all of its digits.
inline void write_real(const Value& value, TextBuilder& out) noexcept {
  if (value.text.empty())
    write_real(value.real, out);
  else
    out << value.text;
}

/// Appends a text in quotes as JSON has it.
inline void write_json_string(std::string_view text, bool ascii, TextBuilder& out) noexcept {
  out << '"';
  for (std::size_t at = 0; at < text.size();) {
    const detail::CodePoint c = detail::decode(text, at);
    const std::size_t from = out.size();
    if (needs_json_escape(c.value) || (ascii && c.value > 0x7f && c.value < 0x10000)) {
      out << json_escape(c.value).view();
    } else if (ascii && c.value >= 0x10000) {
      out << json_escape(0xd800 + ((c.value - 0x10000) >> 10)).view();
      out << json_escape(0xdc00 + ((c.value - 0x10000) & 0x3ff)).view();
    } else {
      out << (c.valid ? slice(text, at, c.length) : std::string_view("\xef\xbf\xbd"));
    }
    out.stands_for(slice(text, at, c.length), from);
    at += c.length;
  }
  out << '"';
}

namespace detail {

class JsonWriter {
 public:
  JsonWriter(Values& values, const JsonStyle& style, TextBuilder& out) noexcept
      : values_(values), style_(style), out_(out) {}

  [[nodiscard]] Result<void> write(const Value& value, std::uint32_t depth = 0) noexcept {
    if (depth > 128) return fail(Errc::limit_exceeded, "a value is nested more than 128 deep");
    switch (value.kind) {
      case Kind::none:
        out_ << "null";
        break;
      case Kind::boolean:
        out_ << (value.integer != 0 ? "true" : "false");
        break;
      case Kind::integer:
        out_ << value.integer;
        break;
      case Kind::real:
        if (!std::isfinite(value.real))
          out_ << (std::isnan(value.real) ? "NaN" : value.real < 0 ? "-Infinity" : "Infinity");
        else
          write_real(value, out_);
        break;
      case Kind::string:
        write_json_string(value.text, style_.ascii, out_);
        break;
      case Kind::list:
      case Kind::tuple:
        return write_list(value, depth);
      case Kind::dict:
        return write_dict(value, depth);
      case Kind::undefined:
      case Kind::space:
      case Kind::macro:
      case Kind::loop:
      case Kind::method:
        return fail(Errc::invalid_argument, "JSON has no form for a value that is ",
                    value.is(Kind::undefined) ? "undefined" : "a template's own");
    }
    return out_.result();
  }

 private:
  [[nodiscard]] Result<void> write_list(const Value& list, std::uint32_t depth) noexcept {
    out_ << '[';
    const std::size_t count = values_.items(list).size();
    for (std::size_t i = 0; i < count; ++i) {
      begin_item(i, depth);
      if (auto r = write(values_.items(list)[i], depth + 1); !r) return r;
    }
    if (count != 0) new_line(depth);
    out_ << ']';
    return out_.result();
  }
  [[nodiscard]] Result<void> write_dict(const Value& dict, std::uint32_t depth) noexcept {
    out_ << '{';
    const std::size_t count = values_.entries(dict).size();
    std::string_view before{};
    for (std::size_t i = 0; i < count; ++i) {
      const Entry entry = style_.sort_keys ? next_key(dict, i == 0, before) : values_.entries(dict)[i];
      before = entry.key.text;
      begin_item(i, depth);
      if (auto r = write_key(entry.key); !r) return r;
      out_ << style_.key_separator;
      if (auto r = write(entry.value, depth + 1); !r) return r;
    }
    if (count != 0) new_line(depth);
    out_ << '}';
    return out_.result();
  }
  /// The entry with the least key above `before`.
  [[nodiscard]] Entry next_key(const Value& dict, bool first, std::string_view before) noexcept {
    Entry best{};
    bool found = false;
    for (const Entry& entry : values_.entries(dict))
      if ((first || entry.key.text > before) && (!found || entry.key.text < best.key.text)) best = entry, found = true;
    return best;
  }
  [[nodiscard]] Result<void> write_key(const Value& key) noexcept {
    if (key.is_string()) return write_json_string(key.text, style_.ascii, out_), out_.result();
    out_ << '"';
    if (auto r = write(key, 128); !r) return r;
    out_ << '"';
    return out_.result();
  }
  void begin_item(std::size_t index, std::uint32_t depth) noexcept {
    if (index != 0) {
      // Python leaves out the space before a new line.
      out_ << (style_.indent >= 0 && style_.item_separator == ", " ? std::string_view(",") : style_.item_separator);
    }
    new_line(depth + 1);
  }
  void new_line(std::uint32_t depth) noexcept {
    if (style_.indent < 0) return;
    out_ << '\n';
    for (std::int64_t i = 0; i < style_.indent * depth; ++i) out_ << ' ';
  }

  Values& values_;
  const JsonStyle& style_;
  TextBuilder& out_;
};

}  // namespace detail

/// Appends `value` as JSON. Errors: Errc::invalid_argument for what JSON has no form for, Errc::limit_exceeded.
[[nodiscard]] inline Result<void> write_json(Values& values, const Value& value, const JsonStyle& style,
                                             TextBuilder& out) noexcept {
  return detail::JsonWriter(values, style, out).write(value);
}

}  // namespace zrt::inline ZRT_ABI::text::chat
