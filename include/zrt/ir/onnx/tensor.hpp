// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/tensor.hpp: tensors and tensor types of an ONNX file as those of the portable tensor IR.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/model.hpp>
#include <zrt/ir/ptir/types.hpp>

#include <array>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

namespace detail {

/// TensorProto.DataType by number; 0 and the types that no tensor of the IR has are empty.
inline constexpr auto kDataTypes = std::to_array<std::optional<DType>>(
    {std::nullopt, DType::f32, DType::ui8, DType::si8, DType::ui16, DType::si16, DType::si32, DType::si64, std::nullopt,
     DType::i1, DType::f16, DType::f64, DType::ui32, DType::ui64, DType::cf32, DType::cf64, DType::bf16});

}  // namespace detail

/// The element type of that number in TensorProto.DataType.
///
/// Errors: Errc::unimplemented for strings, Errc::invalid_file for a number that is none.
[[nodiscard]] inline Result<DType> dtype_of(std::int64_t number) noexcept {
  if (number == 8) return fail(Errc::unimplemented, "tensors of strings are not computed");
  if (number < 1 || static_cast<std::uint64_t>(number) >= detail::kDataTypes.size())
    return fail(Errc::invalid_file, "an element type has number ", number, ", expected 1 to ",
                detail::kDataTypes.size() - 1);
  return *detail::kDataTypes[static_cast<std::size_t>(number)];
}

/// A TensorProto: its name, its type and its elements, row-major and little-endian.
struct TensorData {
  explicit TensorData(Allocator a) noexcept : bytes(a) {}

  std::string_view name;
  ptir::TensorType type{};
  Vector<std::byte> bytes;
};

/// Errors: Errc::unimplemented for strings and for data in other files, Errc::shape_mismatch when the
/// elements are not as many as the shape says.
[[nodiscard]] inline Result<TensorData> read_tensor(std::string_view message, const Allocator& a) noexcept {
  TensorData tensor(a);
  Vector<std::int64_t> dims(a);
  std::int64_t number = 0;
  bool external = false;
  auto head = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    if (f.number == 1) return detail::append_integers(f, dims);
    if (f.number == 2) number = f.integer();
    if (f.number == 8) tensor.name = f.bytes;
    if (f.number == 14) external = f.value == 1;
    return {};
  });
  if (!head) return pass(head);
  if (external)
    return fail(Errc::unimplemented, "tensor ", zrt::slice(tensor.name, 0, 80), " has its data in another file");
  const auto dtype = dtype_of(number);
  if (!dtype) return pass(dtype);
  tensor.type.dtype = *dtype;
  if (dims.size() > kMaxRank)
    return fail(Errc::unsupported_tensor_rank, "tensor ", zrt::slice(tensor.name, 0, 80), " has ", dims.size(),
                " axes, at most ", unsigned{kMaxRank}, " expected");
  for (const std::int64_t dim : dims) {
    if (dim < 0) return fail(Errc::invalid_file, "tensor ", zrt::slice(tensor.name, 0, 80), " has an extent of ", dim);
    tensor.type.shape.append(ptir::Dim(dim));
  }
  const CheckedSize expected = ptir::literal_bytes(tensor.type);
  const std::size_t width = info(*dtype).block_bytes;
  // Lists of numbers hold an element, or half of a complex one, in each entry.
  const std::size_t part = is_float(*dtype) || !is_complex(*dtype) ? width : width / 2;
  const auto put = [&](std::uint64_t bits, std::size_t size) -> Result<void> {
    for (std::size_t i = 0; i < size; ++i)
      if (auto r = tensor.bytes.push_back(static_cast<std::byte>(bits >> 8 * i & 0xff)); !r) return r;
    return {};
  };
  auto body = detail::each_field(message, [&](const WireField& f) -> Result<void> {
    switch (f.number) {
      case 9:
        return tensor.bytes.append(as_bytes(Span(f.bytes.data(), f.bytes.size())));
      case 4:
      case 10: {
        const std::size_t size = f.number == 4 ? 4 : 8;
        if (part != size) return fail(Errc::invalid_file, "a tensor of ", zrt::name(*dtype), " has floats for data");
        if (f.type != WireType::bytes) return put(f.value, size);
        return tensor.bytes.append(as_bytes(Span(f.bytes.data(), f.bytes.size())));
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
  if (!expected.ok() || expected.raw() != tensor.bytes.size())
    return fail(Errc::shape_mismatch, "tensor ", zrt::slice(tensor.name, 0, 80), " has ", tensor.bytes.size(),
                " bytes of data, its shape and type say ", expected.ok() ? expected.raw() : 0);
  return tensor;
}

/// The type of a value: TypeProto with a tensor type whose extents are constants or names. `dim` gives the
/// extent of a name (empty when there is none).
///
/// Errors: Errc::unimplemented for sequences, maps and optionals, and for a tensor without a shape, but where
/// `has_shape` asks whether it has one.
template <class F>
[[nodiscard]] Result<ptir::TensorType> read_type(std::string_view message, const F& dim,
                                                 bool* has_shape = nullptr) noexcept {
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
        const auto dtype = dtype_of(g.integer());
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
