// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/json.hpp: the JSON form of the portable tensor IR; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
//
//   {"spec_version": "ptir.v0.4",
//    "regions": [{"name": "main",
//      "parameters":   [{"id": 0, "name": "x", "type": TENSOR}],
//      "instructions": [{"id": 1, "name": "y", "op": "reduce", "operands": [OPERAND],
//                        "attributes": {"kind": "sum", "axes": [-1], ...}, "output": TENSOR | {"tuple": [TENSOR]}}],
//      "results":      [{"operand": OPERAND, "type": TENSOR}]}]}
//
//   TENSOR   {"dtype": "f32", "shape": [4, "?N", "?"]}
//   OPERAND  {"value": 1} | {"tuple": 1, "element": 0} | {"literal": LITERAL}
//   LITERAL  {"dtype": "f32", "shape": [2], "data": "0000803f00000040"}       little-endian bytes
//
// A name may be left out. Reals are numbers, or "inf", "-inf" and "0x…" (the bits of a NaN) as strings;
// a region is its number; -1 is the inferred extent. A custom call's attrs are an object of integers,
// reals (written with a point or an exponent; the strings above are strings there, so a real that is not
// finite is {"real": "inf"}), booleans, strings, and lists of one of these.
#pragma once

#include <zrt/ir/ptir/attributes.hpp>
#include <zrt/ir/ptir/numbers.hpp>

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zrt::inline ZRT_ABI::ir::ptir {

using Json = nlohmann::ordered_json;

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
class JsonWriter {
 public:
  explicit JsonWriter(const Program& program) : program_(program) {}

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
        for (const Range range : program_.texts_of(a)) list.push_back(text(program_.text(range)));
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
  [[nodiscard]] Json attributes(const OpInfo& op, std::span<const Attribute> values) {
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

/// Reads a program from JSON. Every member tells whether it succeeded; the first error stays and says
/// at which region and instruction.
class JsonReader {
 public:
  explicit JsonReader(const Allocator& allocator) : program_(allocator) {}

  [[nodiscard]] Result<Program> run(const Json& json) {
    if (!program(json)) return std::unexpected<Error>(error_);
    return std::move(program_);
  }

 protected:
  template <class... Pieces> bool fault(Errc code, const Pieces&... pieces) {
    error_ = Error::of(code);
    if (region_ >= 0) error_.append("region ").append(region_);
    if (instruction_ >= 0) error_.append(region_ >= 0 ? ", instruction " : "step ").append(instruction_);
    if (region_ >= 0 || instruction_ >= 0) error_.append(": ");
    (error_.append(pieces), ...);
    return false;
  }
  /// "expected `what`, found" a value.
  template <class... Pieces> bool expected(const Json& found, const Pieces&... what) {
    const std::string written = found.is_structured() ? std::string(found.type_name())
                                                      : found.dump(-1, ' ', true, Json::error_handler_t::replace);
    return fault(Errc::invalid_file, "expected ", what..., ", found ", std::string_view(written).substr(0, 40));
  }
  template <class T> bool keep(const Result<T>& r) { return r ? true : fault(r.error().code(), r.error().text()); }

  /// An object with these members, those with a trailing ? optional, and no others.
  bool object(const Json& json, std::string_view what, std::initializer_list<std::string_view> members) {
    if (!json.is_object()) return expected(json, what, " as an object");
    const auto plain = [](std::string_view m) { return m.ends_with('?') ? m.substr(0, m.size() - 1) : m; };
    for (const std::string_view member : members)
      if (!member.ends_with('?') && !json.contains(member))
        return fault(Errc::invalid_file, what, " has no member ", member);
    for (const auto& [key, value] : json.items()) {
      bool known = false;
      for (const std::string_view member : members) known = known || plain(member) == key;
      if (!known)
        return fault(Errc::invalid_file, what, " has an unknown member ", std::string_view(key).substr(0, 40));
    }
    return true;
  }
  template <class I>
    requires std::same_as<I, std::int64_t> || std::same_as<I, std::uint32_t>
  bool integer(const Json& json, I& value, std::string_view what) {
    if (!json.is_number_integer()) return expected(json, what);
    if (json.is_number_unsigned()) {
      const auto wide = json.get<std::uint64_t>();
      if (wide > static_cast<std::uint64_t>(std::numeric_limits<I>::max())) return expected(json, what);
      value = static_cast<I>(wide);
      return true;
    }
    // nlohmann-json gives what is not negative as unsigned.
    if constexpr (std::is_unsigned_v<I>) return expected(json, what);
    value = static_cast<I>(json.get<std::int64_t>());
    return true;
  }
  [[nodiscard]] static std::string_view view(const Json& json) { return json.get_ref<const std::string&>(); }
  bool real(const Json& json, double& value) {
    if (json.is_string()) {
      const auto read = parse_real<double>(view(json));
      if (!read) return expected(json, "a real number");
      value = *read;
      return true;
    }
    if (!json.is_number()) return expected(json, "a real number");
    value = json.get<double>();
    return true;
  }
  bool dtype(const Json& json, DType& value) {
    const DTypeInfo* row = json.is_string() ? find_dtype(view(json)) : nullptr;
    if (row == nullptr) return expected(json, "a dtype");
    value = row->dtype;
    return true;
  }
  bool dim(const Json& json, Dim& value, bool may_infer) {
    if (json.is_string() && view(json).starts_with('?')) {
      const std::string_view name = view(json).substr(1);
      value = Dim::any();
      if (name.empty()) return true;
      const auto named = program_.dim(name);
      if (!keep(named)) return false;
      value = *named;
      return true;
    }
    std::int64_t number = 0;
    if (!integer(json, number, "an extent")) return false;
    if (number < (may_infer ? -1 : 0)) return expected(json, "an extent of 0 or more");
    value = Dim(number);
    return true;
  }
  bool tensor_members(const Json& json, TensorType& type) {
    if (!dtype(json["dtype"], type.dtype)) return false;
    const Json& dims = json["shape"];
    if (!dims.is_array()) return expected(dims, "a shape as a list");
    if (dims.size() > kMaxRank)
      return fault(Errc::unsupported_tensor_rank, "a tensor has ", dims.size(), " axes, at most ", unsigned{kMaxRank},
                   " expected");
    type.shape = {};
    for (const Json& entry : dims) {
      Dim d;
      if (!dim(entry, d, false)) return false;
      type.shape.append(d);
    }
    return true;
  }
  bool tensor(const Json& json, TensorType& type) {
    return object(json, "a tensor type", {"dtype", "shape"}) && tensor_members(json, type);
  }
  bool type(const Json& json, ValueType& value) {
    std::vector<TensorType> types;
    value.tuple = json.is_object() && json.contains("tuple");
    if (value.tuple) {
      if (!object(json, "an output", {"tuple"})) return false;
      if (!json["tuple"].is_array()) return expected(json["tuple"], "a tuple as a list");
      for (const Json& entry : json["tuple"])
        if (!tensor(entry, types.emplace_back())) return false;
    } else if (!tensor(json, types.emplace_back())) {
      return false;
    }
    const auto range = program_.add(program_.types, types);
    if (!keep(range)) return false;
    value.elements = *range;
    return true;
  }
  bool literal(const Json& json, std::uint32_t& index) {
    TensorType t;
    if (!object(json, "a literal", {"dtype", "shape", "data"}) || !tensor_members(json, t)) return false;
    if (!t.shape.is_constant()) return fault(Errc::invalid_file, "a literal's extents must be constants");
    const CheckedSize size = literal_bytes(t);
    if (!size.ok()) return fault(Errc::size_overflow, "the size of a literal does not fit 64 bits");
    if (!json["data"].is_string()) return expected(json["data"], "data as a string");
    const std::string_view hex = view(json["data"]);
    if (hex.size() % 2 != 0 || hex.size() / 2 != size.raw())
      return fault(Errc::invalid_file, "a literal has ", hex.size(), " hexadecimal digits, expected two for each of ",
                   size.raw(), " bytes");
    std::vector<std::byte> data(hex.size() / 2);
    for (std::size_t i = 0; i < data.size(); ++i) {
      unsigned value = 0;
      const auto end = std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, value, 16).ptr;
      if (end != hex.data() + 2 * i + 2) return fault(Errc::invalid_file, "expected hexadecimal digits as data");
      data[i] = static_cast<std::byte>(value);
    }
    const auto added = program_.add_literal(t, data);
    if (!keep(added)) return false;
    index = *added;
    return true;
  }
  bool operand(const Json& json, Operand& value) {
    std::uint32_t id = 0;
    if (!json.is_object()) return expected(json, "an operand as an object");
    if (json.contains("literal")) {
      if (!object(json, "an operand", {"literal"}) || !literal(json["literal"], id)) return false;
      value = Operand::literal(id);
      return true;
    }
    if (!json.contains("tuple")) {
      if (!object(json, "an operand", {"value"}) || !integer(json["value"], id, "a value id")) return false;
      value = Operand::value(id);
      return true;
    }
    std::uint32_t element = 0;
    if (!object(json, "an operand", {"tuple", "element"}) || !integer(json["tuple"], id, "a value id") ||
        !integer(json["element"], element, "an element of a tuple"))
      return false;
    value = Operand::tuple_element(id, element);
    return true;
  }
  bool name(const Json& json, Name& value) {
    if (!json.contains("name")) return true;
    if (!json["name"].is_string()) return expected(json["name"], "a name as a string");
    value = Name(view(json["name"]));
    return value.fits() || fault(Errc::limit_exceeded, "a name has ", view(json["name"]).size(),
                                 " characters, at most ", Name::kCapacity, " expected");
  }

  bool string(const Json& json, Range& range) {
    if (!json.is_string()) return expected(json, "a string");
    const auto added = program_.add_text(view(json));
    if (!keep(added)) return false;
    range = *added;
    return true;
  }
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
        Range range;
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
        std::vector<Range> all;
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
        return fault(Errc::invalid_file, op.name, " has no attribute ", std::string_view(key).substr(0, 40));
      if (!attribute(op.fields_[f], op.fields_[f].kind, value, values[f])) return false;
    }
    for (std::size_t f = 0; f < op.field_count; ++f)
      if (!values[f].present() && !op.fields_[f].optional)
        return fault(Errc::invalid_file, "expected the attribute ", op.fields_[f].name, " of ", op.name);
    const auto range = program_.add(program_.attributes, std::span<const Attribute>(values).first(op.field_count));
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
        return fault(Errc::unsupported_version, "spec_version is ", view(version).substr(0, 40), ", expected ",
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

  Program program_;
  std::int64_t region_ = -1;
  std::int64_t instruction_ = -1;
  Error error_{};
};

}  // namespace detail

/// Turns a program into JSON that `from_json` reads as an equal one.
///
/// Errors: Errc::invalid_argument for a name or string that is not UTF-8; what no form can hold (an
/// opcode or dtype outside the IR, a missing literal).
[[nodiscard]] inline Result<Json> to_json(const Program& program) { return detail::JsonWriter(program).run(); }

/// Reads a program from JSON. What it means is `verify`'s business.
///
/// Errors: Errc::unsupported_version for any spec_version but kSpecVersion; otherwise region and
/// instruction, what was expected and what was found.
[[nodiscard]] inline Result<Program> from_json(const Json& json, Allocator allocator = system_allocator()) {
  return detail::JsonReader(allocator).run(json);
}

/// Deeper than any of the forms goes.
inline constexpr std::size_t kMaxJsonDepth = 64;

/// Parses JSON text. A name twice in one object is an error, and so is an object of more members than any
/// in the forms may have, or text that is nested deeper than kMaxJsonDepth.
[[nodiscard]] inline Result<Json> parse_json_text(std::string_view text) {
  // The members of the open objects by depth. An object's members are at the depth after its own.
  std::vector<std::set<std::string>> members;
  std::string twice;
  bool too_many = false;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const auto at = static_cast<std::size_t>(depth);
    // Json copies and frees what is nested by recursion.
    too_deep = too_deep || at > kMaxJsonDepth;
    if (too_deep) return false;
    if (event == Json::parse_event_t::object_start) {
      if (members.size() <= at + 1) members.resize(at + 2);
      members[at + 1].clear();
    }
    if (event != Json::parse_event_t::key) return true;
    // An ordered object is searched from its front for every member that is added.
    too_many = too_many || members[at].size() > kMaxMapEntries;
    const bool added = !too_many && members[at].insert(parsed.get<std::string>()).second;
    if (!added && !too_many && twice.empty()) twice = parsed.get<std::string>();
    return added;
  };
  Json json = Json::parse(text, watch, false);
  if (too_deep) return fail(Errc::limit_exceeded, "the text is nested more than ", kMaxJsonDepth, " deep");
  if (too_many) return fail(Errc::limit_exceeded, "an object has more than ", kMaxMapEntries, " members");
  if (!twice.empty())
    return fail(Errc::duplicate_name, "an object has ", std::string_view(twice).substr(0, 40), " twice");
  if (json.is_discarded()) return fail(Errc::invalid_file, "the text is not JSON");
  return json;
}

/// Reads a program from the text of its JSON form, as parse_json_text and from_json do.
[[nodiscard]] inline Result<Program> parse_json(std::string_view text, Allocator allocator = system_allocator()) {
  const auto json = parse_json_text(text);
  if (!json) return pass(json);
  return from_json(*json, allocator);
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir
