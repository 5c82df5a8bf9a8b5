// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/json_schema.hpp: a JSON schema as a grammar of the texts that it allows.
#pragma once

#include <zrt/text/chat/json.hpp>
#include <zrt/text/grammar/disjoint_schemas.hpp>
#include <zrt/text/grammar/gbnf.hpp>
#include <zrt/text/grammar/number_rules.hpp>
#include <zrt/text/grammar/shared_literals.hpp>
#include <zrt/text/grammar/string_rules.hpp>

namespace zrt::inline ZRT_ABI::text::grammar {

/// Most bytes of a schema's source.
inline constexpr std::size_t kMostSchemaBytes = std::size_t{256} << 10;

namespace detail {

using chat::Entry;
using chat::Kind;
using chat::TextBuilder;
using chat::Value;
using chat::Values;

/// Writes GBNF: one rule for each schema. What it cannot honour is an error that names the keyword.
class SchemaWriter {
 public:
  static constexpr std::uint32_t kMostSchemas = Grammar::kMostRules;  ///< each is a rule
  static constexpr std::uint32_t kDepth = 64;
  static constexpr std::size_t kMostEnum = 5'000;
  static constexpr std::int64_t kMostCount = 1'024;

  SchemaWriter(Values& values, Value root) noexcept
      : values_(values),
        root_(root),
        out_(values.allocator(), kMostGrammarBytes),
        disjoint_(values, root),
        strings_(values.allocator()),
        referenced_(values.allocator()) {}

  [[nodiscard]] Result<String> write() noexcept {
    out_ << kBase;
    const std::uint32_t root = schema(root_, 0);
    out_ << "root ::= s" << std::int64_t{root} << "\n";
    if (ok_ && !out_.result()) ok_ = false, error_ = out_.result().error();
    if (!ok_) return std::unexpected<Error>(error_);
    return out_.take();
  }

