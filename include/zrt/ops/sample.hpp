// SPDX-License-Identifier: Apache-2.0
// zrt/ops/sample.hpp: one token per row of logits, by each row's own request.
#pragma once

#include <zrt/ops/sampling.hpp>
#include <zrt/ops/shape_rule.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

/// logits f32 [R, V], requests ui32 [R, 16], history si32 [R, H], bias_ids si32 [R, K], bias f32 [R, K]
/// -> si32 [R]; a row whose request is not active gives -1, and so does one of whose tokens each is -infinity, as biases
/// forbid them. All samplers, one algorithm.
///
/// A row of logits without a number, and one whose request asks for more history or biases than there are, reports
/// Errc::spec_violation.
struct Sample {
  using Params = NoParams;
  static constexpr Opcode opcode{50};
  static constexpr std::string_view name = "sample";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles =
      std::to_array({Role{"logits"}, Role{"requests"}, Role{"history"}, Role{"bias_ids"}, Role{"bias"}});
  static constexpr auto output_roles = std::to_array({Role{"token"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Sample>& c, OutputTypes<Sample>& out) noexcept {
    constexpr std::array<DType, 5> dtypes{DType::f32, DType::ui32, DType::si32, DType::si32, DType::f32};
    for (std::size_t i = 0; i < 5; ++i) {
      if (auto r = expect_input<Sample>(c.in[i], input_roles[i].name, dtypes[i], 2); !r) return r;
      const Shape& shape = c.in[i].type.shape;
      if (shape.rank != 2 || shape[0] != c.in[0].type.shape[0] || shape[1].symbol != 0)
        return bad_shape<Sample>(input_roles[i].name, "[rows, constant]", shape);
    }
    if (c.in[0].type.shape[1].extent == 0) return bad_shape<Sample>("logits", "a vocabulary", c.in[0].type.shape);
    if (c.in[1].type.shape[1] != Dim(kSampleRequestWords))
      return bad_shape<Sample>("requests", "16 words per row", c.in[1].type.shape);
    if (c.in[3].type.shape != c.in[4].type.shape)
      return bad_shape<Sample>("bias", "the shape of bias_ids", c.in[4].type.shape);
    out[0] = {DType::si32, Shape{c.in[0].type.shape[0]}};
    return {};
  }

  /// A copy of a row's logits and its candidates.
  static constexpr CheckedSize reference_scratch(const TypeCall<Sample>& c, const Extents&) noexcept {
    return CheckedSize(c.in[0].type.shape[1].extent) * (sizeof(float) + sizeof(Candidate));
  }

  /// Whether a row's request asks for more history or biases than there are.
  static bool asks_too_much(const HostCall<Sample>& c, const ExecutionContext& step, const SampleRequest& r) noexcept {
    return r.history > c.in[2].cols(step) || r.biases > c.in[3].cols(step);
  }

  static void row(const HostCall<Sample>& c, const ExecutionContext& step, std::uint64_t at, const Worker& worker,
                  Span<std::byte> scratch) noexcept {
    SampleRequest request;
    std::memcpy(&request, c.in[1].data + at * sizeof(SampleRequest), sizeof request);
    std::int32_t& token = c.out[0].as<std::int32_t>()[at];
    token = -1;
    if (request.active == 0) return;
    const std::uint32_t vocabulary = c.in[0].cols(step);
    const std::uint32_t histories = c.in[2].cols(step);
    const std::uint32_t biases = c.in[3].cols(step);
    if (asks_too_much(c, step, request)) {
      step.violated_row(worker, c.out[0].type.shape[0], at);
      return;
    }
    auto* logits = reinterpret_cast<float*>(scratch.data());
    auto* list = reinterpret_cast<Candidate*>(logits + vocabulary);
    std::memcpy(logits, c.in[0].as<float>() + at * vocabulary, vocabulary * sizeof(float));
    token =
        sampling::sample(request, {logits, vocabulary}, {c.in[2].as<std::int32_t>() + at * histories, request.history},
                         {c.in[3].as<std::int32_t>() + at * biases, request.biases},
                         {c.in[4].as<float>() + at * biases, request.biases}, {list, vocabulary});
    check_choice(c, step, at, worker);
  }

  /// Reports a row whose token was chosen for want of a number: a NaN is chosen from NaNs alone. One that was chosen from
  /// infinities of which none may be drawn is taken back.
  static void check_choice(const HostCall<Sample>& c, const ExecutionContext& step, std::uint64_t at,
                           const Worker& worker) noexcept {
    std::int32_t& token = c.out[0].as<std::int32_t>()[at];
    if (token < 0) return;
    const float logit = c.in[0].as<float>()[at * c.in[0].cols(step) + static_cast<std::uint32_t>(token)];
    if (logit != logit) step.violated_row(worker, c.out[0].type.shape[0], at);
    if (sampling::is_forbidden(logit)) token = -1;
  }

  static void reference(const HostCall<Sample>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    for (std::uint64_t at = 0; at < c.out[0].elements(step); ++at) row(c, step, at, worker, worker.scratch);
  }
};
static_assert(Op<Sample>);

}  // namespace zrt::inline ZRT_ABI::ops
