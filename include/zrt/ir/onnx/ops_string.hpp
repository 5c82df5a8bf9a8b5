// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_string.hpp: operators that make strings of strings, which must be known.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/core/string.hpp>
#include <zrt/ir/onnx/ops_selection.hpp>
#include <zrt/ir/onnx/reader.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// The numbers of the strings of operand `i`, which must be known and whose characters count as known bytes; empty after
/// an error.
[[nodiscard]] inline Vector<std::int64_t> strings_in(NodeCall& n, std::size_t i, std::string_view what) noexcept {
  const Value v = n.value(i);
  if (!n.failed() && !v.strings)
    n.fail(Errc::dtype_mismatch, what, " is of ", name(v.type.dtype), ", expected strings");
  if (n.failed()) return Vector<std::int64_t>(n.allocator());
  Vector<std::int64_t> numbers = known_elements<std::int64_t>(n, i, kStringNumbers, what);
  for (const std::int64_t number : numbers)
    if (auto r = n.reader().charge(n.reader().string_at(number).size()); !r) n.fail(r.error());
  if (n.failed()) numbers.clear();
  return numbers;
}
inline void append_string(NodeCall& n, Vector<std::int64_t>& to, std::string_view text) noexcept {
  const auto number = n.reader().number_of(text);
  number ? append_place(n, to, *number) : n.fail(number.error());
}
/// Result `i` is known strings, by their numbers.
inline void out_strings(NodeCall& n, std::size_t i, const IntList& shape,
                        const Vector<std::int64_t>& numbers) noexcept {
  if (n.failed() || !n.has_out(i)) return;
  n.out_known(i, {kStringNumbers, shape_of(n.b(), shape)}, as_bytes(numbers.span()));
  n.mark_strings(i);
}

