// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_methods.hpp: methods of texts, lists and dicts in chat templates, as Python has them.
#pragma once

#include <zrt/text/chat/template_run.hpp>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// A method of the values of one kind.
struct TemplateMethod {
  Kind of;
  std::string_view name;
  std::size_t least;  ///< arguments
  std::size_t most;
  Value (*call)(TemplateRun& run, const Value& self, const Arguments& arguments) noexcept;
};

/// Texts between `separator`, or between white space, at most `most` cuts; below 0: all.
[[nodiscard]] inline Value split(TemplateRun& run, std::string_view text, const Value& separator, std::int64_t most,
                                 bool from_right) noexcept {
  const Value list = run.values.list();
  const auto push = [&](std::string_view part) {
    (void)run.charge(1);
    run.values.push(list, Value::of(part));
  };
  if (separator.absent()) {
    if (from_right) return run.fail("rsplit: expected a separator");
    for (text = slice(text, left_of_text(text)); run.ok() && !text.empty();) {
      std::size_t end = most == 0 ? right_of_text(text) : 0;
      while (end < text.size() && most != 0 && !is_space(unicode::decode(text, end).value))
        end += unicode::decode(text, end).length;
      push(slice(text, 0, end));
      text = slice(text, end);
      text = slice(text, left_of_text(text));
      --most;
    }
    return list;
  }
  if (!separator.is_string() || separator.text.empty())
    return run.fail("split: expected a separator that is not empty");
  std::int64_t skipped = 0;  // cuts from the left that rsplit leaves out
  if (from_right && most >= 0) {
    for (std::size_t at = 0; (at = text.find(separator.text, at)) != std::string_view::npos;
         at += separator.text.size())
      ++skipped;
    skipped = skipped > most ? skipped - most : 0;
  }
  std::size_t begin = 0;
  std::size_t at = 0;
  while (most != 0 && run.ok()) {
    const std::size_t found = text.find(separator.text, at);
    if (found == std::string_view::npos) break;
    at = found + separator.text.size();
    if (skipped-- > 0) continue;
    push(slice(text, begin, found - begin));
    begin = at;
    if (!from_right) --most;
  }
  push(slice(text, begin));
  return list;
}

/// Whether `text` begins or ends with one of `what`, a text or a tuple of them.
[[nodiscard]] inline Value has_affix(TemplateRun& run, std::string_view text, const Value& what, bool at_end) noexcept {
  const auto has = [&](const Value& affix) {
    if (!affix.is_string()) (void)run.fail("expected a text or a tuple of texts, found ", run.kind_of(affix));
    return at_end ? text.ends_with(affix.text) : text.starts_with(affix.text);
  };
  if (!what.is(Kind::tuple)) return Value::of(has(what));
  for (const Value& affix : run.values.items(what))
    if (has(affix)) return Value::of(true);
  return Value::of(false);
}

/// Keys, values or pairs of a dict as a list.
[[nodiscard]] inline Value dict_items(TemplateRun& run, const Value& dict, bool keys, bool values) noexcept {
  const Value list = run.values.list();
  (void)run.charge(run.values.entries(dict).size());
  for (std::size_t i = 0; run.ok() && i < run.values.entries(dict).size(); ++i) {
    const Entry entry = run.values.entries(dict)[i];
    Value item = keys ? entry.key : entry.value;
    if (keys && values) {
      item = run.values.list(Kind::tuple);
      run.values.push(item, entry.key);
      run.values.push(item, entry.value);
    }
    run.values.push(list, item);
  }
  return list;
}

[[nodiscard]] inline Value remove_at(TemplateRun& run, const Value& list, const Value& at) noexcept {
  const auto size = static_cast<std::int64_t>(run.values.items(list).size());
  const std::int64_t index = at.absent() ? size - 1 : at.integer < 0 ? at.integer + size : at.integer;
  if (index < 0 || index >= size) return run.fail("pop: expected an index below ", size, ", found ", index);
  return run.values.remove(list, static_cast<std::size_t>(index));
}

[[nodiscard]] inline Value remove_key(TemplateRun& run, const Value& dict, const Value& key,
                                      const Value& otherwise) noexcept {
  for (std::size_t i = 0; i < run.values.entries(dict).size(); ++i) {
    const Entry entry = run.values.entries(dict)[i];
    if (!run.equal(entry.key, key)) continue;
    run.values.erase(dict, i);
    return entry.value;
  }
  return otherwise.is(Kind::undefined) ? run.fail("pop: expected a key of the dict") : otherwise;
}

/// Joins the texts of a list.
[[nodiscard]] inline Value joined(TemplateRun& run, const Value& list, std::string_view between) noexcept {
  TextBuilder out = run.builder();
  for (std::size_t i = 0; run.ok() && i < run.values.items(list).size(); ++i) {
    if (i != 0) out << between;
    run.write(run.values.items(list)[i], out);
  }
  return run.finish(out);
}

