// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_microsoft.hpp: fused operators of the domain com.microsoft that exports of transformers hold.
//
// Their meaning is that of ONNX Runtime's docs/ContribOperators.md; attributes and operand counts are its own.
#pragma once

#include <zrt/ir/onnx/ops_attention.hpp>
#include <zrt/ir/onnx/ops_index.hpp>
#include <zrt/ir/onnx/ops_matrix.hpp>
#include <zrt/ir/onnx/ops_norm.hpp>
#include <zrt/ir/onnx/schemas.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// Those of com.microsoft that are translated.
inline constexpr auto kMicrosoftSchemas = std::to_array<Schema>({
    {"Attention",
     1,
     "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes rotary_embedding_dim scale "
     "unidirectional",
     {2, 7},
     {1, 2}},
    {"BiasGelu", 1, "", {2, 2}, {1, 1}},
    {"EmbedLayerNormalization", 1, "epsilon mask_index_type", {7, 9}, {2, 3}},
    {"FastGelu", 1, "", {1, 2}, {1, 1}},
    {"FusedMatMul", 1, "alpha transA transB transBatchA transBatchB", {2, 2}, {1, 1}},
    {"Gelu", 1, "", {1, 1}, {1, 1}},
    {"GroupQueryAttention",
     1,
     "do_rotary k_quant_type kv_cache_bit_width kv_num_heads local_window_size num_heads qk_output rotary_interleaved "
     "scale smooth_softmax softcap v_quant_type",
     {7, 14},
     {3, 4}},
    {"MatMulNBits", 1, "K N accuracy_level bits block_size weight_prepacked", {3, 6}, {1, 1}},
    {"MultiHeadAttention", 1, "mask_filter_value num_heads scale unidirectional", {1, 10}, {1, 4}},
    {"QuickGelu", 1, "alpha", {1, 1}, {1, 1}},
    {"RotaryEmbedding", 1, "interleaved is_packed_batching num_heads rotary_embedding_dim scale", {4, 4}, {1, 1}},
    {"SimplifiedLayerNormalization", 1, "axis epsilon stash_type", {2, 2}, {1, 2}},
    {"SkipLayerNormalization", 1, "epsilon", {3, 5}, {1, 4}},
    {"SkipSimplifiedLayerNormalization", 1, "epsilon", {3, 4}, {1, 4}},
});

