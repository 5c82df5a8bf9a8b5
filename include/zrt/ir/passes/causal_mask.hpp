// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/causal_mask.hpp: constant masks that only say "no key after the query" become attention's own flag.
#pragma once

#include <zrt/ir/passes/pattern.hpp>
#include <zrt/ops/attention.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// Scores are taken to be above this in magnitude by nothing but masks: what is added or put in their
/// place from here down hides a key, as -infinity does. Exporters use -infinity and the lowest f32.
inline constexpr float kHidden = -1e30f;

/// What stands in the place of a score, whatever that was, from here down hides a key where scores are multiplied
/// by 0 first: they are taken to be above -1e9.
inline constexpr float kFarBelow = -2e9f;

/// The weight with the [queries, keys] entries of `v`, the same for all leading axes; kNone when it is no constant.
[[nodiscard]] inline std::uint32_t constant_matrix(const Pattern& p, std::uint32_t v, Dim queries, Dim keys) noexcept {
  const Rewriter& r = p.rewriter();
  for (;;) {
    const Shape shape = p.type(v).shape;
    if (shape.rank < 2 || shape[shape.rank - 2u] != queries || shape.last() != keys) return kNone;
    const std::uint32_t node = r.producer(v);
    if (!r.params<ops::BroadcastTo>(node)) break;
    v = p.graph().node_inputs(p.graph().nodes[node])[0];
  }
  const Shape shape = p.type(v).shape;
  for (std::size_t axis = 0; axis + 2 < shape.rank; ++axis)
    if (shape[axis] != Dim(1)) return kNone;
  return p.constant(v);
}

/// True when `hides(entry)` holds for exactly the keys after each query.
template <class T, class F>
[[nodiscard]] bool hides_later_keys(Span<const std::byte> data, Dim queries, Dim keys, F&& hides) noexcept {
  for (std::size_t i = 0; i < queries.extent; ++i)
    for (std::size_t j = 0; j < keys.extent; ++j) {
      T entry{};
      std::memcpy(&entry, data.data() + (i * keys.extent + j) * sizeof(T), sizeof(T));
      if (!hides(entry, j > i)) return false;
    }
  return true;
}

/// `mask`, which is added to scores, is 0 up to the query and hides all keys after it.
[[nodiscard]] inline bool is_causal_sum(const Pattern& p, std::uint32_t mask, Dim queries, Dim keys) noexcept {
  const std::uint32_t weight = constant_matrix(p, mask, queries, keys);
  if (weight == kNone || p.graph().weights[weight].dtype != DType::f32) return false;
  return hides_later_keys<float>(p.data_of(weight), queries, keys,
                                 [](float x, bool later) { return later ? x <= kHidden : x == 0.0f; });
}

/// `mask`, of i1, is true up to the query and false after it, or the other way round when `inverted`.
[[nodiscard]] inline bool is_causal_choice(const Pattern& p, std::uint32_t mask, Dim queries, Dim keys,
                                           bool inverted) noexcept {
  const std::uint32_t weight = constant_matrix(p, mask, queries, keys);
  if (weight == kNone || p.graph().weights[weight].dtype != DType::i1) return false;
  return hides_later_keys<std::uint8_t>(p.data_of(weight), queries, keys,
                                        [&](std::uint8_t x, bool later) { return (x != 0) == (later == inverted); });
}

/// `taken` is 1 and `shift` 0 up to the query; after it `taken` is 0 and sign · `shift` is at most kFarBelow: then
/// scores · taken + sign · shift is causal, as GPT-2 wrote it first.
[[nodiscard]] inline bool is_causal_product(const Pattern& p, std::uint32_t taken, std::uint32_t shift, float sign,
                                            Dim queries, Dim keys) noexcept {
  const std::uint32_t factors = constant_matrix(p, taken, queries, keys);
  const std::uint32_t shifts = constant_matrix(p, shift, queries, keys);
  if (factors == kNone || shifts == kNone) return false;
  if (p.graph().weights[factors].dtype != DType::f32 || p.graph().weights[shifts].dtype != DType::f32) return false;
  return hides_later_keys<float>(p.data_of(factors), queries, keys,
                                 [](float x, bool later) { return x == (later ? 0.0f : 1.0f); }) &&
         hides_later_keys<float>(p.data_of(shifts), queries, keys,
                                 [&](float x, bool later) { return later ? x * sign <= kFarBelow : x == 0.0f; });
}

}  // namespace detail

/// Lets attention take its constant mask in as `causal` where that says the same. The same bits.
[[nodiscard]] inline Result<bool> absorb_causal_mask(Graph& g, const PassContext& context) noexcept {
  return rewrite_nodes(g, context, [](Rewriter& r, std::uint32_t node) -> Result<void> {
    auto params = r.params<ops::Attention>(node);
    if (!params) return {};
    const auto inputs = r.graph().node_inputs(r.graph().nodes[node]);
    const std::array<std::uint32_t, 4> in{inputs[0], inputs[1], inputs[2], inputs[3]};
    if (in[3] == kNone) return {};
    const Pattern p(r, node);
    const Shape q = p.type(in[0]).shape;
    const Shape k = p.type(in[1]).shape;
    if (!detail::is_causal_sum(p, in[3], q[q.rank - 2u], k[k.rank - 2u])) return {};
    params->causal = 1;
    const auto done = r.replace<ops::Attention>(node, {in[0], in[1], in[2], kNone}, {}, *params);
    return done ? Result<void>() : pass(done);
  });
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
