// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/literal_reader.hpp: arguments of calls as Python and as Gemma write them, made JSON.
#pragma once

#include <zrt/text/chat/json.hpp>
#include <zrt/text/chat/json_slices.hpp>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// Reads a text from its front and writes the values that it finds as JSON. A text value stands between quotes or between
/// Gemma's marks `<|"|>`, a key may be bare, and true, false and null are words of JSON or of Python.
class LiteralReader {
 public:
  static constexpr std::string_view kMark = "<|\"|>";

  LiteralReader(std::string_view text, TextBuilder& out, const Allocator& allocator) noexcept
      : left_(text), out_(out), allocator_(allocator) {}

  [[nodiscard]] bool done() const noexcept { return without_json_spaces(left_).empty(); }
  /// Takes a character that stands next, behind white space.
  [[nodiscard]] bool take(char c) noexcept {
    left_ = without_json_spaces(left_);
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  /// Takes what stands before any of `ends`, without white space around it.
  [[nodiscard]] std::string_view take_word(std::string_view ends) noexcept {
    const std::size_t end = left_.find_first_of(ends);
    const std::string_view word = without_json_spaces(slice(left_, 0, end));
    left_ = end == std::string_view::npos ? std::string_view{} : slice(left_, end);
    return word;
  }
  /// Takes members up to `close`, each a key, `separator` and a value, and writes an object; false where it is none.
  [[nodiscard]] bool take_members(char separator, char close, std::uint32_t depth = 0) noexcept {
    out_ << '{';
    for (bool first = true; !take(close); first = false) {
      if (!first && !take(',')) return false;
      if (!first) out_ << ", ";
      if (!take_key(separator) || !take(separator)) return false;
      out_ << ": ";
      if (!take_value(depth + 1)) return false;
    }
    out_ << '}';
    return true;
  }

 private:
  static constexpr std::uint32_t kDepth = 64;  ///< as deep as JSON may be

  [[nodiscard]] bool at_text() noexcept {
    left_ = without_json_spaces(left_);
    return left_.starts_with(kMark) || left_.starts_with('"') || left_.starts_with('\'');
  }
  [[nodiscard]] bool take_key(char separator) noexcept {
    if (at_text()) return take_text();
    const std::string_view key = take_word(separator == '=' ? "=,()[]{}'\"" : ":,()[]{}'\"");
    if (key.empty()) return false;
    write_json_string(key, false, out_);
    return true;
  }
  [[nodiscard]] bool take_value(std::uint32_t depth) noexcept {
    if (depth > kDepth) return false;
    if (at_text()) return take_text();
    if (take('{')) return take_members(':', '}', depth);
    if (!take('[')) return take_plain();
    out_ << '[';
    for (bool first = true; !take(']'); first = false) {
      if (!first && !take(',')) return false;
      if (!first) out_ << ", ";
      if (!take_value(depth + 1)) return false;
    }
    out_ << ']';
    return true;
  }
  /// A number, or a word for true, false or null.
  [[nodiscard]] bool take_plain() noexcept {
    const std::string_view word = take_word(",()[]{}");
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"None", "null"}, {"True", "true"}, {"False", "false"}};
    for (const auto& [python, json] : words)
      if (word == python) return out_ << json, true;
    Values values(allocator_);
    if (word.empty() || !read_json(word, values)) return false;
    out_ << word;
    return true;
  }

  [[nodiscard]] bool take_text() noexcept {
    if (left_.starts_with(kMark)) {
      const std::size_t end = left_.find(kMark, kMark.size());
      if (end == std::string_view::npos) return false;
      write_json_string(slice(left_, kMark.size(), end - kMark.size()), false, out_);
      left_ = slice(left_, end + kMark.size());
      return true;
    }
    const std::size_t end = end_of_quoted();
    if (end == std::string_view::npos) return false;
    const std::string_view quoted = slice(left_, 0, end + 1);
    left_ = slice(left_, end + 1);
    Values values(allocator_);
    if (quoted.starts_with('"') && read_json(quoted, values)) return out_ << quoted, true;
    TextBuilder plain(allocator_);
    write_unescaped(slice(quoted, 1, quoted.size() - 2), plain);
    write_json_string(plain.view(), false, out_);
    return plain.result().has_value();
  }
  /// Where the quote stands that ends a text: models leave quotes within a text as they are, so it is one behind which a
  /// value can end.
  [[nodiscard]] std::size_t end_of_quoted() const noexcept {
    constexpr std::string_view ends = ",:)]}";
    for (std::size_t i = 1; i < left_.size(); ++i) {
      if (left_[i] == '\\') {
        ++i;
        continue;
      }
      if (left_[i] != left_.front()) continue;
      const std::size_t behind = left_.find_first_not_of(" \n\r\t", i + 1);
      if (behind != std::string_view::npos && ends.find(left_[behind]) != std::string_view::npos) return i;
    }
    return std::string_view::npos;
  }
  static void write_unescaped(std::string_view text, TextBuilder& out) noexcept {
    constexpr std::string_view escapes = "ntr\\'\"";
    constexpr std::string_view meanings = "\n\t\r\\'\"";
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::size_t escape =
          text[i] == '\\' && i + 1 < text.size() ? escapes.find(text[i + 1]) : std::string_view::npos;
      out << (escape == std::string_view::npos ? text[i] : meanings[escape]);
      if (escape != std::string_view::npos) ++i;
    }
  }

  std::string_view left_;
  TextBuilder& out_;
  Allocator allocator_;
};

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
