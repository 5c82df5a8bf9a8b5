// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_tests.hpp: what stands behind `is` in a chat template.
#pragma once

#include <zrt/text/chat/template_run.hpp>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// A test by name, of a value and at most one argument.
struct TemplateTest {
  std::string_view name;
  std::size_t arguments;
  bool (*holds)(TemplateRun& run, const Value& value, const Value& argument) noexcept;
};

[[nodiscard]] inline bool is_multiple(TemplateRun& run, const Value& v, std::int64_t of) noexcept {
  if (!v.is_integral() || of == 0) return (void)run.fail("expected integers to divide, found ", run.kind_of(v)), false;
  return of == -1 || v.integer % of == 0;
}

inline constexpr TemplateTest kTemplateTests[] = {
    {"defined", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return !v.is(Kind::undefined); }},
    {"undefined", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is(Kind::undefined); }},
    {"none", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is(Kind::none); }},
    {"string", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is_string(); }},
    {"mapping", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is_dict(); }},
    {"number", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is_number(); }},
    {"integer", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is_whole(); }},
    {"float", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is(Kind::real) && !v.is_whole(); }},
    {"boolean", 0, [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is(Kind::boolean); }},
    {"true", 0,
     [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is(Kind::boolean) && v.integer == 1; }},
    {"false", 0,
     [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is(Kind::boolean) && v.integer == 0; }},
    // An undefined value can be gone over and has a length, as Jinja's has.
    {"iterable", 0,
     [](TemplateRun&, const Value& v, const Value&) noexcept {
       return v.is_string() || v.is_sequence() || v.is_dict() || v.is(Kind::undefined) || v.is(Kind::loop);
     }},
    {"sequence", 0,
     [](TemplateRun&, const Value& v, const Value&) noexcept {
       return v.is_string() || v.is_sequence() || v.is_dict() || v.is(Kind::undefined);
     }},
    {"callable", 0,
     [](TemplateRun&, const Value& v, const Value&) noexcept { return v.is(Kind::macro) || v.is(Kind::method); }},
    {"odd", 0, [](TemplateRun& r, const Value& v, const Value&) noexcept { return !is_multiple(r, v, 2); }},
    {"even", 0, [](TemplateRun& r, const Value& v, const Value&) noexcept { return is_multiple(r, v, 2); }},
    {"divisibleby", 1,
     [](TemplateRun& r, const Value& v, const Value& by) noexcept { return is_multiple(r, v, by.integer); }},
    {"lower", 0,
     [](TemplateRun& r, const Value& v, const Value&) noexcept {
       const Value text = r.text_of(v);
       return r.equal(text, with_case(r, text.text, LetterCase::lower)) &&
              !r.equal(text, with_case(r, text.text, LetterCase::upper));
     }},
    {"upper", 0,
     [](TemplateRun& r, const Value& v, const Value&) noexcept {
       const Value text = r.text_of(v);
       return r.equal(text, with_case(r, text.text, LetterCase::upper)) &&
              !r.equal(text, with_case(r, text.text, LetterCase::lower));
     }},
    {"equalto", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return r.equal(v, a); }},
    {"eq", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return r.equal(v, a); }},
    {"==", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return r.equal(v, a); }},
    {"ne", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return !r.equal(v, a); }},
    {"!=", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return !r.equal(v, a); }},
    {"gt", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return r.order(v, a) > 0; }},
    {"ge", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return r.order(v, a) >= 0; }},
    {"lt", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return r.order(v, a) < 0; }},
    {"le", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return r.order(v, a) <= 0; }},
    {"in", 1, [](TemplateRun& r, const Value& v, const Value& a) noexcept { return r.contains(a, v); }},
    {"sameas", 1,
     [](TemplateRun& r, const Value& v, const Value& a) noexcept { return v.kind == a.kind && r.equal(v, a); }},
};

/// Whether the test of that name holds; an error for an unknown one.
[[nodiscard]] inline bool test_holds(TemplateRun& run, std::string_view name, const Value& value,
                                     Span<const Value> arguments) noexcept {
  for (const TemplateTest& test : kTemplateTests) {
    if (test.name != name) continue;
    if (arguments.size() != test.arguments)
      return (void)run.fail("expected ", test.arguments, " arguments of the test ", name, ", found ", arguments.size()),
             false;
    return test.holds(run, value, arguments.empty() ? Value{} : arguments[0]);
  }
  return (void)run.fail("expected a test that this build has, found ", name), false;
}

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
