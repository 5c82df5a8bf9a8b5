// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_fold.hpp: sums, extrema and contractions, in the orders of the references.
#pragma once

#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/segment_reduce.hpp>
#include <zrt/plan/c/emit.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// The value that a fold of nothing gives (ops/accumulate.hpp).
[[nodiscard]] inline Expr identity(ops::ReduceKind kind, DType accumulator) noexcept {
  return visit_domain(accumulator,
                      [&]<class T>(std::type_identity<T>) { return literal(ops::identity<T>(kind, accumulator)); });
}

/// A statement that folds `x` into the variable `into`; maximum and minimum ignore NaN.
inline void fold_into(Source& w, ops::ReduceKind kind, Domain domain, const Expr& into, const Expr& x) noexcept {
  if (kind != ops::ReduceKind::sum)
    w.line({"if (", x, kind == ops::ReduceKind::maximum ? " > " : " < ", into, ") ", into, " = ", x, ";"});
  else if (domain == Domain::i64)
    w.line({into, " = (int64_t)((uint64_t)", into, " + (uint64_t)", x, ");"});
  else
    w.line({into, " += ", x, ";"});
}

/// The fold of ops/fold.hpp: sums of floats in 16 lanes, everything else in one variable.
class FoldText {
 public:
  FoldText(ops::ReduceKind kind, DType accumulator) noexcept
      : kind_(kind), accumulator_(accumulator), domain_(domain_of(accumulator)) {}

  void begin(Source& w) const noexcept {
    if (lanes()) {
      w.line({c_type(domain_), " lane[16] = {0};"});
      w.line({"uint64_t taken = 0;"});
    } else {
      w.line({c_type(domain_), " folded = ", identity(kind_, accumulator_), ";"});
    }
  }
  /// Takes element `index` of x.
  void take(Source& w, const Tensor& x, const Expr& index) const noexcept {
    w.line({"const ", c_type(domain_), " x = ", load_as(x, index, accumulator_), ";"});
    fold_into(w, kind_, domain_, {lanes() ? "lane[taken++ % 16]" : "folded"}, {"x"});
  }
  [[nodiscard]] Expr result() const noexcept {
    return lanes() ? Expr{"zrt_tree_", c_name(domain_), "(lane)"} : Expr{"folded"};
  }

 private:
  [[nodiscard]] bool lanes() const noexcept { return kind_ == ops::ReduceKind::sum && is_float(accumulator_); }

  ops::ReduceKind kind_;
  DType accumulator_;
  Domain domain_;
};

inline void emit_reduce(Context& f, const EmitCall<ops::Reduce>& c) noexcept {
  const ops::RowMajor x = c.in[0].extents();
  std::array<std::uint64_t, kMaxRank> y_stride{};
  std::uint64_t y_elements = 1;
  for (std::size_t axis = x.rank; axis-- > 0;) {
    if (ops::Reduce::reduced(c.params, axis)) continue;
    y_stride[axis] = y_elements;
    y_elements *= x.extent[axis];
  }
  Nest outer('i');
  Nest inner('k');
  for (std::size_t axis = 0; axis < x.rank; ++axis) {
    if (ops::Reduce::reduced(c.params, axis))
      inner.add(x.extent[axis], {x.stride[axis]});
    else
      outer.add(x.extent[axis], {x.stride[axis], y_stride[axis]});
  }
  const FoldText fold(c.params.kind, c.params.accum_dtype);
  outer.open(f.w);
  fold.begin(f.w);
  inner.open(f.w);
  const Expr base = outer.at(0);
  fold.take(f.w, c.in[0], inner.at(0, base));
  inner.close(f.w);
  store_from(f.w, c.params.accum_dtype, fold.result(), c.out[0], outer.at(1));
  outer.close(f.w);
}

