// SPDX-License-Identifier: Apache-2.0
// zrt/ops/mla_attention.hpp: the block of multi-head latent attention.
#pragma once

#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/linear_heads.hpp>
#include <zrt/ops/mla_kv_write.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/rope.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

struct MlaAttentionParams {
  MlaKvWriteParams kv{};
  std::uint32_t heads = 0;
  float scale = 1.0f;  ///< of scores
  float norm_eps = 1e-6f;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&MlaAttentionParams::kv, "kv"}, Member{&MlaAttentionParams::heads, "heads"},
                 Member{&MlaAttentionParams::scale, "scale"}, Member{&MlaAttentionParams::norm_eps, "norm_eps"});
};

/// y = W_o · (W_v[h] o[h]) with o[h] the attention of (rope(q_r[h]), W_k[h] q_n[h]) over keys (rope(k_r), c) and values
/// c, where (c, k_r) = W_kv n and (q_n, q_r)[h] = W_q n for n = x, or its norm.
///
/// x f32 [T, d], positions si32 [T] -> f32 [T, d]. Only c and k_r are kept. With `q_a`, W_q = q · norm · q_a.
/// Source: DeepSeek-AI, "DeepSeek-V2", section 2.1, with the key and value projections absorbed.
struct MlaAttention {
  using Params = MlaAttentionParams;
  static constexpr Opcode opcode{6};
  static constexpr std::string_view name = "mla_attention";
  static constexpr Rung rung = Rung::macro;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"positions"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"norm", true}, Role{"q_a", true}, Role{"q_a_norm", true}, Role{"q"}, Role{"kv"},
                     Role{"kv_norm"}, Role{"k"}, Role{"v"}, Role{"output"}, Role{"factors", true}});
  enum Weight : std::size_t { norm, q_a, q_a_norm, q, kv, kv_norm, k, v, output, factors };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::kv_paged;
  using expands_to = boost::mp11::mp_list<RmsNorm, Linear, LinearHeads, Rope, MlaKvWrite, FlashAttnBatched>;

  static constexpr Result<void> infer(const TypeCall<MlaAttention>& c, OutputTypes<MlaAttention>& out) noexcept {
    using Self = MlaAttention;
    const Params& p = c.params;
    if (auto r = expect_input<Self>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (auto r = Rope::check<Self>(p.kv.rope, c.in[1], c.w[factors]); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (x.rank != 2 || x[1].symbol != 0 || x[0] != c.in[1].type.shape[0])
      return bad_shape<Self>("x", "[tokens, width], as many tokens as positions", x);
    const std::uint32_t width = x[1].extent;
    if (p.heads == 0) return bad_params<Self>("heads must not be 0");
    if (auto r = expect_vector<Self>(c.w[norm], "norm", width, false); !r) return r;
    std::uint32_t query_cols = width;
    if (c.w[q_a].present()) {
      if (auto r = expect_matrix<Self>(c.w[q_a], "q_a", width); !r) return r;
      query_cols = c.w[q_a].shape[0].extent;
      if (auto r = expect_vector<Self>(c.w[q_a_norm], "q_a_norm", query_cols, true); !r) return r;
    }
    if (auto r = expect_matrix<Self>(c.w[q], "q", query_cols); !r) return r;
    if (auto r = expect_matrix<Self>(c.w[kv], "kv", width); !r) return r;
    if (c.w[kv].shape[0] != Dim(MlaKvWrite::key_dim(p.kv)))
      return bad_shape<Self>("kv", "a row for each dim of the latent vector and of the rotated key", c.w[kv].shape);
    if (auto r = expect_vector<Self>(c.w[kv_norm], "kv_norm", p.kv.latent, true); !r) return r;
    const std::uint32_t turned = p.kv.rope.head_dim;
    const std::uint32_t query_rows = c.w[q].shape[0].extent;
    if (query_rows % p.heads != 0 || query_rows / p.heads <= turned)
      return bad_shape<Self>("q", "for each head more rows than rotate", c.w[q].shape);
    if (auto r = expect_by_head(c.w[k], "k", p.heads, query_rows / p.heads - turned); !r) return r;
    if (c.w[k].shape[1] != Dim(p.kv.latent))
      return bad_shape<Self>("k", "a row for each dim of the latent vector", c.w[k].shape);
    if (auto r = expect_by_head(c.w[v], "v", p.heads, p.kv.latent); !r) return r;
    if (auto r = expect_matrix<Self>(c.w[output], "output", p.heads * c.w[v].shape[1].extent); !r) return r;
    if (c.w[output].shape[0] != Dim(width))
      return bad_shape<Self>("output", "a row for each dim of x", c.w[output].shape);
    if (auto r = expect_kv<Self>(c.state, 1, MlaKvWrite::key_dim(p.kv), p.kv.latent); !r) return r;
    if (auto r = expect_kept<Self>(c.state, 0); !r) return r;
    out[0] = c.in[0].type;
    return {};
  }

  template <class G> static constexpr Result<Outputs<G, MlaAttention>> expand(G& g, const Call<G, MlaAttention>& c) {
    const Params& p = c.params;
    const std::uint32_t key_dim = MlaKvWrite::key_dim(p.kv);
    const auto normed = [&](auto x, auto weight) {
      const std::uint32_t dim = g.type_of(x).shape.last().extent;
      return g.template emit<RmsNorm>({.in = {x}, .w = {weight}, .params = {p.norm_eps, 0.0f, dim}})[0];
    };
    const auto linear = [&](auto x, auto weight) { return g.template emit<Linear>({.in = {x}, .w = {weight, {}}})[0]; };
    const auto x = c.w[norm].present() ? normed(c.in[0], c.w[norm]) : c.in[0];
    const auto before = c.w[q_a].present() ? normed(linear(x, c.w[q_a]), c.w[q_a_norm]) : x;
    const auto absorbed = g.template emit<LinearHeads>(
        {.in = {linear(before, c.w[q])}, .w = {c.w[k]}, .params = {p.heads, p.kv.rope.head_dim}})[0];
    RopeParams turn = p.kv.rope;
    turn.head_dim = key_dim;
    const auto query = g.template emit<Rope>({.in = {absorbed, c.in[1]}, .w = {c.w[factors]}, .params = turn})[0];
    (void)g.template emit<MlaKvWrite>(
        {.in = {linear(x, c.w[kv]), c.in[1]}, .w = {c.w[kv_norm], c.w[factors]}, .state = c.state, .params = p.kv});
    FlashAttnBatchedParams attention;
    attention.heads = p.heads;
    attention.kv_heads = 1;
    attention.key_dim = key_dim;
    attention.value_dim = p.kv.latent;
    attention.scale = p.scale;
    const auto mixed = g.template emit<FlashAttnBatched>({.in = {query}, .state = c.state, .params = attention})[0];
    const auto values = g.template emit<LinearHeads>({.in = {mixed}, .w = {c.w[v]}, .params = {p.heads}})[0];
    return g.template emit<Linear>({.in = {values}, .w = {c.w[output], {}}});
  }

 private:
  /// Demands a matrix of `cols` columns for each head.
  static constexpr Result<void> expect_by_head(const WeightInfo& w, std::string_view role, std::uint32_t heads,
                                               std::uint32_t cols) noexcept {
    if (!w.present()) return fail(Errc::missing_weight, "mla_attention: weight ", role, " is not bound");
    if (w.shape.rank != 3 || w.shape[0] != Dim(heads) || w.shape[1].symbol != 0)
      return bad_shape<MlaAttention>(role, "a matrix for each head", w.shape);
    return expect_matrix<MlaAttention>({true, w.dtype, Shape{w.shape[1], w.shape[2]}}, role, cols);
  }
};
static_assert(Op<MlaAttention> && !HasReference<MlaAttention>);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
