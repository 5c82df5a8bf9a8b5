// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_run.hpp: a chat template being rendered: its values, limits and first error.
#pragma once

#include <zrt/text/chat/json.hpp>
#include <zrt/text/chat/template_program.hpp>
#include <zrt/text/detail/word_piece.hpp>

namespace zrt::inline ZRT_ABI::text::chat {

/// What rendering a chat template may take. Passing a limit is Errc::limit_exceeded.
struct RenderLimits {
  std::uint64_t steps =
      1'000'000;  ///< parts of the template evaluated, with a step for each 64 bytes and element touched
  std::size_t output_bytes = std::size_t{4} << 20;
  std::size_t value_bytes = std::size_t{64} << 20;  ///< of all values together
  std::size_t text_bytes = std::size_t{1} << 20;    ///< of one text
  std::uint32_t macro_depth = 16;
  std::int64_t range = 10'000;  ///< elements of a range
};

/// What a template makes of a conversation.
struct ChatPrompt {
  String text;
  Vector<bool> given;  ///< by byte: it is of the conversation, not of the template

  [[nodiscard]] std::string_view view() const noexcept { return text.view(); }
};

namespace detail {

/// What statements, filters, tests and methods share while a template renders.
///
/// The first error is kept with its place; whoever computes on asks `ok()` where it would loop.
class TemplateRun {
 public:
  TemplateRun(Values& owner, const RenderLimits& most, std::int64_t clock) noexcept
      : values(owner), limits(most), now(clock) {}

  [[nodiscard]] bool ok() noexcept {
    if (failed_) return false;
    if (!values.ok()) fail_with(values.error());
    return !failed_;
  }
  [[nodiscard]] const Error& error() const noexcept { return error_; }
  /// An error at the part that is being evaluated.
  template <class... Pieces> Value fail(Pieces... pieces) noexcept {
    if (!failed_) error_ = template_error(Errc::invalid_argument, place, pieces...);
    failed_ = true;
    return {};
  }
  void fail_with(const Error& error) noexcept {
    if (!failed_) error_ = error;
    failed_ = true;
  }
  template <class... Pieces> void exceed(Pieces... pieces) noexcept {
    if (!failed_) error_ = template_error(Errc::limit_exceeded, place, "expected at most ", pieces...);
    failed_ = true;
  }
  /// Counts work; false past the limit.
  bool charge(std::uint64_t steps) noexcept {
    steps_ += steps;
    if (steps_ > limits.steps) exceed(limits.steps, " steps");
    return ok();
  }

  /// Keeps a built text as a value.
  Value finish(TextBuilder& text) noexcept {
    if (!text.result()) fail_with(text.result().error());
    (void)charge(text.size() / 64);
    return values.string(text.view(), text.given());
  }
  [[nodiscard]] TextBuilder builder() const noexcept { return TextBuilder(values, limits.text_bytes); }

  // --- what Python's values do -----------------------------------------------------------------------

  [[nodiscard]] bool truth(const Value& v) noexcept {
    switch (v.kind) {
      case Kind::undefined:
      case Kind::none:
        return false;
      case Kind::boolean:
      case Kind::integer:
        return v.integer != 0;
      case Kind::real:
        return v.real != 0.0;
      case Kind::string:
        return !v.text.empty();
      case Kind::list:
      case Kind::tuple:
        return !values.items(v).empty();
      case Kind::dict:
        return !values.entries(v).empty();
      case Kind::space:
      case Kind::macro:
      case Kind::loop:
      case Kind::method:
        break;
    }
    return true;
  }

  [[nodiscard]] bool equal(const Value& a, const Value& b, std::uint32_t depth = 0) noexcept {
    if (!charge(1)) return false;
    if (depth > kDepth) return exceed(kDepth, " nested values"), false;
    if (a.is_number() && b.is_number()) return same_number(a, b);
    if (a.kind != b.kind) return false;
    if (a.is_string()) return a.text == b.text;
    if (a.is_sequence()) return same_items(a, b, depth);
    if (a.is_dict()) return same_entries(a, b, depth);
    if (a.is(Kind::space) || a.is(Kind::macro) || a.is(Kind::loop)) return a.index == b.index && a.integer == b.integer;
    return !a.is(Kind::method);
  }

