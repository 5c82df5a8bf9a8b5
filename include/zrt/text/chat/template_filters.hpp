// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_filters.hpp: what stands behind `|` in a chat template.
#pragma once

#include <zrt/text/chat/template_methods.hpp>
#include <zrt/text/chat/template_operators.hpp>
#include <zrt/text/chat/template_tests.hpp>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// A filter by name.
struct TemplateFilter {
  std::string_view name;
  std::size_t most;  ///< arguments
  Value (*apply)(TemplateRun& run, const Value& value, const Arguments& arguments) noexcept;
};

[[nodiscard]] inline Value apply_filter(TemplateRun& run, std::string_view name, const Value& value,
                                        const Arguments& arguments) noexcept;

/// What `value.name` or `value['name']` is where no method counts: an element, an entry, or an undefined value.
[[nodiscard]] inline Value element(TemplateRun& run, const Value& value, const Value& key) noexcept {
  if (value.is(Kind::undefined)) return run.fail("expected a value, found ", value.text, ", which is undefined");
  if (value.is_dict() || value.is(Kind::space)) {
    const Value* found = run.find(value, key);
    return found != nullptr ? *found : Value::undefined(key.text);
  }
  if (!key.is_integral()) return Value::undefined(key.text);
  if (value.is_string()) {
    const std::int64_t size = run.characters(value.text);
    const std::int64_t at = key.integer < 0 ? key.integer + size : key.integer;
    (void)run.charge(value.text.size() / 64);
    if (at < 0 || at >= size) return Value::undefined("an element");
    const std::size_t offset = run.offset_of(value.text, at);
    return Value::of(slice(value.text, offset, unicode::decode(value.text, offset).length));
  }
  const auto size = static_cast<std::int64_t>(run.values.items(value).size());
  const std::int64_t at = key.integer < 0 ? key.integer + size : key.integer;
  return at >= 0 && at < size ? run.values.items(value)[static_cast<std::size_t>(at)] : Value::undefined("an element");
}

/// The value under a path of names and indexes: `function.name`.
[[nodiscard]] inline Value at_path(TemplateRun& run, Value value, const Value& path) noexcept {
  if (path.is_integral()) return element(run, value, path);
  std::string_view left = path.text;
  while (run.ok()) {
    const std::size_t dot = left.find('.');
    const std::string_view part = slice(left, 0, dot);
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number = error == std::errc() && end == part.data() + part.size();
    value = element(run, value, number ? Value::of(index) : Value::of(part));
    if (dot == std::string_view::npos) break;
    left = slice(left, dot + 1);
  }
  return value;
}

/// The elements whose own truth, or that of an attribute, is `wanted`; the truth may be a test's.
[[nodiscard]] inline Value selected(TemplateRun& run, const Value& value, const Arguments& a, bool wanted,
                                    bool attribute) noexcept {
  const Value list = run.values.list();
  if (!run.truth(value)) return list;
  const Value from = run.iterate(value);
  const std::size_t skip = attribute ? 1 : 0;
  if (a.positional.size() < skip) return run.fail("expected the name of an attribute");
  const Span<const Value> rest = a.positional.subspan(skip);
  for (std::size_t i = 0; run.ok() && i < run.values.items(from).size(); ++i) {
    const Value item = run.values.items(from)[i];
    const Value tested = attribute ? at_path(run, item, a.positional[0]) : item;
    const bool holds = rest.empty() ? run.truth(tested) : test_holds(run, rest[0].text, tested, rest.subspan(1));
    if (holds == wanted) run.values.push(list, item);
  }
  return list;
}

/// Sorts a list in place by `before`, equal ones as they came.
template <class Before> void sort_values(TemplateRun& run, const Value& list, Before before) noexcept {
  const std::size_t count = run.values.items(list).size();
  for (std::size_t i = 1; i < count; ++i)
    for (std::size_t j = i; j > 0 && run.charge(1); --j) {
      Span<Value> items = run.values.items(list);
      if (!before(Value(items[j]), Value(items[j - 1]))) break;
      std::swap(run.values.items(list)[j], run.values.items(list)[j - 1]);
    }
}
/// What is sorted by: texts count as in lower case unless case matters.
[[nodiscard]] inline Value sort_key(TemplateRun& run, const Value& value, bool case_matters) noexcept {
  return value.is_string() && !case_matters ? with_case(run, value.text, LetterCase::lower) : value;
}
[[nodiscard]] inline Value copy_of(TemplateRun& run, const Value& from) noexcept {
  const Value to = run.values.list();
  for (std::size_t i = 0; run.charge(1) && i < run.values.items(from).size(); ++i)
    run.values.push(to, Value(run.values.items(from)[i]));
  return to;
}

