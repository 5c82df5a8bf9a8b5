// SPDX-License-Identifier: Apache-2.0
// zrt/ops/pad.hpp: a tensor with a value around it and between its elements.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/element_value.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/strided_copy.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct PadParams {
  std::array<std::uint32_t, kMaxRank> low{};
  std::array<std::uint32_t, kMaxRank> high{};
  std::array<std::uint32_t, kMaxRank> interior{};
  ElementValue value{};  ///< of x's dtype
  std::uint32_t rank = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&PadParams::low, "low"}, Member{&PadParams::high, "high"},
                                            Member{&PadParams::interior, "interior"},
                                            Member{&PadParams::value, "value"}, Member{&PadParams::rank, "rank"});
};

/// Puts `low` values before, `high` after and `interior` between the elements of every axis; x of any
/// plain type (PTIR `Pad`). An axis that is padded is a constant.
struct Pad {
  using Params = PadParams;
  static constexpr Opcode opcode{79};
  static constexpr std::string_view name = "pad";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::numbers("low", &Params::low, &Params::rank),
                                                    attribute::numbers("high", &Params::high, &Params::rank),
                                                    attribute::numbers("interior", &Params::interior, &Params::rank),
                                                    attribute::element("pad_value", &Params::value));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    constexpr std::size_t kLow = at<Pad>("low");
    constexpr std::size_t kHigh = at<Pad>("high");
    constexpr std::size_t kInterior = at<Pad>("interior");
    BasicShape<D> shape = c.in[0].shape;
    for (const std::size_t field : {kLow, kHigh, kInterior})
      if (auto r = c.per_axis(field, shape.rank, 0); !r) return r;
    const auto value = c.literal(at<Pad>("pad_value"));
    const BasicTensorType<D> scalar{c.in[0].dtype, {}};
    if (!(value == scalar)) return c.no(Errc::dtype_mismatch, "pad_value is ", value, ", expected ", scalar);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::uint64_t low = c.number(kLow, axis);
      const std::uint64_t high = c.number(kHigh, axis);
      const std::uint64_t interior = c.number(kInterior, axis);
      D& dim = shape.dims[axis];
      if (low == 0 && high == 0 && interior == 0) continue;
      if (!dim.is_constant()) {
        if (!D::open())
          return c.wrong(Errc::shape_mismatch, 0, "a constant extent on axis ", axis, ", which is padded");
        dim = *D::open();
        continue;
      }
      const std::uint64_t gaps = dim.constant() == 0 ? 0 : dim.constant() - 1;
      const auto extent = c.extent(CheckedSize(low) + CheckedSize(dim.constant()) + CheckedSize(high) +
                                   CheckedSize(gaps) * CheckedSize(interior));
      if (!extent) return pass(extent);
      dim = *extent;
    }
    return c.give(c.in[0].dtype, shape);
  }

  /// Where there is no padding.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<Pad>& c) noexcept {
    for (std::size_t axis = 0; axis < c.params.rank; ++axis)
      if (c.params.low[axis] != 0 || c.params.high[axis] != 0 || c.params.interior[axis] != 0) return std::nullopt;
    return 0;
  }

  /// Where the elements of x are in y.
  [[nodiscard]] static CopyBox box(const HostCall<Pad>& c, const ExecutionContext& step) noexcept {
    const RowMajor from(c.in[0], step);
    const RowMajor to(c.out[0], step);
    CopyBox box;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      box.to_first += c.params.low[axis] * to.stride[axis];
      box.add(from.extent[axis], from.stride[axis], (c.params.interior[axis] + std::uint64_t{1}) * to.stride[axis]);
    }
    return box;
  }

  static void reference(const HostCall<Pad>& c, const ExecutionContext& step, const Worker&) noexcept {
    fill_with(c.params.value, c.out[0].type.dtype, c.out[0].data, 0, c.out[0].elements(step));
    copy_strided(c.in[0].type.dtype, c.in[0].data, c.out[0].data, box(c, step));
  }

  template <class G> static void gradient(G& c) noexcept {
    const auto x = c.in_type(0).shape;
    const auto low = c.words("low"), interior = c.words("interior");
    typename G::Numbers starts, steps;
    typename G::Shape spread;
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
      const bool one = x[axis].is_constant(1);  // and no hole to step over
      starts.append(low[axis]);
      steps.append(one ? 1 : interior[axis] + 1);
      spread.append(typename G::Dim((c.extent(x, axis) - 1) * steps[axis] + 1));
    }
    c.give(0, c.every(c.slice(c.cotangent(), starts, spread), steps));
  }

  template <class E> static void emit_c(E& f, const Call<E, Pad>& c) noexcept {
    const RowMajor from = c.in[0].extents();
    const RowMajor to = c.out[0].extents();
    f.w.loop({"i"}, to.elements);
    copy(f.w, c.out[0].dtype(), c.out[0].pointer(), {"i"}, f.element(c.params.value, c.out[0].dtype()), {"0"}, {"1"});
    f.w.close();
    std::array<CopyAxis, kMaxRank> axes;
    std::uint64_t first = 0;
    for (std::size_t axis = 0; axis < to.rank; ++axis) {
      first += c.params.low[axis] * to.stride[axis];
      axes[axis] = {from.extent[axis], from.stride[axis],
                    (c.params.interior[axis] + std::uint64_t{1}) * to.stride[axis]};
    }
    copy_box(f, c.in[0], 0, c.out[0], first, Span(axes).first(to.rank));
  }
};
static_assert(Op<Pad>);

}  // namespace zrt::inline ZRT_ABI::ops