 private:
  /// JSON as such. White space is one space or one new line with an indent, so that no model writes it for ever.
  static constexpr std::string_view kBase = R"(
ws ::= | " " | "\n" [ \t]{0,32}
char ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-Ce-fE-F] [0-9a-fA-F] | [dD] [0-7]) [0-9a-fA-F]{2})
string ::= "\"" char* "\""
int ::= "0" | "-"? [1-9] [0-9]{0,15}
fraction ::= "." [0-9]{1,16}
above-zero ::= "." "0"{0,15} [1-9] [0-9]{0,15}
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) fraction? ([eE] [-+]? [0-9]{1,2})?
boolean ::= "true" | "false"
value ::= object | array | string | number | boolean | "null"
member ::= string ws ":" ws value
object ::= "{" ws (member (ws "," ws member)* ws)? "}"
array ::= "[" ws (value (ws "," ws value)* ws)? "]"
)";

  template <class... Pieces> void fault(Pieces... pieces) noexcept {
    if (ok_) error_ = Error::of(Errc::invalid_argument, "JSON schema: ", pieces...);
    ok_ = false;
  }
  void keep(const Result<void>& r) noexcept {
    if (!r && ok_) ok_ = false, error_ = r.error();
  }
  [[nodiscard]] std::string_view text(const Value& schema, std::string_view key) noexcept {
    const Value v = values_.get(schema, key);
    if (!v.is(Kind::undefined) && !v.is_string()) fault("expected a text as ", key);
    return v.string_or_empty();
  }
  /// A count, or -1 where there is none.
  [[nodiscard]] std::int64_t count(const Value& schema, std::string_view key) noexcept {
    const Value v = values_.get(schema, key);
    if (v.is(Kind::undefined)) return -1;
    if (!v.is(Kind::integer) || v.integer < 0 || v.integer > kMostCount)
      fault("expected an integer of 0..", kMostCount, " as ", key);
    return v.integer;
  }

  /// The number of a schema's rule, written now or before.
  [[nodiscard]] std::uint32_t schema(const Value& value, std::uint32_t depth) noexcept {
    if (depth > kDepth) fault("expected at most ", kDepth, " nested schemas");
    if (rules_ >= kMostSchemas) fault("expected at most ", kMostSchemas, " schemas");
    const std::uint32_t rule = rules_++;
    if (ok_) write_rule(rule, value, depth);
    return rule;
  }

  void write_rule(std::uint32_t rule, const Value& schema, std::uint32_t depth) noexcept {
    TextBuilder body(values_.allocator(), kMostGrammarBytes);
    write_schema(schema, depth, body);
    out_ << 's' << std::int64_t{rule} << " ::= " << body.view() << "\n";
    if (ok_ && !body.result()) ok_ = false, error_ = body.result().error();
  }

  /// The keywords that each form of a schema honours, beside those that say nothing about a value.
  void allow(const Value& schema, std::initializer_list<std::string_view> keywords, std::string_view form) noexcept {
    constexpr std::string_view silent[] = {"title",    "description", "default",  "examples",
                                           "$schema",  "$id",         "$comment", "deprecated",
                                           "readOnly", "writeOnly",   "$defs",    "definitions"};
    for (const Entry& entry : values_.entries(schema)) {
      bool known = false;
      for (const std::string_view k : silent) known = known || entry.key.text == k;
      for (const std::string_view k : keywords) known = known || entry.key.text == k;
      known = known || says_nothing(entry.key.text, entry.value);
      if (!known) return fault("the keyword ", entry.key.text, " is not honoured in ", form);
    }
  }

  /// Whether a keyword that is not honoured allows every value.
  [[nodiscard]] bool says_nothing(std::string_view keyword, const Value& value) noexcept {
    constexpr std::string_view if_false[] = {"uniqueItems", "nullable", "exclusiveMinimum", "exclusiveMaximum", "not"};
    constexpr std::string_view if_true[] = {"unevaluatedProperties", "unevaluatedItems", "propertyNames"};
    constexpr std::string_view if_zero[] = {"minProperties", "minItems", "minLength"};
    constexpr std::string_view if_empty[] = {"patternProperties", "dependentRequired", "dependentSchemas",
                                             "propertyNames"};
    const auto is_one = [&](Span<const std::string_view> names) {
      bool any = false;
      for (const std::string_view name : names) any = any || name == keyword;
      return any;
    };
    if (value.is(Kind::boolean)) return value.integer == 0 ? is_one(if_false) : is_one(if_true);
    if (value.is(Kind::integer)) return value.integer == 0 && is_one(if_zero);
    const Span<const Entry> entries = values_.entries(value);
    // Every name is a string.
    if (keyword == "propertyNames" && entries.size() == 1 && entries[0].key.text == "type")
      return entries[0].value.string_or_empty() == "string";
    return value.is_dict() && entries.empty() && is_one(if_empty);
  }

  /// What is wrong wherever it stands, also beside a type that it says nothing about.
  void check_keywords(const Value& s) noexcept {
    const auto demand = [&](std::string_view keyword, auto is_right, std::string_view expected) {
      const Value* value = values_.find(s, keyword);
      if (value != nullptr && !is_right(*value)) fault("expected ", expected, " as ", keyword);
    };
    demand("properties", [](const Value& v) { return v.is_dict(); }, "an object of schemas");
    demand(
        "additionalProperties", [](const Value& v) { return v.is(Kind::boolean) || v.is_dict(); },
        "true, false or a schema");
    // A list is how schemas before draft 2020-12 say prefixItems.
    demand("items", [](const Value& v) { return v.is(Kind::boolean) || v.is_dict(); }, "a schema and no list of them");
    demand("prefixItems", [](const Value& v) { return v.is(Kind::list); }, "a list of schemas");
    demand("required", [this](const Value& v) { return is_list_of_texts(v); }, "a list of texts");
    // It would change what references below it mean.
    if (values_.find(s, "$id") != nullptr && !is_root(s)) fault("the keyword $id is honoured at the root alone");
  }
  [[nodiscard]] bool is_list_of_texts(const Value& value) noexcept {
    bool texts = value.is(Kind::list);
    for (const Value& item : values_.items(value)) texts = texts && item.is_string();
    return texts;
  }
  [[nodiscard]] bool is_root(const Value& s) const noexcept { return root_.is_dict() && s.index == root_.index; }

  void write_schema(const Value& s, std::uint32_t depth, TextBuilder& out) noexcept {
    if (s.is(Kind::boolean) && s.integer == 1) return void(out << "value");
    if (s.is(Kind::boolean)) return fault("the schema false, which no value matches, is not honoured here");
    if (!s.is_dict()) return fault("expected a schema that is an object or true");
    check_keywords(s);
    for (const std::string_view many : {"anyOf", "oneOf"})
      if (values_.find(s, many) != nullptr) return write_any(s, many, depth, out);
    if (values_.find(s, "$ref") != nullptr) return write_reference(s, depth, out);
    if (values_.find(s, "const") != nullptr) return write_constant(s, out);
    if (values_.find(s, "enum") != nullptr) return write_enum(s, out);
    const Value type = values_.get(s, "type");
    if (type.is(Kind::list)) return write_types(s, type, depth, out);
    write_type(s, type_of(s, type), depth, out);
  }
  /// What a schema without a type is about.
  [[nodiscard]] std::string_view type_of(const Value& s, const Value& type) noexcept {
    if (type.is_string()) return type.text;
    if (!type.is(Kind::undefined)) fault("expected a text or a list as type");
    for (const std::string_view key : {"properties", "required", "additionalProperties"})
      if (values_.find(s, key) != nullptr) return "object";
    for (const std::string_view key : {"items", "prefixItems", "minItems", "maxItems"})
      if (values_.find(s, key) != nullptr) return "array";
    for (const std::string_view key : {"minLength", "maxLength", "pattern", "format"})
      if (values_.find(s, key) != nullptr) return "string";
    for (const std::string_view key : kNumberKeywords)
      if (values_.find(s, key) != nullptr) return "number";
    return "";
  }
  void write_type(const Value& s, std::string_view type, std::uint32_t depth, TextBuilder& out) noexcept {
    if (type == "object") return write_object(s, depth, out);
    if (type == "array") return write_array(s, depth, out);
    if (type == "string") return write_string(s, out);
    if (type == "integer" || type == "number") return write_number(s, type, out);
    constexpr std::pair<std::string_view, std::string_view> plain[] = {
        {"", "value"}, {"boolean", "boolean"}, {"null", "\"null\""}};
    for (const auto& [name, rule] : plain) {
      if (name != type) continue;
      allow(s, {"type"}, type.empty() ? "a schema without a type" : type);
      return void(out << rule);
    }
    fault("expected a type of JSON, found ", type);
  }
  void write_types(const Value& s, const Value& types, std::uint32_t depth, TextBuilder& out) noexcept {
    const std::size_t count = values_.items(types).size();
    if (count == 0) fault("expected a type in a list of types");
    // Keywords of one type say nothing about values of another, so each type takes its own.
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      const Value one = values_.dict();
      const std::string_view name = Value(values_.items(types)[i]).text;
      for (std::size_t k = 0; k < values_.entries(s).size(); ++k) {
        const Entry entry = values_.entries(s)[k];
        if (entry.key.text == "type" || entry.key.text == "$id" || !concerns(entry.key.text, name)) continue;
        values_.append(one, entry);
      }
      values_.set(one, "type", Value(values_.items(types)[i]));
      out << (i == 0 ? "s" : " | s") << std::int64_t{schema(one, depth + 1)};
    }
  }
  [[nodiscard]] static bool concerns(std::string_view keyword, std::string_view type) noexcept {
    constexpr std::pair<std::string_view, std::string_view> of[] = {
        {"properties", "object"}, {"required", "object"},   {"additionalProperties", "object"},
        {"items", "array"},       {"prefixItems", "array"}, {"minItems", "array"},
        {"maxItems", "array"},    {"minLength", "string"},  {"maxLength", "string"},
        {"format", "string"},     {"pattern", "string"}};
    for (const auto& [k, t] : of)
      if (k == keyword) return t == type;
    for (const std::string_view k : kNumberKeywords)
      if (k == keyword) return type == "integer" || type == "number";
    return true;
  }

  void write_any(const Value& s, std::string_view keyword, std::uint32_t depth, TextBuilder& out) noexcept {
    allow(s, {keyword}, "a schema with anyOf or oneOf");
    const Value list = values_.get(s, keyword);
    if (values_.items(list).empty()) fault("expected a list of schemas as ", keyword);
    if (keyword == "oneOf") check_disjoint(list);
    for (std::size_t i = 0; ok_ && i < values_.items(list).size(); ++i)
      out << (i == 0 ? "s" : " | s") << std::int64_t{schema(values_.items(list)[i], depth + 1)};
  }

  /// A value that matches two alternatives of oneOf matches it not, and a grammar cannot say so.
  void check_disjoint(const Value& list) noexcept {
    const auto count = static_cast<std::int64_t>(values_.items(list).size());
    for (std::int64_t b = 1; ok_ && b < count; ++b)
      for (std::int64_t a = 0; ok_ && a < b; ++a)
        if (!disjoint_.apart(values_.items(list)[static_cast<std::size_t>(a)],
                             values_.items(list)[static_cast<std::size_t>(b)]))
          fault("the keyword oneOf is honoured for alternatives that exclude each other, and a value may match ", a,
                " and ", b, ": expected other types, other constants or other values of a required property");
  }

  struct Reference {
    std::string_view path;
    std::uint32_t rule;
  };
  void write_reference(const Value& s, std::uint32_t depth, TextBuilder& out) noexcept {
    allow(s, {"$ref"}, "a schema with $ref");
    const std::string_view path = text(s, "$ref");
    for (const Reference& r : referenced_)
      if (r.path == path) return void(out << 's' << std::int64_t{r.rule});
    if (!path.starts_with('#')) return fault("expected a $ref of this schema that begins with #, found ", path);
    const Value target = resolve(path);
    if (!ok_) return;
    if (rules_ >= kMostSchemas) return fault("expected at most ", kMostSchemas, " schemas");
    // Known before its rule is written: a schema may refer to itself.
    const std::uint32_t rule = rules_++;
    if (auto r = referenced_.push_back({path, rule}); !r) return void((ok_ = false, error_ = r.error()));
    if (depth > kDepth) return fault("expected at most ", kDepth, " nested schemas");
    write_rule(rule, target, depth + 1);
    out << 's' << std::int64_t{rule};
  }
  [[nodiscard]] Value resolve(std::string_view path) noexcept {
    Value at = root_;
    std::string_view left = slice(path, 1);
    while (ok_ && !left.empty()) {
      if (left[0] != '/') return fault("expected a path of names behind # in $ref, found ", path), at;
      const std::size_t end = left.find('/', 1);
      const std::string_view part = slice(left, 1, end == std::string_view::npos ? end : end - 1);
      if (part.find('~') != std::string_view::npos || part.find('%') != std::string_view::npos)
        return fault("expected a $ref without ~ and %, found ", path), at;
      left = end == std::string_view::npos ? std::string_view{} : slice(left, end);
      if (const Value* id = values_.find(at, "$id"); id != nullptr && id->is_string() && !is_root(at))
        return fault("the keyword $id is honoured at the root alone, found on the way to ", path), at;
      at = part_of(values_, at, part);
      if (at.is(Kind::undefined)) return fault("expected a schema at ", path, ", found none"), at;
    }
    return at;
  }

  void write_json(const Value& value, TextBuilder& json) noexcept { keep(chat::write_json(values_, value, {}, json)); }
  void write_constant(const Value& s, TextBuilder& out) noexcept {
    allow(s, {"const", "type"}, "a schema with const");
    const Value value = values_.get(s, "const");
    if (!has_type_of(s, value)) return fault("expected a value of the type beside it as const");
    TextBuilder json(values_.allocator());
    write_json(value, json);
    write_literal(json.view(), out);
  }
  void write_enum(const Value& s, TextBuilder& out) noexcept {
    allow(s, {"enum", "type"}, "a schema with enum");
    const Value list = values_.get(s, "enum");
    const std::size_t count = values_.items(list).size();
    if (count == 0) fault("expected a list of values as enum");
    enums_ += count;
    if (enums_ > kMostEnum) fault("expected at most ", kMostEnum, " values of enum");
    TextBuilder json(values_.allocator());
    Vector<std::size_t> ends(values_.allocator());
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      const Value value = values_.items(list)[i];
      if (!has_type_of(s, value)) continue;
      write_json(value, json);
      keep(ends.push_back(json.size()));
    }
    if (ends.empty()) fault("expected a value of the type beside it in enum, found none");
    keep(json.result());
    Vector<std::string_view> texts(values_.allocator());
    std::size_t begin = 0;
    for (std::size_t i = 0; ok_ && i < ends.size(); begin = ends[i++])
      keep(texts.push_back(slice(json.view(), begin, ends[i] - begin)));
    if (ok_) write_literals(texts.span(), out);
  }
  /// Whether a value is of the type, or one of the types, that its schema names.
  [[nodiscard]] bool has_type_of(const Value& s, const Value& value) noexcept {
    const Value type = values_.get(s, "type");
    if (type.is(Kind::undefined)) return true;
    if (!type.is(Kind::list)) return has_type(value, type);
    if (values_.items(type).empty()) fault("expected a type in a list of types");
    bool any = false;
    for (const Value& one : values_.items(type)) any = has_type(value, one) || any;
    return any;
  }
  [[nodiscard]] bool has_type(const Value& value, const Value& type) noexcept {
    bool has = false;
    if (!find_type(value, type.string_or_empty(), has))
      fault("expected a type of JSON, found ", type.string_or_empty());
    return has;
  }

  void write_string(const Value& s, TextBuilder& out) noexcept {
    allow(s, {"type", "minLength", "maxLength", "format", "pattern"}, "string");
    const std::int64_t least = count(s, "minLength");
    const std::int64_t most = count(s, "maxLength");
    const StringForm form{.pattern = text(s, "pattern"),
                          .has_pattern = values_.find(s, "pattern") != nullptr,
                          .format = text(s, "format"),
                          .least = static_cast<std::uint32_t>(least < 0 ? 0 : least),
                          .most = most < 0 ? kEndless : static_cast<std::uint32_t>(most)};
    if (values_.find(s, "format") != nullptr && form.format.empty()) fault("expected a name as format");
    if (ok_ && (form.has_pattern || !form.format.empty())) return write_form(form, out);
    if (least < 0 && most < 0) return void(out << "string");
    out << "\"\\\"\" char";
    write_range(least < 0 ? 0 : least, most, out);
    out << " \"\\\"\"";
  }
  void write_form(const StringForm& form, TextBuilder& out) noexcept {
    auto number = strings_.write(form, out_);
    if (number) return void(out << "\"\\\"\" p" << std::int64_t{*number} << "-0");
    if (number.error().code() == Errc::out_of_memory) return keep(std::unexpected<Error>(number.error()));
    fault(number.error().text());
  }

  // --- numbers ---------------------------------------------------------------------------------------

  static constexpr std::string_view kNumberKeywords[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                                                         "multipleOf"};

  void write_number(const Value& s, std::string_view type, TextBuilder& out) noexcept {
    allow(s, {"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}, type);
    const Value step = values_.get(s, "multipleOf");
    const bool steps = !step.is(Kind::undefined);
    if (steps && !(step.is_number() && !step.is(Kind::boolean) && step.as_real() == 1.0))
      return fault("the keyword multipleOf is not honoured in ", type, ", but for 1");
    const bool whole = type == "integer" || steps;
    NumberRange range;
    bool bounded = false;
    for (const NumberBound& bound : kNumberBounds) {
      const Value* value = values_.find(s, bound.keyword);
      // In schemas before draft 6 false says that the bound itself is meant, as it is anyway.
      if (value == nullptr || says_nothing(bound.keyword, *value)) continue;
      bounded = true;
      if (const std::string_view expected = range.narrow(*value, bound, whole); !expected.empty())
        return fault("the keyword ", bound.keyword, " is honoured in ", type, " for ", expected, " alone");
    }
    range.bound_lengths();
    if (!bounded) return void(out << (whole ? "int" : "number"));
    if (range.empty()) return fault("expected a minimum and a maximum with a number of 64 bits between them");
    whole ? write_wholes(range, out) : write_numbers(range, out);
  }
  void write_range(std::int64_t least, std::int64_t most, TextBuilder& out) noexcept {
    if (most >= 0 && most < least)
      return fault("expected a maximum that is no less than the minimum, found ", least, "..", most);
    out << '{' << least << ',';
    if (most >= 0) out << most;
    out << '}';
  }
  void write_array(const Value& s, std::uint32_t depth, TextBuilder& out) noexcept {
    allow(s, {"type", "items", "prefixItems", "minItems", "maxItems"}, "array");
    const std::int64_t least = count(s, "minItems");
    const std::int64_t most = count(s, "maxItems");
    if (most >= 0 && most < least)
      return fault("expected a maxItems that is no less than minItems, found ", least, "..", most);
    const Value first = values_.get(s, "prefixItems");
    const Value items = values_.get(s, "items");
    const auto fixed = static_cast<std::int64_t>(values_.items(first).size());
    if (fixed != 0) return write_tuple(s, first, items, depth, out);
    if (items.is(Kind::boolean) && items.integer == 0) {
      if (least > 0) fault("expected items where minItems is above 0");
      return void(out << "\"[\" ws \"]\"");
    }
    const std::uint32_t item = items.is(Kind::undefined) ? 0 : schema(items, depth + 1);
    const auto write_item = [&](TextBuilder& to) {
      if (items.is(Kind::undefined))
        to << "value";
      else
        to << 's' << std::int64_t{item};
    };
    if (most == 0) return void(out << "\"[\" ws \"]\"");
    out << "\"[\" ws ";
    if (least <= 0) out << '(';
    write_item(out);
    out << " (ws \",\" ws ";
    write_item(out);
    out << ')';
    write_range(least <= 1 ? 0 : least - 1, most < 0 ? -1 : most - 1, out);
    out << " ws" << (least <= 0 ? ")?" : "") << " \"]\"";
  }
  /// Arrays whose first items have schemas of their own: all of them are written, and nothing behind them.
  void write_tuple(const Value& s, const Value& first, const Value& items, std::uint32_t depth,
                   TextBuilder& out) noexcept {
    allow(s, {"type", "items", "prefixItems"}, "an array with prefixItems");
    if (!items.is(Kind::boolean) || items.integer != 0) {
      if (!items.is(Kind::undefined)) return fault("the keyword items is honoured as false alone beside prefixItems");
    }
    out << "\"[\" ws ";
    for (std::size_t i = 0; ok_ && i < values_.items(first).size(); ++i) {
      if (i != 0) out << " ws \",\" ws ";
      out << 's' << std::int64_t{schema(values_.items(first)[i], depth + 1)};
    }
    out << " ws \"]\"";
  }

  /// Properties in the order of the schema; no others, unless the schema names none. So what is written satisfies any
  /// additionalProperties.
  void write_object(const Value& s, std::uint32_t depth, TextBuilder& out) noexcept {
    allow(s, {"type", "properties", "required", "additionalProperties"}, "object");
    const Value properties = values_.get(s, "properties");
    const Value required = values_.get(s, "required");
    const Value more = values_.get(s, "additionalProperties");
    for (const Value& name : values_.items(required))
      if (values_.find(properties, name.text) == nullptr)
        return fault("expected properties to name ", name.text, ", which required does");
    const std::size_t count = values_.entries(properties).size();
    if (count == 0) return write_free_object(more, depth, out);
    write_members(properties, required, depth, out);
  }
  void write_free_object(const Value& more, std::uint32_t depth, TextBuilder& out) noexcept {
    if (more.is(Kind::boolean) && more.integer == 0) return void(out << "\"{\" ws \"}\"");
    if (!more.is_dict()) return void(out << "object");
    const std::uint32_t value = schema(more, depth + 1);
    out << "\"{\" ws (string ws \":\" ws s" << std::int64_t{value} << " (ws \",\" ws string ws \":\" ws s"
        << std::int64_t{value} << ")* ws)? \"}\"";
  }
  /// Two rules for each property: the members from it on where none stands before it, and where one does.
  void write_members(const Value& properties, const Value& required, std::uint32_t depth, TextBuilder& out) noexcept {
    const std::size_t count = values_.entries(properties).size();
    const std::uint32_t object = objects_++;
    out << "\"{\" ws m" << std::int64_t{object} << "-0-0 \"}\"";
    for (std::size_t i = 0; ok_ && i < count; ++i) {
      const Entry entry = values_.entries(properties)[i];
      const std::uint32_t value = schema(entry.value, depth + 1);
      bool needed = false;
      for (const Value& name : values_.items(required)) needed = needed || name.text == entry.key.text;
      for (const std::int64_t begun : {0, 1}) {
        member_name(object, i, begun);
        out_ << " ::= " << (begun != 0 ? "\",\" ws " : "");
        TextBuilder key(values_.allocator());
        chat::write_json_string(entry.key.text, false, key);
        write_literal(key.view(), out_);
        out_ << " ws \":\" ws s" << std::int64_t{value} << " ws ";
        member_name(object, i + 1, 1);
        if (!needed) {
          out_ << " | ";
          member_name(object, i + 1, begun);
        }
        out_ << "\n";
      }
    }
    for (const std::int64_t begun : {0, 1}) {
      member_name(object, count, begun);
      out_ << " ::= \"\"\n";
    }
  }
  void member_name(std::uint32_t object, std::size_t index, std::int64_t begun) noexcept {
    out_ << 'm' << std::int64_t{object} << '-' << static_cast<std::int64_t>(index) << '-' << begun;
  }

  Values& values_;
  Value root_;
  TextBuilder out_;
  DisjointSchemas disjoint_;
  StringRules strings_;
  Vector<Reference> referenced_;
  std::uint32_t rules_ = 0;
  std::uint32_t objects_ = 0;
  std::size_t enums_ = 0;
  bool ok_ = true;
  Error error_{};
};

}  // namespace detail

