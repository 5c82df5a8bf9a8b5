// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_grams.hpp: how often the n-grams of a pool stand in rows of whole numbers or strings.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_elementwise.hpp>
#include <zrt/ir/onnx/reader.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Tokens of an n-gram times the distances at which it is looked for: each takes instructions.
inline constexpr std::int64_t kMaxGramSteps = 4096;
/// The pool of TfIdfVectorizer: its n-grams lie one after the other, the short ones first.
struct GramPool {
  Span<const std::int64_t> tokens{};
  Span<const std::int64_t> starts{};   ///< entry n - 1: where the n-grams of n tokens begin
  Span<const std::int64_t> columns{};  ///< of each n-gram the column of the result
  std::int64_t width = 0;              ///< columns of the result

  /// The first token behind the n-grams of `length` tokens.
  [[nodiscard]] std::int64_t end(std::size_t length) const noexcept {
    return length < starts.size() ? starts[length] : static_cast<std::int64_t>(tokens.size());
  }
};
[[nodiscard]] inline Span<const std::int64_t> integers_of(NodeCall& n, std::string_view key) noexcept {
  const AttributeView* a = n.attribute(key, AttributeType::integers);
  if (a != nullptr) return a->integers.span();
  n.fail(Errc::invalid_file, key, " is missing");
  return {};
}
/// The numbers of the strings of an attribute.
inline void append_numbers(NodeCall& n, std::string_view key, Vector<std::int64_t>& to) noexcept {
  const AttributeView* a = n.attribute(key, AttributeType::texts);
  for (std::size_t i = 0; a != nullptr && i < a->texts.size() && !n.failed(); ++i) {
    const auto number = n.reader().number_of(a->texts[i]);
    if (!number) return n.fail(number.error());
    if (auto r = to.push_back(*number); !r) n.fail(r.error());
  }
}
/// The pool that the node has; `numbers` holds its tokens where these are strings.
[[nodiscard]] inline GramPool gram_pool(NodeCall& n, Vector<std::int64_t>& numbers) noexcept {
  GramPool pool;
  const bool strings = n.has_attribute("pool_strings");
  if (strings != n.value(0).strings && !n.failed())
    n.fail(Errc::dtype_mismatch, "x is of ", strings ? name(n.dtype(0)) : "strings", ", the pool of ",
           strings ? "strings" : "whole numbers");
  if (strings) append_numbers(n, "pool_strings", numbers);
  pool.tokens = strings ? numbers.span() : integers_of(n, "pool_int64s");
  pool.starts = integers_of(n, "ngram_counts");
  pool.columns = integers_of(n, "ngram_indexes");
  if (n.failed()) return pool;
  std::int64_t grams = 0;
  for (std::size_t i = 0; i < pool.starts.size(); ++i) {
    const std::int64_t first = pool.starts[i];
    const std::int64_t last = pool.end(i + 1);
    const auto length = static_cast<std::int64_t>(i + 1);
    if (first < 0 || last < first || last > static_cast<std::int64_t>(pool.tokens.size()) ||
        (last - first) % length != 0) {
      n.fail(Errc::invalid_params, "the n-grams of ", length, " tokens lie at ", first, " to ", last, " of a pool of ",
             pool.tokens.size());
      return pool;
    }
    grams += (last - first) / length;
  }
  if (pool.starts.empty() || pool.starts[0] != 0 || grams != static_cast<std::int64_t>(pool.columns.size()))
    n.fail(Errc::invalid_params, "ngram_indexes has ", pool.columns.size(), " entries for ", grams, " n-grams");
  for (const std::int64_t column : pool.columns) {
    if (column < 0 || column >= kMaxTableElements)
      n.fail(Errc::invalid_params, "ngram_indexes has an entry of ", column);
    pool.width = column >= pool.width ? column + 1 : pool.width;
  }
  return pool;
}
/// How often each n-gram of `length` tokens stands in the rows of x [rows, count], at distances of 1 to `skips` + 1.
[[nodiscard]] inline Tensor count_grams(NodeCall& n, const Tensor& x, const GramPool& pool, std::size_t length,
                                        std::int64_t skips) noexcept {
  Builder& b = n.b();
  const IntList shape = n.shape(x);
  const auto size = static_cast<std::int64_t>(length);
  const std::int64_t first = pool.starts[length - 1];
  const std::int64_t grams = (pool.end(length) - first) / size;
  const Tensor table =
      reshape(integers(b, pool.tokens.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(grams * size))),
              {grams, size});
  Tensor sum = b.broadcast_to(b.scalar(DType::f32, 0), shape_of(b, {shape[0], grams}));
  // Tokens of one are at no distance.
  for (std::int64_t step = 1; step <= (length == 1 ? 1 : skips + 1) && !n.failed(); ++step) {
    const std::int64_t windows = shape[1] - (size - 1) * step;
    if (windows < 1) break;
    std::optional<Tensor> all;
    for (std::int64_t k = 0; k < size; ++k) {
      const Tensor token = reshape(slice_axis(x, shape, 1, k * step, windows), {shape[0], windows, 1});
      const Tensor same = b.eq(token, reshape(slice_axis(table, {grams, size}, 1, k, 1), {1, 1, grams}));
      all = all ? b.mul(*all, same) : same;
    }
    sum = sum + reduce(kSum, b.cast(*all, DType::f32), {1}, false);
  }
  return sum;
}
/// Counts of the n-grams of a pool, or their weights where they stand, or both multiplied.
inline void tf_idf_vectorizer(NodeCall& n) noexcept {
  Builder& b = n.b();
  const IntList shape = n.shape(0);
  Vector<std::int64_t> numbers(n.allocator());
  const GramPool pool = gram_pool(n, numbers);
  const std::string_view mode = n.text("mode", "");
  const std::int64_t least = n.integer("min_gram_length", 0);
  const std::int64_t most = n.integer("max_gram_length", 0);
  const std::int64_t skips = n.integer("max_skip_count", 0);
  if (n.failed()) return;
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return n.fail(Errc::invalid_params, "mode is ", zrt::slice(mode, 0, 20), ", expected TF, IDF or TFIDF");
  if (least < 1 || most < least || most > static_cast<std::int64_t>(pool.starts.size()) || skips < 0)
    return n.fail(Errc::invalid_params, "n-grams of ", least, " to ", most, " tokens with ", skips, " skips, of ",
                  pool.starts.size(), " lengths in the pool");
  if (skips >= kMaxGramSteps || most > kMaxGramSteps / (skips + 1))
    return n.fail(Errc::limit_exceeded, "n-grams of up to ", most, " tokens with ", skips, " skips, expected at most ",
                  kMaxGramSteps, " tokens and skips multiplied");
  if (shape.empty() || shape.size() > 2) return n.fail(Errc::shape_mismatch, "x has ", shape.size(), " axes");
  if (is_float(n.dtype(0))) return n.fail(Errc::dtype_mismatch, "x is of ", name(n.dtype(0)));
  const std::int64_t rows = shape.size() == 2 ? shape[0] : 1;
  const Tensor x = as_type(reshape(n.in(0), {rows, shape[shape.size() - 1]}), DType::si64);
  Tensor y = b.broadcast_to(b.scalar(DType::f32, 0), shape_of(b, {rows, pool.width}));
  std::size_t gram = 0;
  for (std::size_t length = 1; length <= pool.starts.size() && !n.failed(); ++length) {
    const auto grams = static_cast<std::size_t>(pool.end(length) - pool.starts[length - 1]) / length;
    const std::size_t first = gram;
    gram += grams;
    const auto size = static_cast<std::int64_t>(length);
    if (grams == 0 || size < least || size > most) continue;
    Tensor counts = count_grams(n, x, pool, length, skips);
    if (mode == "IDF") counts = b.cast(b.gt(counts, scalar_like(counts, 0)), DType::f32);
    if (const AttributeView* w = n.attribute("weights", AttributeType::reals); w != nullptr && mode != "TF") {
      if (w->reals.size() != pool.columns.size())
        return n.fail(Errc::invalid_params, "weights has ", w->reals.size(), " entries for ", pool.columns.size(),
                      " n-grams");
      Vector<float> weights(n.allocator());
      for (std::size_t i = 0; i < grams; ++i)
        if (auto r = weights.push_back(static_cast<float>(w->reals[first + i])); !r) return n.fail(r.error());
      counts = counts * b.literal({DType::f32, {Dim(static_cast<std::int64_t>(grams))}}, as_bytes(weights.span()));
    }
    const Tensor columns = integers(b, pool.columns.subspan(first, grams));
    y = b.scatter_reduce(choice_index("scatter_reduce", "reduce", "add"), y, b.broadcast_to(columns, counts.shape()),
                         counts, 1);
  }
  n.out(0, shape.size() == 2 ? y : reshape(y, {pool.width}));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
