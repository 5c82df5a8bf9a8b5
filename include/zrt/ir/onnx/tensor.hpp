// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/tensor.hpp: tensors and tensor types of an ONNX file as those of the portable tensor IR.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/external_data.hpp>
#include <zrt/ir/onnx/model.hpp>
#include <zrt/ir/onnx/strings.hpp>
#include <zrt/ir/ptir/types.hpp>

#include <array>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

namespace detail {

/// An element type of ONNX.
struct DataType {
  std::string_view name;
  std::optional<DType> dtype{};  ///< none where no tensor of the IR has it
};
/// TensorProto.DataType by number.
inline constexpr auto kDataTypes = std::to_array<DataType>({{"undefined"},
                                                            {"float", DType::f32},
                                                            {"uint8", DType::ui8},
                                                            {"int8", DType::si8},
                                                            {"uint16", DType::ui16},
                                                            {"int16", DType::si16},
                                                            {"int32", DType::si32},
                                                            {"int64", DType::si64},
                                                            {"strings"},
                                                            {"bool", DType::i1},
                                                            {"float16", DType::f16},
                                                            {"double", DType::f64},
                                                            {"uint32", DType::ui32},
                                                            {"uint64", DType::ui64},
                                                            {"complex64", DType::cf32},
                                                            {"complex128", DType::cf64},
                                                            {"bfloat16", DType::bf16},
                                                            {"float8e4m3fn", DType::fp8_e4m3},
                                                            {"float8e4m3fnuz"},
                                                            {"float8e5m2", DType::fp8_e5m2},
                                                            {"float8e5m2fnuz"},
                                                            {"uint4", DType::ui4},
                                                            {"int4", DType::si4},
                                                            {"float4e2m1"},
                                                            {"float8e8m0"},
                                                            {"uint2"},
                                                            {"int2"}});

}  // namespace detail

/// TensorProto.DataType of strings.
inline constexpr std::int64_t kStringType = 8;
/// What the numbers of strings are.
inline constexpr DType kStringNumbers = DType::si64;

/// The element type of that number in TensorProto.DataType.
///
/// Errors: Errc::unimplemented for one that is not computed, strings among them, Errc::invalid_file for a number that is
/// none.
[[nodiscard]] inline Result<DType> dtype_of(std::int64_t number) noexcept {
  if (number < 1 || static_cast<std::uint64_t>(number) >= detail::kDataTypes.size())
    return fail(Errc::invalid_file, "an element type has number ", number, ", expected 1 to ",
                detail::kDataTypes.size() - 1);
  const detail::DataType& type = detail::kDataTypes[static_cast<std::size_t>(number)];
  if (!type.dtype) return fail(Errc::unimplemented, "tensors of ", type.name, " are not computed");
  return *type.dtype;
}

/// Refuses strings where the caller takes none.
[[nodiscard]] inline Error strings_not_taken() noexcept {
  return Error::of(Errc::unimplemented, "tensors of strings need ReadOptions::strings");
}

/// A TensorProto: its name, its type and its elements, row-major and little-endian.
struct TensorData {
  explicit TensorData(Allocator a) noexcept : own(a) {}

  std::string_view name;
  ptir::TensorType type{};
  Span<const std::byte> data;  ///< in the message, in a file beside the model, or in `own`
  Vector<std::byte> own;       ///< elements that the message holds as numbers
  bool strings = false;        ///< the elements are numbers of strings
};

namespace detail {

/// Where a TensorProto says that its elements are in another file.
struct ExternalPlace {
  std::string_view location;
  std::string_view offset = "0";
  std::optional<std::string_view> length;
};

[[nodiscard]] inline Result<std::uint64_t> read_decimal(std::string_view text, std::string_view what) noexcept {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > (~std::uint64_t{0} - 9) / 10)
      return fail(Errc::invalid_file, what, " is '", zrt::slice(text, 0, 40), "', expected a number below 2^60");
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (text.empty()) return fail(Errc::invalid_file, what, " is empty, expected a number");
  return value;
}

/// Adds an entry of TensorProto.external_data.
[[nodiscard]] inline Result<void> read_external_entry(std::string_view message, ExternalPlace& place) noexcept {
  std::string_view key, value;
  auto r = each_field(message, [&](const WireField& f) -> Result<void> {
    if (f.number == 1) key = f.bytes;
    if (f.number == 2) value = f.bytes;
    return {};
  });
  if (key == "location") place.location = value;
  if (key == "offset") place.offset = value;
  if (key == "length") place.length = value;
  return r;
}

