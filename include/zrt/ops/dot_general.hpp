// SPDX-License-Identifier: Apache-2.0
// zrt/ops/dot_general.hpp: contraction of two tensors over any axes, with batch axes.
#pragma once

#include <zrt/ops/shape_rule.hpp>
#include <zrt/quant/dot.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct DotGeneralParams {
  std::array<std::uint8_t, kMaxRank> batch_lhs{};
  std::array<std::uint8_t, kMaxRank> batch_rhs{};
  std::array<std::uint8_t, kMaxRank> contract_lhs{};
  std::array<std::uint8_t, kMaxRank> contract_rhs{};
  std::uint32_t batch_count = 0;
  std::uint32_t contract_count = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&DotGeneralParams::batch_lhs, "batch_lhs"}, Member{&DotGeneralParams::batch_rhs, "batch_rhs"},
      Member{&DotGeneralParams::contract_lhs, "contract_lhs"}, Member{&DotGeneralParams::contract_rhs, "contract_rhs"},
      Member{&DotGeneralParams::batch_count, "batch_count"},
      Member{&DotGeneralParams::contract_count, "contract_count"});
};

/// f32 contraction; output axes are batch, free lhs, free rhs (PTIR `DotGeneral`).
///
/// Sums: dot16 over the contracted axes in the order of the lists; products are not rounded.
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
    if (auto r = expect_input<DotGeneral>(c.in[0], "lhs", DType::f32, 0); !r) return r;
    if (auto r = expect_input<DotGeneral>(c.in[1], "rhs", DType::f32, 0); !r) return r;
    const Shape& a = c.in[0].type.shape;
    const Shape& b = c.in[1].type.shape;
    const DotGeneralParams& p = c.params;
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
    out[0] = {DType::f32, {}};
    for (std::uint32_t i = 0; i < p.batch_count; ++i) out[0].shape = out[0].shape.appended(a[p.batch_lhs[i]]);
    for (std::uint8_t axis = 0; axis < a.rank; ++axis)
      if (!listed(p, true, axis)) out[0].shape = out[0].shape.appended(a[axis]);
    for (std::uint8_t axis = 0; axis < b.rank; ++axis)
      if (!listed(p, false, axis)) out[0].shape = out[0].shape.appended(b[axis]);
    return {};
  }

  static void reference(const HostCall<DotGeneral>& c, const ExecutionContext& step, const Worker&) noexcept {
    // Every axis of the iteration space with its extent and its stride in either operand.
    struct Axis {
      std::uint64_t extent, lhs, rhs;
    };
    std::array<Axis, 2 * kMaxRank> outer{};
    std::array<Axis, kMaxRank> inner{};
    std::size_t outers = 0;
    std::size_t inners = 0;
    std::array<std::uint64_t, kMaxRank> ls{};
    std::array<std::uint64_t, kMaxRank> rs{};
    strides(c.in[0].type.shape, step, ls);
    strides(c.in[1].type.shape, step, rs);
    const Shape& a = c.in[0].type.shape;
    const Shape& b = c.in[1].type.shape;
    const DotGeneralParams& p = c.params;
    for (std::uint32_t i = 0; i < p.batch_count; ++i)
      outer[outers++] = {step.extents.of(a[p.batch_lhs[i]]), ls[p.batch_lhs[i]], rs[p.batch_rhs[i]]};
    for (std::uint8_t axis = 0; axis < a.rank; ++axis)
      if (!listed(p, true, axis)) outer[outers++] = {step.extents.of(a[axis]), ls[axis], 0};
    for (std::uint8_t axis = 0; axis < b.rank; ++axis)
      if (!listed(p, false, axis)) outer[outers++] = {step.extents.of(b[axis]), 0, rs[axis]};
    for (std::uint32_t i = 0; i < p.contract_count; ++i)
      inner[inners++] = {step.extents.of(a[p.contract_lhs[i]]), ls[p.contract_lhs[i]], rs[p.contract_rhs[i]]};

    std::uint64_t outputs = 1;
    for (std::size_t i = 0; i < outers; ++i) outputs *= outer[i].extent;
    std::uint64_t length = 1;
    for (std::size_t i = 0; i < inners; ++i) length *= inner[i].extent;
    for (std::uint64_t y = 0; y < outputs; ++y) {
      std::uint64_t lhs = 0;
      std::uint64_t rhs = 0;
      offsets(std::span<const Axis>(outer.data(), outers), y, lhs, rhs);
      std::array<float, 16> lane{};
      for (std::uint64_t k = 0; k < length; ++k) {
        std::uint64_t i = lhs;
        std::uint64_t j = rhs;
        offsets(std::span<const Axis>(inner.data(), inners), k, i, j);
        lane[k % 16] = __builtin_fmaf(c.in[0].as<float>()[i], c.in[1].as<float>()[j], lane[k % 16]);
      }
      c.out[0].as<float>()[y] = quant::reduce_tree(lane.data());
    }
  }

 private:
  static void strides(const Shape& shape, const ExecutionContext& step,
                      std::array<std::uint64_t, kMaxRank>& out) noexcept {
    std::uint64_t stride = 1;
    for (std::size_t axis = shape.rank; axis-- > 0;) {
      out[axis] = stride;
      stride *= step.extents.of(shape[axis]);
    }
  }
  template <class Axis>
  static void offsets(std::span<const Axis> axes, std::uint64_t index, std::uint64_t& lhs,
                      std::uint64_t& rhs) noexcept {
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::uint64_t at = index % axes[i].extent;
      index /= axes[i].extent;
      lhs += at * axes[i].lhs;
      rhs += at * axes[i].rhs;
    }
  }
};
static_assert(Op<DotGeneral>);

}  // namespace zrt::inline ZRT_ABI::ops
