// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_matrix.hpp: products of matrices, of whole numbers too, and einsum.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_shape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// The product of the last two axes, batched over the others, which broadcast; vectors are a row and a column.
[[nodiscard]] inline Tensor mat_mul_of(NodeCall& n, Tensor x, Tensor y, std::optional<DType> result = {}) noexcept {
  IntList a = n.shape(x);
  IntList c = n.shape(y);
  const bool row = a.size() == 1;
  const bool column = c.size() == 1;
  if (a.empty() || c.empty()) {
    n.fail(Errc::shape_mismatch, "an operand is a scalar, expected a matrix");
    return x;
  }
  // One matrix for all of x: a projection, of which the matrix is not repeated.
  if (c.size() == 2 && !row) return dot(x, y, {}, {}, {static_cast<std::int64_t>(a.size()) - 1}, {0}, result);
  if (row) a = IntList{1, a[0]};
  if (column) c = IntList{c[0], 1};
  const std::size_t batch = (a.size() > c.size() ? a.size() : c.size()) - 2;
  IntList to_x = IntList::of(batch, 1);
  for (const IntList* list : {&a, &c})
    for (std::size_t i = 0; i + 2 < list->size(); ++i)
      if ((*list)[i] != 1) to_x[batch - (list->size() - 2) + i] = (*list)[i];
  IntList to_y = to_x;
  IntList out = to_x;
  for (std::size_t i = 2; i > 0; --i) to_x.push(a[a.size() - i]);
  for (std::size_t i = 2; i > 0; --i) to_y.push(c[c.size() - i]);
  if (!row) out.push(a[a.size() - 2]);
  if (!column) out.push(c[c.size() - 1]);
  if (n.failed()) return x;
  const IntList axes = ascending(batch);
  const auto last = static_cast<std::int64_t>(batch);
  return reshape(
      dot(broadcast(reshape(x, a), to_x), broadcast(reshape(y, c), to_y), axes, axes, {last + 1}, {last}, result), out);
}
inline void mat_mul(NodeCall& n) noexcept { n.out(0, mat_mul_of(n, n.in(0), n.in(1))); }

/// Operand `i` as si32 less its zero point, operand `zero`, which may be missing. A vector of zero points is
/// one for each entry of `axis`.
[[nodiscard]] inline Tensor less_zero(NodeCall& n, std::size_t i, std::size_t zero, std::size_t axis) noexcept {
  const Tensor x = n.b().cast(n.in(i), DType::si32);
  if (!n.has(zero)) return x;
  Tensor z = n.b().cast(n.in(zero), DType::si32);
  const IntList shape = n.shape(z);
  if (shape.size() == 1 && shape[0] != 1) {
    IntList along = IntList::of(n.rank(i), 1);
    along[axis] = shape[0];
    z = reshape(z, along);
  } else if (shape.size() == 1) {
    z = reshape(z, {});
  }
  return x - z;
}
inline void mat_mul_integer(NodeCall& n) noexcept {
  const std::size_t rank = n.rank(0);
  const std::size_t columns = n.rank(1);
  n.out(0,
        mat_mul_of(n, less_zero(n, 0, 2, rank < 2 ? 0 : rank - 2), less_zero(n, 1, 3, columns < 1 ? 0 : columns - 1)));
}

inline void gemm(NodeCall& n) noexcept {
  const bool left = n.integer("transA", 0) != 0;
  const bool right = n.integer("transB", 0) != 0;
  Tensor y = dot(n.in(0), n.in(1), {}, {}, {left ? 0 : 1}, {right ? 1 : 0});
  if (const double alpha = n.real("alpha", 1); alpha != 1) y = y * alpha;
  if (n.has(2)) {
    const double beta = n.real("beta", 1);
    y = y + (beta == 1 ? n.in(2) : n.in(2) * beta);
  }
  n.out(0, y);
}

// --- einsum ---

/// The labels of one operand's axes: letters, or numbers below 32 for what an ellipsis stands for.
using Labels = IntList;

