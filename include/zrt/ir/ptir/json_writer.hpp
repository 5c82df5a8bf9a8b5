// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/json_writer.hpp: a program of the portable tensor IR as JSON; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/ir/ptir/json_text.hpp>
#include <zrt/ir/ptir/numbers.hpp>

#include <string>
#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// True for well-formed UTF-8, which is all that a JSON string can hold.
[[nodiscard]] constexpr bool is_utf8(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto at = [&](std::size_t n) { return i + n < text.size() ? static_cast<unsigned char>(text[i + n]) : 0u; };
    const unsigned lead = at(0);
    const std::size_t more = lead < 0x80 ? 0 : lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2 : 3;
    if (more == 3 && (lead < 0xf0 || lead > 0xf4)) return false;
    for (std::size_t n = 1; n <= more; ++n)
      if ((at(n) & 0xc0u) != 0x80u) return false;
    // Overlong forms, surrogates and what lies past U+10FFFF.
    if ((lead == 0xe0 && at(1) < 0xa0) || (lead == 0xed && at(1) >= 0xa0) || (lead == 0xf0 && at(1) < 0x90) ||
        (lead == 0xf4 && at(1) >= 0x90))
      return false;
    i += more + 1;
  }
  return true;
}

/// Turns a program into JSON and keeps the first failure.
class ProgramJsonWriter {
 public:
  explicit ProgramJsonWriter(const Program& program) : program_(program) {}

  [[nodiscard]] Result<Json> run() {
    Json regions = Json::array();
    for (const Region& region : program_.regions) regions.push_back(this->region(region));
    if (failed_) return std::unexpected<Error>(error_);
    return Json{{"spec_version", kSpecVersion}, {"regions", std::move(regions)}};
  }

