// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_attention.hpp: attention over heads, with masks, windows and a cache, and rotary positions.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// x [B, S, H * D] as [B, H, S, D]; one of four axes is that already.
[[nodiscard]] inline Tensor by_heads(NodeCall& n, const Tensor& x, std::int64_t heads) noexcept {
  const IntList shape = n.shape(x);
  if (shape.size() == 4) return x;
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0) {
    n.fail(Errc::shape_mismatch, "an operand of ", shape.size(), " axes and width ", shape.size() > 2 ? shape[2] : 0,
           " has no ", heads, " heads, expected [batch, sequence, heads * size]");
    return x;
  }
  return transpose(reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}
/// The inverse: [B, H, S, D] as [B, S, H * D].
[[nodiscard]] inline Tensor joined_heads(NodeCall& n, const Tensor& x) noexcept {
  const IntList shape = n.shape(x);
  return reshape(transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

/// How scores become probabilities.
struct ScoreRules {
  double scale = 1;
  double softcap = 0;             ///< 0: none
  std::optional<Tensor> allowed;  ///< i1, broadcasts to the scores: false scores count for nothing
  std::optional<Tensor> bias;     ///< floats, broadcast to the scores: added
  DType softmax = DType::f32;     ///< the type in which the softmax is taken
};
struct AttentionSteps {
  Tensor raw;            ///< scaled products
  Tensor capped;         ///< after the soft cap
  Tensor biased;         ///< after bias and mask
  Tensor probabilities;  ///< a row whose scores are all masked is zero
  Tensor y;              ///< [B, H, S, D of v]
};

/// softmax(cap(q k^T scale) + bias) v over q [B, H, S, D], k [B, G, T, D], v [B, G, T, E]; head h reads head h / (H / G).
[[nodiscard]] inline AttentionSteps attend(NodeCall& n, const Tensor& q, const Tensor& k, const Tensor& v,
                                           const ScoreRules& rules) noexcept {
  Builder& b = n.b();
  const IntList qs = n.shape(q);
  const IntList ks = n.shape(k);
  const IntList vs = n.shape(v);
  AttentionSteps steps{q, q, q, q, q};
  if (n.failed()) return steps;
  const bool fits = qs.size() == 4 && ks.size() == 4 && vs.size() == 4 && ks[1] > 0 && qs[1] % ks[1] == 0 &&
                    qs[3] == ks[3] && ks[1] == vs[1] && ks[2] == vs[2];
  if (!fits) {
    n.fail(Errc::shape_mismatch, "q, k and v must be [B, H, S, D], [B, G, T, D] and [B, G, T, E] with G dividing H");
    return steps;
  }
  const std::int64_t group = qs[1] / ks[1];
  const IntList scores_shape{qs[0], qs[1], qs[2], ks[2]};
  // Heads that share keys are rows of one product.
  const auto grouped = [&](const Tensor& x, std::int64_t last) {
    return group == 1 ? x : reshape(x, {qs[0], ks[1], group * qs[2], last});
  };
  // In f16 the products would leave its range before they are scaled.
  const bool narrow = q.dtype() == DType::f16;
  const Tensor product = dot(grouped(narrow ? q * rules.scale : q, qs[3]), k, {0, 1}, {0, 1}, {3}, {3});
  steps.raw = narrow ? reshape(product, scores_shape) : reshape(product, scores_shape) * rules.scale;
  steps.capped = rules.softcap > 0 ? b.tanh(steps.raw / rules.softcap) * rules.softcap : steps.raw;
  Tensor scores = as_type(steps.capped, rules.softmax);
  if (rules.bias) scores = scores + as_type(*rules.bias, rules.softmax);
  const Tensor least = b.scalar(rules.softmax, -std::numeric_limits<double>::infinity());
  if (rules.allowed) scores = b.select(*rules.allowed, scores, least);
  steps.biased = as_type(scores, q.dtype());
  Tensor most = reduce(kMax, scores, {3}, true);
  const bool masked = rules.allowed || rules.bias;
  // Where every score is -inf nothing is subtracted, and the sum of 0 divides nothing.
  if (masked) most = b.select(b.eq(most, least), scalar_like(most, 0), most);
  const Tensor weights = b.exp(scores - most);
  Tensor sum = reduce(kSum, weights, {3}, true);
  if (masked) sum = b.select(b.eq(sum, scalar_like(sum, 0)), scalar_like(sum, 1), sum);
  steps.probabilities = as_type(weights / sum, q.dtype());
  const Tensor y = dot(grouped(steps.probabilities, ks[2]), v, {0, 1}, {0, 1}, {3}, {2});
  steps.y = reshape(y, {qs[0], qs[1], qs[2], vs[3]});
  return steps;
}

/// Which keys a query may read by their places alone.
struct KeyRange {
  std::optional<std::int64_t> left, right;  ///< how far behind and ahead of the query; none: unbounded
};
/// i1 that broadcasts to [B, H, S, T]: true where key j is within the range around place i + offset, `offset` one
/// number or [B, 1, 1, 1].
[[nodiscard]] inline Tensor keys_in_range(NodeCall& n, std::int64_t queries, std::int64_t keys, const Tensor& offset,
                                          const KeyRange& range) noexcept {
  Builder& b = n.b();
  const ptir::Shape plane{Dim(1), Dim(1), Dim(queries), Dim(keys)};
  const Tensor ahead = b.iota(plane, DType::si64, 3) - (b.iota(plane, DType::si64, 2) + offset);
  std::optional<Tensor> allowed;
  if (range.right) allowed = b.le(ahead, whole(b, *range.right));
  if (range.left) {
    const Tensor near = b.ge(ahead, whole(b, -*range.left));
    allowed = allowed ? b.mul(*allowed, near) : near;
  }
  return *allowed;
}
[[nodiscard]] inline std::optional<Tensor> both(const std::optional<Tensor>& a, const Tensor& c) noexcept {
  return a ? a->builder().mul(*a, c) : c;
}
/// x with `element` behind the last axis, up to `extent`.
[[nodiscard]] inline Tensor padded_last(NodeCall& n, const Tensor& x, std::int64_t extent, double element) noexcept {
  const IntList shape = n.shape(x);
  const std::int64_t lacking = shape.empty() ? 0 : extent - shape[shape.size() - 1];
  if (lacking <= 0) return x;
  IntList high = IntList::of(shape.size(), 0);
  high[shape.size() - 1] = lacking;
  const IntList none = IntList::of(shape.size(), 0);
  return pad(x, none, high, none, scalar_like(x, element));
}

/// ai.onnx's Attention: keys of a cache come before those of the call.
inline void attention(NodeCall& n) noexcept {
  Builder& b = n.b();
  const bool flat = n.rank(0) == 3;
  const Tensor q = by_heads(n, n.in(0), n.integer("q_num_heads", 0));
  Tensor k = by_heads(n, n.in(1), n.integer("kv_num_heads", 0));
  Tensor v = by_heads(n, n.in(2), n.integer("kv_num_heads", 0));
  if (n.failed()) return;
  if (n.has(4) && n.has(6)) return n.fail(Errc::invalid_file, "past_key and nonpad_kv_seqlen exclude each other");
  if (n.has(4) != n.has(5)) return n.fail(Errc::invalid_file, "past_key and past_value come together");
  const std::int64_t past = n.has(4) ? n.shape(4)[2] : 0;
  if (n.has(4)) {
    k = concat(std::to_array({n.in(4), k}), 2, b);
    v = concat(std::to_array({n.in(5), v}), 2, b);
  }
  n.out(1, k);
  n.out(2, v);
  const IntList qs = n.shape(q);
  const IntList ks = n.shape(k);
  if (n.failed() || qs.size() != 4 || ks.size() != 4) return n.fail(Errc::shape_mismatch, "q and k must have heads");
  ScoreRules rules;
  rules.scale = n.real("scale", 1 / __builtin_sqrt(static_cast<double>(qs[3])));
  rules.softcap = n.real("softcap", 0);
  rules.softmax = default_accumulator(q.dtype());
  if (n.has_attribute("softmax_precision")) {
    const auto type = dtype_of(n.integer("softmax_precision", 1));
    if (!type) return n.fail(type.error());
    if (!is_float(*type)) return n.fail(Errc::invalid_params, "softmax_precision is ", name(*type));
    rules.softmax = *type;
  }
  if (n.has(3)) {
    const Tensor mask = n.in(3);
    if (mask.dtype() == DType::i1)
      rules.allowed = padded_last(n, mask, ks[2], 0);
    else
      rules.bias = padded_last(n, mask, ks[2], -std::numeric_limits<double>::infinity());
  }
  KeyRange range;
  const std::int64_t left = n.integer("left_window_size", -1);
  const std::int64_t right = n.integer("right_window_size", -1);
  if (left < -1 || right < -1) return n.fail(Errc::invalid_params, "a window is below -1");
  if (left >= 0) range.left = left;
  if (right >= 0) range.right = right;
  if (n.integer("is_causal", 0) != 0) range.right = 0;
  Tensor offset = whole(b, past);
  if (n.has(6)) {
    const Tensor lengths = reshape(b.cast(n.in(6), DType::si64), {qs[0], 1, 1, 1});
    const ptir::Shape row{Dim(1), Dim(1), Dim(1), Dim(ks[2])};
    rules.allowed = both(rules.allowed, b.lt(b.iota(row, DType::si64, 3), lengths));
    offset = lengths - whole(b, qs[2]);
  }
  if (range.left || range.right) rules.allowed = both(rules.allowed, keys_in_range(n, qs[2], ks[2], offset, range));
  const AttentionSteps steps = attend(n, q, k, v, rules);
  if (n.failed()) return;
  n.out(0, flat ? joined_heads(n, steps.y) : steps.y);
  switch (n.integer("qk_matmul_output_mode", 0)) {
    case 0:
      return n.out(3, steps.raw);
    case 1:
      return n.out(3, steps.capped);
    case 2:
      return n.out(3, steps.biased);
    case 3:
      return n.out(3, steps.probabilities);
    default:
      return n.fail(Errc::invalid_params, "qk_matmul_output_mode is ", n.integer("qk_matmul_output_mode", 0));
  }
}

/// Turns the first `turned` elements of each head of x [B, S, H, D] by cosine and sine [B, S, turned / 2] or [S, turned / 2].
[[nodiscard]] inline Tensor rotated(NodeCall& n, const Tensor& x, const Tensor& cosine, const Tensor& sine,
                                    std::int64_t turned, bool interleaved) noexcept {
  Builder& b = n.b();
  const IntList shape = n.shape(x);
  const std::int64_t half = turned / 2;
  const auto table = [&](const Tensor& t) {
    const IntList s = n.shape(t);
    const std::int64_t row = half * shape[1];
    if (s.empty() || s[s.size() - 1] != half || row < 1 || product(s) < 1 || product(s) % row != 0)
      n.fail(Errc::shape_mismatch, "a table of angles has ", s.empty() ? 0 : s[s.size() - 1], " columns, expected ",
             half);
    if (n.failed()) return t;
    return reshape(t, {product(s) / (half * shape[1]), shape[1], 1, half});
  };
  const Tensor c = table(cosine);
  const Tensor s = table(sine);
  if (n.failed()) return x;
  const Tensor part = slice_axis(x, shape, 3, 0, turned);
  IntList pairs{shape[0], shape[1], shape[2], 2, half};
  if (interleaved) pairs = {shape[0], shape[1], shape[2], half, 2};
  const std::size_t axis = interleaved ? 4 : 3;
  const Tensor split = reshape(part, pairs);
  const IntList halves{shape[0], shape[1], shape[2], half};
  const Tensor first = reshape(slice_axis(split, pairs, axis, 0, 1), halves);
  const Tensor second = reshape(slice_axis(split, pairs, axis, 1, 1), halves);
  IntList single = pairs;
  single[axis] = 1;
  const Tensor real = reshape(c * first - s * second, single);
  const Tensor imaginary = reshape(s * first + c * second, single);
  const Tensor turn = reshape(concat(std::to_array({real, imaginary}), static_cast<std::int64_t>(axis), b),
                              {shape[0], shape[1], shape[2], turned});
  if (turned == shape[3]) return turn;
  return concat(std::to_array({turn, slice_axis(x, shape, 3, turned, shape[3] - turned)}), 3, b);
}
/// Rotary positions of x, [B, S, H * D] or [B, H, S, D]; `x`, tables and positions are the operands of these numbers.
inline void rotary(NodeCall& n, std::size_t cosine, std::size_t sine, std::size_t positions) noexcept {
  const IntList shape = n.shape(0);
  const bool flat = shape.size() == 3;
  const IntList tables = n.shape(cosine);
  if (n.failed() || tables.empty()) return n.fail(Errc::shape_mismatch, "a table of angles has no axis");
  std::int64_t turned = n.integer("rotary_embedding_dim", 0);
  std::int64_t heads = n.integer("num_heads", 0);
  if (flat && heads == 0) {
    const std::int64_t size = turned != 0 ? turned : 2 * tables[tables.size() - 1];
    heads = size < 1 ? 0 : shape[2] / size;
  }
  if (flat && (heads < 1 || shape[2] % heads != 0))
    return n.fail(Errc::shape_mismatch, "x of width ", shape[2], " has no ", heads, " heads");
  if (!flat && shape.size() != 4) return n.fail(Errc::shape_mismatch, "x has ", shape.size(), " axes, expected 3 or 4");
  const Tensor x =
      flat ? reshape(n.in(0), {shape[0], shape[1], heads, shape[2] / heads}) : transpose(n.in(0), {0, 2, 1, 3});
  const std::int64_t size = flat ? shape[2] / heads : shape[3];
  if (turned == 0) turned = size;
  if (turned < 2 || turned % 2 != 0 || turned > size)
    return n.fail(Errc::invalid_params, "rotary_embedding_dim is ", turned, ", expected an even number up to ", size);
  Tensor c = n.in(cosine);
  Tensor s = n.in(sine);
  if (n.has(positions)) {
    Tensor places = n.b().cast(n.in(positions), DType::si64);
    // One number is the place of the first token.
    if (product(n.shape(positions)) == 1 && n.rank(positions) == 1)
      places = reshape(places, {1}) + n.b().iota({Dim(n.shape(x)[1])}, DType::si64, 0);
    c = n.b().take(c, places);
    s = n.b().take(s, places);
  }
  const Tensor y = rotated(n, x, c, s, turned, n.integer("interleaved", 0) != 0);
  if (!n.failed()) n.out(0, flat ? reshape(y, shape) : transpose(y, {0, 2, 1, 3}));
}
inline void rotary_embedding(NodeCall& n) noexcept { rotary(n, 1, 2, 3); }

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
