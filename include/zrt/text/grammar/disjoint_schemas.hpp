// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/disjoint_schemas.hpp: whether two JSON schemas have no value in common, as far as keywords show it.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/text/chat/value.hpp>

#include <charconv>

namespace zrt::inline ZRT_ABI::text::grammar::detail {

using chat::Entry;
using chat::Kind;
using chat::Value;
using chat::Values;

/// Sets `has` to whether a value is of a type of JSON. False for a name that is none.
[[nodiscard]] inline bool find_type(const Value& value, std::string_view type, bool& has) noexcept {
  const bool whole = value.is_whole() || (value.is(Kind::real) && value.real == __builtin_trunc(value.real));
  const std::pair<std::string_view, bool> types[] = {{"object", value.is_dict()},
                                                     {"array", value.is(Kind::list)},
                                                     {"string", value.is_string()},
                                                     {"boolean", value.is(Kind::boolean)},
                                                     {"null", value.is(Kind::none)},
                                                     {"integer", whole},
                                                     {"number", whole || value.is(Kind::real)}};
  for (const auto& [name, is] : types)
    if (name == type) return has = is, true;
  return false;
}

/// What a part of a path names: a member of an object or an element of a list; undefined where there is none.
[[nodiscard]] inline Value part_of(Values& values, const Value& at, std::string_view part) noexcept {
  if (!at.is(Kind::list)) return values.get(at, part);
  std::size_t index = 0;
  const char* end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, index);
  const bool is_index = error == std::errc() && stop == end && (part.size() == 1 || part[0] != '0');
  return is_index && index < values.items(at).size() ? values.items(at)[index] : Value::undefined(part);
}

/// Compares schemas of one document. What it cannot show is not shown: `apart` may be false where no value matches both,
/// and is never true where one does.
class DisjointSchemas {
 public:
  DisjointSchemas(Values& values, Value root) noexcept : values_(values), root_(root) {}

  [[nodiscard]] bool apart(const Value& a, const Value& b) noexcept { return apart(a, b, 0); }

 private:
  static constexpr std::uint32_t kDepth = 16;
  /// Comparisons for all schemas of a document. Sixty alternatives of objects that a constant tells apart need 20,000.
  static constexpr std::size_t kMostLooks = 500'000;

  [[nodiscard]] bool gives_up(std::uint32_t depth) noexcept { return ++looks_ > kMostLooks || depth > kDepth; }

  [[nodiscard]] bool apart(Value a, Value b, std::uint32_t depth) noexcept {
    if (gives_up(depth)) return false;
    a = resolved(a);
    b = resolved(b);
    if (!a.is_dict() || !b.is_dict()) return false;
    if (const Value many = alternatives(a); !many.is(Kind::undefined)) return all_apart(many, b, depth);
    if (const Value many = alternatives(b); !many.is(Kind::undefined)) return all_apart(many, a, depth);
    if (has_constants(a)) return no_constant_matches(a, b, depth);
    if (has_constants(b)) return no_constant_matches(b, a, depth);
    return types_apart(a, b) || objects_apart(a, b, depth);
  }
  [[nodiscard]] bool all_apart(const Value& many, const Value& other, std::uint32_t depth) noexcept {
    for (std::size_t i = 0; i < values_.items(many).size(); ++i)
      if (!apart(values_.items(many)[i], other, depth + 1)) return false;
    return true;
  }
  [[nodiscard]] bool has_constants(const Value& schema) noexcept {
    return values_.find(schema, "const") != nullptr || values_.find(schema, "enum") != nullptr;
  }
  [[nodiscard]] bool no_constant_matches(const Value& schema, const Value& other, std::uint32_t depth) noexcept {
    if (const Value* constant = values_.find(schema, "const"); constant != nullptr)
      return !may_match(*constant, other, depth + 1);
    const Value list = values_.get(schema, "enum");
    for (std::size_t i = 0; i < values_.items(list).size(); ++i)
      if (may_match(values_.items(list)[i], other, depth + 1)) return false;
    return list.is(Kind::list);
  }
  /// Whether both name types, and none that a value of the other's has.
  [[nodiscard]] bool types_apart(const Value& a, const Value& b) noexcept {
    for (std::size_t i = 0; i < type_count(a); ++i)
      for (std::size_t k = 0; k < type_count(b); ++k) {
        const std::string_view x = type_at(a, i), y = type_at(b, k);
        if (x == y || (x == "integer" && y == "number") || (x == "number" && y == "integer")) return false;
      }
    return type_count(a) != 0 && type_count(b) != 0;
  }
  [[nodiscard]] std::size_t type_count(const Value& schema) noexcept {
    const Value type = values_.get(schema, "type");
    return type.is_string() ? 1 : values_.items(type).size();
  }
  [[nodiscard]] std::string_view type_at(const Value& schema, std::size_t index) noexcept {
    const Value type = values_.get(schema, "type");
    return type.is_string() ? type.text : values_.items(type)[index].string_or_empty();
  }
  /// Whether a property that both need, or that one needs and the other forbids, tells objects apart.
  [[nodiscard]] bool objects_apart(const Value& a, const Value& b, std::uint32_t depth) noexcept {
    for (const Value& schema : {a, b})
      if (type_count(schema) != 1 || type_at(schema, 0) != "object") return false;
    return needs_what_is_other(a, b, depth) || needs_what_is_other(b, a, depth);
  }
  [[nodiscard]] bool needs_what_is_other(const Value& a, const Value& b, std::uint32_t depth) noexcept {
    const Value needed = values_.get(a, "required");
    for (std::size_t i = 0; i < values_.items(needed).size(); ++i) {
      const std::string_view name = values_.items(needed)[i].string_or_empty();
      const Value theirs = values_.get(values_.get(b, "properties"), name);
      if (theirs.is(Kind::undefined)
              ? forbids_others(b)
              : apart(values_.get(values_.get(a, "properties"), name), theirs, depth + 1) && (requires_it(b, name)))
        return true;
    }
    return false;
  }
  [[nodiscard]] bool forbids_others(const Value& schema) noexcept {
    const Value more = values_.get(schema, "additionalProperties");
    return more.is(Kind::boolean) && more.integer == 0;
  }
  [[nodiscard]] bool requires_it(const Value& schema, std::string_view name) noexcept {
    for (const Value& needed : values_.items(values_.get(schema, "required")))
      if (needed.string_or_empty() == name) return true;
    return false;
  }

