// SPDX-License-Identifier: Apache-2.0
// zrt/ops/lora_add.hpp: what low-rank adapters add to a projection, each row by the adapter that it names.
#pragma once

#include <zrt/ops/projection.hpp>
#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

/// y + up[a] (down[a] x) for the adapter a of each row; a row of an adapter below 0 is y, bit for bit.
///
/// x f32 [T, K], y f32 [T, N], adapters si32 [T]; weights down f32 [adapters, rank, K] and up f32 [adapters, N, rank]
/// -> f32 [T, N]. Sums: dot16 over K, then over the rank; y is added last. An adapter that there is not reports
/// Errc::spec_violation, and its row is y. Source: Hu et al., LoRA, arXiv 2106.09685, section 4.1; the scale alpha / rank
/// is in `up`.
struct LoraAdd {
  using Params = NoParams;
  static constexpr Opcode opcode{113};
  static constexpr std::string_view name = "lora_add";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"y"}, Role{"adapters"}});
  static constexpr auto output_roles = std::to_array({Role{"sum"}});
  static constexpr auto weight_roles = std::to_array({Role{"down"}, Role{"up"}});
  static constexpr auto may_alias = std::to_array({Alias{0, 1}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  /// What an id says of a row that no adapter changes.
  static constexpr std::int32_t kNone = -1;

  static constexpr Result<void> infer(const TypeCall<LoraAdd>& c, OutputTypes<LoraAdd>& out) noexcept {
    if (auto r = expect_input<LoraAdd>(c.in[0], "x", DType::f32, 2); !r) return r;
    if (auto r = expect_input<LoraAdd>(c.in[1], "y", DType::f32, 2); !r) return r;
    if (auto r = expect_input<LoraAdd>(c.in[2], "adapters", DType::si32, 1); !r) return r;
    const Shape& x = c.in[0].type.shape;
    const Shape& y = c.in[1].type.shape;
    const Shape& adapters = c.in[2].type.shape;
    if (x.rank != 2 || x[1].symbol != 0) return bad_shape<LoraAdd>("x", "[tokens, width]", x);
    if (y.rank != 2 || y[0] != x[0] || y[1].symbol != 0) return bad_shape<LoraAdd>("y", "as many rows as x", y);
    if (adapters.rank != 1 || adapters[0] != x[0])
      return bad_shape<LoraAdd>("adapters", "as many elements as x has rows", adapters);
    if (auto r = expect_pool(c.w[0], "down", x[1]); !r) return r;
    const Shape& down = c.w[0].shape;
    if (auto r = expect_pool(c.w[1], "up", down[1]); !r) return r;
    const Shape& up = c.w[1].shape;
    if (up[0] != down[0] || up[1] != y[1]) return bad_shape<LoraAdd>("up", "[adapters, width of y, rank]", up);
    out[0] = c.in[1].type;
    return {};
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<LoraAdd>& c, const Extents&) noexcept {
    return CheckedSize(c.w[1].shape.last().extent) * sizeof(float);
  }

  /// The adapter of row `t`, or kNone; one that there is not is reported.
  [[nodiscard]] static std::int32_t adapter_of(const HostCall<LoraAdd>& c, std::uint32_t t,
                                               const ExecutionContext& step, const Worker& worker) noexcept {
    const std::int32_t adapter = c.in[2].as<std::int32_t>()[t];
    const std::uint32_t count = c.w[0].rows / c.w[1].cols;
    if (adapter < 0) return kNone;
    if (static_cast<std::uint32_t>(adapter) < count) return adapter;
    step.violated_row(worker, c.in[2].type.shape[0], t);
    return kNone;
  }

  static void reference(const HostCall<LoraAdd>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const std::uint32_t cols = c.w[0].cols;
    const std::uint32_t rank = c.w[1].cols;
    const std::uint32_t outputs = c.in[1].cols(step);
    auto* hidden = reinterpret_cast<float*>(worker.scratch.data());
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t) {
      const float* x = c.in[0].as<float>() + std::uint64_t{t} * cols;
      const float* y = c.in[1].as<float>() + std::uint64_t{t} * outputs;
      float* sum = c.out[0].as<float>() + std::uint64_t{t} * outputs;
      if (sum != y) std::memcpy(sum, y, outputs * sizeof(float));
      const std::int32_t adapter = adapter_of(c, t, step, worker);
      if (adapter == kNone) continue;
      const auto at = static_cast<std::uint64_t>(adapter);
      for (std::uint32_t k = 0; k < rank; ++k) hidden[k] = quant::dot16(f32_row(c.w[0], at * rank + k), x, cols);
      for (std::uint32_t n = 0; n < outputs; ++n)
        sum[n] += quant::dot16(f32_row(c.w[1], at * outputs + n), hidden, rank);
    }
  }

 private:
  /// Demands matrices of f32, one for each adapter, whose rows have `cols` elements.
  static constexpr Result<void> expect_pool(const WeightInfo& pool, std::string_view role, Dim cols) noexcept {
    if (!pool.present()) return fail(Errc::missing_weight, "lora_add: weight ", role, " is not bound");
    if (pool.dtype != DType::f32) return bad_dtype<LoraAdd>(role, "f32", pool.dtype);
    if (pool.shape.rank != 3 || pool.shape[2] != cols || pool.shape[0].symbol != 0 || pool.shape[0].extent == 0 ||
        pool.shape[1].symbol != 0 || pool.shape[1].extent == 0)
      return bad_shape<LoraAdd>(role, "a matrix for each adapter, with rows as long as what it multiplies", pool.shape);
    return {};
  }
  [[nodiscard]] static const float* f32_row(const HostWeight& w, std::uint64_t row) noexcept {
    return reinterpret_cast<const float*>(w.row(row));
  }
};
static_assert(Op<LoraAdd> && HasReference<LoraAdd>);

}  // namespace zrt::inline ZRT_ABI::ops
