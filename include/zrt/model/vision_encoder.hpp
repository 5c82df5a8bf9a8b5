// SPDX-License-Identifier: Apache-2.0
// zrt/model/vision_encoder.hpp: writes a vision encoder of the Qwen 3 VL family, the stage vision_encode.
#pragma once

#include <zrt/model/tensor_rows.hpp>
#include <zrt/model/vision_config.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/flash_attn_varlen.hpp>
#include <zrt/ops/layer_norm_runs.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/rope.hpp>
#include <zrt/ops/swiglu.hpp>
#include <zrt/ops/transpose.hpp>
#include <zrt/ops/vision_deepstack_extract.hpp>
#include <zrt/ops/vision_patch_embed.hpp>
#include <zrt/ops/vision_scatter.hpp>
#include <zrt/ops/vision_spatial_merge.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Writes the encoder of one image or several, whose patches lie as VisionInputs says.
///
/// Ports, with P patches, merge² times the symbol `merged`: inputs patches f32 [P, 3·patch²], places f32 [P, width],
/// coordinates si32 [P, 2] (row and column); output image_embeddings f32 [merged, projection · (1 + deepstack layers)].
/// Each slot of a step is an image.
template <class G> class VisionEncoderWriter {
 public:
  using Value = typename G::Tensor;
  using Weight = typename G::Weight;

  constexpr VisionEncoderWriter(G& g, const VisionConfig& c) : g_(g), c_(c) {
    merged_ = g.symbol("merged", 0);
    const Value patches = g.input("patches", {DType::f32, Shape{rows(), c.patch_elements()}});
    const Value places = g.input("places", {DType::f32, Shape{rows(), c.width}});
    turns_ = turns(g.input("coordinates", {DType::si32, Shape{rows(), 2}}));
    x_ = g.template emit<ops::VisionPatchEmbed>(
        {.in = {patches, places},
         .w = {g.weight("v.patch_embd.weight", Shape{c.width, c.patch_elements()}),
               g.optional_weight("v.patch_embd.weight.1", Shape{c.width, c.patch_elements()}),
               g.optional_weight("v.patch_embd.bias", Shape{c.width})}})[0];
  }

  /// The blocks, and the rows that their features and the last state make.
  constexpr void finish() {
    Value features{};
    for (std::uint32_t layer = 0; layer < c_.layers; ++layer) {
      x_ = sum(attention(layer, normed(Name::of("v.blk.", layer, ".ln1"))));
      x_ = sum(mlp(layer, normed(Name::of("v.blk.", layer, ".ln2"))));
      features = joined(features, extracted(layer));
    }
    const Value rows = g_.template emit<ops::VisionSpatialMerge>(
        {.in = {x_}, .w = merger("v.post_ln", "mm.0", "mm.2", c_.width), .params = merger_params()})[0];
    g_.output("image_embeddings", joined(rows, features));
  }

 private:
  /// `factor` rows for each patch.
  [[nodiscard]] constexpr Dim rows(std::uint32_t factor = 1) const noexcept {
    return Dim(c_.merged() * factor, merged_);
  }
  [[nodiscard]] constexpr Weight matrix(const Name& name, std::uint32_t rows, std::uint32_t columns) {
    return g_.weight(Name::of(name.view(), ".weight"), Shape{rows, columns});
  }
  [[nodiscard]] constexpr Weight bias(const Name& name, std::uint32_t size) {
    return g_.weight(Name::of(name.view(), ".bias"), Shape{size});
  }
  [[nodiscard]] constexpr Value reshaped(Value x, const Shape& shape) {
    return g_.template emit<ops::Reshape>({.in = {x}, .params = {ShapeParams::of(shape)}})[0];
  }
  [[nodiscard]] constexpr Value sum(Value block) { return g_.template emit<ops::ResidualAdd>({.in = {x_, block}})[0]; }
  [[nodiscard]] constexpr Value joined(Value left, Value right) {
    if (!left.present() || !right.present()) return left.present() ? left : right;
    return g_.template emit<ops::Concat>({.in = {left, right}, .params = {1}})[0];
  }
  [[nodiscard]] constexpr Value normed(const Name& name) {
    const Weight scale = g_.weight(Name::of(name.view(), ".weight"), Shape{c_.width});
    return g_.template emit<ops::LayerNormRuns>(
        {.in = {x_}, .w = {scale, bias(name, c_.width)}, .params = {.eps = c_.norm_eps, .dim = c_.width}})[0];
  }

  /// The coordinate of every half of every head: si32 [patches · heads · 2].
  [[nodiscard]] constexpr Value turns(Value coordinates) {
    const Shape all{rows(), c_.heads, 2};
    const Value each = reshaped(coordinates, Shape{rows(), 1, 2});
    return reshaped(g_.template emit<ops::BroadcastTo>({.in = {each}, .params = {ShapeParams::of(all)}})[0],
                    Shape{rows(2 * c_.heads)});
  }
  /// Turns queries or keys by their coordinates: of the pairs (i, i + half) of a head the first half turns with the row
  /// and the other with the column. Pairs of one coordinate come to lie side by side; as they do so in queries and keys
  /// alike, scores do not change.
  [[nodiscard]] constexpr Value turned(Value x) {
    const std::uint32_t dim = c_.width / c_.heads;
    const Value quarters = reshaped(x, Shape{rows(c_.heads), 2, 2, dim / 4});
    const Value halves =
        g_.template emit<ops::Transpose>({.in = {quarters}, .params = {.perm = {0, 2, 1, 3}, .rank = 4}})[0];
    const ops::RopeParams p{.head_dim = dim / 2, .n_rot = dim / 2, .style = ops::RopeStyle::neox};
    const Value rotated = g_.template emit<ops::Rope>(
        {.in = {reshaped(halves, Shape{rows(2 * c_.heads), dim / 2}), turns_}, .w = {Weight{}}, .params = p})[0];
    return reshaped(rotated, Shape{rows(), c_.width});
  }

  [[nodiscard]] constexpr Value attention(std::uint32_t layer, Value x) {
    const Name name = Name::of("v.blk.", layer, ".attn_qkv");
    Value qkv[3]{};
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto part = [&](std::string_view end) {
        return TensorRows::name(Name::of(name.view(), end).view(), i * c_.width, c_.width, 3 * c_.width);
      };
      qkv[i] = g_.template emit<ops::Linear>(
          {.in = {x},
           .w = {g_.weight(part(".weight"), Shape{c_.width, c_.width}), g_.weight(part(".bias"), Shape{c_.width})}})[0];
    }
    ops::FlashAttnVarlenParams p;
    p.heads = p.kv_heads = c_.heads;
    p.key_dim = p.value_dim = c_.width / c_.heads;
    p.scale = 1.0f / __builtin_sqrtf(static_cast<float>(p.key_dim));
    const Value mixed = g_.template emit<ops::FlashAttnVarlen>(
        {.in = {turned(qkv[0]), turned(qkv[1]), qkv[2]}, .w = {Weight{}}, .params = p})[0];
    const Name out = Name::of("v.blk.", layer, ".attn_out");
    return g_.template emit<ops::Linear>(
        {.in = {mixed}, .w = {matrix(out, c_.width, c_.width), bias(out, c_.width)}})[0];
  }

  [[nodiscard]] constexpr Value mlp(std::uint32_t layer, Value x) {
    const Name up = Name::of("v.blk.", layer, ".ffn_up"), down = Name::of("v.blk.", layer, ".ffn_down");
    ops::SwigluParams p;
    p.gated.act = Activation::gelu_tanh;
    return g_.template emit<ops::Swiglu>(
        {.in = {x},
         .w = {Weight{}, Weight{}, matrix(up, c_.ff, c_.width), matrix(down, c_.width, c_.ff), Weight{},
               bias(up, c_.ff), bias(down, c_.width)},
         .params = p})[0];
  }

  [[nodiscard]] constexpr ops::MergedRowsParams merger_params() const noexcept {
    return {.norm_eps = c_.norm_eps, .rows = c_.merged()};
  }
  [[nodiscard]] constexpr auto merger(const Name& norm, const Name& up, const Name& down, std::uint32_t run) {
    const std::uint32_t wide = c_.merged() * c_.width;
    return std::array<Weight, 6>{g_.weight(Name::of(norm.view(), ".weight"), Shape{run}),
                                 bias(norm, run),
                                 matrix(up, wide, wide),
                                 bias(up, wide),
                                 matrix(down, c_.projection, wide),
                                 bias(down, c_.projection)};
  }
  /// The features of a layer that has a merger of its own.
  [[nodiscard]] constexpr Value extracted(std::uint32_t layer) {
    const Name name = Name::of("v.deepstack.", layer);
    const std::uint32_t wide = c_.merged() * c_.width;
    if (!g_.optional_weight(Name::of(name.view(), ".fc1.weight"), Shape{wide, wide}).present()) return {};
    return g_.template emit<ops::VisionDeepstackExtract>(
        {.in = {x_},
         .w =
             merger(Name::of(name.view(), ".norm"), Name::of(name.view(), ".fc1"), Name::of(name.view(), ".fc2"), wide),
         .params = merger_params()})[0];
  }

  G& g_;
  const VisionConfig& c_;
  SymbolId merged_ = 0;
  Value x_{};
  Value turns_{};
};

/// Writes the whole encoder.
template <class G> constexpr void build_vision_encoder(G& g, const VisionConfig& c) {
  VisionEncoderWriter<G>(g, c).finish();
}

/// Writes the stage scatter of rows of `columns` elements: a row for each token of a step.
///
/// Ports: inputs image_embeddings f32 [merged, columns], source si32 [tokens]; output embeddings f32 [tokens, columns].
template <class G> constexpr void build_vision_scatter(G& g, std::uint32_t columns) {
  const Dim merged(1, g.symbol("merged", 0)), tokens(1, g.symbol("tokens", 0));
  const auto rows = g.input("image_embeddings", {DType::f32, Shape{merged, columns}});
  const auto source = g.input("source", {DType::si32, Shape{tokens}});
  g.output("embeddings", g.template emit<ops::VisionScatter>({.in = {rows, source}, .params = {.width = columns}})[0]);
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
