// SPDX-License-Identifier: Apache-2.0
// zrt/ops/ssm_delta_net.hpp: the gated delta rule over the tokens of a slot.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/recurrent_state.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/ops/slot_runs.hpp>
#include <zrt/quant/dot.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct SsmDeltaNetParams {
  std::uint32_t key_heads = 0;
  std::uint32_t value_heads = 0;
  std::uint32_t key_dim = 0;
  std::uint32_t value_dim = 0;
  StatePart state{};
  float norm_eps = 1e-6f;       ///< the least norm by which queries and keys are divided
  std::uint8_t alternates = 0;  ///< 0: value head h reads key head h / (value_heads / key_heads); 1: h % key_heads
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&SsmDeltaNetParams::key_heads, "key_heads"}, Member{&SsmDeltaNetParams::value_heads, "value_heads"},
      Member{&SsmDeltaNetParams::key_dim, "key_dim"}, Member{&SsmDeltaNetParams::value_dim, "value_dim"},
      Member{&SsmDeltaNetParams::state, "state"}, Member{&SsmDeltaNetParams::norm_eps, "norm_eps"},
      Member{&SsmDeltaNetParams::alternates, "alternates"}, Member{&SsmDeltaNetParams::reserved, "reserved"});

  /// The key head that a value head reads.
  [[nodiscard]] constexpr std::uint32_t key_head(std::uint32_t head) const noexcept {
    return alternates != 0 ? head % key_heads : head / (value_heads / key_heads);
  }
  /// Columns of a row of queries, keys and values.
  [[nodiscard]] constexpr std::uint64_t columns() const noexcept {
    return std::uint64_t{2} * key_heads * key_dim + std::uint64_t{value_heads} * value_dim;
  }
};

