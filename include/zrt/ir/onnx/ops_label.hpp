// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_label.hpp: operators of ai.onnx.ml that pick labels and map them by lists: strings, numbers.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_index.hpp>
#include <zrt/ir/onnx/ops_string.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Labels one after the other.
struct LabelList {
  explicit LabelList(Allocator a) noexcept : bytes(a) {}

  DType dtype = kStringNumbers;
  bool strings = false;
  Vector<std::byte> bytes;

  void append(NodeCall& n, Span<const std::byte> more) noexcept {
    if (auto r = bytes.append(more); !r) n.fail(r.error());
  }
  void append_string(NodeCall& n, std::string_view text) noexcept {
    const auto number = n.reader().number_of(text);
    number ? append(n, as_bytes(Span(&*number, 1))) : n.fail(number.error());
  }
  [[nodiscard]] std::int64_t count() const noexcept {
    return static_cast<std::int64_t>(bytes.size() / info(dtype).block_bytes);
  }
  [[nodiscard]] Tensor tensor(NodeCall& n) const noexcept {
    return n.b().literal({dtype, {Dim(count())}}, bytes.span());
  }
};
/// The attributes that may hold a list of labels, by the type of these; empty where there is none.
struct LabelAttributes {
  std::string_view strings, int64s, floats, tensor;
};
/// Appends the labels of the one of the attributes that the node has.
inline void append_labels(NodeCall& n, const LabelAttributes& names, LabelList& to) noexcept {
  int said = 0;
  const auto find = [&](std::string_view name, AttributeType type) {
    const AttributeView* a = name.empty() ? nullptr : n.attribute(name, type);
    said += a == nullptr ? 0 : 1;
    return a;
  };
  if (const AttributeView* a = find(names.strings, AttributeType::texts); a != nullptr) {
    to.strings = true;
    for (const std::string_view text : a->texts)
      if (!n.failed()) to.append_string(n, text);
  }
  if (const AttributeView* a = find(names.int64s, AttributeType::integers); a != nullptr)
    to.append(n, as_bytes(a->integers.span()));
  if (const AttributeView* a = find(names.floats, AttributeType::reals); a != nullptr) {
    to.dtype = DType::f32;
    for (const double real : a->reals) {
      const auto value = static_cast<float>(real);
      to.append(n, as_bytes(Span(&value, 1)));
    }
  }
  if (const AttributeView* a = find(names.tensor, AttributeType::tensor); a != nullptr) {
    const auto tensor = n.tensor_in(*a);
    if (!tensor) return n.fail(tensor.error());
    if (info(tensor->type.dtype).block_elems != 1 || !is_computed(tensor->type.dtype))
      return n.unsupported(names.tensor, " of ", name(tensor->type.dtype));
    to.dtype = tensor->type.dtype;
    to.strings = tensor->strings;
    to.append(n, tensor->data);
  }
  if (said != 1 && !n.failed())
    n.fail(Errc::invalid_file, "the node has ", said, " of ", names.strings, ", ", names.int64s, " and the like");
}
/// Appends what a label becomes that is none of the keys, of the type of `to`.
inline void append_default(NodeCall& n, LabelList& to) noexcept {
  if (const AttributeView* a = n.attribute("default_tensor", AttributeType::tensor); a != nullptr) {
    const auto tensor = n.tensor_in(*a);
    if (!tensor) return n.fail(tensor.error());
    if (tensor->type.dtype != to.dtype || tensor->strings != to.strings ||
        tensor->data.size() != info(to.dtype).block_bytes)
      return n.fail(Errc::dtype_mismatch, "default_tensor is no element of ", to.strings ? "strings" : name(to.dtype));
    return to.append(n, tensor->data);
  }
  if (to.strings) return to.append_string(n, n.text("default_string", "_Unused"));
  std::array<std::byte, 16> element{};
  const double real = n.real("default_float", -0.0);
  const std::int64_t whole = n.integer("default_int64", -1);
  cast_elements(is_float(to.dtype) ? DType::f64 : DType::si64,
                is_float(to.dtype) ? reinterpret_cast<const std::byte*>(&real) : as_bytes(Span(&whole, 1)).data(),
                to.dtype, element.data(), 0, 1);
  to.append(n, Span<const std::byte>(element).first(info(to.dtype).block_bytes));
}
/// Gives, for each element of x, the entry of `values` behind that of `keys` which it is, the last such one; for what is
/// no key the first of `values`, which has one entry more. NaN is NaN.
inline void out_mapped(NodeCall& n, const LabelList& keys, const LabelList& values) noexcept {
  if (n.failed()) return;
  Builder& b = n.b();
  const Value v = n.value(0);
  if (v.strings != keys.strings || v.type.dtype != keys.dtype)
    return n.fail(Errc::dtype_mismatch, "x is of ", v.strings ? "strings" : name(v.type.dtype), ", the keys are of ",
                  keys.strings ? "strings" : name(keys.dtype));
  if (keys.count() == 0 || values.count() != keys.count() + 1)
    return n.fail(Errc::invalid_params, keys.count(), " keys for ", values.count() - 1, " values");
  const IntList shape = n.shape(0);
  const std::int64_t count = product(shape);
  if (n.failed() || !n.fits_table(count) || !n.fits_table(count * keys.count())) return;
  const IntList table{count, keys.count()};
  const Tensor x = broadcast(reshape(n.in(0), {count, 1}), table);
  const Tensor key = broadcast(reshape(keys.tensor(n), {1, keys.count()}), table);
  Tensor same = b.eq(x, key);
  if (is_float(keys.dtype)) same = b.maximum(same, b.mul(b.ne(x, x), b.ne(key, key)));
  const Tensor places = b.iota(shape_of(b, table), DType::si64, 1) + 1.0;
  const Tensor place = reduce(kMax, b.select(same, places, whole(b, 0)), {1}, false);
  n.out(0, reshape(b.take(values.tensor(n), place), shape));
  if (values.strings) n.mark_strings(0);
}
/// A label for each label, by two lists.
inline void label_encoder(NodeCall& n) noexcept {
  LabelList keys(n.allocator()), values(n.allocator()), entries(n.allocator());
  append_labels(n, {"keys_strings", "keys_int64s", "keys_floats", "keys_tensor"}, keys);
  append_labels(n, {"values_strings", "values_int64s", "values_floats", "values_tensor"}, entries);
  values.dtype = entries.dtype;
  values.strings = entries.strings;
  if (!n.failed()) append_default(n, values);
  if (!n.failed()) values.append(n, entries.bytes.span());
  out_mapped(n, keys, values);
}
/// Strings for whole numbers or whole numbers for strings, by two lists.
inline void category_mapper(NodeCall& n) noexcept {
  const bool from_strings = n.value(0).strings;
  LabelList keys(n.allocator()), values(n.allocator());
  values.strings = !from_strings;
  const LabelAttributes strings{"cats_strings", {}, {}, {}}, numbers{{}, "cats_int64s", {}, {}};
  append_labels(n, from_strings ? strings : numbers, keys);
  if (!n.failed()) append_default(n, values);
  if (!n.failed()) append_labels(n, from_strings ? numbers : strings, values);
  out_mapped(n, keys, values);
}
/// The entries of the last axis that indices name; of a list a row of them.
inline void array_feature_extractor(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  const IntList places = n.shape(1);
  if (n.failed()) return;
  if (shape.empty()) return n.fail(Errc::shape_mismatch, "x has no axis");
  if (places.empty() || (places.size() > 1 && (places.size() != 2 || places[0] != 1)))
    return n.fail(Errc::shape_mismatch, "y must be [N] or [1, N]");
  const std::size_t axis = shape.size() - 1;
  const std::int64_t count = product(places);
  const Tensor indices = from_zero(reshape(index_operand(n, 1), {count}), shape[axis]);
  IntList result = shape.size() == 1 ? IntList{1, 0} : shape;
  result[result.size() - 1] = count;
  n.out(0, reshape(take_axis(n, n.in(0), indices, axis), result));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