/// The elements of a tensor in another file: `size` bytes, which the place must name if it names a length.
[[nodiscard]] inline Result<Span<const std::byte>> find_external(const ExternalPlace& place, std::uint64_t size,
                                                                 ExternalData* files) noexcept {
  if (files == nullptr)
    return fail(Errc::unimplemented, "its data is in another file, ", zrt::slice(place.location, 0, 80),
                ", and ReadOptions::external is not given");
  const auto offset = read_decimal(place.offset, "the offset of its data");
  if (!offset) return pass(offset);
  if (place.length) {
    const auto length = read_decimal(*place.length, "the length of its data");
    if (!length) return pass(length);
    if (*length != size)
      return fail(Errc::shape_mismatch, "its data has ", *length, " bytes, its shape and type say ", size);
  }
  return files->find(place.location, *offset, size);
}

}  // namespace detail

/// Reads a TensorProto. `files` gives data that lies in other files; `strings` receives the elements of a tensor of
/// strings, which then has their numbers.
///
/// Errors: Errc::unimplemented for types that are not computed, for strings where `strings` is null and for data in other
/// files where `files` is, Errc::shape_mismatch when the elements are not as many as the shape says, and those of
/// ExternalData::find.
[[nodiscard]] inline Result<TensorData> read_tensor(std::string_view message, const Allocator& a,
                                                    ExternalData* files = nullptr,
                                                    StringTable* strings = nullptr) noexcept {
  TensorData tensor(a);
  Vector<std::int64_t> dims(a);
  std::int64_t number = 0;
  bool external = false;
  std::optional<std::string_view> raw;
  detail::ExternalPlace place;
  auto head = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    if (f.number == 1) return detail::append_integers(f, dims);
    if (f.number == 2) number = f.integer();
    if (f.number == 8) tensor.name = f.bytes;
    if (f.number == 9) raw = f.bytes;
    if (f.number == 13) return detail::read_external_entry(f.bytes, place);
    if (f.number == 14) external = f.value == 1;
    return {};
  });
  if (!head) return pass(head);
  const auto about = [&](const Error& error) {
    Error whole = Error::of(error.code(), "tensor ", zrt::slice(tensor.name, 0, 80), ": ");
    return std::unexpected<Error>(whole.append(error.text()));
  };
  tensor.strings = number == kStringType;
  if (tensor.strings && strings == nullptr) return about(strings_not_taken());
  const auto dtype = tensor.strings ? Result<DType>(kStringNumbers) : dtype_of(number);
  if (!dtype) return about(dtype.error());
  tensor.type.dtype = *dtype;
  if (tensor.strings && (external || raw))
    return about(Error::of(Errc::invalid_file, "strings have raw data, expected a list of them"));
  if (dims.size() > kMaxRank)
    return fail(Errc::unsupported_tensor_rank, "tensor ", zrt::slice(tensor.name, 0, 80), " has ", dims.size(),
                " axes, at most ", unsigned{kMaxRank}, " expected");
  for (const std::int64_t dim : dims) {
    if (dim < 0) return fail(Errc::invalid_file, "tensor ", zrt::slice(tensor.name, 0, 80), " has an extent of ", dim);
    tensor.type.shape.append(ptir::Dim(dim));
  }
  const CheckedSize expected = ptir::literal_bytes(tensor.type);
  const auto check_size = [&]() -> Result<void> {
    if (expected.ok() && expected.raw() == tensor.data.size()) return {};
    return fail(Errc::shape_mismatch, "tensor ", zrt::slice(tensor.name, 0, 80), " has ", tensor.data.size(),
                " bytes of data, its shape and type say ", expected.ok() ? expected.raw() : 0);
  };
  if (external || raw) {
    if (external && expected.ok()) {
      const auto data = detail::find_external(place, expected.raw(), files);
      if (!data) return about(data.error());
      tensor.data = *data;
    } else if (raw) {
      tensor.data = as_bytes(Span(raw->data(), raw->size()));
    }
    if (auto r = check_size(); !r) return pass(r);
    return tensor;
  }
  const std::size_t width = info(*dtype).block_bytes;
  // Lists of numbers hold an element, or half of a complex one, in each entry; of 4-bit types a byte.
  const std::size_t part = is_float(*dtype) || !is_complex(*dtype) ? width : width / 2;
  const auto put = [&](std::uint64_t bits, std::size_t size) -> Result<void> {
    for (std::size_t i = 0; i < size; ++i)
      if (auto r = tensor.own.push_back(static_cast<std::byte>(bits >> 8 * i & 0xff)); !r) return r;
    return {};
  };
  auto body = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    if (tensor.strings) {
      if (f.number != 6) return {};
      if (auto wire = detail::expect_wire(f, WireType::bytes, "a tensor"); !wire) return wire;
      const auto text = strings->number_of(f.bytes);
      return text ? put(static_cast<std::uint64_t>(*text), part) : pass(text);
    }
    switch (f.number) {
      case 4:
      case 10: {
        const std::size_t size = f.number == 4 ? 4 : 8;
        if (part != size) return fail(Errc::invalid_file, "a tensor of ", zrt::name(*dtype), " has floats for data");
        if (f.type != WireType::bytes) return put(f.value, size);
        return tensor.own.append(as_bytes(Span(f.bytes.data(), f.bytes.size())));
      }
      case 5:
      case 7:
      case 11: {
        Vector<std::int64_t> values(a);
        if (auto r = detail::append_integers(f, values); !r) return r;
        for (const std::int64_t value : values) {
          const bool boolean = *dtype == DType::i1;
          if (auto r = put(boolean ? std::uint64_t{value != 0} : static_cast<std::uint64_t>(value), part); !r) return r;
        }
        return {};
      }
      default:
        return {};
    }
  });
  if (!body) return pass(body);
  tensor.data = tensor.own.span();
  if (auto r = check_size(); !r) return pass(r);
  return tensor;
}

