// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_operators.hpp: operators on the values of a chat template.
#pragma once

#include <zrt/text/chat/template_run.hpp>

#include <cmath>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// -v of a whole number that has digits alone.
[[nodiscard]] inline Value negated(TemplateRun& run, const Value& v) noexcept {
  Value out = Value::of(-v.real);
  TextBuilder digits = run.builder();
  if (!v.text.starts_with('-')) digits << '-';
  digits << slice(v.text, v.text.starts_with('-') ? 1 : 0);
  out.text = run.finish(digits).text;
  return out;
}

/// +v, or -v.
[[nodiscard]] inline Value signed_value(TemplateRun& run, bool negative, const Value& v) noexcept {
  if (!v.is_number()) return run.fail("expected a number behind a sign, found ", run.kind_of(v));
  if (v.is_whole() && v.is(Kind::real)) return negative ? negated(run, v) : v;
  if (v.is(Kind::real)) return Value::of(negative ? -v.real : v.real);
  std::int64_t result = v.integer;
  if (negative && __builtin_sub_overflow(std::int64_t{0}, v.integer, &result)) run.exceed("64 bits of an integer");
  return Value::of(result);
}

/// What is added to a text that counts as markup is escaped for it.
inline void write_escaped(std::string_view text, TextBuilder& out) noexcept {
  constexpr std::string_view escaped = "&<>'\"";
  constexpr std::string_view as[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t which = escaped.find(text[at]);
    const std::size_t from = out.size();
    out << (which == std::string_view::npos ? slice(text, at, 1) : as[which]);
    out.stands_for(slice(text, at, 1), from);
  }
}

/// a + b of texts.
[[nodiscard]] inline Value concatenated(TemplateRun& run, const Value& a, const Value& b) noexcept {
  TextBuilder out = run.builder();
  const bool marked = a.integer != 0 || b.integer != 0;
  for (const Value& part : {a, b}) marked&& part.integer == 0 ? write_escaped(part.text, out) : void(out << part.text);
  Value text = run.finish(out);
  text.integer = marked ? 1 : 0;
  return text;
}

/// a + b of lists or tuples.
[[nodiscard]] inline Value appended(TemplateRun& run, const Value& a, const Value& b) noexcept {
  const Value list = run.values.list(a.kind);
  for (const Value& from : {a, b})
    for (std::size_t i = 0; run.charge(1) && i < run.values.items(from).size(); ++i)
      run.values.push(list, Value(run.values.items(from)[i]));
  return list;
}

/// A text, list or tuple `times` over.
[[nodiscard]] inline Value repeated(TemplateRun& run, const Value& value, std::int64_t times) noexcept {
  if (value.is_sequence()) {
    const Value list = run.values.list(value.kind);
    const std::size_t count = run.values.items(value).size();
    for (std::int64_t t = 0; count != 0 && t < times && run.ok(); ++t)
      for (std::size_t i = 0; i < count && run.charge(1); ++i) run.values.push(list, Value(run.values.items(value)[i]));
    return list;
  }
  TextBuilder out = run.builder();
  for (std::int64_t i = 0; !value.text.empty() && i < times && out.result(); ++i) out << value.text;
  return run.finish(out);
}

/// a op b of numbers as Python computes them; quotients and remainders are rounded down.
[[nodiscard]] inline Value reals(TemplateRun& run, std::string_view op, double a, double b) noexcept {
  if (op == "+") return Value::of(a + b);
  if (op == "-") return Value::of(a - b);
  if (op == "*") return Value::of(a * b);
  if (op == "**") return Value::of(std::pow(a, b));
  if (!(b < 0.0) && !(b > 0.0)) return run.fail("expected a divisor other than 0");
  if (op == "/") return Value::of(a / b);
  const double whole = std::floor(a / b);
  return Value::of(op == "//" ? whole : a - whole * b);
}

/// base ** exponent; an error where 64 bits do not hold it.
[[nodiscard]] inline Value power(TemplateRun& run, std::int64_t base, std::int64_t exponent) noexcept {
  if (exponent < 0) return reals(run, "**", static_cast<double>(base), static_cast<double>(exponent));
  std::int64_t r = 1;
  for (std::int64_t i = 0; i < exponent && run.charge(1); ++i)
    if (__builtin_mul_overflow(r, base, &r)) run.exceed("64 bits of an integer");
  return Value::of(r);
}

/// a op b of integers as Python computes them; an error where 64 bits do not hold the result.
[[nodiscard]] inline Value integers(TemplateRun& run, std::string_view op, std::int64_t a, std::int64_t b) noexcept {
  std::int64_t r = 0;
  if (op == "//" || op == "%") {
    if (b == 0) return run.fail("expected a divisor other than 0");
    if (b == -1) return op == "%" ? Value::of(std::int64_t{0}) : signed_value(run, true, Value::of(a));
    const std::int64_t rest = a % b;
    const bool down = rest != 0 && (rest < 0) != (b < 0);
    return Value::of(op == "%" ? rest + (down ? b : 0) : a / b - (down ? 1 : 0));
  }
  if (op == "**") return power(run, a, b);
  const bool overflows = op == "+"   ? __builtin_add_overflow(a, b, &r)
                         : op == "-" ? __builtin_sub_overflow(a, b, &r)
                                     : __builtin_mul_overflow(a, b, &r);
  if (overflows) run.exceed("64 bits of an integer");
  return Value::of(r);
}

/// a op b, for every operator of numbers and those of texts and lists.
[[nodiscard]] inline Value arithmetic(TemplateRun& run, std::string_view op, const Value& a, const Value& b) noexcept {
  if (op == "+" && a.is_string() && b.is_string()) return concatenated(run, a, b);
  if (op == "+" && a.is_sequence() && a.kind == b.kind) return appended(run, a, b);
  if (op == "*" && (a.is_string() || a.is_sequence()) && b.is_integral()) return repeated(run, a, b.integer);
  if (op == "*" && (b.is_string() || b.is_sequence()) && a.is_integral()) return repeated(run, b, a.integer);
  if (!a.is_number() || !b.is_number())
    return run.fail("expected two numbers, texts or lists for ", op, ", found ", run.kind_of(a), " and ",
                    run.kind_of(b));
  if (a.is_integral() && b.is_integral() && op != "/") return integers(run, op, a.integer, b.integer);
  return reals(run, op, a.as_real(), b.as_real());
}

/// Whether a op b holds, for every comparison.
[[nodiscard]] inline bool holds(TemplateRun& run, std::string_view op, const Value& a, const Value& b) noexcept {
  if (op == "==") return run.equal(a, b);
  if (op == "!=") return !run.equal(a, b);
  if (op == "in") return run.contains(b, a);
  if (op == "not in") return !run.contains(b, a);
  const int order = run.order(a, b);
  if (op == "<") return order < 0;
  if (op == ">") return order > 0;
  return op == "<=" ? order <= 0 : order >= 0;
}

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
