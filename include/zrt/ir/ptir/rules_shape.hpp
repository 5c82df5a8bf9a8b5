// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/rules_shape.hpp: type rules of what moves elements without computing, and of sources.
#pragma once

#include <zrt/ir/ptir/rule.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir::rules {

[[nodiscard]] inline Result<void> constant(RuleCall& c) noexcept {
  return c.give(c.program.literal(c.attributes[field_index("constant", "value")].bits)->type);
}

/// Extents that stand on both sides cancel; what is left must have equal products, unless a dynamic
/// extent is left, which the step checks. The inferred extent is the quotient, or dynamic.
[[nodiscard]] inline Result<void> reshape(RuleCall& c) noexcept {
  const Shape to = c.shape(field_index("reshape", "new_shape"));
  const Shape& from = c.in[0].shape;
  std::optional<std::size_t> inferred;
  std::array<bool, kMaxRank> used{};
  bool dynamic_to = false;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    if (to[axis].is_inferred()) {
      if (inferred) return c.no(Errc::invalid_params, "new_shape has more than one inferred extent");
      inferred = axis;
    } else if (to[axis].is_dynamic()) {
      bool cancelled = false;
      for (std::size_t other = 0; other < from.size() && !cancelled; ++other)
        if (!used[other] && to[axis].is_symbol() && from[other] == to[axis]) cancelled = used[other] = true;
      dynamic_to = dynamic_to || !cancelled;
    }
  }
  bool dynamic_from = false;
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    dynamic_from = dynamic_from || (from[axis].is_dynamic() && !used[axis]);
  const CheckedSize have = from.constant_elements();
  const CheckedSize want = to.constant_elements();
  if (!have.ok() || !want.ok()) return c.no(Errc::size_overflow, "the element count does not fit 64 bits");
  Shape result = to;
  if (inferred) {
    Dim& dim = result.dims[*inferred];
    if (dynamic_from || dynamic_to) {
      // What cancels leaves one dynamic extent over: the inferred one is that extent.
      dim = Dim::any();
      std::optional<std::size_t> left;
      bool one = !dynamic_to && have.raw() == want.raw() && have.raw() != 0;
      for (std::size_t axis = 0; axis < from.size(); ++axis) {
        if (!from[axis].is_dynamic() || used[axis]) continue;
        one = one && !left;
        left = axis;
      }
      if (one && left) dim = from[*left];
    } else {
      if (want.raw() == 0)
        return c.no(Errc::invalid_params, "the inferred extent is not determined beside an extent of 0");
      if (have.raw() % want.raw() != 0)
        return c.wrong(Errc::shape_mismatch, 0, "a multiple of ", want.raw(), " elements");
      const auto extent = extent_of(c, have.raw() / want.raw());
      if (!extent) return pass(extent);
      dim = *extent;
    }
  } else if (!dynamic_from && !dynamic_to && have.raw() != want.raw()) {
    return c.wrong(Errc::shape_mismatch, 0, want.raw(), " elements");
  }
  return c.give(c.in[0].dtype, result);
}

[[nodiscard]] inline Result<void> transpose(RuleCall& c) noexcept {
  constexpr std::size_t kPerm = field_index("transpose", "perm");
  const Shape& from = c.in[0].shape;
  const auto perm = axes_of(c, kPerm, from.rank);
  if (!perm) return pass(perm);
  if (perm->count != from.rank)
    return c.no(Errc::invalid_params, "perm has ", perm->count, " entries, expected ", unsigned{from.rank});
  Shape to;
  for (std::size_t axis = 0; axis < perm->count; ++axis) to.append(from[perm->axes[axis]]);
  return c.give(c.in[0].dtype, to);
}

[[nodiscard]] inline Result<void> broadcast_to(RuleCall& c) noexcept {
  const Shape to = c.shape(field_index("broadcast_to", "result_shape"));
  const Shape& from = c.in[0].shape;
  if (from.rank > to.rank) return c.wrong(Errc::shape_mismatch, 0, "at most ", unsigned{to.rank}, " axes");
  const std::size_t lead = to.size() - from.size();
  Shape result = to;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis].is_constant(1)) continue;
    const Dim wanted = to[lead + axis];
    Dim both;
    if (!unify(from[axis], wanted, both))
      return wanted.is_constant(1) ? c.wrong(Errc::shape_mismatch, 0, "1 on axis ", axis)
                                   : c.wrong(Errc::shape_mismatch, 0, "1 or ", wanted.code(), " on axis ", axis);
    // The result's own word stands; a dynamic one is only made more exact by a constant.
    if (wanted.is_any()) result.dims[lead + axis] = from[axis].is_constant() ? from[axis] : wanted;
  }
  return c.give(c.in[0].dtype, result);
}

