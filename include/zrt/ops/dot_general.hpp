// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dot_general.hpp: contraction of two tensors over any axes, with batch axes.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/fold.hpp>
#include <zrt/ops/index_space.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct DotGeneralParams {
  std::array<std::uint8_t, kMaxRank> batch_lhs{};
  std::array<std::uint8_t, kMaxRank> batch_rhs{};
  std::array<std::uint8_t, kMaxRank> contract_lhs{};
  std::array<std::uint8_t, kMaxRank> contract_rhs{};
  std::uint32_t batch_count = 0;
  std::uint32_t contract_count = 0;
  DType accum_dtype = DType::f32;
  DType out_dtype = DType::f32;
  std::array<std::uint8_t, 2> reserved{};
  float alpha = 1.0f;  ///< multiplies the sum

  static constexpr std::uint8_t version = 3;
  static constexpr auto fields = field_list(
      Member{&DotGeneralParams::batch_lhs, "batch_lhs"}, Member{&DotGeneralParams::batch_rhs, "batch_rhs"},
      Member{&DotGeneralParams::contract_lhs, "contract_lhs"}, Member{&DotGeneralParams::contract_rhs, "contract_rhs"},
      Member{&DotGeneralParams::batch_count, "batch_count"},
      Member{&DotGeneralParams::contract_count, "contract_count"},
      Member{&DotGeneralParams::accum_dtype, "accum_dtype"}, Member{&DotGeneralParams::out_dtype, "out_dtype"},
      Member{&DotGeneralParams::reserved, "reserved"}, Member{&DotGeneralParams::alpha, "alpha"});
};

