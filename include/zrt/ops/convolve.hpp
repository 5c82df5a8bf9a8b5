// SPDX-License-Identifier: Apache-2.0
// zrt/ops/convolve.hpp: convolution over spatial axes, the channel last.
#pragma once

#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/extract_patches.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/transpose.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ConvolveParams {
  ExtractPatchesParams patches{};
  std::uint32_t groups = 1;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ConvolveParams::patches, "patches"}, Member{&ConvolveParams::groups, "groups"});
};

/// y[n, place, m] = sum over e and c of patch[n, place, e, group(m) · Cg + c] · w[m, e, c]: extract_patches and the
/// product with a matrix for each group of channels, without the patches.
///
/// x f32 [N, spatial..., groups · Cg], w f32 [M, window elements, Cg], y f32 [N, places..., M]. Sums: dot16 over
/// (e, c) in row-major order.
struct Convolve {
  using Params = ConvolveParams;
  static constexpr Opcode opcode{106};
  static constexpr std::string_view name = "convolve";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"w"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<ExtractPatches, Reshape, DotGeneral, Transpose>;

  static constexpr Result<void> infer(const TypeCall<Convolve>& c, OutputTypes<Convolve>& out) noexcept {
    if (auto r = expect_input<Convolve>(c.in[0], "x", DType::f32, 3); !r) return r;
    if (auto r = expect_input<Convolve>(c.in[1], "w", DType::f32, 3); !r) return r;
    const ExtractPatchesParams& p = c.params.patches;
    const Shape& x = c.in[0].type.shape;
    const Shape& w = c.in[1].type.shape;
    const std::uint32_t groups = c.params.groups;
    if (x.rank < 3 || p.spatial != x.rank - 2u)
      return bad_shape<Convolve>("x", "[N, spatial..., C] with the window's spatial axes", x);
    if (x.last().symbol != 0 || groups == 0 || x.last().extent % groups != 0)
      return bad_shape<Convolve>("x", "channels in equal groups", x);
    Shape y = x;
    CheckedSize elements = 1;
    for (std::size_t i = 0; i < p.spatial; ++i) {
      const auto places = window_places<Convolve>(x[i + 1], p.axis(i));
      if (!places) return pass(places);
      y.dims[i + 1] = *places;
      elements *= CheckedSize(p.window[i]);
    }
    const auto window = elements.get("a window");
    if (!window) return pass(window);
    if (w.rank != 3 || w[0].symbol != 0 || w[0].extent % groups != 0 || w[1].symbol != 0 || w[1].extent != *window ||
        w[2] != Dim(x.last().extent / groups))
      return bad_shape<Convolve>("w", "[M, window elements, channels of a group], M in equal groups", w);
    const CheckedSize depth = CheckedSize(*window) * CheckedSize(w[2].extent);
    if (!depth.ok() || depth.raw() > 0xffffffffu)
      return fail(Errc::size_overflow, "convolve: the elements of a patch do not fit 32 bits");
    y.dims[y.rank - 1u] = w[0];
    out[0] = {DType::f32, y};
    return {};
  }

  /// The extents of one call in one step.
  struct Extents {
    RowMajor x;
    RowMajor window;
    RowMajor places;                 ///< of y, without its channels: an index of it is a row of y
    std::uint64_t channels = 0;      ///< of a group of x
    std::uint64_t out_channels = 0;  ///< of a group of y
    std::uint64_t depth = 0;         ///< elements of a patch of one group

    Extents(const HostCall<Convolve>& c, const ExecutionContext& step) noexcept
        : x(c.in[0], step),
          window(Span(c.params.patches.window).first(c.params.patches.spatial)),
          places(without_channels(c.out[0], step)),
          channels(x.extent[x.rank - 1u] / c.params.groups),
          out_channels(c.in[1].type.shape[0].extent / c.params.groups),
          depth(window.elements * channels) {}

   private:
    static RowMajor without_channels(const HostTensor& y, const ExecutionContext& step) noexcept {
      HostTensor all = y;
      all.type.shape = y.type.shape.with_last(1);
      return {all, step};
    }
  };

