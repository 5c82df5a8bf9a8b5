// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/regions.hpp: gradients of cond and scan, by regions that go back through theirs.
#pragma once

#include <zrt/ir/gradient/region_way.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

namespace detail {

/// x with its first axis turned around.
[[nodiscard]] inline Tensor turned(const Tensor& x) noexcept {
  ptir::Builder& b = x.builder();
  const std::int64_t steps = Expressions::extent(x.shape(), 0);
  const Tensor last = b.scalar(DType::si64, static_cast<double>(steps - 1));
  return b.take(x, b.sub(last, b.iota({ptir::Dim(steps)}, DType::si64, 0)));
}
/// A tensor that is an instruction of its own, as an element of a tuple is not.
[[nodiscard]] inline Tensor by_itself(const Tensor& x) noexcept { return x.builder().reshape(x, x.shape()); }
[[nodiscard]] inline ptir::TensorType without_first_axis(const ptir::TensorType& type) noexcept {
  ptir::TensorType slice{type.dtype, {}};
  for (std::size_t axis = 1; axis < type.shape.size(); ++axis) slice.shape.append(type.shape[axis]);
  return slice;
}
inline void push(GradientCall& c, Vector<Tensor>& list, const Tensor& x) noexcept {
  if (auto r = list.push_back(x); !r) c.builder().set(r.error());
}
inline void keep(GradientCall& c, const Result<void>& r) noexcept {
  if (!r) c.builder().set(r.error());
}

}  // namespace detail

/// Gradients of the branch that was taken: each branch is computed again, and gone back through.
inline void cond_gradient(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  Vector<Tensor> operands(b.allocator());
  for (std::size_t i = 0; i < c.inputs(); ++i) detail::push(c, operands, c.in(i));
  for (std::size_t e = 0; e < c.outputs(); ++e)
    if (c.has_cotangent(e)) detail::push(c, operands, c.cotangent(e));
  std::array<ptir::RegionId, 2> branches{};
  for (std::size_t f = 0; f < branches.size() && !b.failed(); ++f)
    branches[f] = b.region(Name(f == 0 ? "true_gradient" : "false_gradient"), [&] {
      auto way = RegionWay::of(c, c.region(f));
      if (!way) return b.set(way.error());
      Vector<Tensor> parameters(b.allocator());
      for (const Tensor& x : operands.span().subspan(1)) detail::push(c, parameters, b.parameter(x.type()));
      if (b.failed()) return;
      const std::size_t arguments = c.inputs() - 1;
      detail::keep(c, way->forward(parameters.span().first(arguments)));
      if (b.failed()) return;
      std::size_t next = arguments;
      for (std::size_t e = 0; e < c.outputs(); ++e)
        if (c.has_cotangent(e)) way->come_back(e, parameters[next++]);
      detail::keep(c, way->back());
      for (std::size_t i = 0; i < arguments && !b.failed(); ++i)
        if (c.wants(i + 1)) b.result(way->gradient(i));
    });
  if (b.failed()) return;
  const ptir::Results gradients =
      b.emit("cond", operands.span(), {ptir::Attribute::region(branches[0]), ptir::Attribute::region(branches[1])});
  std::size_t next = 0;
  for (std::size_t i = 1; i < c.inputs() && !b.failed(); ++i)
    if (c.wants(i)) c.give(i, detail::by_itself(gradients[next++]));
}