/// Writes the loops of a product of operands of `dtype` laid out as a and b. `element(side, index, as)` declares what it
/// needs and gives an element of an operand.
template <class Element>
void contract(Context& f, const ops::DotGeneralParams& p, const ops::RowMajor& a, const ops::RowMajor& b, DType dtype,
              const Tensor& result, Element&& element) noexcept {
  const ops::RowMajor y = result.extents();
  Nest outer('i');
  Nest inner('k');
  std::size_t in_y = 0;
  const auto add = [&](std::uint64_t extent, std::uint64_t in_a, std::uint64_t in_b) {
    outer.add(extent, {in_a, in_b, y.stride[in_y++]});
  };
  for (std::uint32_t i = 0; i < p.batch_count; ++i)
    add(a.extent[p.batch_lhs[i]], a.stride[p.batch_lhs[i]], b.stride[p.batch_rhs[i]]);
  for (std::uint8_t axis = 0; axis < a.rank; ++axis)
    if (!ops::DotGeneral::listed(p, true, axis)) add(a.extent[axis], a.stride[axis], 0);
  for (std::uint8_t axis = 0; axis < b.rank; ++axis)
    if (!ops::DotGeneral::listed(p, false, axis)) add(b.extent[axis], 0, b.stride[axis]);
  for (std::uint32_t i = 0; i < p.contract_count; ++i)
    inner.add(a.extent[p.contract_lhs[i]], {a.stride[p.contract_lhs[i]], b.stride[p.contract_rhs[i]]});

  const Domain domain = domain_of(p.accum_dtype);
  const DType as = domain_of(dtype) == domain ? dtype : p.accum_dtype;
  const bool floats = is_float(p.accum_dtype);
  // Less is done before a second worker has begun.
  constexpr std::uint64_t kLeastProducts = std::uint64_t{1} << 15;
  const bool narrow = info(result.dtype()).block_elems != 1;
  if (f.parts == Context::Parts::allowed && outer.loops() && !narrow &&
      outer.elements() >= kLeastProducts / (inner.elements() == 0 ? 1 : inner.elements())) {
    f.parts = Context::Parts::taken;
    outer.open_in_parts(f.w);
  } else {
    outer.open(f.w);
  }
  if (floats) {
    f.w.line({c_type(domain), " lane[16] = {0};"});
    f.w.line({"uint64_t taken = 0;"});
  } else {
    f.w.line({"uint64_t sum = 0;"});
  }
  inner.open(f.w);
  const Expr x = element(std::size_t{0}, inner.at(0, outer.at(0)), as);
  f.w.line({"const ", c_type(domain), " x = ", x, ";"});
  const Expr w = element(std::size_t{1}, inner.at(1, outer.at(1)), as);
  f.w.line({"const ", c_type(domain), " y = ", w, ";"});
  if (floats) {
    f.w.line({"lane[taken % 16] = ", domain == Domain::f32 ? "fmaf" : "fma", "(x, y, lane[taken % 16]);"});
    f.w.line({"++taken;"});
  } else {
    f.w.line({"sum += (uint64_t)x * (uint64_t)y;"});
  }
  inner.close(f.w);
  const Expr sum = floats ? Expr{"zrt_tree_", c_name(domain), "(lane)"} : Expr{"(", c_type(domain), ")sum"};
  const Expr y_value = p.alpha == 1.0f ? sum : Expr{sum, " * ", literal(p.alpha)};
  store_from(f.w, p.accum_dtype, y_value, result, outer.at(2));
  outer.close(f.w);
}

inline void emit_dot_general(Context& f, const EmitCall<ops::DotGeneral>& c) noexcept {
  contract(f, c.params, c.in[0].extents(), c.in[1].extents(), c.in[0].dtype(), c.out[0],
           [&](std::size_t side, const Expr& index, DType as) { return load_as(c.in[side], index, as); });
}

inline void emit_segment_reduce(Context& f, const EmitCall<ops::SegmentReduce>& c) noexcept {
  const ops::SegmentReduceParams& p = c.params;
  const ops::AxisSplit rows = c.in[0].split(0);
  const Domain domain = domain_of(p.accum_dtype);
  const DType sums = dtype_of(domain);
  f.w.loop({"i"}, c.out[0].elements());
  store(f.w, sums, f.scratch, {"i"}, identity(p.kind, p.accum_dtype));
  f.w.close();
  f.w.loop({"row"}, rows.extent);
  f.w.line({"const uint64_t segment = ", load_index(c.in[1], {"row"}), ";"});
  f.w.open({"if (", below("segment", p.num_segments), ")"});
  f.w.loop({"k"}, rows.inner);
  f.w.line({"const ", c_type(domain), " x = ", load_as(c.in[0], {"row * ", rows.inner, " + k"}, p.accum_dtype), ";"});
  f.w.line({c_type(domain), " sum = ", load(sums, f.scratch, {"segment * ", rows.inner, " + k"}), ";"});
  fold_into(f.w, p.kind, domain, {"sum"}, {"x"});
  store(f.w, sums, f.scratch, {"segment * ", rows.inner, " + k"}, {"sum"});
  f.w.close();
  f.w.close();
  f.w.open({"else"});
  f.fail();
  f.w.close();
  f.w.close();
  f.w.loop({"i"}, c.out[0].elements());
  store_from(f.w, p.accum_dtype, load(sums, f.scratch, {"i"}), c.out[0], {"i"});
  f.w.close();
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
