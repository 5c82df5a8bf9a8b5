// SPDX-License-Identifier: Apache-2.0
// zrt/ops/convolve.hpp: products of what lies under a sliding window, without a tensor of patches.
#pragma once

#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/infer_types.hpp>
#include <zrt/ops/patches.hpp>
#include <zrt/ops/reshape.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ConvolveParams {
  ExtractPatchesParams patches{};
  ShapeParams rows{};  ///< the shape that the patches have in the product
  DotGeneralParams dot{};
  std::uint32_t patches_rhs = 0;  ///< 1: the patches are the product's second operand

  static constexpr std::uint8_t version = 2;
  static constexpr auto fields =
      field_list(Member{&ConvolveParams::patches, "patches"}, Member{&ConvolveParams::rows, "rows"},
                 Member{&ConvolveParams::dot, "dot"}, Member{&ConvolveParams::patches_rhs, "patches_rhs"});
};

/// y = dot_general(patches, w), or of w and the patches, which are extract_patches(x) under the shape `rows`: a
/// convolution of any number of spatial axes, in groups of channels or not, where the product says so.
///
/// x and w of any computed type; w lies as [batch..., free..., contracted...], its axes of each sort in the product's
/// order. Sums: those of dot_general.
struct Convolve {
  using Params = ConvolveParams;
  static constexpr Opcode opcode{106};
  static constexpr std::string_view name = "convolve";
  static constexpr Rung rung = Rung::fused;
  static constexpr std::uint8_t max_rank = kMaxRank;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"w"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  using expands_to = boost::mp11::mp_list<ExtractPatches, Reshape, DotGeneral>;

  /// The patches' type as extract_patches gives it; the call is valid.
  [[nodiscard]] static constexpr TensorType patches_type(const TensorType& x, const ConvolveParams& p) noexcept {
    TypeCall<ExtractPatches> c;
    c.in[0] = {true, x};
    c.params = p.patches;
    OutputTypes<ExtractPatches> out{};
    (void)infer_types<ExtractPatches>(c, out);
    return out[0];
  }

  static constexpr Result<void> infer(const TypeCall<Convolve>& c, OutputTypes<Convolve>& out) noexcept {
    const ConvolveParams& p = c.params;
    if (p.patches_rhs > 1) return bad_params<Convolve>("patches_rhs is neither 0 nor 1");
    TypeCall<ExtractPatches> extract;
    extract.in = {c.in[0]};
    extract.params = p.patches;
    OutputTypes<ExtractPatches> patches{};
    if (auto r = infer_types<ExtractPatches>(extract, patches); !r) return r;
    TypeCall<Reshape> shaped;
    shaped.in[0] = c.in[0];
    shaped.in[0].type = patches[0];
    shaped.params = {p.rows};
    OutputTypes<Reshape> rows{};
    if (auto r = infer_types<Reshape>(shaped, rows); !r) return r;
    TypeCall<DotGeneral> product;
    product.in[p.patches_rhs] = c.in[0];
    product.in[p.patches_rhs].type = rows[0];
    product.in[1 - p.patches_rhs] = c.in[1];
    product.params = p.dot;
    if (auto r = infer_types<DotGeneral>(product, out); !r) return r;
    const auto& batch = p.patches_rhs == 0 ? p.dot.batch_rhs : p.dot.batch_lhs;
    const auto& contract = p.patches_rhs == 0 ? p.dot.contract_rhs : p.dot.contract_lhs;
    const Shape& w = c.in[1].type.shape;
    for (std::uint32_t i = 0; i < p.dot.batch_count; ++i)
      if (batch[i] != i) return bad_shape<Convolve>("w", "the batch axes first, in the product's order", w);
    for (std::uint32_t i = 0; i < p.dot.contract_count; ++i)
      if (contract[i] != w.rank - p.dot.contract_count + i)
        return bad_shape<Convolve>("w", "the contracted axes last, in the product's order", w);
    return {};
  }

  static constexpr CheckedSize steps_per_element(const TypeCall<Convolve>& c) noexcept {
    CheckedSize products = 1;
    const Shape& w = c.in[1].type.shape;
    for (std::uint32_t i = 0; i < c.params.dot.contract_count; ++i)
      products *= CheckedSize(w[w.rank - std::size_t{1} - i].extent);
    return products;
  }

  static void reference(const HostCall<Convolve>& c, const ExecutionContext& step, const Worker&) noexcept {
    const ConvolveParams& p = c.params;
    const DType dtype = c.in[0].type.dtype;
    const Patches patches(p.patches, c.in[0], patches_type(c.in[0].type, p).shape, step);
    HostTensor shaped;
    shaped.type.shape = p.rows.shape();
    const RowMajor rows(shaped, step);
    const RowMajor w(c.in[1], step);
    const bool second = p.patches_rhs != 0;
    DotGeneral::contract(p.dot, second ? w : rows, second ? rows : w, dtype, c.out[0], step,
                         [&](std::size_t side, const IndexSpace<2>& inner, std::uint64_t base, std::uint64_t first,
                             std::uint64_t count, DType as, auto* out) {
                           if (side != p.patches_rhs)
                             return inner.read(side, dtype, c.in[1].data, base, first, count, as, out);
                           for (std::uint64_t i = 0; i < count; ++i) {
                             const auto element = patches.at(base + inner.offsets(first + i)[side], 1);
                             const auto* padding = reinterpret_cast<const std::byte*>(p.patches.pad_value.data());
                             unpack_as(dtype, element.inside ? c.in[0].data : padding,
                                       element.inside ? element.from : 0, 1, as, out + i);
                           }
                         });
  }

  template <class G> static constexpr Result<Outputs<G, Convolve>> expand(G& g, const Call<G, Convolve>& c) {
    const auto patches = g.template emit<ExtractPatches>({.in = {c.in[0]}, .params = c.params.patches})[0];
    const auto rows = g.template emit<Reshape>({.in = {patches}, .params = {c.params.rows}})[0];
    if (c.params.patches_rhs != 0) return g.template emit<DotGeneral>({.in = {c.in[1], rows}, .params = c.params.dot});
    return g.template emit<DotGeneral>({.in = {rows, c.in[1]}, .params = c.params.dot});
  }

  /// In plan/c/emit_window.hpp.
  template <class E> static void emit_c(E& f, const Call<E, Convolve>& c) noexcept { emit_convolve(f, c); }
};
static_assert(Op<Convolve> && HasReference<Convolve> && HasExpansion<Convolve>);

}  // namespace zrt::inline ZRT_ABI::ops