/// A scan forward that keeps the carries of each step, and one back over the steps, from the last.
inline void scan_gradient(GradientCall& c) noexcept {
  ptir::Builder& b = c.builder();
  constexpr std::size_t kBody = ptir::field_index("scan", "body_region");
  const auto carries = static_cast<std::size_t>(c.integer(ptir::field_index("scan", "carry_count")));
  const auto count = [](std::size_t n) { return ptir::Attribute::integer(static_cast<std::int64_t>(n)); };
  if (c.extent(c.in_type(carries).shape, 0) == 0) {
    // Without a step the carries leave as they came.
    for (std::size_t i = 0; i < carries; ++i)
      if (c.wants(i)) c.give(i, c.cotangent(i));
    return;
  }
  const auto element_type = [&](std::size_t i) {
    return i < carries ? c.in_type(i) : detail::without_first_axis(c.in_type(i));
  };
  const auto comes_back = [&](std::size_t e) { return is_float(c.out_type(e).dtype); };

  Vector<Tensor> forward_in(b.allocator());
  for (std::size_t i = 0; i < c.inputs(); ++i) detail::push(c, forward_in, c.in(i));
  const ptir::RegionId keeping = b.region("carries", [&] {
    auto way = RegionWay::of(c, c.region(kBody));
    if (!way) return b.set(way.error());
    Vector<Tensor> parameters(b.allocator());
    for (std::size_t i = 0; i < c.inputs(); ++i) detail::push(c, parameters, b.parameter(element_type(i)));
    if (b.failed()) return;
    detail::keep(c, way->forward(parameters.span()));
    for (std::size_t i = 0; i < carries && !b.failed(); ++i) b.result(way->result(i));
    for (std::size_t i = 0; i < carries && !b.failed(); ++i) b.result(parameters[i]);
  });
  if (b.failed()) return;
  // The cotangents of the carries are what is carried back; then come the steps' carries, their operands, and the
  // cotangents of what they gave.
  Vector<Tensor> back_in(b.allocator());
  for (std::size_t i = 0; i < carries; ++i)
    if (comes_back(i)) detail::push(c, back_in, c.cotangent(i));
  const std::size_t carried = back_in.size();
  if (carries != 0) {
    const ptir::Results kept =
        b.emit("scan", forward_in.span(), {ptir::Attribute::region(keeping), count(carries), count(carries)});
    for (std::size_t i = 0; i < carries && !b.failed(); ++i)
      detail::push(c, back_in, detail::turned(kept[carries + i]));
  }
  for (std::size_t i = carries; i < c.inputs(); ++i) detail::push(c, back_in, detail::turned(c.in(i)));
  for (std::size_t e = carries; e < c.outputs(); ++e)
    if (comes_back(e)) detail::push(c, back_in, detail::turned(c.cotangent(e)));
  if (b.failed()) return;
  std::size_t given = 0;
  const ptir::RegionId going_back = b.region("scan_gradient", [&] {
    auto way = RegionWay::of(c, c.region(kBody));
    if (!way) return b.set(way.error());
    Vector<Tensor> parameters(b.allocator());
    for (std::size_t i = 0; i < back_in.size(); ++i)
      detail::push(c, parameters,
                   b.parameter(i < carried ? back_in[i].type() : detail::without_first_axis(back_in[i].type())));
    if (b.failed()) return;
    detail::keep(c, way->forward(parameters.span().subspan(carried, c.inputs())));
    if (b.failed()) return;
    std::size_t of_carry = 0;
    std::size_t of_output = carried + c.inputs();
    for (std::size_t e = 0; e < c.outputs(); ++e)
      if (comes_back(e)) way->come_back(e, parameters[e < carries ? of_carry++ : of_output++]);
    detail::keep(c, way->back());
    for (std::size_t i = 0; i < c.inputs() && !b.failed(); ++i) {
      if (i < carries ? !comes_back(i) : !c.wants(i)) continue;
      b.result(way->gradient(i));
      given += i < carries ? 0u : 1u;
    }
  });
  if (b.failed()) return;
  const ptir::Results gradients =
      b.emit("scan", back_in.span(), {ptir::Attribute::region(going_back), count(carried), count(given)});
  std::size_t next = 0;
  for (std::size_t i = 0; i < c.inputs() && !b.failed(); ++i) {
    if (i < carries ? !comes_back(i) : !c.wants(i)) continue;
    const Tensor gradient = gradients[next++];
    if (i >= carries)
      c.give(i, detail::turned(gradient));
    else if (c.wants(i))
      c.give(i, detail::by_itself(gradient));
  }
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
