// SPDX-License-Identifier: Apache-2.0
// zrt/ops/embedding.hpp: rows of an embedding table of any weight type.
#pragma once

#include <zrt/ops/shape_rule.hpp>
#include <zrt/quant/types.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

struct EmbeddingParams {
  float scale = 1.0f;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&EmbeddingParams::scale, "scale"});
};

/// y[t] = scale · table[ids[t]]: ids si32 [T], table [V, d] -> f32 [T, d].
///
/// With input `given` f32 [T, d], a row whose id is below 0 is that row of it, as it is. Any other id outside the table
/// reports Errc::spec_violation and reads row 0.
struct Embedding {
  using Params = EmbeddingParams;
  static constexpr Opcode opcode{7};
  static constexpr std::string_view name = "embedding";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"ids"}, Role{"given", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"table"}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Embedding>& c, OutputTypes<Embedding>& out) noexcept {
    if (auto r = expect_input<Embedding>(c.in[0], "ids", DType::si32, 1); !r) return r;
    if (!c.w[0].present()) return fail(Errc::missing_weight, "embedding: weight table is not bound");
    if (c.w[0].shape.rank != 2 || c.w[0].shape[0].symbol != 0 || c.w[0].shape[0].extent == 0)
      return bad_shape<Embedding>("table", "two axes and at least one row", c.w[0].shape);
    if (auto r = expect_matrix<Embedding>(c.w[0], "table", c.w[0].shape[1].extent); !r) return r;
    out[0] = {DType::f32, c.in[0].type.shape.appended(c.w[0].shape[1])};
    if (!c.in[1].present()) return {};
    if (auto r = expect_input<Embedding>(c.in[1], "given", DType::f32, 2); !r) return r;
    if (!(c.in[1].type.shape == out[0].shape))
      return bad_shape<Embedding>("given", "[tokens, columns of the table]", c.in[1].type.shape);
    return {};
  }

  static void reference(const HostCall<Embedding>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const quant::RowFunctions* type = quant::find(c.w[0].dtype);
    const std::uint32_t cols = c.w[0].cols;
    for (std::uint64_t t = 0; t < c.in[0].elements(step); ++t) {
      auto id = static_cast<std::uint32_t>(c.in[0].as<std::int32_t>()[t]);
      float* y = c.out[0].as<float>() + t * cols;
      if (id > 0x7fffffffu && c.in[1].present()) {
        std::memcpy(y, c.in[1].as<float>() + t * cols, cols * sizeof(float));
        continue;
      }
      if (id >= c.w[0].rows) {
        step.violated_row(worker, c.in[0].type.shape[0], t);
        id = 0;
      }
      type->dequantise(c.w[0].row(id), cols, y);
      for (std::uint32_t i = 0; i < cols; ++i) y[i] *= c.params.scale;
    }
  }
};
static_assert(Op<Embedding>);

}  // namespace zrt::inline ZRT_ABI::ops