/// Which case letters get.
enum class CaseChange : std::uint8_t { kept, lower, upper };
[[nodiscard]] constexpr char in_case(char c, CaseChange wanted) noexcept {
  if (wanted == CaseChange::lower && c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (wanted == CaseChange::upper && c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
  return c;
}
[[nodiscard]] constexpr bool is_ascii(std::string_view text) noexcept {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}
inline void append_in_case(NodeCall& n, String& to, std::string_view text, CaseChange wanted) noexcept {
  for (const char c : text)
    if (auto r = to.push_back(in_case(c, wanted)); !r) return n.fail(r.error());
}
/// The case that a node gives to letters. Turkic locales have cases of their own for the letter i.
[[nodiscard]] inline CaseChange letter_case(NodeCall& n) noexcept {
  const std::string_view action = n.text("case_change_action", "NONE");
  if (action == "NONE") return CaseChange::kept;
  if (action != "LOWER" && action != "UPPER")
    n.fail(Errc::invalid_params, "case_change_action is ", zrt::slice(action, 0, 20),
           ", expected LOWER, UPPER or NONE");
  const std::string_view locale = n.text("locale", "en_US");
  const std::string_view language = zrt::slice(locale, 0, 2);
  if (language == "tr" || language == "az") n.unsupported("the case of letters in locale ", zrt::slice(locale, 0, 20));
  return action == "LOWER" ? CaseChange::lower : CaseChange::upper;
}
/// Words of a list without those that are to be left out, all in one case.
inline void string_normalizer(NodeCall& n) noexcept {
  const Value v = n.value(0);
  const IntList shape = n.shape(0);
  const CaseChange wanted = letter_case(n);
  const AttributeView* a = n.attribute("stopwords", AttributeType::texts);
  const Span<const std::string_view> stopwords = a == nullptr ? Span<const std::string_view>() : a->texts.span();
  const bool case_counts = n.integer("is_case_sensitive", 0) != 0;
  if (n.failed()) return;
  if (!v.strings) return n.fail(Errc::dtype_mismatch, "x is of ", name(v.type.dtype), ", expected strings");
  if (shape.size() != 1 && (shape.size() != 2 || shape[0] != 1))
    return n.fail(Errc::shape_mismatch, "x must be [C] or [1, C]");
  if (stopwords.empty() && wanted == CaseChange::kept) {
    if (n.has_out(0)) n.bind(n.node().outputs[0], v);
    return;
  }
  const CaseChange common = case_counts ? CaseChange::kept : CaseChange::lower;
  StringTable stops(n.allocator());
  bool stops_ascii = true;
  for (const std::string_view stopword : stopwords) {
    String cased(n.allocator());
    append_in_case(n, cased, stopword, common);
    if (auto r = stops.number_of(cased.view()); !r) return n.fail(r.error());
    stops_ascii = stops_ascii && is_ascii(stopword);
  }
  const Vector<std::int64_t> words = strings_in(n, 0, "x");
  Vector<std::int64_t> left(n.allocator());
  for (std::size_t i = 0; i < words.size() && !n.failed(); ++i) {
    const std::string_view word = n.reader().string_at(words[i]);
    if (!case_counts && !stops_ascii && !is_ascii(word))
      return n.unsupported("stopwords without their case beyond ASCII");
    String cased(n.allocator());
    append_in_case(n, cased, word, common);
    if (stops.find(cased.view())) continue;
    if (wanted != CaseChange::kept && !is_ascii(word)) return n.unsupported("the case of letters beyond ASCII");
    cased.clear();
    append_in_case(n, cased, word, wanted);
    append_string(n, left, cased.view());
  }
  if (left.empty() && !n.failed()) append_string(n, left, "");
  IntList result = shape;
  result[result.size() - 1] = static_cast<std::int64_t>(left.size());
  out_strings(n, 0, result, left);
}

/// Strings of two tensors end to end, element by element.
inline void string_concat(NodeCall& n) noexcept {
  const Vector<std::int64_t> first = strings_in(n, 0, "x");
  const Vector<std::int64_t> second = strings_in(n, 1, "y");
  const IntList p = n.shape(0);
  const IntList q = n.shape(1);
  if (n.failed()) return;
  const std::size_t rank = p.size() > q.size() ? p.size() : q.size();
  IntList shape = IntList::of(rank, 1);
  for (const IntList* list : {&p, &q})
    for (std::size_t i = 0; i < list->size(); ++i) {
      std::int64_t& extent = shape[rank - list->size() + i];
      if ((*list)[i] == 1) continue;
      if (extent != 1 && extent != (*list)[i]) return n.fail(Errc::shape_mismatch, "x and y have no common shape");
      extent = (*list)[i];
    }
  if (!n.fits_table(product(shape))) return;
  /// Where a tensor of `extents` has what lies at place `at` of the result.
  const auto place_in = [&](const IntList& extents, std::int64_t at) {
    std::int64_t place = 0, stride = 1;
    for (std::size_t axis = rank; axis-- > rank - extents.size(); at /= shape[axis]) {
      const std::int64_t extent = extents[axis - (rank - extents.size())];
      place += (extent == 1 ? 0 : at % shape[axis]) * stride;
      stride *= extent;
    }
    return static_cast<std::size_t>(place);
  };
  Vector<std::int64_t> joined(n.allocator());
  for (std::int64_t i = 0; i < product(shape) && !n.failed(); ++i) {
    String text(n.allocator());
    for (const std::int64_t number : {first[place_in(p, i)], second[place_in(q, i)]})
      if (auto r = text.append(n.reader().string_at(number)); !r) return n.fail(r.error());
    append_string(n, joined, text.view());
  }
  out_strings(n, 0, shape, joined);
}

/// How a text is cut: at each delimiter, or at runs of blanks where there is none; at most `most` times.
struct TextCuts {
  std::string_view delimiter;
  std::int64_t most;

  [[nodiscard]] static constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
  /// The next part of `rest`, which keeps what is behind it; none where nothing is left. `cuts` counts those before.
  [[nodiscard]] constexpr std::optional<std::string_view> next(std::optional<std::string_view>& rest,
                                                               std::int64_t cuts) const noexcept {
    if (!rest) return std::nullopt;
    std::string_view text = *rest;
    if (delimiter.empty()) {
      while (!text.empty() && is_blank(text[0])) text.remove_prefix(1);
      if (text.empty()) return std::nullopt;
    }
    std::size_t end = 0;
    const auto cuts_at = [&](std::size_t at) {
      return delimiter.empty() ? is_blank(text[at]) : zrt::slice(text, at, delimiter.size()) == delimiter;
    };
    while (end < text.size() && !cuts_at(end)) ++end;
    if (cuts == most || end == text.size()) {
      rest.reset();
      return text;
    }
    rest = zrt::slice(text, end + (delimiter.empty() ? 1 : delimiter.size()));
    return zrt::slice(text, 0, end);
  }
};
/// Bytes of a delimiter.
inline constexpr std::size_t kMaxDelimiter = 256;
/// The parts of each string along a new last axis, filled up with empty ones, and how many each has.
inline void string_split(NodeCall& n) noexcept {
  const Vector<std::int64_t> texts = strings_in(n, 0, "x");
  const IntList shape = n.shape(0);
  const std::int64_t said = n.integer("maxsplit", -1);
  const TextCuts cuts{n.text("delimiter", ""), said < 0 ? INT64_MAX : said};
  if (cuts.delimiter.size() > kMaxDelimiter)
    n.fail(Errc::limit_exceeded, "delimiter has ", cuts.delimiter.size(), " bytes, at most ", kMaxDelimiter);
  if (n.failed()) return;
  Vector<std::int64_t> parts(n.allocator());
  Vector<std::int64_t> counts(n.allocator());
  std::int64_t width = 0;
  for (const std::int64_t number : texts) {
    // A copy, since the table moves its strings when it grows.
    String text(n.allocator());
    if (auto r = text.append(n.reader().string_at(number)); !r) return n.fail(r.error());
    std::optional<std::string_view> rest = text.view();
    std::int64_t count = 0;
    while (const auto part = cuts.next(rest, count)) {
      append_string(n, parts, *part);
      if (!n.fits_table(static_cast<std::int64_t>(parts.size()))) return;
      ++count;
    }
    append_place(n, counts, count);
    if (n.failed()) return;
    width = count > width ? count : width;
  }
  IntList result = shape;
  result.push(width);
  if (!n.fits_table(product(result))) return;
  const auto empty = n.reader().number_of("");
  if (!empty) return n.fail(empty.error());
  Vector<std::int64_t> filled(n.allocator());
  std::size_t at = 0;
  for (const std::int64_t count : counts)
    for (std::int64_t i = 0; i < width && !n.failed(); ++i) append_place(n, filled, i < count ? parts[at++] : *empty);
  out_strings(n, 0, result, filled);
  if (!n.failed()) n.out_known(1, {DType::si64, shape_of(n.b(), shape)}, as_bytes(counts.span()));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
