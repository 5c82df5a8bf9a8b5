// SPDX-License-Identifier: Apache-2.0
// tests/support/vector_program.hpp: the vectors of tests/data/ptir, and each as a program of one instruction.
#pragma once

#include <zrt/ir/ptir/attributes.hpp>
#include <zrt/ops/op_table.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <support/run_plan.hpp>
#include <support/run_program.hpp>

namespace zrt::test {

using nlohmann::json;

inline DType dtype_named(const std::string& name) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.dtype;
  ADD_FAILURE() << "no type " << name;
  return DType::f32;
}

inline std::vector<std::byte> bytes_from(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

/// [dtype, extents, bytes in hexadecimal]; an extent of -k is k times `n`.
inline HostValue value_from(const json& tensor, std::uint32_t n) {
  HostValue value{{dtype_named(tensor[0]), {}}, bytes_from(tensor[2])};
  for (const int extent : tensor[1])
    value.type.shape = value.type.shape.appended(extent < 0 ? static_cast<std::uint32_t>(-extent) * n
                                                            : static_cast<std::uint32_t>(extent));
  value.bytes.resize(bytes_of(value.type.dtype, value.type.shape.elements({}).raw()));
  return value;
}

inline std::string text_of(const TensorType& type) {
  std::string text = std::string(name(type.dtype)) + "[";
  for (std::uint8_t axis = 0; axis < type.shape.rank; ++axis)
    text += (axis == 0 ? "" : ", ") + std::to_string(type.shape[axis].extent);
  return text + "]";
}

/// The attributes of `op` in text, from values that bear their names; `x` is the dtype of the first operand.
inline std::string attributes_text(const std::string& op, const json& values, const std::string& x, std::uint32_t n) {
  using enum ir::ptir::AttributeKind;
  static const std::map<std::string, std::string> kAliases{
      {"new_shape", "shape"}, {"result_shape", "shape"}, {"pad_value", op == "pad" ? "value" : "pad_value"}};
  std::string text;
  for (const ir::ptir::AttributeField& field : ir::ptir::find_op(op)->fields()) {
    std::string key(field.name);
    if (const auto alias = kAliases.find(key); !values.contains(key) && alias != kAliases.end()) key = alias->second;
    if (!values.contains(key) && key == "pad_value" && values.contains("value")) key = "value";
    if (!values.contains(key)) {
      if (field.kind == boolean) text += (text.empty() ? "" : ", ") + std::string(field.name) + " = false";
      continue;
    }
    const json& value = values[key];
    std::string one;
    switch (field.kind) {
      case integer:
        one = std::to_string(value.is_number_unsigned() ? static_cast<std::int64_t>(value.get<std::uint64_t>())
                                                        : value.get<std::int64_t>());
        break;
      case real: {
        char bits[24];
        std::snprintf(bits, sizeof bits, "0x%016llx", static_cast<unsigned long long>(value.get<std::uint64_t>()));
        one = bits;
        break;
      }
      case boolean:
        one = value == 0 || value == false ? "false" : value == 1 || value == true ? "true" : value.dump();
        break;
      case dtype:
      case choice:
        one = value.get<std::string>();
        break;
      case literal:
        one = x + "[] x \"" + value.get<std::string>() + "\"";
        break;
      default:
        for (const long long number : value)
          one += (one.empty() ? "" : ", ") + std::to_string(field.kind == shape && number < 0 ? -number * n : number);
        one = "[" + one + "]";
    }
    text += (text.empty() ? "" : ", ") + std::string(field.name) + " = " + one;
  }
  return text;
}

/// The same attributes with axes that count from the end.
inline json with_negative_axes(const std::string& op, json values, const std::vector<HostValue>& in) {
  const auto turn = [&](const char* key, std::size_t operand) {
    if (!values.contains(key)) return;
    const long rank = op == "iota" ? static_cast<long>(values["shape"].size()) : long{in[operand].type.shape.rank};
    const auto one = [rank](const json& axis) { return json(axis.get<long>() - rank); };
    json& value = values[key];
    if (value.is_array()) {
      for (json& axis : value) axis = one(axis);
    } else if (value.get<long>() < rank) {
      value = one(value);  // an index_vector_dim may be the rank itself
    }
  };
  for (const char* key : {"axis", "feature_axis", "axes", "perm", "batch_lhs", "contract_lhs", "inserted_window_dims",
                          "scatter_dims_to_operand_dims"})
    turn(key, 0);
  for (const char* key : {"batch_rhs", "contract_rhs", "index_vector_dim"}) turn(key, 1);
  turn("update_window_dims", 2);
  return values;
}

/// Whether a case names axes.
inline bool has_axes(const json& c, const std::string& op, const json& attributes, std::uint32_t n) {
  std::vector<HostValue> in;
  for (const json& tensor : c["in"]) in.push_back(value_from(tensor, n));
  return with_negative_axes(op, attributes, in) != attributes;
}

/// A program of one instruction.
inline std::string program_text(const std::string& op, const std::string& attributes, const std::vector<HostValue>& in,
                                const std::vector<HostValue>& out, bool tuple) {
  std::string parameters, operands, types, results;
  const std::string id = "%" + std::to_string(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::string value = "%" + std::to_string(i);
    parameters += (i == 0 ? "" : ", ") + value + ": " + text_of(in[i].type);
    operands += (i == 0 ? "" : ", ") + value;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    types += (i == 0 ? "" : ", ") + text_of(out[i].type);
    results += (i == 0 ? "" : ", ") + id + (tuple ? "[" + std::to_string(i) + "]" : "") + ": " + text_of(out[i].type);
  }
  return "spec_version = ptir.v0.4\nregion @0 main(" + parameters + ") {\n  " + id + " = " + op + "(" + operands + ")" +
         (attributes.empty() ? "" : " {" + attributes + "}") + ": " + (tuple ? "tuple<" + types + ">" : types) +
         "\n  return " + results + "\n}\n";
}

/// One vector as a program with constant extents.
struct VectorProgram {
  std::string text;
  std::vector<HostValue> in, out;
  bool violates = false;
  bool refused = false;  ///< before it runs: an axis known to be empty has no largest element
};

/// `negative` counts axes from the end.
inline VectorProgram program_of(const json& c, const std::string& op, const json& given, std::uint32_t n,
                                bool negative) {
  VectorProgram v;
  for (const json& tensor : c["in"]) v.in.push_back(value_from(tensor, n));
  for (const json& tensor : c["out"]) v.out.push_back(value_from(tensor, n));
  for (HostValue& value : v.out)
    if (info(value.type.dtype).block_elems == 2 && value.type.shape.elements({}).raw() % 2 != 0)
      value.bytes.back() &= std::byte{0x0f};
  v.violates = c.value("violates", false);
  v.refused = op == "arg_max" && v.in[0].type.shape[given["axis"]].extent == 0;
  const json values = negative ? with_negative_axes(op, given, v.in) : given;
  const std::string x = v.in.empty() ? "" : std::string(name(v.in[0].type.dtype));
  std::string attributes = attributes_text(op, values, x, n);
  if (op == "constant") {
    attributes = "value = " + text_of(v.in[0].type) + " x \"" + c["in"][0][2].get<std::string>() + "\"";
    v.in.clear();
  }
  v.text = program_text(op, attributes, v.in, v.out, op == "top_k");
  return v;
}

inline std::string path_of(const std::string& file) { return ZRT_TEST_DATA_DIR "/ptir/" + file; }

inline json vectors(const std::string& file) {
  std::ifstream stream(path_of(file));
  return json::parse(stream);
}

/// Stands for a kind that the op knows and the IR has no name for.
inline constexpr std::string_view kNameless = "nameless";

/// A parameter block as attributes under their names in the IR.
inline json attributes_of_block(const OpRow& row, const std::vector<std::byte>& block) {
  json fields = json::object();
  for (const Field& field : row.fields) {
    json list = json::array();
    for (std::size_t i = 0; i < field.count; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, block.data() + field.offset + i * field.size, field.size);
      list.push_back(word);
    }
    fields[std::string(field.name)] = field.count == 1 ? list[0] : list;
  }
  const std::string op(row.name);
  json a = fields;
  const auto dtype = [&](const char* from, const char* to) {
    if (!fields.contains(from)) return;
    const auto number = fields[from].get<std::uint8_t>();
    a[to] = is_dtype(number) ? name(static_cast<DType>(number)) : kNameless;
  };
  for (const char* key : {"dtype", "accum_dtype", "out_dtype", "output_dtype"}) dtype(key, key);
  dtype("index_dtype", "output_dtype");
  if (fields.contains("keep_dims")) a["keepdims"] = fields["keep_dims"];
  if (fields.contains("kind")) {
    const auto* info = ir::ptir::find_op(op);
    for (const auto& field : info->fields())
      if (const std::size_t kind = fields["kind"]; field.kind == ir::ptir::AttributeKind::choice)
        a[std::string(field.name)] = kind < field.choices.size() ? field.choices[kind] : kNameless;
  }
  if (op == "reduce") {
    a["axes"] = json::array();
    for (int axis = 0; axis < 8; ++axis)
      if ((fields["axes"].get<int>() >> axis & 1) != 0) a["axes"].push_back(axis);
  }
  if (op == "dot_general")
    for (const char* side : {"lhs", "rhs"})
      for (const char* what : {"batch", "contract"}) {
        json list = json::array();
        for (std::size_t i = 0; i < fields[std::string(what) + "_count"]; ++i)
          list.push_back(fields[std::string(what) + "_" + side][i]);
        a[std::string(what) + "_" + side] = list;
      }
  if (fields.contains("extent")) {
    a["shape"] = json::array();
    for (std::size_t i = 0; i < fields["rank"]; ++i) {
      const int extent = fields["extent"][i];
      a["shape"].push_back(fields["symbol"][i] == 0 ? extent : -extent);
    }
  }
  if (fields.contains("per_axis") && fields["per_axis"] == 0) a.erase("axis");
  return a;
}

