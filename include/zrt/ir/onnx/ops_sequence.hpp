// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_sequence.hpp: sequences of tensors and optional values, which are resolved while a file is read.
#pragma once

#include <zrt/ir/onnx/ops_control.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// The tensors of operand 0; empty after an error.
[[nodiscard]] inline Span<const Value> sequence_in(NodeCall& n) noexcept {
  const Value v = n.any_value(0);
  if (v.sequence) return *v.sequence;
  n.fail(Errc::dtype_mismatch, "input 0 is a tensor, expected a sequence");
  return {};
}
/// A place in a sequence of `count`, which operand `i` gives or leaves at `otherwise`; the end itself is one for inserts.
[[nodiscard]] inline std::size_t place_in(NodeCall& n, std::size_t i, std::size_t count, std::int64_t otherwise,
                                          bool end) noexcept {
  const auto size = static_cast<std::int64_t>(count);
  std::int64_t at = n.has(i) ? n.int_in(i, "position") : otherwise;
  if (at < 0) at += size;
  if (at >= 0 && at < size + (end ? 1 : 0)) return static_cast<std::size_t>(at);
  n.fail(Errc::invalid_params, "position ", at, " is none of a sequence of ", count);
  return 0;
}
inline void out_sequence(NodeCall& n, Vector<Value> values) noexcept {
  if (n.failed()) return;
  const auto made = n.reader().sequence_of(std::move(values));
  if (!made) return n.fail(made.error());
  if (n.has_out(0)) n.bind(n.node().outputs[0], *made);
}
inline void append_value(NodeCall& n, Vector<Value>& to, const Value& v) noexcept {
  if (auto r = to.push_back(v); !r) n.fail(r.error());
}
[[nodiscard]] inline Value value_of(const Tensor& x) noexcept { return {x.type(), x, {}, false}; }