/// The GBNF of the JSON texts that a schema allows: every text of it is valid. Objects have their properties in the
/// order of the schema and no others.
///
/// Errors: Errc::invalid_argument, also for a keyword that is not honoured, which it names; Errc::limit_exceeded.
[[nodiscard]] inline Result<String> gbnf_of_json_schema(std::string_view schema,
                                                        const Allocator& allocator = system_allocator()) noexcept {
  if (schema.size() > kMostSchemaBytes)
    return fail(Errc::limit_exceeded, "the JSON schema has ", schema.size(), " bytes, expected at most ",
                kMostSchemaBytes);
  chat::Values values(allocator);
  auto root = chat::read_json(schema, values);
  if (!root) return pass(root);
  auto text = detail::SchemaWriter(values, *root).write();
  if (text && !values.ok()) return std::unexpected<Error>(values.error());
  return text;
}

/// The grammar of the JSON texts that a schema allows. See gbnf_of_json_schema.
[[nodiscard]] inline Result<Grammar> read_json_schema(std::string_view schema,
                                                      const Allocator& allocator = system_allocator()) noexcept {
  auto text = gbnf_of_json_schema(schema, allocator);
  if (!text) return pass(text);
  return read_gbnf(text->view(), allocator);
}

}  // namespace zrt::inline ZRT_ABI::text::grammar
