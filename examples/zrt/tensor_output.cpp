// SPDX-License-Identifier: Apache-2.0
// examples/zrt/tensor_output.cpp: tensors as text, as JSON and as files.
#include "npz.hpp"
#include "output.hpp"
#include "plan_json.hpp"
#include "tensor_output.hpp"
#include <zrt/core/cast.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
using zrt::DType;

/// One real element as JSON; what is no number of JSON as a string.
Json real_json(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (dtype == DType::f64 || dtype == DType::cf64) return value;
  // The shortest form that reads back as the narrower type.
  char text[32];
  for (int digits = 1; digits <= 9; ++digits) {
    (void)std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtof(text, nullptr) == static_cast<float>(value)) break;
  }
  return std::strtod(text, nullptr);
}

/// Element `i` of a tensor.
Json element_json(const Array& array, std::uint64_t i) {
  const DType dtype = array.type.dtype;
  const auto read = [&]<class T>(DType as, T value) {
    // 4-bit elements lie in pairs, from an even one on.
    const std::uint64_t odd = i % zrt::info(dtype).block_elems;
    std::array<T, 2> both{};
    zrt::cast_elements(dtype, array.data.data() + zrt::bytes_of(dtype, i - odd), as,
                       reinterpret_cast<std::byte*>(both.data()), odd, 1);
    value = both[odd];
    return value;
  };
  switch (zrt::info(dtype).kind) {
    case zrt::DTypeKind::boolean:
      return array.data[i] != std::byte{0};
    case zrt::DTypeKind::signed_integer:
      return read(DType::si64, std::int64_t{});
    case zrt::DTypeKind::unsigned_integer:
      return read(DType::ui64, std::uint64_t{});
    case zrt::DTypeKind::complex: {
      double parts[2]{};
      float narrow[2]{};
      if (dtype == DType::cf64) {
        std::memcpy(parts, array.data.data() + i * sizeof parts, sizeof parts);
      } else {
        std::memcpy(narrow, array.data.data() + i * sizeof narrow, sizeof narrow);
        parts[0] = double{narrow[0]};
        parts[1] = double{narrow[1]};
      }
      return Json::array({real_json(parts[0], dtype), real_json(parts[1], dtype)});
    }
    default:
      return real_json(read(DType::f64, double{}), dtype);
  }
}

/// The elements in nested lists, from axis `axis` on.
Json elements_json(const Array& array, std::uint8_t axis, std::uint64_t& next) {
  if (axis == array.type.shape.rank) return element_json(array, next++);
  Json list = Json::array();
  for (std::uint32_t i = 0; i < array.type.shape[axis].extent; ++i)
    list.push_back(elements_json(array, static_cast<std::uint8_t>(axis + 1), next));
  return list;
}

/// A name as that of a file: what a path or a shell would read otherwise becomes _.
std::string file_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return out + ".npy";
}

/// The names; those that would be the same file get their place.
std::vector<std::string> distinct(const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (std::string name : wanted) {
    for (const std::string& other : names)
      if (file_name(other) == file_name(name)) name += "." + std::to_string(names.size());
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::vector<Array> room_for_outputs(const zrt::plan::ExecutionPlan& plan) {
  std::vector<Array> outputs;
  for (const zrt::plan::PlanPort& port : plan.outputs) {
    const zrt::TensorType& type = plan.registers[index(port.reg)];
    outputs.push_back({type, std::vector<std::byte>(zrt::bytes_of(type.dtype, type.shape.elements({}).raw()))});
  }
  return outputs;
}

int show_tensors(const std::vector<std::string>& wanted, const zrt::plan::ExecutionPlan& plan,
                 const std::vector<Array>& outputs, const std::string& out, bool json) {
  const std::vector<std::string> names = distinct(wanted);
  std::vector<NpzMember> members;
  if (!out.empty() && !is_npz(out)) {
    std::error_code error;
    std::filesystem::create_directories(out, error);
    if (error) return failed(write_error(out, error.value()));
  }
  Json all = Json::array();
  std::string text;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string type = type_text(plan, outputs[i].type);
    Json one{{"name", names[i]}, {"dtype", std::string(name(outputs[i].type.dtype))}, {"shape", Json::array()}};
    for (std::uint8_t axis = 0; axis < outputs[i].type.shape.rank; ++axis)
      one["shape"].push_back(outputs[i].type.shape[axis].extent);
    text += names[i] + ": " + type;
    if (out.empty()) {
      std::uint64_t next = 0;
      one["values"] = elements_json(outputs[i], 0, next);
      text += " = " + one["values"].dump() + "\n";
    } else if (is_npz(out)) {
      members.push_back({names[i], write_npy(outputs[i])});
      one["file"] = out;
      text += " in " + out + "\n";
    } else {
      const std::string path = (std::filesystem::path(out) / file_name(names[i])).string();
      if (auto r = write_file(path, write_npy(outputs[i])); !r) return failed(r.error());
      one["file"] = path;
      text += " in " + path + "\n";
    }
    all.push_back(std::move(one));
  }
  if (is_npz(out)) {
    const auto archive = write_npz(members);
    if (!archive) return failed(archive.error());
    if (auto r = write_file(out, *archive); !r) return failed(r.error());
  }
  if (json) text = Json{{"outputs", std::move(all)}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return print(text) ? kOk : cannot_write("stdout");
}

}  // namespace program
