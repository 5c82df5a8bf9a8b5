// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/json_reader.hpp: instructions, regions and programs from JSON; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/ptir/json_values.hpp>

#include <utility>
#include <vector>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// Reads a program from JSON.
class ProgramJsonReader : protected JsonValues {
 public:
  explicit ProgramJsonReader(const Allocator& allocator) : JsonValues(allocator) {}

  [[nodiscard]] Result<Program> run(const Json& json) {
    if (!program(json)) return std::unexpected<Error>(error_);
    return std::move(program_);
  }

 protected:
  /// A list whose entries `item` turns into words.
  template <class F> bool words(const Json& json, AttributeKind kind, Attribute& value, const F& item) {
    if (!json.is_array()) return expected(json, "a list");
    std::vector<std::int64_t> all;
    for (const Json& entry : json)
      if (!item(entry, all.emplace_back())) return false;
    const auto range = program_.add(program_.words, all);
    if (!keep(range)) return false;
    value = {kind, 0, *range};
    return true;
  }
  bool boolean(const Json& json, std::int64_t& value) {
    if (!json.is_boolean()) return expected(json, "true or false");
    value = json.get<bool>() ? 1 : 0;
    return true;
  }
  bool attribute(const AttributeField& field, AttributeKind kind, const Json& json, Attribute& value) {
    using enum AttributeKind;
    switch (kind) {
      case none:
        return expected(json, "an attribute");
      case integer: {
        std::int64_t number = 0;
        if (!this->integer(json, number, "an integer")) return false;
        value = Attribute::integer(number);
        return true;
      }
      case real: {
        double number = 0;
        if (!this->real(json, number)) return false;
        value = Attribute::real(number);
        return true;
      }
      case boolean: {
        std::int64_t truth = 0;
        if (!this->boolean(json, truth)) return false;
        value = Attribute::boolean(truth != 0);
        return true;
      }
      case dtype: {
        DType named{};
        if (!this->dtype(json, named)) return false;
        value = Attribute::dtype(named);
        return true;
      }
      case choice:
        for (std::size_t i = 0; i < field.choices.size(); ++i) {
          if (!json.is_string() || view(json) != field.choices[i]) continue;
          value = Attribute::choice(i);
          return true;
        }
        return expected(json, "one of the names of ", field.name);
      case string: {
        PoolRange range;
        if (!this->string(json, range)) return false;
        value = {kind, 0, range};
        return true;
      }
      case integers:
        return words(json, kind, value,
                     [&](const Json& entry, std::int64_t& word) { return this->integer(entry, word, "an integer"); });
      case reals:
        return words(json, kind, value, [&](const Json& entry, std::int64_t& word) {
          double number = 0;
          if (!this->real(in_map_real(entry), number)) return false;
          word = std::bit_cast<std::int64_t>(number);
          return true;
        });
      case booleans:
        return words(json, kind, value,
                     [&](const Json& entry, std::int64_t& word) { return this->boolean(entry, word); });
      case strings: {
        if (!json.is_array()) return expected(json, "a list");
        std::vector<PoolRange> all;
        for (const Json& entry : json)
          if (!this->string(entry, all.emplace_back())) return false;
        const auto range = program_.add(program_.texts, all);
        if (!keep(range)) return false;
        value = {kind, 0, *range};
        return true;
      }
      case shape:
        return words(json, kind, value, [&](const Json& entry, std::int64_t& word) {
          Dim d;
          if (!dim(entry, d, true)) return false;
          word = d.code();
          return true;
        });
      case literal: {
        std::uint32_t index = 0;
        if (!this->literal(json, index)) return false;
        value = Attribute::literal(index);
        return true;
      }
      case region: {
        RegionId id = 0;
        if (!this->integer(json, id, "a region number")) return false;
        value = Attribute::region(id);
        return true;
      }
      case map:
        return this->map(field, json, value);
    }
    return false;
  }
  /// {"real": x} is x.
  [[nodiscard]] static const Json& in_map_real(const Json& json) {
    return json.is_object() && json.size() == 1 && json.contains("real") && json["real"].is_string() ? json["real"]
                                                                                                     : json;
  }
  /// What a value of a map can only be.
  [[nodiscard]] static AttributeKind kind_of(const Json& json) {
    using enum AttributeKind;
    if (json.is_boolean()) return boolean;
    if (json.is_string()) return string;
    if (json.is_number_integer()) return integer;
    return json.is_number_float() || &in_map_real(json) != &json ? real : none;
  }
  bool map(const AttributeField& field, const Json& json, Attribute& value) {
    using enum AttributeKind;
    if (!json.is_object()) return expected(json, "an object");
    if (json.size() > kMaxMapEntries)
      return fault(Errc::limit_exceeded, field.name, " has more than ", kMaxMapEntries, " entries");
    std::vector<MapEntry> entries;
    for (const auto& [key, entry] : json.items()) {
      MapEntry& made = entries.emplace_back();
      const auto text = program_.add_text(key);
      if (!keep(text)) return false;
      made.key = *text;
      AttributeKind kind = kind_of(entry);
      if (entry.is_array()) {
        const AttributeKind first = entry.empty() ? integer : kind_of(entry[0]);
        kind = first == real ? reals : first == boolean ? booleans : first == string ? strings : integers;
      }
      if (kind == none) return expected(entry, "a number, a boolean, a string or a list");
      if (!attribute(field, kind, in_map_real(entry), made.value)) return false;
    }
    const auto range = program_.add(program_.entries, entries);
    if (!keep(range)) return false;
    value = {map, 0, *range};
    return true;
  }