/// For each token of a slot and each value head, with q = q / max(|q|, eps) / sqrt(key_dim), k = k / max(|k|, eps):
/// S = S · exp(a · softplus(alpha + dt_bias)); v' = sigmoid(beta) · (v - S^T k); S = S + k v'^T; y = S^T q.
///
/// qkv f32 [T, 2·key_heads·key_dim + value_heads·value_dim]; beta and alpha f32 [T, value_heads], or both in `beta`
/// f32 [T, 2·value_heads]: for each key head first the betas of its value heads, then the alphas, and `alpha` is absent;
/// a, dt_bias f32 [value_heads] -> f32 [T, value_heads·value_dim]. key_dim at most 256. The state is a LaneMatrix
/// [key_dim, value_dim] for each value head.
///
/// Order: norms are dot16; S · decay is rounded; S^T k and S^T q are chains over key_dim from +0.
/// Source: Yang, Kautz and Hatamizadeh, "Gated Delta Networks".
struct SsmDeltaNet {
  using Params = SsmDeltaNetParams;
  static constexpr Opcode opcode{45};
  static constexpr std::string_view name = "ssm_delta_net";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"qkv"}, Role{"beta"}, Role{"alpha", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"a"}, Role{"dt_bias"}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::recurrent;

  /// The longest key: bounds what kernels keep of a row.
  static constexpr std::uint32_t kMaxKeyDim = 256;

  /// Floats of the state.
  [[nodiscard]] static constexpr CheckedSize state_size(const Params& p) noexcept {
    return CheckedSize(p.value_heads) * p.key_dim * p.value_dim;
  }

  static constexpr Result<void> infer(const TypeCall<SsmDeltaNet>& c, OutputTypes<SsmDeltaNet>& out) noexcept {
    const Params& p = c.params;
    const CheckedSize values = CheckedSize(p.value_heads) * p.value_dim;
    const CheckedSize columns = CheckedSize(2) * p.key_heads * p.key_dim + values;
    if (p.key_heads == 0 || p.value_heads == 0 || p.value_heads % p.key_heads != 0 || p.value_dim == 0)
      return bad_params<SsmDeltaNet>("value_heads must be a multiple of key_heads, nothing 0");
    if (p.key_dim == 0 || p.key_dim > kMaxKeyDim) return bad_params<SsmDeltaNet>("key_dim must be 1 to 256");
    if (p.alternates > 1) return bad_params<SsmDeltaNet>("alternates must be 0 or 1");
    if (!(p.norm_eps > 0.0f)) return bad_params<SsmDeltaNet>("norm_eps must be above 0");
    if (!columns.ok() || columns.raw() > 0xffffffffu || p.value_heads > 0x7fffffffu)
      return bad_params<SsmDeltaNet>("the columns do not fit 32 bits");
    const auto wide = [&](const InputInfo& in, CheckedSize cols) {
      return in.type.shape.rank == 2 && in.type.shape[1].symbol == 0 && in.type.shape[1].extent == cols.raw() &&
             in.type.shape[0] == c.in[0].type.shape[0];
    };
    if (auto r = expect_input<SsmDeltaNet>(c.in[0], "qkv", DType::f32, 2); !r) return r;
    if (auto r = expect_input<SsmDeltaNet>(c.in[1], "beta", DType::f32, 2); !r) return r;
    if (!wide(c.in[0], columns))
      return bad_shape<SsmDeltaNet>("qkv", "[tokens, 2 * key_heads * key_dim + value_heads * value_dim]",
                                    c.in[0].type.shape);
    if (!wide(c.in[1], c.in[2].present() ? p.value_heads : 2 * p.value_heads))
      return bad_shape<SsmDeltaNet>("beta", "[tokens, value_heads], with the alphas where alpha is absent",
                                    c.in[1].type.shape);
    if (c.in[2].present()) {
      if (auto r = expect_input<SsmDeltaNet>(c.in[2], "alpha", DType::f32, 2); !r) return r;
      if (!wide(c.in[2], p.value_heads))
        return bad_shape<SsmDeltaNet>("alpha", "[tokens, value_heads]", c.in[2].type.shape);
    }
    for (std::size_t i = 0; i < 2; ++i)
      if (auto r = expect_vector<SsmDeltaNet>(c.w[i], weight_roles[i].name, p.value_heads, true); !r) return r;
    if (auto r = expect_part<SsmDeltaNet>(c.state, p.state, state_size(p)); !r) return r;
    out[0] = {DType::f32, c.in[0].type.shape.with_last(static_cast<std::uint32_t>(values.raw()))};
    return {};
  }

  /// What gates a head's state at a token, as it comes in.
  struct Gates {
    float beta;
    float alpha;
  };
  [[nodiscard]] static Gates gates_of(const HostCall<SsmDeltaNet>& c, std::uint32_t row, std::uint32_t head) noexcept {
    const Params& p = c.params;
    if (c.in[2].present()) {
      const std::uint64_t at = std::uint64_t{row} * p.value_heads + head;
      return {c.in[1].as<float>()[at], c.in[2].as<float>()[at]};
    }
    const std::uint32_t each = p.value_heads / p.key_heads;
    const float* pair = c.in[1].as<float>() +
                        std::uint64_t{2} * (std::uint64_t{row} * p.value_heads + head / each * each) + head % each;
    return {pair[0], pair[each]};
  }
  /// 1 / max(sqrt(square), eps).
  [[nodiscard]] static float inverse_norm(float square, float eps) noexcept {
    return 1.0f / math::max(__builtin_sqrtf(square), eps);
  }
  /// The scale of queries.
  [[nodiscard]] static float query_scale(const Params& p) noexcept {
    return 1.0f / __builtin_sqrtf(static_cast<float>(p.key_dim));
  }

  static void reference(const HostCall<SsmDeltaNet>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Params& p = c.params;
    const std::uint32_t rows = c.in[0].rows(step);
    const LaneMatrix matrix{p.key_dim, p.value_dim};
    std::array<float, kMaxKeyDim> query;
    std::array<float, kMaxKeyDim> key;
    for (SlotRun run = run_at(step, 0, rows); run.rows != 0; run = run_at(step, run.first + run.rows, rows))
      for (std::uint32_t row = run.first; row < run.first + run.rows; ++row)
        for (std::uint32_t head = 0; head < p.value_heads; ++head) {
          const float* in = c.in[0].as<float>() + row * p.columns();
          const float* q = in + std::uint64_t{p.key_head(head)} * p.key_dim;
          const float* k = q + std::uint64_t{p.key_heads} * p.key_dim;
          const float* v = in + std::uint64_t{2} * p.key_heads * p.key_dim + std::uint64_t{head} * p.value_dim;
          const float of_query = inverse_norm(quant::dot16(q, q, p.key_dim), p.norm_eps);
          const float of_key = inverse_norm(quant::dot16(k, k, p.key_dim), p.norm_eps);
          for (std::uint32_t i = 0; i < p.key_dim; ++i) {
            query[i] = (q[i] * of_query) * query_scale(p);
            key[i] = k[i] * of_key;
          }
          const Gates raw = gates_of(c, row, head);
          const float dt = math::softplus(raw.alpha + c.w[1].f32()[head]);
          const float decay = math::exp(math::sealed(c.w[0].f32()[head] * dt));
          const float beta = math::sigmoid(raw.beta);
          float* s = p.state.of(c.state, run.slot) + std::uint64_t{head} * p.key_dim * p.value_dim;
          for (std::uint32_t j = 0; j < p.value_dim; ++j) {
            float found = 0.0f;
            for (std::uint32_t i = 0; i < p.key_dim; ++i) {
              float& at = s[matrix.at(i, j)];
              at = math::sealed(at * decay);
              found = __builtin_fmaf(at, key[i], found);
            }
            const float change = math::sealed(beta * (v[j] - found));
            float y = 0.0f;
            for (std::uint32_t i = 0; i < p.key_dim; ++i) {
              float& at = s[matrix.at(i, j)];
              at = __builtin_fmaf(key[i], change, at);
              y = __builtin_fmaf(at, query[i], y);
            }
            c.out[0].as<float>()[(std::uint64_t{row} * p.value_heads + head) * p.value_dim + j] = y;
          }
        }
  }
};
static_assert(Op<SsmDeltaNet> && HasReference<SsmDeltaNet>);

}  // namespace zrt::inline ZRT_ABI::ops