inline constexpr TemplateMethod kTemplateMethods[] = {
    {Kind::string, "strip", 0, 1,
     [](TemplateRun&, const Value& s, const Arguments& a) noexcept {
       return Value::of(stripped(s.text, a.get(0, ""), true, true));
     }},
    {Kind::string, "lstrip", 0, 1,
     [](TemplateRun&, const Value& s, const Arguments& a) noexcept {
       return Value::of(stripped(s.text, a.get(0, ""), true, false));
     }},
    {Kind::string, "rstrip", 0, 1,
     [](TemplateRun&, const Value& s, const Arguments& a) noexcept {
       return Value::of(stripped(s.text, a.get(0, ""), false, true));
     }},
    {Kind::string, "split", 0, 2,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       const Value most = a.get(1, "maxsplit");
       return split(r, s.text, a.get(0, "sep"), most.absent() ? -1 : most.integer, false);
     }},
    {Kind::string, "rsplit", 1, 2,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       const Value most = a.get(1, "maxsplit");
       return split(r, s.text, a.get(0, "sep"), most.absent() ? -1 : most.integer, true);
     }},
    {Kind::string, "startswith", 1, 1,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       return has_affix(r, s.text, a.get(0, ""), false);
     }},
    {Kind::string, "endswith", 1, 1,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       return has_affix(r, s.text, a.get(0, ""), true);
     }},
    {Kind::string, "replace", 2, 3,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       const Value most = a.get(2, "count");
       return replaced(r, s.text, a.get(0, "").text, a.get(1, "").text, most.absent() ? -1 : most.integer);
     }},
    {Kind::string, "lower", 0, 0,
     [](TemplateRun& r, const Value& s, const Arguments&) noexcept { return with_case(r, s.text, LetterCase::lower); }},
    {Kind::string, "upper", 0, 0,
     [](TemplateRun& r, const Value& s, const Arguments&) noexcept { return with_case(r, s.text, LetterCase::upper); }},
    {Kind::string, "capitalize", 0, 0,
     [](TemplateRun& r, const Value& s, const Arguments&) noexcept {
       return with_case(r, s.text, LetterCase::capital);
     }},
    {Kind::string, "title", 0, 0,
     [](TemplateRun& r, const Value& s, const Arguments&) noexcept { return with_case(r, s.text, LetterCase::title); }},
    {Kind::string, "join", 1, 1,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       return joined(r, r.iterate(a.get(0, "")), s.text);
     }},
    {Kind::dict, "items", 0, 0,
     [](TemplateRun& r, const Value& s, const Arguments&) noexcept { return dict_items(r, s, true, true); }},
    {Kind::dict, "keys", 0, 0,
     [](TemplateRun& r, const Value& s, const Arguments&) noexcept { return dict_items(r, s, true, false); }},
    {Kind::dict, "values", 0, 0,
     [](TemplateRun& r, const Value& s, const Arguments&) noexcept { return dict_items(r, s, false, true); }},
    {Kind::dict, "get", 1, 2,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       if (const Value* found = r.find(s, a.get(0, "")); found != nullptr) return *found;
       return a.positional.size() > 1 ? a.positional[1] : Value::none();
     }},
    {Kind::dict, "pop", 1, 2,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       return remove_key(r, s, a.get(0, ""), a.get(1, ""));
     }},
    {Kind::dict, "update", 1, 1,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       const Value from = a.get(0, "");
       for (std::size_t i = 0; r.ok() && i < r.values.entries(from).size(); ++i) {
         const Entry entry = r.values.entries(from)[i];
         r.put(s, entry.key, entry.value);
       }
       return Value::none();
     }},
    {Kind::list, "append", 1, 1,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       r.values.push(s, a.get(0, ""));
       return Value::none();
     }},
    {Kind::list, "insert", 2, 2,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       const auto size = static_cast<std::int64_t>(r.values.items(s).size());
       std::int64_t at = a.get(0, "").integer;
       at = at < 0 ? at + size : at;
       r.values.insert(s, static_cast<std::size_t>(at < 0 ? 0 : at > size ? size : at), a.get(1, ""));
       return Value::none();
     }},
    {Kind::list, "extend", 1, 1,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept {
       const Value from = r.iterate(a.get(0, ""));
       const std::size_t count = r.values.items(from).size();
       for (std::size_t i = 0; r.ok() && i < count; ++i) r.values.push(s, Value(r.values.items(from)[i]));
       return Value::none();
     }},
    {Kind::list, "pop", 0, 1,
     [](TemplateRun& r, const Value& s, const Arguments& a) noexcept { return remove_at(r, s, a.get(0, "")); }},
};

/// The method of that name of a value's kind, or null.
[[nodiscard]] inline const TemplateMethod* find_method(Kind of, std::string_view name) noexcept {
  for (const TemplateMethod& method : kTemplateMethods)
    if (method.of == of && method.name == name) return &method;
  return nullptr;
}

[[nodiscard]] inline Value call_method(TemplateRun& run, const Value& self, std::string_view name,
                                       const Arguments& arguments) noexcept {
  const TemplateMethod* method = find_method(self.kind, name);
  if (method == nullptr) return run.fail("expected a method of ", run.kind_of(self), ", found ", name);
  if (arguments.size() < method->least || arguments.size() > method->most)
    return run.fail(name, ": expected ", method->least, " to ", method->most, " arguments, found ", arguments.size());
  return method->call(run, self, arguments);
}

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