  /// Writes the patch of `group` at a row of y, given by its index on every axis.
  static void gather(const HostCall<Convolve>& c, const Extents& e, const ElementIndex& row, std::uint64_t group,
                     float* to) noexcept {
    const ExtractPatchesParams& p = c.params.patches;
    const float* x = c.in[0].as<float>() + group * e.channels;
    float padding = 0;
    std::memcpy(&padding, p.pad_value.data(), sizeof padding);
    ElementIndex w;
    for (std::uint64_t i = 0; i < e.window.elements; ++i, w.advance(e.window), to += e.channels) {
      std::uint64_t from = row.at[0] * e.x.stride[0];
      bool inside = true;
      for (std::size_t axis = 0; axis < p.spatial && inside; ++axis) {
        const std::uint64_t element = p.axis(axis).source(row.at[axis + 1], w.at[axis], e.x.extent[axis + 1]);
        inside = element != WindowAxis::kPadding;
        if (inside) from += element * e.x.stride[axis + 1];
      }
      if (inside && e.channels != 0)
        std::memcpy(to, x + from, e.channels * sizeof(float));
      else
        for (std::uint64_t k = 0; k < e.channels; ++k) to[k] = padding;
    }
  }

  /// A row's patches of every group, which the sums then read.
  static constexpr CheckedSize reference_scratch(const TypeCall<Convolve>& c, const zrt::Extents&) noexcept {
    const Shape& w = c.in[1].type.shape;
    return CheckedSize(w[1].extent) * CheckedSize(w[2].extent) * sizeof(float);
  }
  static void reference(const HostCall<Convolve>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Extents e(c, step);
    auto* patch = reinterpret_cast<float*>(worker.scratch.data());
    float* y = c.out[0].as<float>();
    ElementIndex row;
    for (std::uint64_t i = 0; i < e.places.elements; ++i, row.advance(e.places))
      for (std::uint64_t group = 0; group < c.params.groups; ++group) {
        gather(c, e, row, group, patch);
        for (std::uint64_t m = group * e.out_channels; m < (group + 1) * e.out_channels; ++m) {
          const float* w = c.in[1].as<float>() + m * e.depth;
          float lane[16]{};
          for (std::uint64_t k = 0; k < e.depth; ++k) lane[k % 16] = __builtin_fmaf(patch[k], w[k], lane[k % 16]);
          *y++ = quant::reduce_tree(lane);
        }
      }
  }

  template <class G> static constexpr Result<Outputs<G, Convolve>> expand(G& g, const Call<G, Convolve>& c) {
    auto shaped = [&](auto v, const Shape& to) {
      return g.template emit<Reshape>({.in = {v}, .params = {ShapeParams::of(to)}})[0];
    };
    const Shape w = g.type_of(c.in[1]).shape;
    const auto patches = g.template emit<ExtractPatches>({.in = {c.in[0]}, .params = c.params.patches})[0];
    const Shape rows = g.type_of(patches).shape;
    const auto free = static_cast<std::uint8_t>(rows.rank - 1);
    DotGeneralParams dot;
    if (c.params.groups == 1) {
      dot.contract_count = 1;
      dot.contract_lhs[0] = free;
      dot.contract_rhs[0] = 1;
      const auto matrix = shaped(c.in[1], Shape{w[0], Dim(w[1].extent * w[2].extent)});
      return g.template emit<DotGeneral>({.in = {patches, matrix}, .params = dot});
    }
    // [N, places..., window, group, channel] times [group, out, window, channel].
    const Dim groups(c.params.groups);
    const Dim out(w[0].extent / c.params.groups);
    const auto split = shaped(patches, rows.with_last(w[1].extent).appended(groups).appended(w[2]));
    const auto matrices = shaped(c.in[1], Shape{groups, out, w[1], w[2]});
    dot.batch_count = 1;
    dot.batch_lhs[0] = static_cast<std::uint8_t>(free + 1);
    dot.contract_count = 2;
    dot.contract_lhs[0] = free;
    dot.contract_lhs[1] = static_cast<std::uint8_t>(free + 2);
    dot.contract_rhs[0] = 2;
    dot.contract_rhs[1] = 3;
    const auto y = g.template emit<DotGeneral>({.in = {split, matrices}, .params = dot})[0];
    // [group, N, places..., out] to [N, places..., group, out].
    TransposeParams order;
    order.rank = static_cast<std::uint8_t>(free + 2);
    for (std::uint8_t axis = 0; axis < free; ++axis) order.perm[axis] = static_cast<std::uint8_t>(axis + 1);
    order.perm[free] = 0;
    order.perm[free + 1u] = static_cast<std::uint8_t>(free + 1);
    const auto turned = g.template emit<Transpose>({.in = {y}, .params = order})[0];
    return Outputs<G, Convolve>{shaped(turned, rows.with_last(w[0]))};
  }
};
static_assert(Op<Convolve> && HasReference<Convolve> && HasExpansion<Convolve>);

}  // namespace zrt::inline ZRT_ABI::ops