/// Contraction; output axes are batch, free lhs, free rhs (PTIR `DotGeneral`).
///
/// Operands are multiplied as they are where their domain is that of accum_dtype, else cast to it
/// first. Sums: dot16 over the contracted axes in the order of the lists, in that domain; products are
/// not rounded, integers wrap. The sum is rounded once to accum_dtype and cast to out_dtype. An alpha other than 1
/// multiplies the sum where accum_dtype and out_dtype are f32; no program says it, absorption sets it.
struct DotGeneral {
  using Params = DotGeneralParams;
  static constexpr Opcode opcode{73};
  static constexpr std::string_view name = "dot_general";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"lhs"}, Role{"rhs"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  /// True when `axis` stands in the first `count` entries of either list.
  static constexpr bool listed(const DotGeneralParams& p, bool lhs, std::uint8_t axis) noexcept {
    const auto& batch = lhs ? p.batch_lhs : p.batch_rhs;
    const auto& contract = lhs ? p.contract_lhs : p.contract_rhs;
    for (std::uint32_t i = 0; i < p.batch_count; ++i)
      if (batch[i] == axis) return true;
    for (std::uint32_t i = 0; i < p.contract_count; ++i)
      if (contract[i] == axis) return true;
    return false;
  }

  static constexpr auto attributes =
      attribute_list(attribute::axes("batch_lhs", &Params::batch_lhs, &Params::batch_count, 0),
                     attribute::axes("batch_rhs", &Params::batch_rhs, &Params::batch_count, 1),
                     attribute::axes("contract_lhs", &Params::contract_lhs, &Params::contract_count, 0),
                     attribute::axes("contract_rhs", &Params::contract_rhs, &Params::contract_count, 1),
                     attribute::dtype("accum_dtype", &Params::accum_dtype, DTypeDefault::accumulator),
                     attribute::dtype("out_dtype", &Params::out_dtype, DTypeDefault::operand));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const BasicTensorType<D>& lhs = c.in[0];
    const BasicTensorType<D>& rhs = c.in[1];
    if (lhs.dtype != rhs.dtype) return c.differs(Errc::dtype_mismatch, 1, 0);
    const auto batch_lhs = c.axes(at<DotGeneral>("batch_lhs"), lhs.shape.rank);
    if (!batch_lhs) return pass(batch_lhs);
    const auto batch_rhs = c.axes(at<DotGeneral>("batch_rhs"), rhs.shape.rank);
    if (!batch_rhs) return pass(batch_rhs);
    const auto contract_lhs = c.axes(at<DotGeneral>("contract_lhs"), lhs.shape.rank);
    if (!contract_lhs) return pass(contract_lhs);
    const auto contract_rhs = c.axes(at<DotGeneral>("contract_rhs"), rhs.shape.rank);
    if (!contract_rhs) return pass(contract_rhs);
    BasicShape<D> result;
    if (auto r = pair_axes(c, *batch_lhs, *batch_rhs, "batch", &result); !r) return r;
    if (auto r = pair_axes<D>(c, *contract_lhs, *contract_rhs, "contract", nullptr); !r) return r;
    if (auto r = append_free(c, lhs.shape, *batch_lhs, *contract_lhs, "lhs", result); !r) return r;
    if (auto r = append_free(c, rhs.shape, *batch_rhs, *contract_rhs, "rhs", result); !r) return r;
    const DType accumulator = c.dtype_or(at<DotGeneral>("accum_dtype"), default_accumulator(lhs.dtype));
    const DType given = c.dtype_or(at<DotGeneral>("out_dtype"), lhs.dtype);
    if (auto r = check_fold(c, ReduceKind::sum, accumulator, given); !r) return r;
    return c.give(given, result);
  }

  /// What a graph alone says.
  static constexpr Result<void> check(const TypeCall<DotGeneral>& c) noexcept {
    if (c.params.alpha != 1.0f && (c.params.accum_dtype != DType::f32 || c.params.out_dtype != DType::f32))
      return bad_params<DotGeneral>("alpha multiplies a sum that is not f32");
    return {};
  }

  static constexpr CheckedSize steps_per_element(const TypeCall<DotGeneral>& c) noexcept {
    CheckedSize products = 1;
    for (std::uint32_t i = 0; i < c.params.contract_count; ++i)
      products *= CheckedSize(c.in[0].type.shape[c.params.contract_lhs[i]].extent);
    return products;
  }

  static void reference(const HostCall<DotGeneral>& c, const ExecutionContext& step, const Worker&) noexcept {
    contract(c.params, {c.in[0], step}, {c.in[1], step}, c.in[0].type.dtype, c.out[0], step,
             [&](std::size_t side, const IndexSpace<2>& inner, std::uint64_t base, std::uint64_t first,
                 std::uint64_t count, DType as,
                 auto* out) { inner.read(side, c.in[side].type.dtype, c.in[side].data, base, first, count, as, out); });
  }

  /// The product of operands of `dtype` laid out as a and b. `read(side, inner, base, first, count, as, out)` gives
  /// elements of an operand, as IndexSpace::read does.
  template <class Read>
  static void contract(const DotGeneralParams& p, const RowMajor& a, const RowMajor& b, DType dtype,
                       const HostTensor& result, const ExecutionContext& step, Read&& read) noexcept {
    IndexSpace<2> outer;
    IndexSpace<2> inner;
    for (std::uint32_t i = 0; i < p.batch_count; ++i)
      outer.add(a.extent[p.batch_lhs[i]], {a.stride[p.batch_lhs[i]], b.stride[p.batch_rhs[i]]});
    for (std::uint8_t axis = 0; axis < a.rank; ++axis)
      if (!listed(p, true, axis)) outer.add(a.extent[axis], {a.stride[axis], 0});
    for (std::uint8_t axis = 0; axis < b.rank; ++axis)
      if (!listed(p, false, axis)) outer.add(b.extent[axis], {0, b.stride[axis]});
    for (std::uint32_t i = 0; i < p.contract_count; ++i)
      inner.add(a.extent[p.contract_lhs[i]], {a.stride[p.contract_lhs[i]], b.stride[p.contract_rhs[i]]});

    const DType as = domain_of(dtype) == domain_of(p.accum_dtype) ? dtype : p.accum_dtype;
    visit_domain(p.accum_dtype, [&]<class T>(std::type_identity<T>) {
      T lhs[kFoldRun];
      T rhs[kFoldRun];
      for (std::uint64_t y = 0, end = result.elements(step); y < end; ++y) {
        const auto base = outer.offsets(y);
        std::conditional_t<std::integral<T>, std::uint64_t, T> lane[16]{};
        for (std::uint64_t first = 0; first < inner.elements(); first += kFoldRun) {
          const std::uint64_t count = std::min(inner.elements() - first, kFoldRun);
          read(0, inner, base[0], first, count, as, lhs);
          read(1, inner, base[1], first, count, as, rhs);
          // A run is a multiple of 16, so that a place has the lane of its index.
          static_assert(kFoldRun % 16 == 0);
          for (std::uint64_t i = 0; i < count; ++i) {
            if constexpr (std::integral<T>)
              lane[i % 16] += static_cast<std::uint64_t>(lhs[i]) * static_cast<std::uint64_t>(rhs[i]);
            else if constexpr (std::same_as<T, float>)
              lane[i % 16] = __builtin_fmaf(lhs[i], rhs[i], lane[i % 16]);
            else
              lane[i % 16] = __builtin_fma(lhs[i], rhs[i], lane[i % 16]);
          }
        }
        auto sum = static_cast<T>(quant::reduce_tree(lane));
        if constexpr (std::same_as<T, float>) sum *= p.alpha;
        pack_from(p.accum_dtype, sum, p.out_dtype, result.data, y);
      }
    });
  }

  /// In ir/gradient/dot_general.hpp.
  template <class G> static void gradient(G& c) noexcept { dot_general_gradient(c); }

  /// In plan/c/emit_fold.hpp.
  template <class E> static void emit_c(E& f, const Call<E, DotGeneral>& c) noexcept { emit_dot_general(f, c); }

 private:
  /// Axes that run together agree; those of a batch are axes of the result.
  template <class D>
  static constexpr Result<void> pair_axes(const RuleCall<D>& c, const AxisList& lhs, const AxisList& rhs,
                                          std::string_view what, BasicShape<D>* result) noexcept {
    if (lhs.count != rhs.count)
      return c.no(Errc::invalid_params, what, "_lhs has ", lhs.count, " axes, ", what, "_rhs ", rhs.count);
    for (std::size_t i = 0; i < lhs.count; ++i) {
      const D expected = c.in[0].shape[lhs.axes[i]];
      D both;
      if (!unify(expected, c.in[1].shape[rhs.axes[i]], both))
        return c.wrong(Errc::shape_mismatch, 1, expected, " on axis ", rhs.axes[i], ", as lhs on axis ", lhs.axes[i]);
      if (result != nullptr) result->append(both);
    }
    return {};
  }
  /// Appends the axes of one side that are neither batched nor contracted.
  template <class D>
  static constexpr Result<void> append_free(const RuleCall<D>& c, const BasicShape<D>& shape, const AxisList& batch,
                                            const AxisList& contract, std::string_view side,
                                            BasicShape<D>& result) noexcept {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (batch.has(axis) && contract.has(axis))
        return c.no(Errc::invalid_params, "axis ", axis, " of ", side, " is both batched and contracted");
      if (!batch.has(axis) && !contract.has(axis)) result.append(shape[axis]);
    }
    return {};
  }
};
static_assert(Op<DotGeneral>);

}  // namespace zrt::inline ZRT_ABI::ops