  [[nodiscard]] bool may_match(const Value& value, Value schema, std::uint32_t depth) noexcept {
    if (gives_up(depth)) return true;
    schema = resolved(schema);
    if (!schema.is_dict()) return true;
    if (const Value many = alternatives(schema); !many.is(Kind::undefined)) {
      for (std::size_t i = 0; i < values_.items(many).size(); ++i)
        if (may_match(value, values_.items(many)[i], depth + 1)) return true;
      return false;
    }
    if (!may_have_type(value, schema)) return false;
    if (const Value* constant = values_.find(schema, "const"); constant != nullptr)
      return may_equal(value, *constant, depth + 1);
    if (const Value list = values_.get(schema, "enum"); list.is(Kind::list)) {
      for (std::size_t i = 0; i < values_.items(list).size(); ++i)
        if (may_equal(value, values_.items(list)[i], depth + 1)) return true;
      return false;
    }
    return !value.is_dict() || may_have_members(value, schema, depth);
  }
  [[nodiscard]] bool may_have_type(const Value& value, const Value& schema) noexcept {
    bool any = type_count(schema) == 0;
    for (std::size_t i = 0; i < type_count(schema); ++i) {
      bool has = false;
      any = !find_type(value, type_at(schema, i), has) || has || any;
    }
    return any;
  }
  [[nodiscard]] bool may_have_members(const Value& value, const Value& schema, std::uint32_t depth) noexcept {
    for (const Value& needed : values_.items(values_.get(schema, "required")))
      if (values_.find(value, needed.string_or_empty()) == nullptr) return false;
    const Value properties = values_.get(schema, "properties");
    for (std::size_t i = 0; i < values_.entries(value).size(); ++i) {
      const Entry member = values_.entries(value)[i];
      const Value property = values_.get(properties, member.key.text);
      if (property.is(Kind::undefined) ? forbids_others(schema) : !may_match(member.value, property, depth + 1))
        return false;
    }
    return true;
  }
  [[nodiscard]] bool may_equal(const Value& a, const Value& b, std::uint32_t depth) noexcept {
    if (gives_up(depth)) return true;
    const bool numbers = a.is_number() && b.is_number() && !a.is(Kind::boolean) && !b.is(Kind::boolean);
    if (numbers) return !(a.as_real() < b.as_real()) && !(a.as_real() > b.as_real());
    if (a.kind != b.kind) return false;
    if (a.is(Kind::boolean)) return a.integer == b.integer;
    if (a.is_string()) return a.text == b.text;
    if (a.is_sequence()) {
      bool same = values_.items(a).size() == values_.items(b).size();
      for (std::size_t i = 0; same && i < values_.items(a).size(); ++i)
        same = may_equal(values_.items(a)[i], values_.items(b)[i], depth + 1);
      return same;
    }
    bool same = values_.entries(a).size() == values_.entries(b).size();
    for (std::size_t i = 0; same && i < values_.entries(a).size(); ++i) {
      const Value* other = values_.find(b, values_.entries(a)[i].key.text);
      same = other != nullptr && may_equal(values_.entries(a)[i].value, *other, depth + 1);
    }
    return same;
  }

  [[nodiscard]] Value alternatives(const Value& schema) noexcept {
    for (const std::string_view many : {"anyOf", "oneOf"})
      if (const Value* list = values_.find(schema, many); list != nullptr && list->is(Kind::list)) return *list;
    return {};
  }
  /// What a schema refers to, in the end; undefined for a path that leads nowhere or to itself.
  [[nodiscard]] Value resolved(Value schema) noexcept {
    for (std::uint32_t hops = 0; hops < kDepth; ++hops) {
      const Value reference = values_.get(schema, "$ref");
      if (!reference.is_string()) return schema;
      if (!reference.text.starts_with('#')) return {};
      schema = root_;
      std::string_view left = slice(reference.text, 1);
      while (left.starts_with('/')) {
        const std::size_t end = left.find('/', 1);
        schema = part_of(values_, schema, slice(left, 1, end == std::string_view::npos ? end : end - 1));
        left = end == std::string_view::npos ? std::string_view{} : slice(left, end);
      }
    }
    return {};
  }

  Values& values_;
  Value root_;
  std::size_t looks_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::text::grammar::detail
