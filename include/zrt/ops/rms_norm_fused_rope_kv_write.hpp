// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rms_norm_fused_rope_kv_write.hpp: query and key norm, rotation, and the page write of a step.
#pragma once

#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/rope.hpp>
#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

struct RmsNormFusedRopeKvWriteParams {
  float eps = 1e-6f;
  float weight_offset = 0.0f;
  KvWriteBatchedParams kv{};
  RopeParams rope{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&RmsNormFusedRopeKvWriteParams::eps, "eps"},
                                            Member{&RmsNormFusedRopeKvWriteParams::weight_offset, "weight_offset"},
                                            Member{&RmsNormFusedRopeKvWriteParams::kv, "kv"},
                                            Member{&RmsNormFusedRopeKvWriteParams::rope, "rope"});
};

/// q and k are normed per head where their norm is bound and rotated; k and v go to the pages.
///
/// q f32 [T, heads·key_dim], k, v as in kv_write_batched, positions si32 [T] -> rotated q.
struct RmsNormFusedRopeKvWrite {
  using Params = RmsNormFusedRopeKvWriteParams;
  static constexpr Opcode opcode{36};
  static constexpr std::string_view name = "rms_norm_fused_rope_kv_write";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"q"}, Role{"k"}, Role{"v"}, Role{"positions"}});
  static constexpr auto output_roles = std::to_array({Role{"q"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"q_norm", true}, Role{"k_norm", true}, Role{"factors", true}});
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::kv_paged;
  using expands_to = boost::mp11::mp_list<RmsNorm, Rope, KvWriteBatched>;

  [[nodiscard]] static constexpr RmsNormParams norm(const Params& p) noexcept {
    return {p.eps, p.weight_offset, p.kv.key_dim};
  }

  static constexpr Result<void> infer(const TypeCall<RmsNormFusedRopeKvWrite>& c,
                                      OutputTypes<RmsNormFusedRopeKvWrite>& out) noexcept {
    using Self = RmsNormFusedRopeKvWrite;
    const Params& p = c.params;
    if (auto r = expect_input<Self>(c.in[0], "q", DType::f32, 2); !r) return r;
    if (auto r = KvWriteBatched::check<Self>(p.kv, c.in[1], c.in[2], c.state); !r) return r;
    if (auto r = Rope::check<Self>(p.rope, c.in[3], c.w[2]); !r) return r;
    const Shape& q = c.in[0].type.shape;
    if (p.rope.head_dim != p.kv.key_dim) return bad_params<Self>("rope.head_dim must equal key_dim");
    if (auto r = RmsNorm::check<Self>(norm(p), q, c.w[0]); !r) return r;
    if (auto r = RmsNorm::check<Self>(norm(p), c.in[1].type.shape, c.w[1]); !r) return r;
    if (q.rank != 2 || q[0] != c.in[1].type.shape[0] || q[0] != c.in[3].type.shape[0])
      return bad_shape<Self>("q", "as many tokens as k and positions", q);
    out[0] = c.in[0].type;
    return {};
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<RmsNormFusedRopeKvWrite>& c, const Extents&) noexcept {
    return CheckedSize(c.in[1].type.shape.last().extent) * sizeof(float);
  }

  static void reference(const HostCall<RmsNormFusedRopeKvWrite>& c, const ExecutionContext& step,
                        const Worker& worker) noexcept {
    const Params& p = c.params;
    const float* factors = c.w[2].present() ? c.w[2].f32() : nullptr;
    std::array<float, Rope::kMaxPairs> frequency;
    for (std::uint32_t i = 0; i < p.rope.n_rot / 2; ++i) frequency[i] = rope_frequency(p.rope, factors, i);
    Rope::Angles at;
    auto turn = [&](const HostWeight& weight, const float* x, std::uint32_t cols, float* y) noexcept {
      if (x != y) std::memcpy(y, x, cols * sizeof(float));
      for (std::uint32_t head = 0; head < cols; head += p.kv.key_dim) {
        if (weight.present()) RmsNorm::run(norm(p), y + head, weight.f32(), y + head);
        Rope::rotate(p.rope, at, y + head);
      }
    };
    const std::uint32_t q_cols = c.in[0].cols(step);
    const std::uint32_t k_cols = c.in[1].cols(step);
    const std::uint32_t v_cols = c.in[2].cols(step);
    auto* key = reinterpret_cast<float*>(worker.scratch.data());
    for (std::uint64_t t = 0; t < c.in[0].rows(step); ++t) {
      const auto position = static_cast<std::uint32_t>(c.in[3].as<std::int32_t>()[t]);
      Rope::angles(p.rope, frequency.data(), rope_magnitude(p.rope), position, at);
      turn(c.w[0], c.in[0].as<float>() + t * q_cols, q_cols, c.out[0].as<float>() + t * q_cols);
      turn(c.w[1], c.in[1].as<float>() + t * k_cols, k_cols, key);
      KvWriteBatched::write_row(c.state, step, static_cast<std::uint32_t>(t), key, c.in[2].as<float>() + t * v_cols);
    }
  }

  template <class G>
  static constexpr Result<Outputs<G, RmsNormFusedRopeKvWrite>> expand(G& g, const Call<G, RmsNormFusedRopeKvWrite>& c) {
    auto turned = [&](auto x, auto weight) {
      if (weight.present()) x = g.template emit<RmsNorm>({.in = {x}, .w = {weight}, .params = norm(c.params)})[0];
      return g.template emit<Rope>({.in = {x, c.in[3]}, .w = {c.w[2]}, .params = c.params.rope})[0];
    };
    const auto q = turned(c.in[0], c.w[0]);
    const auto k = turned(c.in[1], c.w[1]);
    (void)g.template emit<KvWriteBatched>({.in = {k, c.in[2]}, .state = c.state, .params = c.params.kv});
    return Outputs<G, RmsNormFusedRopeKvWrite>{q};
  }
};
static_assert(Op<RmsNormFusedRopeKvWrite> && HasReference<RmsNormFusedRopeKvWrite> &&
              HasExpansion<RmsNormFusedRopeKvWrite>);

}  // namespace zrt::inline ZRT_ABI::ops
