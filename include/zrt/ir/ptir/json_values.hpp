// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/json_values.hpp: names, numbers, types, literals and operands from JSON; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/ptir/json_text.hpp>
#include <zrt/ir/ptir/numbers.hpp>

#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// Reads what programs are made of from JSON. Every member tells whether it succeeded; the first error stays and says
/// at which region, instruction and attribute.
class JsonValues {
 protected:
  explicit JsonValues(const Allocator& allocator) : program_(allocator) {}

  template <class... Pieces> bool fault(Errc code, const Pieces&... pieces) {
    error_ = Error::of(code);
    if (region_ >= 0) error_.append("region ").append(region_);
    if (instruction_ >= 0) error_.append(region_ >= 0 ? ", instruction " : "step ").append(instruction_);
    if (region_ >= 0 || instruction_ >= 0) error_.append(": ");
    if (!attribute_.empty()) error_.append("attribute ").append(attribute_).append(": ");
    (error_.append(pieces), ...);
    return false;
  }
  /// "expected `what`, found" a value.
  template <class... Pieces> bool expected(const Json& found, const Pieces&... what) {
    const std::string written = found.is_structured() ? std::string(found.type_name())
                                                      : found.dump(-1, ' ', true, Json::error_handler_t::replace);
    return fault(Errc::invalid_file, "expected ", what..., ", found ", slice(std::string_view(written), 0, 40));
  }
  template <class T> bool keep(const Result<T>& r) { return r ? true : fault(r.error().code(), r.error().text()); }

  /// An object with these members, those with a trailing ? optional, and no others.
  bool object(const Json& json, std::string_view what, std::initializer_list<std::string_view> members) {
    if (!json.is_object()) return expected(json, what, " as an object");
    const auto plain = [](std::string_view m) { return m.ends_with('?') ? slice(m, 0, m.size() - 1) : m; };
    for (const std::string_view member : members)
      if (!member.ends_with('?') && !json.contains(member))
        return fault(Errc::invalid_file, what, " has no member ", member);
    for (const auto& [key, value] : json.items()) {
      bool known = false;
      for (const std::string_view member : members) known = known || plain(member) == key;
      if (!known)
        return fault(Errc::invalid_file, what, " has an unknown member ", slice(std::string_view(key), 0, 40));
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
      const std::string_view name = slice(view(json), 1);
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

  bool string(const Json& json, PoolRange& range) {
    if (!json.is_string()) return expected(json, "a string");
    const auto added = program_.add_text(view(json));
    if (!keep(added)) return false;
    range = *added;
    return true;
  }

  Program program_;
  std::int64_t region_ = -1;
  std::int64_t instruction_ = -1;
  std::string_view attribute_;  ///< whose value is being read; may be empty
  Error error_{};
};

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
