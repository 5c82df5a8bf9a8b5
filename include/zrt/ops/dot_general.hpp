// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dot_general.hpp: contraction of two tensors over any axes, with batch axes.
#pragma once

#include <zrt/ops/fold.hpp>
#include <zrt/ops/index_space.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_rule.hpp>

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

  static constexpr Result<void> infer(const TypeCall<DotGeneral>& c, OutputTypes<DotGeneral>& out) noexcept {
    const DotGeneralParams& p = c.params;
    if (!c.in[0].present()) return fail(Errc::dangling_value, "dot_general: input lhs is required");
    if (auto r = expect_same_dtype<DotGeneral>(c.in[1], "rhs", c.in[0].type.dtype, "lhs"); !r) return r;
    if (auto r = expect_computed<DotGeneral>(c.in[0], "lhs"); !r) return r;
    if (auto r = expect_fold<DotGeneral>(ReduceKind::sum, p.accum_dtype, p.out_dtype); !r) return r;
    if (p.alpha != 1.0f && (p.accum_dtype != DType::f32 || p.out_dtype != DType::f32))
      return bad_params<DotGeneral>("alpha multiplies a sum that is not f32");
    const Shape& a = c.in[0].type.shape;
    const Shape& b = c.in[1].type.shape;
    if (p.batch_count > kMaxRank || p.contract_count > kMaxRank) return bad_params<DotGeneral>("too many axes");
    std::uint32_t seen_lhs = 0;
    std::uint32_t seen_rhs = 0;
    auto pair = [&](std::uint8_t l, std::uint8_t r) noexcept {
      if (l >= a.rank || r >= b.rank || a[l] != b[r]) return false;
      if ((seen_lhs >> l & 1u) != 0 || (seen_rhs >> r & 1u) != 0) return false;
      seen_lhs |= 1u << l;
      seen_rhs |= 1u << r;
      return true;
    };
    for (std::uint32_t i = 0; i < p.batch_count; ++i)
      if (!pair(p.batch_lhs[i], p.batch_rhs[i])) return bad_shape<DotGeneral>("rhs", "the batch extents of lhs", b);
    for (std::uint32_t i = 0; i < p.contract_count; ++i)
      if (!pair(p.contract_lhs[i], p.contract_rhs[i]))
        return bad_shape<DotGeneral>("rhs", "the contracted extents of lhs", b);
    const std::uint32_t rank = a.rank + b.rank - p.batch_count - 2 * p.contract_count;
    if (rank > kMaxRank)
      return fail(Errc::unsupported_tensor_rank, "dot_general: the output would have ", rank, " axes");
    out[0] = {p.out_dtype, {}};
    for (std::uint32_t i = 0; i < p.batch_count; ++i) out[0].shape = out[0].shape.appended(a[p.batch_lhs[i]]);
    for (std::uint8_t axis = 0; axis < a.rank; ++axis)
      if (!listed(p, true, axis)) out[0].shape = out[0].shape.appended(a[axis]);
    for (std::uint8_t axis = 0; axis < b.rank; ++axis)
      if (!listed(p, false, axis)) out[0].shape = out[0].shape.appended(b[axis]);
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
};
static_assert(Op<DotGeneral>);

}  // namespace zrt::inline ZRT_ABI::ops