/// How a value is declared: as a tensor or as a sequence of tensors, either of which may be optional.
struct ValueForm {
  bool optional = false;
  bool sequence = false;
  std::string_view tensor;  ///< TypeProto of the tensor, or of each one of the sequence
};
/// The form of the value that a TypeProto declares; what the tensor's type is read_type tells.
[[nodiscard]] inline Result<ValueForm> read_form(std::string_view type) noexcept {
  constexpr std::uint32_t kSequence = 4, kOptional = 9;
  ValueForm form{false, false, type};
  for (const std::uint32_t around : {kOptional, kSequence}) {
    std::optional<std::string_view> inner;
    auto r = detail::each_field(form.tensor, [&](const WireField& f) -> Result<void> {
      if (f.number != around) return {};
      inner = std::string_view();
      return detail::each_field(f.bytes, [&](const WireField& g) -> Result<void> {
        if (g.number == 1) inner = g.bytes;
        return {};
      });
    });
    if (!r) return pass(r);
    if (!inner) continue;
    (around == kOptional ? form.optional : form.sequence) = true;
    form.tensor = *inner;
  }
  return form;
}

/// The type of a value: TypeProto with a tensor type whose extents are constants or names. `dim` gives the
/// extent of a name (empty when there is none).
///
/// Errors: Errc::unimplemented for sequences, maps and optionals, for a tensor without a shape, but where
/// `has_shape` asks whether it has one, and for strings, but where `strings` asks whether it is of these, whose type is
/// then that of their numbers.
template <class F>
[[nodiscard]] Result<ptir::TensorType> read_type(std::string_view message, const F& dim, bool* has_shape = nullptr,
                                                 bool* strings = nullptr) noexcept {
  ptir::TensorType type;
  bool tensor = false;
  bool shaped = false;
  const auto read_dim = [&](const WireField& f) -> Result<void> {
    if (f.number != 1) return {};
    std::string_view name;
    std::optional<std::int64_t> value;
    auto r = detail::each_field(f.bytes, [&](const WireField& g) -> Result<void> {
      if (g.number == 1) value = g.integer();
      if (g.number == 2) name = g.bytes;
      return {};
    });
    if (!r) return r;
    if (value && *value < 0) return fail(Errc::invalid_file, "a value has an extent of ", *value);
    type.shape.append(value ? ptir::Dim(*value) : dim(name, type.shape.rank));
    return {};
  };
  auto r = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    if (f.number == 4 || f.number == 5 || f.number == 9)
      return fail(Errc::unimplemented,
                  f.number == 4   ? "sequences"
                  : f.number == 5 ? "maps"
                                  : "optional values",
                  " are not computed");
    if (f.number != 1) return {};
    tensor = true;
    return detail::each_field(f.bytes, [&](const WireField& g) -> Result<void> {
      if (g.number == 1) {
        const bool texts = g.integer() == kStringType && strings != nullptr;
        if (strings != nullptr) *strings = texts;
        const auto dtype = texts ? Result<DType>(kStringNumbers) : dtype_of(g.integer());
        if (!dtype) return pass(dtype);
        type.dtype = *dtype;
      }
      if (g.number != 2) return {};
      shaped = true;
      return detail::each_field(g.bytes, read_dim);
    });
  });
  if (!r) return pass(r);
  if (!tensor) return fail(Errc::unimplemented, "values that are no dense tensors are not computed");
  if (has_shape != nullptr) *has_shape = shaped;
  if (!shaped && has_shape == nullptr) return fail(Errc::unimplemented, "a value's shape is not known");
  return type;
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