inline void sequence_empty(NodeCall& n) noexcept { out_sequence(n, Vector<Value>(n.allocator())); }
inline void sequence_construct(NodeCall& n) noexcept {
  Vector<Value> values(n.allocator());
  for (std::size_t i = 0; i < n.inputs(); ++i) append_value(n, values, n.value(i));
  out_sequence(n, std::move(values));
}
inline void sequence_insert(NodeCall& n) noexcept {
  const Span<const Value> from = sequence_in(n);
  const Value more = n.value(1);
  const std::size_t at = place_in(n, 2, from.size(), static_cast<std::int64_t>(from.size()), true);
  Vector<Value> values(n.allocator());
  for (std::size_t i = 0; i <= from.size(); ++i) {
    if (i == at) append_value(n, values, more);
    if (i < from.size()) append_value(n, values, from[i]);
  }
  out_sequence(n, std::move(values));
}
inline void sequence_erase(NodeCall& n) noexcept {
  const Span<const Value> from = sequence_in(n);
  const std::size_t at = place_in(n, 1, from.size(), -1, false);
  Vector<Value> values(n.allocator());
  for (std::size_t i = 0; i < from.size(); ++i)
    if (i != at) append_value(n, values, from[i]);
  out_sequence(n, std::move(values));
}
inline void sequence_at(NodeCall& n) noexcept {
  const Span<const Value> from = sequence_in(n);
  const std::size_t at = place_in(n, 1, from.size(), 0, false);
  if (!n.failed() && n.has_out(0)) n.bind(n.node().outputs[0], from[at]);
}
inline void sequence_length(NodeCall& n) noexcept {
  const auto count = static_cast<std::int64_t>(sequence_in(n).size());
  n.out_integers(0, {&count, 1}, true);
}
inline void concat_from_sequence(NodeCall& n) noexcept {
  const Span<const Value> from = sequence_in(n);
  const bool stacks = n.integer("new_axis", 0) != 0;
  if (!n.failed() && from.empty()) n.fail(Errc::invalid_params, "the sequence is empty");
  if (n.failed()) return;
  const std::size_t axis = n.axis("axis", 0, from[0].type.shape.size() + (stacks ? 1 : 0));
  Vector<Tensor> xs(n.allocator());
  for (const Value& v : from) {
    Tensor x = n.tensor_of(v);
    if (stacks) {
      IntList shape;
      const IntList extents = n.shape(x);
      for (std::size_t i = 0; i <= extents.size(); ++i) {
        if (i == axis) shape.push(1);
        if (i < extents.size()) shape.push(extents[i]);
      }
      x = reshape(x, shape);
    }
    if (auto r = xs.push_back(x); !r) return n.fail(r.error());
  }
  n.out(0, concat(xs.span(), static_cast<std::int64_t>(axis), n.b()));
}
/// Parts that a tensor is split into.
inline constexpr std::size_t kMaxParts = 4096;
/// Parts by a list of sizes, by one size, or of one entry each; keepdims is for the last.
inline void split_to_sequence(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const IntList shape = n.shape(0);
  const std::size_t axis = n.axis("axis", 0, shape.size());
  if (n.failed()) return;
  IntList sizes;
  std::int64_t each = 1;
  if (n.has(1) && n.rank(1) == 0) each = n.int_in(1, "split");
  if (n.has(1) && n.rank(1) == 1) sizes = n.ints_in(1, "split");
  if (n.failed()) return;
  if (each < 1) return n.fail(Errc::invalid_params, "split is ", each, ", expected at least 1");
  const bool drops = !n.has(1) && n.integer("keepdims", 1) == 0;
  Vector<Value> values(n.allocator());
  std::int64_t first = 0;
  for (std::size_t i = 0; sizes.empty() ? first < shape[axis] : i < sizes.size(); ++i) {
    const std::int64_t rest = shape[axis] - first;
    const std::int64_t part = !sizes.empty() ? sizes[i] : each < rest ? each : rest;
    if (part < 0 || part > rest) return n.fail(Errc::shape_mismatch, "the parts leave the axis of ", shape[axis]);
    if (values.size() >= kMaxParts) return n.fail(Errc::limit_exceeded, "more than ", kMaxParts, " parts");
    Tensor y = slice_axis(x, shape, axis, first, part);
    if (drops) {
      IntList left;
      for (std::size_t k = 0; k < shape.size(); ++k)
        if (k != axis) left.push(shape[k]);
      y = reshape(y, left);
    }
    append_value(n, values, value_of(y));
    if (n.failed()) return;
    first += part;
  }
  if (first != shape[axis]) return n.fail(Errc::shape_mismatch, "the parts have ", first, " of ", shape[axis]);
  out_sequence(n, std::move(values));
}
/// The body's results for each tensor of a sequence, with the tensors of other sequences at the same place.
inline void sequence_map(NodeCall& n) noexcept {
  const auto body = graph_of(n, "body");
  const Span<const Value> from = sequence_in(n);
  if (n.failed()) return;
  if (body->outputs.size() != n.outputs())
    return n.fail(Errc::invalid_file, "the body gives ", body->outputs.size(), " values, the node ", n.outputs());
  if (n.outputs() != 0 && from.size() > kMaxSequenceTensors / n.outputs())
    return n.fail(Errc::limit_exceeded, "sequences hold more than ", kMaxSequenceTensors, " tensors together");
  Vector<Vector<Value>> results(n.allocator());
  for (std::size_t i = 0; i < n.outputs(); ++i)
    if (auto r = results.push_back(Vector<Value>(n.allocator())); !r) return n.fail(r.error());
  for (std::size_t at = 0; at < from.size(); ++at) {
    Vector<Value> arguments(n.allocator());
    for (std::size_t i = 0; i < n.inputs(); ++i) {
      const Value v = n.any_value(i);
      if (v.sequence && v.sequence->size() <= at)
        return n.fail(Errc::shape_mismatch, "input ", i, " has ", v.sequence->size(), " tensors, input 0 ",
                      from.size());
      append_value(n, arguments, v.sequence ? (*v.sequence)[at] : v);
    }
    if (n.failed()) return;
    Scope inner(n.allocator(), &n.scope());
    Vector<Value> given(n.allocator());
    inline_graph(n, *body, inner, arguments.span(), given);
    if (n.failed()) return;
    for (std::size_t i = 0; i < given.size(); ++i) append_value(n, results[i], given[i]);
  }
  for (std::size_t i = 0; i < n.outputs() && !n.failed(); ++i) {
    const auto made = n.reader().sequence_of(std::move(results[i]));
    if (!made) return n.fail(made.error());
    if (n.has_out(i)) n.bind(n.node().outputs[i], *made);
  }
}

/// Without an operand, a value that is not there.
inline void optional_(NodeCall& n) noexcept {
  if (n.has(0)) return identity(n);
  Value none;
  none.absent = true;
  if (n.has_out(0)) n.bind(n.node().outputs[0], none);
}
inline void optional_get_element(NodeCall& n) noexcept {
  if (!n.failed() && n.any_value(0).absent) return n.fail(Errc::invalid_params, "the optional value is not there");
  identity(n);
}
inline void optional_has_element(NodeCall& n) noexcept {
  const std::array<std::byte, 1> there{std::byte{n.has(0) && !n.any_value(0).absent}};
  n.out_known(0, {DType::i1, {}}, there);
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