[[nodiscard]] inline Value sorted(TemplateRun& run, const Value& value, const Arguments& a) noexcept {
  const Value list = copy_of(run, run.iterate(value));
  const bool reverse = run.truth(a.get(0, "reverse"));
  const bool cased = run.truth(a.get(1, "case_sensitive"));
  const Value attribute = a.get(2, "attribute");
  const auto key = [&](const Value& v) {
    return sort_key(run, attribute.absent() ? v : at_path(run, v, attribute), cased);
  };
  sort_values(run, list, [&](const Value& x, const Value& y) {
    const int order = run.order(key(x), key(y));
    return reverse ? order > 0 : order < 0;
  });
  return list;
}

[[nodiscard]] inline Value dict_sorted(TemplateRun& run, const Value& value, const Arguments& a) noexcept {
  if (!value.is_dict()) return run.fail("dictsort: expected a dict, found ", run.kind_of(value));
  const Value list = dict_items(run, value, true, true);
  const bool cased = run.truth(a.get(0, "case_sensitive"));
  const std::size_t by = a.get(1, "by").text == "value" ? 1 : 0;
  const bool reverse = run.truth(a.get(2, "reverse"));
  const auto key = [&](const Value& pair) { return sort_key(run, run.values.items(pair)[by], cased); };
  sort_values(run, list, [&](const Value& x, const Value& y) {
    const int order = run.order(key(x), key(y));
    return reverse ? order > 0 : order < 0;
  });
  return list;
}

[[nodiscard]] inline Value without_duplicates(TemplateRun& run, const Value& value, const Arguments& a) noexcept {
  const Value from = run.iterate(value);
  const Value keys = run.values.list();
  const Value list = run.values.list();
  const bool cased = run.truth(a.get(0, "case_sensitive"));
  for (std::size_t i = 0; run.ok() && i < run.values.items(from).size(); ++i) {
    const Value item = run.values.items(from)[i];
    const Value key = sort_key(run, item, cased);
    if (run.contains(keys, key)) continue;
    run.values.push(keys, key);
    run.values.push(list, item);
  }
  return list;
}

[[nodiscard]] inline Value mapped(TemplateRun& run, const Value& value, const Arguments& a) noexcept {
  const Value list = run.values.list();
  if (!run.truth(value)) return list;
  const Value from = run.iterate(value);
  const Value attribute = a.get(~std::size_t{0}, "attribute");
  const Value otherwise = a.get(~std::size_t{0}, "default");
  if (attribute.absent() && a.positional.empty()) return run.fail("map: expected attribute= or the name of a filter");
  for (std::size_t i = 0; run.ok() && i < run.values.items(from).size(); ++i) {
    const Value item = run.values.items(from)[i];
    Value to = attribute.absent() ? apply_filter(run, a.positional[0].text, item, {a.positional.subspan(1)})
                                  : at_path(run, item, attribute);
    if (to.is(Kind::undefined) && !otherwise.is(Kind::undefined)) to = otherwise;
    run.values.push(list, to);
  }
  return list;
}

[[nodiscard]] inline Value to_json(TemplateRun& run, const Value& value, const Arguments& a) noexcept {
  JsonStyle style;
  style.ascii = run.truth(a.get(~std::size_t{0}, "ensure_ascii"));
  const Value indent = a.get(0, "indent");
  if (indent.is_integral()) style.indent = indent.integer > 64 ? 64 : indent.integer;
  style.sort_keys = run.truth(a.get(~std::size_t{0}, "sort_keys"));
  if (const Value separators = a.get(~std::size_t{0}, "separators"); run.values.items(separators).size() == 2) {
    style.item_separator = run.values.items(separators)[0].text;
    style.key_separator = run.values.items(separators)[1].text;
  }
  TextBuilder out = run.builder();
  if (auto r = write_json(run.values, value, style, out); !r) return run.fail("tojson: ", r.error().text());
  return run.finish(out);
}

[[nodiscard]] inline Value from_json(TemplateRun& run, const Value& value, const Arguments&) noexcept {
  if (!value.is_string()) return run.fail("from_json: expected a text, found ", run.kind_of(value));
  const bool before = run.values.give(run.values.any_given(value.text));
  auto read = read_json(value.text, run.values);
  (void)run.values.give(before);
  return read ? *read : run.fail("from_json: ", read.error().text());
}