  /// Below 0, 0 or above for an order that Python has, else an error.
  [[nodiscard]] int order(const Value& a, const Value& b, std::uint32_t depth = 0) noexcept {
    if (!charge(1)) return 0;
    if (depth > kDepth) return exceed(kDepth, " nested values"), 0;
    if (a.is_number() && b.is_number()) {
      if (a.is_integral() && b.is_integral()) return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
      return a.as_real() < b.as_real() ? -1 : a.as_real() > b.as_real() ? 1 : 0;
    }
    if (a.is_string() && b.is_string()) {
      const int order = a.text.compare(b.text);  // UTF-8 has the order of code points
      return order < 0 ? -1 : order > 0 ? 1 : 0;
    }
    if (a.is_sequence() && a.kind == b.kind) {
      const std::size_t n = values.items(a).size();
      const std::size_t m = values.items(b).size();
      for (std::size_t i = 0; i < n && i < m; ++i)
        if (!equal(values.items(a)[i], values.items(b)[i], depth + 1))
          return order(values.items(a)[i], values.items(b)[i], depth + 1);
      return n < m ? -1 : n > m ? 1 : 0;
    }
    fail("expected two numbers, texts or lists to compare, found ", kind_of(a), " and ", kind_of(b));
    return 0;
  }

  /// The name of a value's type, for errors.
  [[nodiscard]] static std::string_view kind_of(const Value& v) noexcept {
    constexpr std::string_view names[] = {
        "an undefined value", "none",    "a boolean", "an integer", "a float", "a text", "a list", "a tuple", "a dict",
        "a namespace",        "a macro", "a loop",    "a method"};
    return names[static_cast<std::size_t>(v.kind)];
  }

  /// Appends what `{{ v }}` prints.
  void write(const Value& v, TextBuilder& out) noexcept {
    if (v.is_string())
      out << v.text;
    else if (!v.is(Kind::undefined))
      write_repr(v, out);
    if (!out.result()) fail_with(out.result().error());
  }
  /// Appends what Python's repr gives.
  void write_repr(const Value& v, TextBuilder& out, std::uint32_t depth = 0) noexcept {
    if (!charge(1)) return;
    if (depth > kDepth) return exceed(kDepth, " nested values");
    switch (v.kind) {
      case Kind::undefined:
        out << "Undefined";
        break;
      case Kind::none:
        out << "None";
        break;
      case Kind::boolean:
        out << (v.integer != 0 ? "True" : "False");
        break;
      case Kind::integer:
        out << v.integer;
        break;
      case Kind::real:
        write_real(v, out);
        break;
      case Kind::string:
        write_quoted(v.text, out);
        break;
      case Kind::list:
      case Kind::tuple:
        write_items(v, out, depth);
        break;
      case Kind::dict:
        write_entries(v, out, depth);
        break;
      case Kind::space:
      case Kind::macro:
      case Kind::loop:
      case Kind::method:
        (void)fail("expected a value that has a text, found ", kind_of(v));
        break;
    }
  }
  [[nodiscard]] Value text_of(const Value& v) noexcept {
    if (v.is_string()) return v;
    TextBuilder out = builder();
    write(v, out);
    return finish(out);
  }

  /// Code points of a text.
  [[nodiscard]] static std::int64_t characters(std::string_view text) noexcept {
    std::int64_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0u) != 0x80u ? 1 : 0;
    return count;
  }
  /// Where the code point `index` begins, at most the end.
  [[nodiscard]] static std::size_t offset_of(std::string_view text, std::int64_t index) noexcept {
    std::size_t at = 0;
    for (; at < text.size() && index > 0; --index)
      for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u;) ++at;
    return at;
  }

  /// What a loop goes over, as a list: elements, keys, or characters. An undefined value has none.
  [[nodiscard]] Value iterate(const Value& v) noexcept {
    if (v.is_sequence()) return v;
    const Value list = values.list();
    if (v.is(Kind::undefined)) return list;
    if (v.is_dict()) {
      for (std::size_t i = 0; i < values.entries(v).size(); ++i) values.push(list, Value(values.entries(v)[i].key));
    } else if (v.is_string()) {
      for (std::size_t at = 0; ok() && at < v.text.size();) {
        const std::size_t length = unicode::decode(v.text, at).length;
        values.push(list, Value::of(slice(v.text, at, length)));
        at += length;
      }
    } else {
      (void)fail("expected a list, a dict or a text to go over, found ", kind_of(v));
    }
    (void)charge(values.items(list).size());
    return list;
  }
  [[nodiscard]] Value length(const Value& v) noexcept {
    if (v.is_string()) return Value::of(characters(v.text));
    if (v.is_sequence()) return Value::of(static_cast<std::int64_t>(values.items(v).size()));
    if (v.is_dict()) return Value::of(static_cast<std::int64_t>(values.entries(v).size()));
    if (v.is(Kind::undefined)) return Value::of(std::int64_t{0});
    return fail("expected a text, a list or a dict that has a length, found ", kind_of(v));
  }
  /// Whether `container` holds `item`: as an element, a key or a part of a text.
  [[nodiscard]] bool contains(const Value& container, const Value& item) noexcept {
    if (container.is_string()) {
      if (!item.is_string()) return (void)fail("expected a text to look for in a text, found ", kind_of(item)), false;
      (void)charge(container.text.size() / 64);
      return container.text.find(item.text) != std::string_view::npos;
    }
    if (container.is_dict()) return find(container, item) != nullptr;
    if (!container.is_sequence() && !container.is(Kind::undefined))
      return (void)fail("expected a list, a dict or a text behind 'in', found ", kind_of(container)), false;
    for (std::size_t i = 0; ok() && i < values.items(container).size(); ++i)
      if (equal(values.items(container)[i], item)) return true;
    return false;
  }
  /// The value of any key, or null.
  [[nodiscard]] Value* find(const Value& dict, const Value& key) noexcept {
    (void)charge(values.entries(dict).size() / 16);
    for (Entry& entry : values.entries(dict))
      if (entry.key.kind == key.kind || (entry.key.is_number() && key.is_number()))
        if (key.is_string() ? entry.key.text == key.text : equal(entry.key, key)) return &entry.value;
    return nullptr;
  }
  void put(const Value& dict, const Value& key, const Value& value) noexcept {
    if (key.is(Kind::list) || key.is_dict() || key.is(Kind::undefined))
      return void(fail("expected a key of a dict, found ", kind_of(key)));
    if (Value* found = find(dict, key); found != nullptr)
      *found = value;
    else
      values.append(dict, {key, value});
  }