/// Calls `use(case, op, attributes, n)` for the cases of a file that name attributes as the IR does, until a test fails.
template <class Use> void each_of(const std::string& file, Use&& use) {
  const json all = vectors(file);
  for (const json& c : all["cases"]) {
    use(c, c["op"].get<std::string>(), c["attrs"], all["n"].get<std::uint32_t>());
    if (::testing::Test::HasFailure()) return;
  }
}

/// The same for every op's edges of shapes and values.
template <class Use> void each_edge(Use&& use) {
  for (const ir::ptir::OpInfo& op : ir::ptir::kOps) {
    const std::string file = "edges/" + std::string(op.name) + ".json";
    if (std::ifstream(path_of(file))) each_of(file, use);
  }
}

/// The same for every case of arithmetic that a program can say.
template <class Use> void each_arithmetic(Use&& use) {
  for (const json& c : vectors("arithmetic.json")) {
    if (c.contains("error")) continue;
    const std::string op = c["op"];
    const OpRow* row = (*catalog_ops().table)[number(ir::ptir::find_op(op)->opcode)];
    json a = attributes_of_block(*row, bytes_from(c["block"]));
    // A seed that is an operand is no attribute.
    if (op.starts_with("rng_") && !c["in"].empty()) a.erase("seed");
    if (a.value("op", "") != kNameless) use(c, op, a, c.value("n", 3u));
    if (::testing::Test::HasFailure()) return;
  }
}

/// The same for all of them.
template <class Use> void each_vector(Use&& use) {
  each_of("movement.json", use);
  each_arithmetic(use);
  each_edge(use);
}

}  // namespace zrt::test