/// Bytes of the mark that ends a line to Python's splitlines at `at`; 0 where there is none.
[[nodiscard]] constexpr std::size_t line_end(std::string_view text, std::size_t at) noexcept {
  if (text[at] == '\r') return slice(text, at, 2) == "\r\n" ? 2 : 1;
  const unicode::CodePoint c = unicode::decode(text, at);
  const bool ends = c.value == '\n' || c.value == 0x0b || c.value == 0x0c || (c.value >= 0x1c && c.value <= 0x1e) ||
                    c.value == 0x85 || c.value == 0x2028 || c.value == 0x2029;
  return c.valid && ends ? c.length : 0;
}

/// Puts `width` spaces before each line but the first and blank ones.
[[nodiscard]] inline Value indented(TemplateRun& run, const Value& value, const Arguments& a) noexcept {
  const Value width = a.get(0, "width");
  const bool first = run.truth(a.get(1, "first"));
  const bool blank = run.truth(a.get(2, "blank"));
  const std::int64_t spaces = width.is_integral() ? width.integer : 4;
  TextBuilder out = run.builder();
  const auto pad = [&] {
    if (width.is_string()) out << width.text;
    for (std::int64_t i = 0; !width.is_string() && i < spaces && out.result(); ++i) out << ' ';
  };
  const Value text = run.text_of(value);
  std::string_view left = text.text;
  for (bool at_first = true; run.charge(1); at_first = false) {
    std::size_t end = 0;
    while (end < left.size() && line_end(left, end) == 0) ++end;
    const std::string_view line = slice(left, 0, end);
    if (at_first ? first : blank || !line.empty()) pad();
    out << line;
    if (end == left.size()) break;
    out << '\n';
    left = slice(left, end + line_end(left, end));
  }
  return run.finish(out);
}

[[nodiscard]] inline Value to_integer(TemplateRun& run, const Value& value, const Arguments& a) noexcept {
  const Value otherwise = a.get(0, "default");
  if (value.is_integral()) return Value::of(value.integer);
  if (value.is_whole()) return value;
  if (value.is(Kind::real) && value.real > -9e18 && value.real < 9e18)
    return Value::of(static_cast<std::int64_t>(value.real));
  const std::string_view text = stripped(value.text, {}, true, true);
  const std::string_view digits = text.starts_with('+') ? slice(text, 1) : text;
  std::int64_t integer = 0;
  double real = 0.0;
  const char* end = digits.data() + digits.size();
  if (value.is_string() && !digits.empty()) {
    if (const auto r = std::from_chars(digits.data(), end, integer); r.ec == std::errc() && r.ptr == end)
      return Value::of(integer);
    if (const auto r = std::from_chars(digits.data(), end, real);
        r.ec == std::errc() && r.ptr == end && real > -9e18 && real < 9e18)
      return Value::of(static_cast<std::int64_t>(real));
  }
  (void)run;
  return otherwise.absent() ? Value::of(std::int64_t{0}) : otherwise;
}
[[nodiscard]] inline Value to_real(TemplateRun&, const Value& value, const Arguments& a) noexcept {
  if (value.is_number()) return Value::of(value.as_real());
  const std::string_view text = stripped(value.text, {}, true, true);
  double real = 0.0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), real);
  if (value.is_string() && !text.empty() && r.ec == std::errc() && r.ptr == text.data() + text.size())
    return Value::of(real);
  const Value otherwise = a.get(0, "default");
  return otherwise.absent() ? Value::of(0.0) : otherwise;
}

[[nodiscard]] inline Value reversed(TemplateRun& run, const Value& value) noexcept {
  const Value from = run.iterate(value);
  const Value list = run.values.list();
  for (std::size_t i = run.values.items(from).size(); run.ok() && i-- > 0;)
    run.values.push(list, Value(run.values.items(from)[i]));
  return value.is_string() ? joined(run, list, "") : list;
}

[[nodiscard]] inline Value absolute(TemplateRun& run, const Value& v) noexcept {
  if (v.is(Kind::real)) return signed_value(run, v.real < 0, v);
  if (!v.is_integral() || v.integer == INT64_MIN) return run.fail("abs: expected a number, found ", run.kind_of(v));
  return Value::of(v.integer < 0 ? -v.integer : v.integer);
}

inline constexpr TemplateFilter kTemplateFilters[] = {
    {"tojson", 5, &to_json},
    {"from_json", 0, &from_json},
    {"length", 0, [](TemplateRun& r, const Value& v, const Arguments&) noexcept { return r.length(v); }},
    {"count", 0, [](TemplateRun& r, const Value& v, const Arguments&) noexcept { return r.length(v); }},
    {"trim", 1,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept {
       return Value::of(stripped(r.text_of(v).text, a.get(0, "chars"), true, true));
     }},
    {"string", 0, [](TemplateRun& r, const Value& v, const Arguments&) noexcept { return r.text_of(v); }},
    {"safe", 0,
     [](TemplateRun& r, const Value& v, const Arguments&) noexcept {
       Value text = r.text_of(v);
       text.integer = 1;
       return text;
     }},
    {"items", 0,
     [](TemplateRun& r, const Value& v, const Arguments&) noexcept {
       if (!v.is_dict() && !v.is(Kind::undefined)) return r.fail("items: expected a dict, found ", r.kind_of(v));
       return dict_items(r, v, true, true);
     }},
    {"join", 2,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept {
       Value list = r.iterate(v);
       if (const Value attribute = a.get(1, "attribute"); !attribute.absent()) {
         const Entry by{Value::of(std::string_view("attribute")), attribute};
         list = mapped(r, list, {{}, Span<const Entry>(&by, 1)});
       }
       return joined(r, list, r.text_of(a.get(0, "d")).text);
     }},
    {"default", 2,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept {
       const bool absent = v.is(Kind::undefined) || (r.truth(a.get(1, "boolean")) && !r.truth(v));
       if (!absent) return v;
       const Value otherwise = a.get(0, "default_value");
       return otherwise.is(Kind::undefined) ? Value::of(std::string_view{}) : otherwise;
     }},
    {"d", 2,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept { return apply_filter(r, "default", v, a); }},
    {"list", 0, [](TemplateRun& r, const Value& v, const Arguments&) noexcept { return copy_of(r, r.iterate(v)); }},
    {"select", 2,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept { return selected(r, v, a, true, false); }},
    {"reject", 2,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept { return selected(r, v, a, false, false); }},
    {"selectattr", 3,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept { return selected(r, v, a, true, true); }},
    {"rejectattr", 3,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept { return selected(r, v, a, false, true); }},
    {"dictsort", 3, &dict_sorted},
    {"sort", 3, &sorted},
    {"unique", 2, &without_duplicates},
    {"map", 4, &mapped},
    {"lower", 0,
     [](TemplateRun& r, const Value& v, const Arguments&) noexcept {
       return with_case(r, r.text_of(v).text, LetterCase::lower);
     }},
    {"upper", 0,
     [](TemplateRun& r, const Value& v, const Arguments&) noexcept {
       return with_case(r, r.text_of(v).text, LetterCase::upper);
     }},
    {"capitalize", 0,
     [](TemplateRun& r, const Value& v, const Arguments&) noexcept {
       return with_case(r, r.text_of(v).text, LetterCase::capital);
     }},
    {"title", 0,
     [](TemplateRun& r, const Value& v, const Arguments&) noexcept {
       return with_case(r, r.text_of(v).text, LetterCase::words);
     }},
    {"indent", 3, &indented},
    {"int", 2, &to_integer},
    {"float", 1, &to_real},
    {"abs", 0, [](TemplateRun& r, const Value& v, const Arguments&) noexcept { return absolute(r, v); }},
    {"reverse", 0, [](TemplateRun& r, const Value& v, const Arguments&) noexcept { return reversed(r, v); }},
    {"first", 0,
     [](TemplateRun& r, const Value& v, const Arguments&) noexcept {
       return element(r, r.iterate(v), Value::of(std::int64_t{0}));
     }},
    {"last", 0,
     [](TemplateRun& r, const Value& v, const Arguments&) noexcept {
       return element(r, r.iterate(v), Value::of(std::int64_t{-1}));
     }},
    {"replace", 3,
     [](TemplateRun& r, const Value& v, const Arguments& a) noexcept {
       const Value most = a.get(2, "count");
       return replaced(r, r.text_of(v).text, r.text_of(a.get(0, "old")).text, r.text_of(a.get(1, "new")).text,
                       most.absent() ? -1 : most.integer);
     }},
};

[[nodiscard]] inline Value apply_filter(TemplateRun& run, std::string_view name, const Value& value,
                                        const Arguments& arguments) noexcept {
  for (const TemplateFilter& filter : kTemplateFilters) {
    if (filter.name != name) continue;
    if (arguments.size() > filter.most)
      return run.fail("expected at most ", filter.most, " arguments of the filter ", name, ", found ",
                      arguments.size());
    return run.charge(1) ? filter.apply(run, value, arguments) : Value{};
  }
  return run.fail("expected a filter that this build has, found ", name);
}

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