  Values& values;
  const RenderLimits& limits;
  std::int64_t now;  ///< seconds since 1970 on the clock that templates see
  TemplatePlace place{};

 private:
  static constexpr std::uint32_t kDepth = 100;

  [[nodiscard]] static bool same_number(const Value& a, const Value& b) noexcept {
    if (a.is_integral() && b.is_integral()) return a.integer == b.integer;
    if (a.is(Kind::real) && b.is(Kind::real) && a.is_whole() && b.is_whole()) return a.text == b.text;
    return !(a.as_real() < b.as_real()) && !(a.as_real() > b.as_real());
  }
  [[nodiscard]] bool same_items(const Value& a, const Value& b, std::uint32_t depth) noexcept {
    if (values.items(a).size() != values.items(b).size()) return false;
    for (std::size_t i = 0; i < values.items(a).size(); ++i)
      if (!equal(values.items(a)[i], values.items(b)[i], depth + 1)) return false;
    return true;
  }
  [[nodiscard]] bool same_entries(const Value& a, const Value& b, std::uint32_t depth) noexcept {
    if (values.entries(a).size() != values.entries(b).size()) return false;
    for (std::size_t i = 0; i < values.entries(a).size(); ++i) {
      const Value* other = find(b, values.entries(a)[i].key);
      if (other == nullptr || !equal(values.entries(a)[i].value, *other, depth + 1)) return false;
    }
    return true;
  }
  void write_items(const Value& v, TextBuilder& out, std::uint32_t depth) noexcept {
    const bool tuple = v.is(Kind::tuple);
    out << (tuple ? '(' : '[');
    for (std::size_t i = 0; ok() && i < values.items(v).size(); ++i) {
      if (i != 0) out << ", ";
      write_repr(values.items(v)[i], out, depth + 1);
    }
    if (tuple && values.items(v).size() == 1) out << ',';
    out << (tuple ? ')' : ']');
  }
  void write_entries(const Value& v, TextBuilder& out, std::uint32_t depth) noexcept {
    out << '{';
    for (std::size_t i = 0; ok() && i < values.entries(v).size(); ++i) {
      if (i != 0) out << ", ";
      write_repr(values.entries(v)[i].key, out, depth + 1);
      out << ": ";
      write_repr(values.entries(v)[i].value, out, depth + 1);
    }
    out << '}';
  }
  static void write_quoted(std::string_view text, TextBuilder& out) noexcept {
    const bool doubled = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
    const char quote = doubled ? '"' : '\'';
    out << quote;
    for (std::size_t at = 0; at < text.size();) {
      const unicode::CodePoint c = unicode::decode(text, at);
      const std::size_t from = out.size();
      write_escaped(c.value, slice(text, at, c.length), quote, out);
      out.stands_for(slice(text, at, c.length), from);
      at += c.length;
    }
    out << quote;
  }
  static void write_escaped(char32_t c, std::string_view as_is, char quote, TextBuilder& out) noexcept {
    constexpr std::string_view hex = "0123456789abcdef";
    const unicode::Properties p = unicode::properties_of(c);
    const bool printed = c == ' ' || p.letter() || p.mark() || p.number() || p.punctuation() || p.symbol();
    if (c == static_cast<unsigned char>(quote) || c == '\\')
      out << '\\' << static_cast<char>(c);
    else if (c == '\n' || c == '\r' || c == '\t')
      out << '\\' << (c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (printed)
      out << as_is;
    else {
      const int digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
      out << '\\' << (digits == 2 ? 'x' : digits == 4 ? 'u' : 'U');
      for (int i = digits - 1; i >= 0; --i) out << hex[(c >> (4 * i)) & 15];
    }
  }

  std::uint64_t steps_ = 0;
  bool failed_ = false;
  Error error_{};
};

/// Arguments of a filter, test, method or function.
struct Arguments {
  Span<const Value> positional{};
  Span<const Entry> named{};