/// Reads the labels of a term; an ellipsis stands for the axes that the letters leave of `rank`.
[[nodiscard]] inline Labels labels_of(NodeCall& n, std::string_view term, std::size_t rank, std::size_t most) noexcept {
  Labels labels;
  std::size_t letters = 0;
  for (const char c : term) letters += c != '.' && c != ' ' ? 1u : 0u;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (term[i] == '.') {
      const std::size_t axes = rank > letters ? rank - letters : 0;
      for (std::size_t k = 0; k < axes && k < 32; ++k) labels.push(static_cast<std::int64_t>(most - axes + k));
      i += 2;
    } else {
      labels.push(static_cast<unsigned char>(term[i]));
    }
  }
  if (labels.size() != rank) n.fail(Errc::invalid_params, "equation: a term names ", labels.size(), " axes of ", rank);
  return labels;
}
/// Takes the diagonal of axes with one label, so that each label stands once.
[[nodiscard]] inline Tensor diagonal(NodeCall& n, Tensor x, Labels& labels) noexcept {
  for (std::size_t i = 0; i < labels.size() && !n.failed(); ++i)
    for (std::size_t k = i + 1; k < labels.size() && !n.failed(); ++k) {
      if (labels[i] != labels[k]) continue;
      const IntList shape = n.shape(x);
      if (shape[i] != shape[k]) n.fail(Errc::shape_mismatch, "equation: axes of one label differ");
      if (n.failed()) return x;
      // Both axes to the end, as one; then every place of their diagonal.
      IntList perm;
      IntList flat;
      Labels left;
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (axis != i && axis != k) {
          perm.push(static_cast<std::int64_t>(axis));
          flat.push(shape[axis]);
          left.push(labels[axis]);
        }
      perm.push(static_cast<std::int64_t>(i));
      perm.push(static_cast<std::int64_t>(k));
      flat.push(shape[i] * shape[i]);
      left.push(labels[i]);
      if (!n.fits_table(shape[i])) return x;
      Vector<std::int64_t> places(n.allocator());
      for (std::int64_t at = 0; at < shape[i]; ++at)
        if (auto r = places.push_back(at * (shape[i] + 1)); !r) n.fail(r.error());
      x = pick(n, reshape(transpose(x, perm), flat), places.span(), flat.size() - 1);
      labels = left;
      k = i;
    }
  return x;
}
/// Sums the axes whose labels are in neither list.
[[nodiscard]] inline Tensor sum_unused(Tensor x, Labels& labels, const Labels& a, const Labels& b) noexcept {
  IntList axes;
  Labels left;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool used = a.has(labels[i]) || b.has(labels[i]);
    used ? left.push(labels[i]) : axes.push(static_cast<std::int64_t>(i));
  }
  labels = left;
  return axes.empty() ? x : reduce(kSum, x, axes, false);
}
/// An axis of one element that the other operand has with more broadcasts: it is left out, and so stands for each of
/// the other's.
inline void drop_ones(NodeCall& n, Tensor& x, Labels& labels, const IntList& other, const Labels& others) noexcept {
  const IntList shape = n.shape(x);
  IntList kept;
  Labels left;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::int64_t extent = shape[i];
    for (std::size_t k = 0; k < others.size(); ++k)
      if (others[k] == labels[i]) extent = other[k];
    if (shape[i] != extent && shape[i] != 1 && extent != 1)
      return n.fail(Errc::shape_mismatch, "equation: axes of one label have ", shape[i], " and ", extent,
                    " elements, expected as many or 1");
    if (shape[i] != extent && shape[i] == 1) continue;
    kept.push(shape[i]);
    left.push(labels[i]);
  }
  x = reshape(x, kept);
  labels = left;
}
inline void einsum(NodeCall& n) noexcept {
  std::string_view equation = n.text("equation", "");
  const std::size_t arrow = equation.find("->");
  const std::string_view terms = zrt::slice(equation, 0, arrow);
  std::size_t most = 0;
  for (std::size_t i = 0; i < n.inputs(); ++i) most = n.rank(i) > most ? n.rank(i) : most;
  Vector<Labels> labels(n.allocator());
  std::string_view rest = terms;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    const std::size_t comma = rest.find(',');
    if (auto r = labels.push_back(labels_of(n, zrt::slice(rest, 0, comma), n.rank(i), most)); !r)
      return n.fail(r.error());
    rest = comma == std::string_view::npos ? std::string_view() : zrt::slice(rest, comma + 1);
  }
  if (n.failed() || n.inputs() == 0) return;
  if (n.inputs() > 2) return n.unsupported("an einsum of more than two operands");
  IntList seen;
  IntList repeated;
  for (const Labels& list : labels)
    for (const std::int64_t label : list) (seen.has(label) ? repeated : seen).push(label);
  Labels result;
  if (arrow != std::string_view::npos) {
    const std::string_view term = zrt::slice(equation, arrow + 2);
    std::size_t letters = 0;
    for (const char c : term) letters += c != '.' && c != ' ' ? 1u : 0u;
    std::size_t dots = 0;
    for (const std::int64_t label : seen) dots += label < 32 ? 1u : 0u;
    result = labels_of(n, term, letters + (term.find('.') == std::string_view::npos ? 0 : dots), most);
  } else {
    for (std::int64_t label = 0; label < 128; ++label)
      if (seen.has(label) && (label < 32 || !repeated.has(label))) result.push(label);
  }
  Tensor x = diagonal(n, n.in(0), labels[0]);
  Labels left = labels[0];
  if (n.inputs() == 1) {
    x = sum_unused(x, left, result, {});
  } else {
    Tensor y = diagonal(n, n.in(1), labels[1]);
    Labels right = labels[1];
    const IntList rows = n.shape(x);
    const IntList columns = n.shape(y);
    if (n.failed()) return;
    drop_ones(n, x, left, columns, labels[1]);
    drop_ones(n, y, right, rows, labels[0]);
    if (n.failed()) return;
    x = sum_unused(x, left, right, result);
    y = sum_unused(y, right, left, result);
    IntList batch_x, batch_y, contract_x, contract_y;
    Labels after;
    for (const bool batch : {true, false})
      for (std::size_t i = 0; i < left.size(); ++i)
        for (std::size_t k = 0; k < right.size(); ++k) {
          if (left[i] != right[k] || result.has(left[i]) != batch) continue;
          (batch ? batch_x : contract_x).push(static_cast<std::int64_t>(i));
          (batch ? batch_y : contract_y).push(static_cast<std::int64_t>(k));
          if (batch) after.push(left[i]);
        }
    for (const std::int64_t label : left)
      if (!right.has(label)) after.push(label);
    for (const std::int64_t label : right)
      if (!left.has(label)) after.push(label);
    x = dot(x, y, batch_x, batch_y, contract_x, contract_y);
    left = after;
  }
  IntList perm;
  for (const std::int64_t label : result)
    for (std::size_t i = 0; i < left.size(); ++i)
      if (left[i] == label) perm.push(static_cast<std::int64_t>(i));
  if (perm.size() != left.size() || perm.size() != result.size())
    return n.fail(Errc::invalid_params, "equation: the result names an axis that no operand has");
  n.out(0, transpose(x, perm));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