[[nodiscard]] inline Result<void> slice(RuleCall& c) noexcept {
  constexpr std::size_t kStarts = field_index("slice", "starts");
  const Shape sizes = c.shape(field_index("slice", "sizes"));
  const Shape& from = c.in[0].shape;
  if (auto r = per_axis(c, kStarts, from.rank, 0); !r) return r;
  if (sizes.rank != from.rank)
    return c.no(Errc::invalid_params, "sizes has ", unsigned{sizes.rank}, " entries, expected ", unsigned{from.rank});
  const auto starts = c.words(kStarts);
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (!from[axis].is_constant()) continue;
    // A dynamic size is at least 0, so the start alone may already be past the end.
    const CheckedSize end = CheckedSize(static_cast<std::uint64_t>(starts[axis])) + CheckedSize(sizes[axis].constant());
    if (!end.ok() || end.raw() > from[axis].constant())
      return c.wrong(Errc::shape_mismatch, 0, "start + size = ", starts[axis], " + ", sizes[axis].constant(),
                     " or more on axis ", axis);
  }
  return c.give(c.in[0].dtype, sizes);
}

[[nodiscard]] inline Result<void> concat(RuleCall& c) noexcept {
  const auto axis = axis_of(c, "axis", c.integer(field_index("concat", "axis")), c.in[0].shape.rank);
  if (!axis) return pass(axis);
  Shape all = c.in[0].shape;
  CheckedSize sum = 0;
  bool dynamic = false;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    if (c.in[i].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, i, 0);
    if (c.in[i].shape.rank != all.rank) return c.differs(Errc::shape_mismatch, i, 0);
    for (std::size_t d = 0; d < all.size(); ++d)
      if (d != *axis && !unify(all[d], c.in[i].shape[d], all.dims[d])) return c.differs(Errc::shape_mismatch, i, 0);
    const Dim along = c.in[i].shape[*axis];
    dynamic = dynamic || along.is_dynamic();
    sum += CheckedSize(along.constant());
  }
  if (c.in.size() > 1) {
    const auto extent = extent_of(c, sum);
    if (!extent) return pass(extent);
    all.dims[*axis] = dynamic ? Dim::any() : *extent;
  }
  return c.give(c.in[0].dtype, all);
}

[[nodiscard]] inline Result<void> pad(RuleCall& c) noexcept {
  constexpr std::size_t kLow = field_index("pad", "low");
  constexpr std::size_t kHigh = field_index("pad", "high");
  constexpr std::size_t kInterior = field_index("pad", "interior");
  Shape shape = c.in[0].shape;
  for (const std::size_t field : {kLow, kHigh, kInterior})
    if (auto r = per_axis(c, field, shape.rank, 0); !r) return r;
  const TensorType value = c.program.literal(c.attributes[field_index("pad", "pad_value")].bits)->type;
  if (value.dtype != c.in[0].dtype || value.shape.rank != 0) {
    Error error = c.no(Errc::dtype_mismatch, "pad_value is ").error();
    append_type(error, c.program, value).append(", expected ");
    return std::unexpected<Error>(append_type(error, c.program, {c.in[0].dtype, {}}));
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto low = static_cast<std::uint64_t>(c.words(kLow)[axis]);
    const auto high = static_cast<std::uint64_t>(c.words(kHigh)[axis]);
    const auto interior = static_cast<std::uint64_t>(c.words(kInterior)[axis]);
    Dim& dim = shape.dims[axis];
    if (dim.is_dynamic()) {
      if (low != 0 || high != 0 || interior != 0) dim = Dim::any();
      continue;
    }
    const std::uint64_t gaps = dim.constant() == 0 ? 0 : dim.constant() - 1;
    const auto extent = extent_of(c, CheckedSize(low) + CheckedSize(dim.constant()) + CheckedSize(high) +
                                         CheckedSize(gaps) * CheckedSize(interior));
    if (!extent) return pass(extent);
    dim = *extent;
  }
  return c.give(c.in[0].dtype, shape);
}

[[nodiscard]] inline Result<void> tile(RuleCall& c) noexcept {
  constexpr std::size_t kRepeats = field_index("tile", "repeats");
  Shape shape = c.in[0].shape;
  if (auto r = per_axis(c, kRepeats, shape.rank, 0); !r) return r;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto repeats = static_cast<std::uint64_t>(c.words(kRepeats)[axis]);
    Dim& dim = shape.dims[axis];
    if (repeats == 1) continue;
    const auto extent = extent_of(c, CheckedSize(dim.constant()) * CheckedSize(repeats));
    if (!extent) return pass(extent);
    dim = dim.is_dynamic() && repeats != 0 ? Dim::any() : *extent;
  }
  return c.give(c.in[0].dtype, shape);
}

[[nodiscard]] inline Result<void> iota(RuleCall& c) noexcept {
  const Shape shape = c.shape(field_index("iota", "shape"));
  const DType dtype = c.dtype(field_index("iota", "dtype"));
  if (auto r = axis_of(c, "axis", c.integer(field_index("iota", "axis")), shape.rank); !r) return pass(r);
  if (is_boolean(dtype)) return c.no(Errc::dtype_mismatch, "dtype is i1, expected a dtype of numbers");
  return c.give(dtype, shape);
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir::rules