  /// The argument at `index`, or of that name, or an undefined one.
  [[nodiscard]] Value get(std::size_t index, std::string_view name) const noexcept {
    if (index < positional.size()) return positional[index];
    for (const Entry& entry : named)
      if (entry.key.text == name) return entry.value;
    return Value::undefined(name);
  }
  [[nodiscard]] std::size_t size() const noexcept { return positional.size() + named.size(); }
};

/// A text changed letter by letter: lower or upper case, a capital first, behind all that is no letter, or behind what
/// Jinja counts as space between words.
enum class LetterCase : std::uint8_t { lower, upper, capital, title, words };

/// The upper-case letter of a code point: of those that become it in lower case, the first.
[[nodiscard]] inline char32_t uppercase(char32_t c) noexcept {
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  if (c == 0xff) return 0x178;
  if (c == 0xb5) return 0x39c;
  if (c == 0x3c2) return 0x3a3;
  for (const std::uint64_t run : unicode::kLowercase) {
    const auto first = static_cast<char32_t>(run >> 42 & 0x1fffff);
    const auto last = static_cast<char32_t>(run >> 21 & 0x1fffff);
    const char32_t upper = first + (c - static_cast<char32_t>(run & 0x1fffff));
    if (c >= static_cast<char32_t>(run & 0x1fffff) && upper <= last && unicode::lowercase(upper) == c && upper != c)
      return upper;
  }
  return c;
}

[[nodiscard]] inline Value with_case(TemplateRun& run, std::string_view text, LetterCase letter_case) noexcept {
  constexpr std::string_view kBetweenWords = "-({[<";
  TextBuilder out = run.builder();
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    const unicode::CodePoint c = unicode::decode(text, at);
    const std::size_t from = out.size();
    const bool upper = letter_case == LetterCase::upper || (letter_case != LetterCase::lower && first);
    if (upper && c.value == 0xdf)
      out << (letter_case == LetterCase::upper ? "SS" : "Ss");
    else if (c.valid)
      out.code_point(upper ? uppercase(c.value) : unicode::lowercase(c.value));
    else
      out << slice(text, at, 1);
    out.stands_for(slice(text, at, c.length), from);
    const bool space = is_space(c.value) || (c.value < 0x80 && c.value != 0 &&
                                             kBetweenWords.find(static_cast<char>(c.value)) != std::string_view::npos);
    first = letter_case == LetterCase::title   ? !unicode::properties_of(c.value).letter()
            : letter_case == LetterCase::words ? space
                                               : false;
    at += c.length;
  }
  return run.finish(out);
}

/// `text` with the first `most` of `from` replaced; below 0: all.
[[nodiscard]] inline Value replaced(TemplateRun& run, std::string_view text, std::string_view from, std::string_view to,
                                    std::int64_t most) noexcept {
  TextBuilder out = run.builder();
  std::size_t at = 0;
  while (most != 0 && run.charge(1)) {
    const std::size_t found = text.find(from, at);
    if (found == std::string_view::npos || (from.empty() && at >= text.size())) break;
    const std::size_t whole = from.empty() ? unicode::decode(text, at).length : 0;
    out << slice(text, at, found - at) << to << slice(text, found, whole);
    at = found + from.size() + whole;
    --most;
  }
  out << slice(text, at);
  if (from.empty() && most != 0) out << to;
  return run.finish(out);
}

/// `text` without those of `characters`, or white space, at its ends.
[[nodiscard]] inline std::string_view stripped(std::string_view text, const Value& characters, bool left,
                                               bool right) noexcept {
  const auto goes = [&](std::size_t at, std::size_t length) {
    const std::string_view c = slice(text, at, length);
    if (characters.absent()) return is_space(unicode::decode(text, at).value);
    return characters.text.find(c) != std::string_view::npos;
  };
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (left && begin < end) {
    const std::size_t length = unicode::decode(text, begin).length;
    if (!goes(begin, length)) break;
    begin += length;
  }
  while (right && end > begin) {
    std::size_t at = end - 1;
    while (at > begin && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u) --at;
    if (!goes(at, end - at)) break;
    end = at;
  }
  return slice(text, begin, end - begin);
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::text::chat