namespace translate {

/// Gelu of x, and of x and a bias where operand 1 is one; by erf or by tanh.
template <bool kTanh> void biased_gelu(NodeCall& n) noexcept {
  Tensor x = widened(n.in(0));
  if (n.has(1)) x = x + widened(n.in(1));
  n.out(0, as_type(gelu_of(n, x, kTanh), n.dtype(0)));
}
inline void quick_gelu(NodeCall& n) noexcept {
  n.out(0, as_type(swish_of(widened(n.in(0)), n.real("alpha", 1.702)), n.dtype(0)));
}

/// x with its last two axes exchanged.
[[nodiscard]] inline Tensor turned_matrix(NodeCall& n, const Tensor& x) noexcept {
  const std::size_t rank = x.shape().size();
  if (rank < 2) {
    n.fail(Errc::shape_mismatch, "a matrix to transpose has ", rank, " axes");
    return x;
  }
  IntList perm = ascending(rank);
  perm[rank - 1] = static_cast<std::int64_t>(rank - 2);
  perm[rank - 2] = static_cast<std::int64_t>(rank - 1);
  return transpose(x, perm);
}
inline void fused_mat_mul(NodeCall& n) noexcept {
  if (n.integer("transBatchA", 0) != 0 || n.integer("transBatchB", 0) != 0)
    return n.unsupported("transBatchA and transBatchB");
  Tensor a = n.in(0);
  Tensor c = n.in(1);
  if (n.integer("transA", 0) != 0) a = turned_matrix(n, a);
  if (n.integer("transB", 0) != 0) c = turned_matrix(n, c);
  if (n.failed()) return;
  const Tensor y = mat_mul_of(n, a, c);
  const double alpha = n.real("alpha", 1);
  n.out(0, alpha == 1 ? y : y * alpha);
}

/// The root mean square of each last axis taken out of x, times `scale`.
[[nodiscard]] inline Tensor simplified_norm(NodeCall& n, const Tensor& given, const Tensor& scale, std::size_t axis,
                                            std::optional<std::size_t> inverse_out, double epsilon) noexcept {
  const Tensor x = widened(given);
  const IntList shape = n.shape(given);
  IntList axes;
  for (std::size_t i = axis; i < shape.size(); ++i) axes.push(static_cast<std::int64_t>(i));
  const auto count = static_cast<double>(product(shape, axis, shape.size()));
  const Tensor inverse = n.b().rsqrt(reduce(kSum, x * x, axes, true) / count + n.real("epsilon", epsilon));
  if (inverse_out) n.out(*inverse_out, inverse);
  return as_type(x * inverse * widened(scale), scale.dtype());
}
inline void simplified_layer_normalization(NodeCall& n) noexcept {
  expect_stash(n);
  const std::size_t axis = n.axis("axis", -1, n.rank(0));
  if (!n.failed()) n.out(0, simplified_norm(n, n.in(0), n.in(1), axis, 1, 1e-5));
}
/// x + skip + bias, which is result 3 too.
[[nodiscard]] inline Tensor skipped_sum(NodeCall& n, std::size_t bias) noexcept {
  Tensor sum = n.in(0) + n.in(1);
  if (n.has(bias)) sum = sum + n.in(bias);
  n.out(3, sum);
  return sum;
}
inline void skip_simplified_layer_normalization(NodeCall& n) noexcept {
  const Tensor sum = skipped_sum(n, 3);
  if (n.has_out(1)) return n.unsupported("the mean of a simplified norm");
  if (n.rank(0) < 1) return n.fail(Errc::shape_mismatch, "x has no axis");
  n.out(0, simplified_norm(n, sum, n.in(2), n.rank(0) - 1, 2, 1e-12));
}
inline void skip_layer_normalization(NodeCall& n) noexcept {
  const Tensor sum = skipped_sum(n, 4);
  if (n.has_out(1) || n.has_out(2)) return n.unsupported("the moments of a skipped norm");
  const Tensor gamma = n.in(2);
  const Tensor beta = n.has(3) ? n.in(3) : n.b().broadcast_to(scalar_like(gamma, 0), gamma.shape());
  n.out(0, n.b().layer_norm(sum, gamma, beta, n.real("epsilon", 1e-12)));
}
/// Rows of words, places and segments added up and normalised; the second result counts the ones of a mask.
inline void embed_layer_normalization(NodeCall& n) noexcept {
  Builder& b = n.b();
  const IntList ids = n.shape(0);
  if (ids.size() != 2) return n.fail(Errc::shape_mismatch, "input_ids has ", ids.size(), " axes, expected 2");
  Tensor sum = b.take(n.in(2), index_operand(n, 0));
  const Tensor places = n.has(8) ? index_operand(n, 8) : b.iota(shape_of(b, {1, ids[1]}), DType::si64, 1);
  sum = sum + b.take(n.in(3), places);
  if (n.has(1)) sum = sum + b.take(n.in(4), index_operand(n, 1));
  n.out(0, b.layer_norm(sum, n.in(5), n.in(6), n.real("epsilon", 1e-12)));
  n.out(2, sum);
  if (!n.has_out(1)) return;
  if (n.has(7)) return n.out(1, reduce(kSum, b.cast(n.in(7), DType::si32), {1}, false));
  n.out(1, b.broadcast_to(b.scalar(DType::si32, 0), shape_of(b, {ids[0]})));
}
inline void microsoft_rotary_embedding(NodeCall& n) noexcept {
  if (n.integer("is_packed_batching", 0) != 0 || n.real("scale", 1) != 1)
    return n.unsupported("is_packed_batching and scale");
  rotary(n, 2, 3, 1);
}

/// A mask of keys as what is added to scores: 0 where it is not zero, mask_filter_value elsewhere. `mask` is [B, T] or,
/// as counts of keys from the first, [B].
[[nodiscard]] inline Tensor filter_of(NodeCall& n, const Tensor& mask, std::int64_t keys, DType dtype) noexcept {
  Builder& b = n.b();
  const IntList shape = n.shape(mask);
  Tensor keeps = mask;
  if (shape.size() == 1)
    keeps = b.lt(b.iota(shape_of(b, {1, keys}), DType::si64, 1), reshape(b.cast(mask, DType::si64), {shape[0], 1}));
  else
    keeps = b.ne(mask, scalar_like(mask, 0));
  const IntList batch = n.shape(keeps);
  if (batch.size() != 2 || batch[1] != keys) {
    n.unsupported("a mask of ", shape.size(), " axes that has not one number for each of ", keys, " keys");
    return mask;
  }
  const Tensor filter = b.select(keeps, b.scalar(dtype, 0), b.scalar(dtype, n.real("mask_filter_value", -10000)));
  return reshape(filter, {batch[0], 1, 1, keys});
}
[[nodiscard]] inline std::optional<Tensor> plus(const std::optional<Tensor>& a, const Tensor& c) noexcept {
  return a ? *a + c : c;
}
/// The rules of an operator's attributes for heads of `size`, in the wide type.
[[nodiscard]] inline ScoreRules score_rules(NodeCall& n, const Tensor& q, std::int64_t size) noexcept {
  ScoreRules rules;
  rules.scale = n.real("scale", 0);
  if (rules.scale == 0) rules.scale = 1 / __builtin_sqrt(static_cast<double>(size));
  rules.softcap = n.real("softcap", 0);
  rules.softmax = default_accumulator(q.dtype());
  return rules;
}
inline void multi_head_attention(NodeCall& n) noexcept {
  Builder& b = n.b();
  const std::int64_t heads = n.integer("num_heads", 0);
  if (n.rank(0) == 5 || !n.has(1) || !n.has(2)) return n.unsupported("queries, keys and values in one tensor");
  if (n.has(8) || n.has(9) || n.has_out(3)) return n.unsupported("shared buffers, beams and scores as a result");
  const IntList width = n.shape(0);
  const auto operand = [&](std::size_t i) {
    Tensor x = n.in(i);
    if (n.has(3) && x.shape().size() == 3) {
      // The bias holds those of queries, keys and values one after the other.
      const IntList bias = n.shape(3);
      const std::int64_t own = n.shape(x)[2];
      const std::int64_t first = i == 0 ? 0 : i == 1 ? width[2] : bias[0] - own;
      if (bias.size() != 1 || first < 0 || first + own > bias[0]) {
        n.fail(Errc::shape_mismatch, "the bias has ", bias.empty() ? 0 : bias[0], " numbers");
        return x;
      }
      x = x + slice(n.in(3), {first}, {own});
    }
    return by_heads(n, x, heads);
  };
  if (width.size() != 3) return n.fail(Errc::shape_mismatch, "query has ", width.size(), " axes, expected 3");
  const Tensor q = operand(0);
  Tensor k = operand(1);
  Tensor v = operand(2);
  if (n.failed()) return;
  const std::int64_t past = n.has(6) ? n.shape(6)[2] : 0;
  if (n.has(6)) k = concat(std::to_array({n.in(6), k}), 2, b);
  if (n.has(7)) v = concat(std::to_array({n.in(7), v}), 2, b);
  n.out(1, k);
  n.out(2, v);
  const IntList qs = n.shape(q);
  const IntList ks = n.shape(k);
  if (n.failed()) return;
  ScoreRules rules = score_rules(n, q, qs[3]);
  if (n.has(4)) rules.bias = filter_of(n, n.in(4), ks[2], rules.softmax);
  if (n.has(5)) rules.bias = plus(rules.bias, as_type(n.in(5), rules.softmax));
  if (n.integer("unidirectional", 0) != 0)
    rules.allowed = keys_in_range(n, qs[2], ks[2], whole(b, past), {.left = {}, .right = 0});
  if (n.failed()) return;
  n.out(0, joined_heads(n, attend(n, q, k, v, rules).y));
}
/// Attention whose weights for queries, keys and values stand side by side.
inline void microsoft_attention(NodeCall& n) noexcept {
  Builder& b = n.b();
  const std::int64_t heads = n.integer("num_heads", 0);
  const IntList xs = n.shape(0);
  const IntList ws = n.shape(1);
  if (n.failed()) return;
  if (n.integer("do_rotary", 0) != 0 || n.integer("past_present_share_buffer", 0) != 0 || n.has(6))
    return n.unsupported("rotary positions within, and shared buffers");
  if (xs.size() != 3 || ws.size() != 2 || ws[0] != xs[2] || heads < 1)
    return n.fail(Errc::shape_mismatch, "x must be [B, S, N] and weights [N, widths of q, k and v]");
  IntList widths = n.ints("qkv_hidden_sizes");
  if (widths.empty()) widths = IntList::of(3, ws[1] / 3);
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (widths[i] < 0 || widths[i] > kMaxExtent) widths[i] = 0;
  if (widths.size() != 3 || widths[0] + widths[1] + widths[2] != ws[1] || widths[0] != widths[1])
    return n.fail(Errc::shape_mismatch, "the weights have ", ws[1], " columns for q, k and v");
  Tensor all = mat_mul_of(n, n.in(0), n.in(1));
  if (n.has(2)) all = all + n.in(2);
  const IntList shape{xs[0], xs[1], ws[1]};
  const auto part = [&](std::size_t i) {
    const std::int64_t first = i == 0 ? 0 : i == 1 ? widths[0] : widths[0] + widths[1];
    return by_heads(n, slice_axis(all, shape, 2, first, widths[i]), heads);
  };
  const Tensor q = part(0);
  Tensor k = part(1);
  Tensor v = part(2);
  if (n.failed()) return;
  std::int64_t past = 0;
  if (n.has(4)) {
    const IntList ps = n.shape(4);
    if (ps.size() != 5 || ps[0] != 2) return n.fail(Errc::shape_mismatch, "past must be [2, B, H, P, D]");
    past = ps[3];
    const IntList half{ps[1], ps[2], ps[3], ps[4]};
    k = concat(std::to_array({reshape(slice_axis(n.in(4), ps, 0, 0, 1), half), k}), 2, b);
    v = concat(std::to_array({reshape(slice_axis(n.in(4), ps, 0, 1, 1), half), v}), 2, b);
  }
  const IntList ks = n.shape(k);
  if (n.has_out(1)) {
    IntList one{1};
    for (const std::int64_t extent : ks) one.push(extent);
    n.out(1, concat(std::to_array({reshape(k, one), reshape(v, one)}), 0, b));
  }
  ScoreRules rules = score_rules(n, q, widths[0] / heads);
  if (n.has(3)) rules.bias = filter_of(n, n.in(3), ks[2], rules.softmax);
  if (n.has(5)) rules.bias = plus(rules.bias, as_type(n.in(5), rules.softmax));
  if (n.integer("unidirectional", 0) != 0)
    rules.allowed = keys_in_range(n, xs[1], ks[2], whole(b, past), {.left = {}, .right = 0});
  if (n.failed()) return;
  n.out(0, joined_heads(n, attend(n, q, k, v, rules).y));
}

/// `more` [B, G, S, D] written into `past` [B, G, P, D], made P + S long, from place `first` [B, 1, 1] on.
[[nodiscard]] inline Tensor appended_at(NodeCall& n, const Tensor& past, const Tensor& more,
                                        const Tensor& first) noexcept {
  Builder& b = n.b();
  const IntList ps = n.shape(past);
  const IntList ms = n.shape(more);
  if (ps.size() != 4 || ms.size() != 4 || ps[0] != ms[0] || ps[1] != ms[1] || ps[3] != ms[3]) {
    n.fail(Errc::shape_mismatch, "a cache must be [B, G, P, D] as the keys and values of the step are [B, G, S, D]");
    return past;
  }
  const IntList none = IntList::of(4, 0);
  const std::int64_t length = ps[2] + ms[2];
  const Tensor room = pad(past, none, {0, 0, ms[2], 0}, none, scalar_like(past, 0));
  const IntList rows{ms[0], ms[1], ms[2]};
  const Tensor place = b.iota(shape_of(b, rows), DType::si64, 2) + first;
  const Tensor line = b.add(b.mul(b.iota(shape_of(b, rows), DType::si64, 0), whole(b, ms[1])),
                            b.iota(shape_of(b, rows), DType::si64, 1));
  const std::int64_t count = product(rows);
  const std::int64_t all = product({ms[0], ms[1], length});
  if (count < 0 || all < 0) {
    n.fail(Errc::size_overflow, "the cache's places do not fit");
    return past;
  }
  const Tensor at = reshape(b.add(b.mul(line, whole(b, length)), place), {count, 1});
  const Tensor flat =
      b.scatter_reduce(choice_index("scatter_reduce", "reduce", "replace"), reshape(room, {all, ms[3]}),
                       b.broadcast_to(at, shape_of(b, {count, ms[3]})), reshape(more, {count, ms[3]}), 0);
  return reshape(flat, {ms[0], ms[1], length, ms[3]});
}
/// Causal attention with a cache of its own for each entry of a batch, whose valid keys seqlens_k counts, less one.
inline void group_query_attention(NodeCall& n) noexcept {
  Builder& b = n.b();
  const std::int64_t heads = n.integer("num_heads", 0);
  const std::int64_t groups = n.integer("kv_num_heads", 0);
  for (std::size_t i = 10; i < n.inputs(); ++i)
    if (n.has(i)) return n.unsupported("a bias of scores, sinks and quantised caches (input ", i, ")");
  if (n.integer("smooth_softmax", 0) > 0 || n.integer("qk_output", 0) != 0 || n.has_out(3))
    return n.unsupported("smooth_softmax and qk_output");
  const IntList xs = n.shape(0);
  if (xs.size() != 3 || heads < 1 || groups < 1 || heads > kMaxExtent || heads % groups != 0)
    return n.fail(Errc::shape_mismatch, "query must be [B, S, width] with kv_num_heads dividing num_heads");
  if (n.has(1) != n.has(2)) return n.fail(Errc::invalid_file, "key and value come together");
  Tensor q = n.in(0);
  Tensor k = n.has(1) ? n.in(1) : q;
  Tensor v = n.has(2) ? n.in(2) : q;
  if (!n.has(1)) {
    // Queries, keys and values of one tensor stand side by side.
    if (xs[2] % (heads + 2 * groups) != 0) return n.fail(Errc::shape_mismatch, "a width of ", xs[2], " has no heads");
    const std::int64_t size = xs[2] / (heads + 2 * groups);
    k = slice_axis(q, xs, 2, heads * size, groups * size);
    v = slice_axis(q, xs, 2, (heads + groups) * size, groups * size);
    q = slice_axis(q, xs, 2, 0, heads * size);
  }
  q = by_heads(n, q, heads);
  k = by_heads(n, k, groups);
  v = by_heads(n, v, groups);
  if (n.failed()) return;
  const IntList qs = n.shape(q);
  const IntList ks = n.shape(k);
  if (n.has(3) != n.has(4)) return n.fail(Errc::invalid_file, "past_key and past_value come together");
  const std::int64_t past = n.has(3) ? n.shape(3)[2] : 0;
  if (const Value total = n.value(6); total.known && n.int_in(6, "total_sequence_length") != past + ks[2])
    return n.unsupported("a cache that is shared with its result: past has ", past, " places, the step ", ks[2],
                         ", together ", n.int_in(6, "total_sequence_length"));
  Tensor first = b.broadcast_to(whole(b, 0), shape_of(b, {xs[0], 1, 1}));
  if (past != 0) first = reshape(b.cast(n.in(5), DType::si64), {xs[0], 1, 1}) - whole(b, ks[2] - 1);
  if (n.integer("do_rotary", 0) != 0) {
    if (!n.has(7) || !n.has(8)) return n.fail(Errc::invalid_file, "do_rotary needs cos_cache and sin_cache");
    const Tensor places = n.has(9)
                              ? b.cast(n.in(9), DType::si64)
                              : reshape(b.iota(shape_of(b, {1, 1, ks[2]}), DType::si64, 2) + first, {xs[0], ks[2]});
    const Tensor cosine = b.take(n.in(7), places);
    const Tensor sine = b.take(n.in(8), places);
    const bool interleaved = n.integer("rotary_interleaved", 0) != 0;
    const std::int64_t turned = n.shape(7).empty() ? 0 : 2 * n.shape(7)[n.rank(7) - 1];
    const auto turn = [&](const Tensor& x) {
      return transpose(rotated(n, transpose(x, {0, 2, 1, 3}), cosine, sine, turned, interleaved), {0, 2, 1, 3});
    };
    q = turn(q);
    k = turn(k);
  }
  if (n.failed()) return;
  if (past != 0) {
    k = appended_at(n, n.in(3), k, first);
    v = appended_at(n, n.in(4), v, first);
  }
  n.out(1, k);
  n.out(2, v);
  ScoreRules rules = score_rules(n, q, qs[3]);
  KeyRange range{.left = {}, .right = 0};
  if (const std::int64_t window = n.integer("local_window_size", -1); window > 0) range.left = window - 1;
  rules.allowed = keys_in_range(n, qs[2], past + ks[2], reshape(first, {xs[0], 1, 1, 1}), range);
  n.out(0, joined_heads(n, attend(n, q, k, v, rules).y));
}

/// x times the transpose of weights [N, K] that lie as whole numbers of 4 or 8 bits, with a scale and a zero point for
/// each block of a row.
inline void mat_mul_n_bits(NodeCall& n) noexcept {
  Builder& b = n.b();
  const std::int64_t bits = n.integer("bits", 4);
  const std::int64_t columns = n.integer("N", 0);
  const std::int64_t inner = n.integer("K", 0);
  const std::int64_t block = n.integer("block_size", 0);
  if (n.has(4)) return n.unsupported("g_idx");
  if (n.integer("weight_prepacked", 0) != 0) return n.unsupported("weight_prepacked");
  if ((bits != 4 && bits != 8) || columns < 1 || inner < 1 || block < 16 || block > kMaxExtent ||
      columns > kMaxExtent || inner > kMaxExtent)
    return n.unsupported("weights of ", bits, " bits, ", columns, " by ", inner, " in blocks of ", block);
  const std::int64_t blocks = (inner + block - 1) / block;
  const Value weights = n.value(1);
  if (!n.need_known(weights, 1, "B")) return;
  const auto packed = [&](const Value& v, std::int64_t row, std::int64_t rows) -> std::optional<Tensor> {
    const std::int64_t bytes = (row * bits + 7) / 8;
    const auto size = static_cast<std::uint64_t>(bytes) * static_cast<std::uint64_t>(rows);
    if (v.type.dtype != DType::ui8 || v.data.size() != size) {
      n.fail(Errc::shape_mismatch, "packed numbers have ", v.data.size(), " bytes, expected ", size);
      return {};
    }
    // Two numbers of 4 bits are a byte, the first in its low half, as elements of ui4 lie.
    const std::int64_t extent = bytes * 8 / bits;
    return b.literal({bits == 4 ? DType::ui4 : DType::ui8, shape_of(b, {rows, extent})}, v.data);
  };
  const auto whole_numbers = packed(weights, blocks * block, columns);
  if (!whole_numbers) return;
  const DType wide = default_accumulator(n.dtype(0));
  Tensor matrix = reshape(b.cast(*whole_numbers, wide), {columns, blocks, block});
  if (n.has(3) && is_float(n.dtype(3))) {
    matrix = matrix - reshape(as_type(n.in(3), wide), {columns, blocks, 1});
  } else if (n.has(3)) {
    const Value zeros = n.value(3);
    if (!n.need_known(zeros, 3, "zero_points")) return;
    const auto zero = packed(zeros, blocks, columns);
    if (!zero) return;
    const IntList shape = n.shape(*zero);
    matrix = matrix - reshape(slice_axis(b.cast(*zero, wide), shape, 1, 0, blocks), {columns, blocks, 1});
  } else {
    matrix = matrix - static_cast<double>(std::int64_t{1} << (bits - 1));
  }
  matrix = matrix * reshape(as_type(n.in(2), wide), {columns, blocks, 1});
  matrix = reshape(matrix, {columns, blocks * block});
  matrix = slice_axis(matrix, {columns, blocks * block}, 1, 0, inner);
  const IntList xs = n.shape(0);
  if (n.failed() || xs.empty()) return;
  Tensor y = dot(widened(n.in(0)), matrix, {}, {}, {static_cast<std::int64_t>(xs.size()) - 1}, {1});
  if (n.has(5)) y = y + widened(n.in(5));
  n.out(0, as_type(y, n.dtype(0)));
}

}  // namespace translate

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