  bool attributes(const OpInfo& op, const Json& json, Instruction& i) {
    if (!json.is_object()) return expected(json, "attributes as an object");
    std::array<Attribute, OpInfo::kMaxFields> values{};
    for (const auto& [key, value] : json.items()) {
      std::size_t f = 0;
      while (f < op.field_count && op.fields_[f].name != key) ++f;
      if (f == op.field_count)
        return fault(Errc::invalid_file, op.name, " has no attribute ", slice(std::string_view(key), 0, 40));
      attribute_ = op.fields_[f].name;
      const bool read = attribute(op.fields_[f], op.fields_[f].kind, value, values[f]);
      attribute_ = {};
      if (!read) return false;
    }
    for (std::size_t f = 0; f < op.field_count; ++f)
      if (!values[f].present() && !op.fields_[f].optional)
        return fault(Errc::invalid_file, "expected the attribute ", op.fields_[f].name, " of ", op.name);
    const auto range = program_.add(program_.attributes, Span<const Attribute>(values).first(op.field_count));
    if (!keep(range)) return false;
    i.attributes = *range;
    return true;
  }
  bool instruction(const Json& json, Instruction& i) {
    if (!object(json, "an instruction", {"id", "name?", "op", "operands", "attributes", "output"}) ||
        !integer(json["id"], i.id, "a value id") || !name(json, i.name))
      return false;
    const OpInfo* op = json["op"].is_string() ? find_op(view(json["op"])) : nullptr;
    if (op == nullptr) return expected(json["op"], "an operation");
    i.opcode = op->opcode;
    if (!json["operands"].is_array()) return expected(json["operands"], "operands as a list");
    std::vector<Operand> operands;
    for (const Json& entry : json["operands"])
      if (!operand(entry, operands.emplace_back())) return false;
    const auto range = program_.add(program_.operands, operands);
    if (!keep(range)) return false;
    i.operands = *range;
    return attributes(*op, json["attributes"], i) && type(json["output"], i.output);
  }
  bool region(const Json& json) {
    if (!object(json, "a region", {"name?", "parameters", "instructions", "results"})) return false;
    for (const std::string_view list : {"parameters", "instructions", "results"})
      if (!json[list].is_array()) return expected(json[list], list, " as a list");
    Region r(program_.allocator);
    if (!name(json, r.name)) return false;
    for (const Json& entry : json["parameters"]) {
      Parameter p;
      if (!object(entry, "a parameter", {"id", "name?", "type"}) || !integer(entry["id"], p.id, "a value id") ||
          !name(entry, p.name) || !tensor(entry["type"], p.type) || !keep(r.parameters.push_back(p)))
        return false;
    }
    for (const Json& entry : json["instructions"]) {
      ++instruction_;
      Instruction i;
      if (!instruction(entry, i) || !keep(r.instructions.push_back(i))) return false;
    }
    instruction_ = -1;
    for (const Json& entry : json["results"]) {
      RegionResult result;
      if (!object(entry, "a result", {"operand", "type"}) || !operand(entry["operand"], result.operand) ||
          !tensor(entry["type"], result.type) || !keep(r.results.push_back(result)))
        return false;
    }
    return keep(program_.regions.push_back(std::move(r)));
  }
  bool program(const Json& json) {
    if (json.is_object() && json.contains("spec_version")) {
      const Json& version = json["spec_version"];
      if (!version.is_string()) return expected(version, kSpecVersion);
      if (view(version) != kSpecVersion)
        return fault(Errc::unsupported_version, "spec_version is ", slice(view(version), 0, 40), ", expected ",
                     kSpecVersion);
    }
    if (!object(json, "a program", {"spec_version", "regions"})) return false;
    if (!json["regions"].is_array() || json["regions"].empty())
      return expected(json["regions"], "regions as a list of at least one");
    for (const Json& entry : json["regions"]) {
      ++region_;
      if (!region(entry)) return false;
    }
    return true;
  }
};

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
