// SPDX-License-Identifier: Apache-2.0
// zrt/ops/ssm_scan.hpp: Mamba's selective scan, of its first and second form.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/recurrent_state.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/ops/slot_runs.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct SsmScanParams {
  std::uint32_t heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t groups = 1;
  std::uint32_t states = 0;
  StatePart state{};
  std::uint8_t by_channel = 0;  ///< 1: dt, a, d and dt_bias are of channels, as in Mamba 1; 0: of heads
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&SsmScanParams::heads, "heads"}, Member{&SsmScanParams::head_dim, "head_dim"},
                 Member{&SsmScanParams::groups, "groups"}, Member{&SsmScanParams::states, "states"},
                 Member{&SsmScanParams::state, "state"}, Member{&SsmScanParams::by_channel, "by_channel"},
                 Member{&SsmScanParams::reserved, "reserved"});

  [[nodiscard]] constexpr std::uint32_t channels() const noexcept { return heads * head_dim; }
};

/// For each token of a slot and each channel, with dt = softplus(dt_in + dt_bias) and states n:
/// s[n] = s[n] · exp(dt · a[n]) + B[n] · (x · dt); y = sum over n of C[n] · s[n], + d · x.
///
/// x f32 [T, D], D = heads · head_dim, or [T, D + 2·groups·states] with B and C behind each row, then `bc` is absent;
/// bc f32 [T, 2·groups·states], B before C; dt f32 [T, D or heads] -> f32 [T, D]. a f32 [D, states] or [heads], d and
/// dt_bias f32 [D] or [heads]; heads of a group share B and C. At most 256 states. A column of ones may follow [heads].
/// The state is a LaneMatrix [states, head_dim] for each head.
///
/// Order: B·(x·dt) is rounded, then added to s by one fma with the decay; y is a chain over n from +0, d·x fused last.
/// Source: Gu and Dao, "Mamba"; Dao and Gu, "Transformers are SSMs".
struct SsmScan {
  using Params = SsmScanParams;
  static constexpr Opcode opcode{59};
  static constexpr std::string_view name = "ssm_scan";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"dt"}, Role{"bc", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = std::to_array({Role{"a"}, Role{"d"}, Role{"dt_bias", true}});
  enum Weight : std::size_t { a, d, dt_bias };
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::recurrent;

  /// The most states: bounds what kernels keep of a tile.
  static constexpr std::uint32_t kMaxStates = 256;

  /// Floats of the state.
  [[nodiscard]] static constexpr CheckedSize state_size(const Params& p) noexcept {
    return CheckedSize(p.heads) * p.head_dim * p.states;
  }

  /// Demands an f32 table of `rows` rows of `cols`; one of single columns may be a vector.
  static constexpr Result<void> expect_table(const WeightInfo& w, std::string_view role, std::uint32_t rows,
                                             std::uint32_t cols) noexcept {
    if (w.present() && w.dtype == DType::f32 && w.shape.rank == 2 && w.shape[0] == Dim(rows) && w.shape[1] == Dim(cols))
      return {};
    if (cols == 1) return expect_vector<SsmScan>(w, role, rows, true);
    if (!w.present()) return fail(Errc::missing_weight, "ssm_scan: weight ", role, " is not bound");
    if (w.dtype != DType::f32) return bad_dtype<SsmScan>(role, "f32", w.dtype);
    return bad_shape<SsmScan>(role, "[channels, states]", w.shape);
  }

  static constexpr Result<void> infer(const TypeCall<SsmScan>& c, OutputTypes<SsmScan>& out) noexcept {
    const Params& p = c.params;
    const CheckedSize channels = CheckedSize(p.heads) * p.head_dim;
    const CheckedSize shared = CheckedSize(2) * p.groups * p.states;
    const CheckedSize whole = channels + shared;
    if (p.heads == 0 || p.head_dim == 0 || p.groups == 0 || p.heads % p.groups != 0)
      return bad_params<SsmScan>("heads must be a multiple of groups, none of them 0");
    if (p.states == 0 || p.states > kMaxStates) return bad_params<SsmScan>("states must be 1 to 256");
    if (p.by_channel > 1) return bad_params<SsmScan>("by_channel must be 0 or 1");
    if (!whole.ok() || whole.raw() > 0xffffffffu) return bad_params<SsmScan>("the channels do not fit 32 bits");
    const auto wide = [&](const InputInfo& in, CheckedSize cols) {
      return in.type.shape.rank == 2 && in.type.shape[1].symbol == 0 && in.type.shape[1].extent == cols.raw() &&
             in.type.shape[0] == c.in[0].type.shape[0];
    };
    if (auto r = expect_input<SsmScan>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (auto r = expect_input<SsmScan>(c.in[1], "dt", DType::f32, 2); !r) return r;
    if (!wide(c.in[0], c.in[2].present() ? channels : whole))
      return bad_shape<SsmScan>("x", "[tokens, channels], with B and C behind them where bc is absent",
                                c.in[0].type.shape);
    const std::uint32_t tables = p.by_channel != 0 ? p.channels() : p.heads;
    if (!wide(c.in[1], tables)) return bad_shape<SsmScan>("dt", "[tokens, heads or channels]", c.in[1].type.shape);
    if (c.in[2].present()) {
      if (auto r = expect_input<SsmScan>(c.in[2], "bc", DType::f32, 2); !r) return r;
      if (!wide(c.in[2], shared)) return bad_shape<SsmScan>("bc", "[tokens, 2 * groups * states]", c.in[2].type.shape);
    }
    if (auto r = expect_table(c.w[a], "a", tables, p.by_channel != 0 ? p.states : 1); !r) return r;
    if (auto r = expect_table(c.w[d], "d", tables, 1); !r) return r;
    if (auto r = expect_vector<SsmScan>(c.w[dt_bias], "dt_bias", tables, false); !r) return r;
    if (auto r = expect_part<SsmScan>(c.state, p.state, state_size(p)); !r) return r;
    out[0] = {DType::f32, c.in[0].type.shape.with_last(p.channels())};
    return {};
  }

  /// B of a row and a head's group; C lies groups · states further.
  [[nodiscard]] static const float* b_of(const HostCall<SsmScan>& c, std::uint32_t row, std::uint32_t head) noexcept {
    const Params& p = c.params;
    const std::uint64_t shared = std::uint64_t{2} * p.groups * p.states;
    const std::uint64_t group = head / (p.heads / p.groups);
    const float* b = c.in[2].present() ? c.in[2].as<float>() + row * shared
                                       : c.in[0].as<float>() + row * (p.channels() + shared) + p.channels();
    return b + group * p.states;
  }
  /// The channels of a row.
  [[nodiscard]] static const float* x_of(const HostCall<SsmScan>& c, std::uint32_t row) noexcept {
    const Params& p = c.params;
    const std::uint64_t shared = c.in[2].present() ? 0 : std::uint64_t{2} * p.groups * p.states;
    return c.in[0].as<float>() + row * (p.channels() + shared);
  }

  static void reference(const HostCall<SsmScan>& c, const ExecutionContext& step, const Worker&) noexcept {
    const Params& p = c.params;
    const std::uint32_t tables = p.by_channel != 0 ? p.channels() : p.heads;
    const std::uint32_t rows = c.in[0].rows(step);
    const LaneMatrix matrix{p.states, p.head_dim};
    for (SlotRun run = run_at(step, 0, rows); run.rows != 0; run = run_at(step, run.first + run.rows, rows)) {
      float* state = p.state.of(c.state, run.slot);
      for (std::uint32_t row = run.first; row < run.first + run.rows; ++row)
        for (std::uint32_t channel = 0; channel < p.channels(); ++channel) {
          const std::uint32_t head = channel / p.head_dim;
          const std::uint32_t table = p.by_channel != 0 ? channel : head;
          float* s = state + std::uint64_t{head} * p.head_dim * p.states;
          const float* b = b_of(c, row, head);
          const float* out = b + std::uint64_t{p.groups} * p.states;
          float raw = c.in[1].as<float>()[std::uint64_t{row} * tables + table];
          if (c.w[dt_bias].present()) raw = raw + c.w[dt_bias].f32()[table];
          const float dt = math::softplus(raw);
          const float x = x_of(c, row)[channel];
          const float dx = math::sealed(x * dt);
          float y = 0.0f;
          for (std::uint32_t n = 0; n < p.states; ++n) {
            const float rate = c.w[a].f32()[p.by_channel != 0 ? std::uint64_t{table} * p.states + n : table];
            const float decay = math::exp(math::sealed(dt * rate));
            float& at = s[matrix.at(n, channel % p.head_dim)];
            at = __builtin_fmaf(at, decay, math::sealed(b[n] * dx));
            y = __builtin_fmaf(at, out[n], y);
          }
          c.out[0].as<float>()[std::uint64_t{row} * p.channels() + channel] = __builtin_fmaf(c.w[d].f32()[table], x, y);
        }
    }
  }
};
static_assert(Op<SsmScan> && HasReference<SsmScan>);

}  // namespace zrt::inline ZRT_ABI::ops