 protected:
  void set(const Error& error) {
    if (!failed_) error_ = error;
    failed_ = true;
  }
  [[nodiscard]] std::string text(std::string_view bytes) {
    if (is_utf8(bytes)) return std::string(bytes);
    set(Error::of(Errc::invalid_argument, "a name or string is not UTF-8, which JSON demands"));
    return {};
  }
  [[nodiscard]] Json real(double value, bool in_map) {
    if (value - value == 0) return value;
    String digits;
    if (const auto r = append_real(digits, value); !r) set(r.error());
    Json word = std::string(digits.view());
    return in_map ? Json{{"real", std::move(word)}} : word;
  }
  [[nodiscard]] Json dim(Dim d) {
    if (!d.is_dynamic()) return d.code();
    return "?" + text(program_.symbol_name(d));
  }
  [[nodiscard]] std::string dtype(DType d) {
    if (is_ptir_dtype(d)) return std::string(zrt::name(d));
    set(Error::of(Errc::dtype_mismatch, "a dtype is none of the portable tensor IR"));
    return {};
  }
  [[nodiscard]] Json shape(const Shape& s) {
    Json dims = Json::array();
    for (const Dim d : s.view()) dims.push_back(dim(d));
    return dims;
  }
  [[nodiscard]] Json tensor(const TensorType& t) { return {{"dtype", dtype(t.dtype)}, {"shape", shape(t.shape)}}; }
  [[nodiscard]] Json literal(std::uint64_t index) {
    const Literal* found = program_.literal(index);
    if (found == nullptr) {
      set(Error::of(Errc::dangling_value, "literal ", index, " is not in the program"));
      return {};
    }
    std::string hex;
    for (const std::byte b : program_.bytes_of(*found)) {
      hex += "0123456789abcdef"[static_cast<unsigned>(b) >> 4];
      hex += "0123456789abcdef"[static_cast<unsigned>(b) & 15u];
    }
    Json json = tensor(found->type);
    json["data"] = std::move(hex);
    return json;
  }
  [[nodiscard]] Json operand(const Operand& o) {
    if (o.kind == Operand::Kind::literal) return {{"literal", literal(o.id)}};
    if (o.kind == Operand::Kind::tuple_element) return {{"tuple", o.id}, {"element", o.element}};
    return {{"value", o.id}};
  }
  [[nodiscard]] Json attribute(const AttributeField& field, const Attribute& a, bool in_map) {
    using enum AttributeKind;
    Json list = Json::array();
    switch (a.kind) {
      case none:
        return {};
      case integer:
        return a.as_integer();
      case real:
        return this->real(a.as_real(), in_map);
      case boolean:
        return a.bits != 0;
      case dtype:
        return this->dtype(static_cast<DType>(a.bits & 0xffu));
      case choice:
        if (a.bits < field.choices.size()) return std::string(field.choices[a.bits]);
        set(Error::of(Errc::invalid_params, field.name, " is none of its names"));
        return {};
      case string:
        return text(program_.text(a.range));
      case integers:
        for (const std::int64_t word : program_.words_of(a)) list.push_back(word);
        return list;
      case reals:
        for (const std::int64_t word : program_.words_of(a))
          list.push_back(this->real(std::bit_cast<double>(word), in_map));
        return list;
      case booleans:
        for (const std::int64_t word : program_.words_of(a)) list.push_back(word != 0);
        return list;
      case strings:
        for (const PoolRange range : program_.texts_of(a)) list.push_back(text(program_.text(range)));
        return list;
      case shape:
        for (const std::int64_t word : program_.words_of(a)) list.push_back(dim(Dim::from_code(word)));
        return list;
      case literal:
        return this->literal(a.bits);
      case region:
        return a.bits;
      case map: {
        Json entries = Json::object();
        for (const MapEntry& entry : program_.entries_of(a)) {
          if (entry.value.kind == map) {
            set(Error::of(Errc::invalid_params, "a map holds a map"));
            break;
          }
          entries[text(program_.text(entry.key))] = attribute(field, entry.value, true);
        }
        return entries;
      }
    }
    return {};
  }
  void put_name(Json& json, const Name& name) {
    if (!name.view().empty()) json["name"] = text(name.view());
  }
  [[nodiscard]] Json attributes(const OpInfo& op, Span<const Attribute> values) {
    Json json = Json::object();
    for (std::size_t f = 0; f < op.field_count && f < values.size(); ++f)
      if (values[f].present()) json[std::string(op.fields_[f].name)] = attribute(op.fields_[f], values[f], false);
    return json;
  }
  [[nodiscard]] Json instruction(const Instruction& i) {
    const OpInfo* op = find_op(i.opcode);
    if (op == nullptr) {
      set(Error::of(Errc::unsupported_opcode, "opcode ", unsigned{number(i.opcode)},
                    " is no operation of the portable tensor IR"));
      return {};
    }
    Json json{{"id", i.id}};
    put_name(json, i.name);
    json["op"] = std::string(op->name);
    Json operands = Json::array();
    for (const Operand& o : program_.operands_of(i)) operands.push_back(operand(o));
    json["operands"] = std::move(operands);
    json["attributes"] = attributes(*op, program_.attributes_of(i));
    Json types = Json::array();
    for (const TensorType& t : program_.types_of(i.output)) types.push_back(tensor(t));
    if (!i.output.tuple && types.size() != 1)
      set(Error::of(Errc::invalid_params, "an output has ", types.size(), " types, expected 1 or a tuple"));
    else
      json["output"] = i.output.tuple ? Json{{"tuple", std::move(types)}} : std::move(types[0]);
    return json;
  }
  [[nodiscard]] Json region(const Region& r) {
    Json json = Json::object();
    put_name(json, r.name);
    Json parameters = Json::array(), instructions = Json::array(), results = Json::array();
    for (const Parameter& p : r.parameters) {
      Json parameter{{"id", p.id}};
      put_name(parameter, p.name);
      parameter["type"] = tensor(p.type);
      parameters.push_back(std::move(parameter));
    }
    for (const Instruction& i : r.instructions) instructions.push_back(instruction(i));
    for (const RegionResult& result : r.results)
      results.push_back({{"operand", operand(result.operand)}, {"type", tensor(result.type)}});
    json["parameters"] = std::move(parameters);
    json["instructions"] = std::move(instructions);
    json["results"] = std::move(results);
    return json;
  }

  const Program& program_;
  bool failed_ = false;
  Error error_{};
};

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
