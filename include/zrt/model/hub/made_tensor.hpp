// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/made_tensor.hpp: a tensor of a file in the making, row by row from tensors of a folder; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/elementary64.hpp>
#include <zrt/core/half.hpp>
#include <zrt/model/hub/safetensors.hpp>
#include <zrt/model/hub/tensor_rule.hpp>
#include <zrt/quant/types.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// What rows of heads are counted by.
struct HeadSizes {
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;
  std::uint64_t key_rows = 0;    ///< of keys of a head that a latent row makes
  std::uint64_t value_rows = 0;  ///< of its values
};

/// Where rows of a tensor come from: of every `period` rows of a part, `count` from row `first` on.
struct RowRange {
  std::uint64_t period = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// A tensor and what it is made of: parts of equal shape, one behind the other, or values that are given.
class MadeTensor {
 public:
  MadeTensor(std::string name, const TensorChange& change) : name_(std::move(name)), change_(change) {}

  [[nodiscard]] static MadeTensor of_values(std::string name, std::vector<float> values) {
    MadeTensor made(std::move(name), {});
    made.dims_ = {values.size()};
    made.values_ = std::move(values);
    return made;
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const TensorChange& change() const noexcept { return change_; }
  /// The first runs fastest.
  [[nodiscard]] const std::vector<std::uint64_t>& dims() const noexcept { return dims_; }
  [[nodiscard]] std::uint64_t columns() const noexcept { return dims_.empty() ? 1 : dims_[0]; }
  [[nodiscard]] std::uint64_t rows() const noexcept {
    std::uint64_t rows = 1;
    for (std::size_t axis = 1; axis < dims_.size(); ++axis) rows *= dims_[axis];
    return rows;
  }

  /// Puts `part` at place `index` of what is stacked, or alone at 0. Errors: Errc::duplicate_name.
  [[nodiscard]] Result<void> add(std::uint32_t index, const SafeTensor& part) {
    if (index >= kMaxParts)
      return fail(Errc::limit_exceeded, "tensor '", detail::Quoted(part.name).view(), "': number ", index,
                  " of a stack, at most ", kMaxParts - 1, " expected");
    if (parts_.size() <= index) parts_.resize(index + 1);
    if (parts_[index] != nullptr)
      return fail(Errc::duplicate_name, "tensors '", detail::Quoted(parts_[index]->name).view(), "' and '",
                  detail::Quoted(part.name).view(), "' both become '", detail::Quoted(name_).view(), "'");
    parts_[index] = &part;
    return {};
  }

  /// Checks that all parts are there and alike, and settles dims.
  ///
  /// Errors: Errc::missing_weight, Errc::shape_mismatch, Errc::unsupported_weight_type.
  [[nodiscard]] Result<void> settle(const HeadSizes& sizes) {
    if (parts_.empty()) return {};
    if (auto r = expect_alike(); !r) return r;
    if (parts_[0]->elems == 0) return bad_shape("expected some values");
    std::vector<std::uint64_t> extents = parts_[0]->extents;
    if (change_.axes == Axes::squeezed) std::erase(extents, std::uint64_t{1});
    if (change_.axes == Axes::column) extents.push_back(1);
    if (extents.empty()) return bad_shape("expected an axis");
    dims_.assign(extents.rbegin(), extents.rend());
    if (change_.rows == Rows::columns) {
      if (dims_.size() != 2) return bad_shape("expected a matrix");
      std::swap(dims_[0], dims_[1]);
      return {};
    }
    if (auto r = take_rows(sizes); !r) return r;
    if (by_heads()) split_heads();
    if (change_.rows == Rows::stacked) dims_.push_back(parts_.size());
    if (dims_.size() > 4) return bad_shape("expected at most 4 axes");
    return {};
  }

  /// Writes the values of row `row` to `to`, columns() of them.
  void read(std::uint64_t row, float* to) const noexcept {
    if (parts_.empty()) {
      for (std::size_t i = 0; i < values_.size(); ++i) to[i] = values_[i];
      return;
    }
    if (change_.rows == Rows::columns)
      read_column(0, dims_[1], row, to);
    else if (change_.rows == Rows::head_keys)
      read_column(row / dims_[1] * range_.period, dims_[1], row % dims_[1], to);
    else if (dims_.size() <= 1 && by_rows())
      for (std::uint64_t i = 0; i < columns(); ++i) read_elements(*parts_[0], source_row(i), 1, to + i);
    else
      read_elements(*parts_[static_cast<std::size_t>(row / rows_of_part_)], source_row(row % rows_of_part_) * columns(),
                    columns(), to);
  }

 private:
  static constexpr std::uint32_t kMaxParts = 1u << 16;

  [[nodiscard]] std::unexpected<Error> bad_shape(std::string_view expected) const {
    auto error = Error::of(Errc::shape_mismatch, "tensor '", detail::Quoted(parts_[0]->name).view(), "' is [");
    for (std::size_t axis = 0; axis < parts_[0]->extents.size(); ++axis)
      error.append(axis == 0 ? "" : ", ").append(parts_[0]->extents[axis]);
    return std::unexpected<Error>(error.append("], ").append(expected));
  }

  [[nodiscard]] Result<void> expect_alike() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const SafeTensor* part = parts_[i];
      if (part == nullptr)
        return fail(Errc::missing_weight, "part ", i, " of ", parts_.size(), " of '", detail::Quoted(name_).view(),
                    "' is missing");
      if (!part->dtype)
        return fail(Errc::unsupported_weight_type, "tensor '", detail::Quoted(part->name).view(), "' is ", part->type,
                    ", expected F32, F16 or BF16");
      if (part->extents != parts_[0]->extents)
        return fail(Errc::shape_mismatch, "tensors '", detail::Quoted(part->name).view(), "' and '",
                    detail::Quoted(parts_[0]->name).view(), "' are stacked and differ in shape");
    }
    return {};
  }

  [[nodiscard]] bool by_rows() const noexcept { return change_.rows != Rows::all && change_.rows != Rows::stacked; }

  /// The axis that rows are taken of: the last but one, or the only one.
  [[nodiscard]] std::uint64_t& row_extent() noexcept { return dims_[dims_.size() <= 1 ? 0 : 1]; }

  [[nodiscard]] Result<void> take_rows(const HeadSizes& sizes) {
    if (!by_rows()) {
      rows_of_part_ = rows();
      range_ = {rows_of_part_, 0, rows_of_part_};
      return {};
    }
    if (by_heads() && dims_.size() != 2) return bad_shape("expected a matrix");
    const std::uint64_t there = row_extent();
    range_ = range_of(there, sizes);
    const std::uint64_t parts = by_heads() ? sizes.heads : 1;
    if (range_.count == 0 || parts == 0 || there % parts != 0 || range_.period != there / parts)
      return bad_shape("which is not what the numbers of heads say");
    if (pairs() && (heads_ == 0 || range_.count % (2 * heads_) != 0)) return bad_shape("expected whole pairs of heads");
    row_extent() = range_.count * parts;
    rows_of_part_ = rows();
    return {};
  }

  [[nodiscard]] RowRange range_of(std::uint64_t there, const HeadSizes& sizes) noexcept {
    const std::uint64_t queries = sizes.heads * sizes.head_dim;
    const std::uint64_t keys = sizes.kv_heads * sizes.head_dim;
    const std::uint64_t fused = queries + 2 * keys;
    switch (change_.rows) {
      case Rows::query_pairs:
        heads_ = sizes.heads;
        return {there, 0, there};
      case Rows::key_pairs:
        heads_ = sizes.kv_heads;
        return {there, 0, there};
      case Rows::fused_query:
        return {fused, 0, queries};
      case Rows::fused_key:
        return {fused, queries, keys};
      case Rows::fused_value:
        return {fused, queries + keys, keys};
      case Rows::head_keys:
        return {sizes.key_rows + sizes.value_rows, 0, sizes.key_rows};
      case Rows::head_values:
        return {sizes.key_rows + sizes.value_rows, sizes.key_rows, sizes.value_rows};
      case Rows::first_half:
        return {there / 2 * 2, 0, there / 2};
      case Rows::second_half:
        return {there / 2 * 2, there / 2, there / 2};
      case Rows::all:
      case Rows::columns:
      case Rows::stacked:
        break;
    }
    return {there, 0, there};
  }

  [[nodiscard]] bool by_heads() const noexcept {
    return change_.rows == Rows::head_keys || change_.rows == Rows::head_values;
  }
  /// A matrix for each head, that of its keys transposed.
  void split_heads() {
    const std::uint64_t heads = dims_[1] / range_.count;
    dims_ = {dims_[0], range_.count, heads};
    if (change_.rows == Rows::head_keys) std::swap(dims_[0], dims_[1]);
  }

  [[nodiscard]] bool pairs() const noexcept {
    return change_.rows == Rows::query_pairs || change_.rows == Rows::key_pairs;
  }

  [[nodiscard]] std::uint64_t source_row(std::uint64_t row) const noexcept {
    if (pairs()) {
      const std::uint64_t head_rows = range_.count / heads_;
      const std::uint64_t within = row % head_rows;
      row += within / 2 + within % 2 * (head_rows / 2) - within;
    }
    return row / range_.count * range_.period + range_.first + row % range_.count;
  }

  void read_elements(const SafeTensor& part, std::uint64_t first, std::uint64_t count, float* to) const noexcept {
    const std::uint64_t width = info(*part.dtype).block_bytes;
    quant::find(*part.dtype)->dequantise(part.data.data() + first * width, count, to);
    for (std::uint64_t i = 0; i < count; ++i) to[i] = changed(to[i], *part.dtype);
  }
  /// Reads a column of a matrix of `width` columns that begins at row `first` of the first part.
  void read_column(std::uint64_t first, std::uint64_t width, std::uint64_t column, float* to) const noexcept {
    for (std::uint64_t i = 0; i < columns(); ++i) read_elements(*parts_[0], (first + i) * width + column, 1, to + i);
  }

  [[nodiscard]] float changed(float x, DType type) const noexcept {
    if (change_.values == Values::same) return x;
    const float y =
        change_.values == Values::plus_one ? x + 1.0f : -static_cast<float>(math::exp64(static_cast<double>(x)));
    // The sum is one of the tensor's type, but for bf16, which is widened first.
    return type == DType::f16 ? to_f32(to_f16(y)) : y;
  }

  std::string name_;
  TensorChange change_;
  std::vector<std::uint64_t> dims_;
  std::vector<const SafeTensor*> parts_;
  std::vector<float> values_;
  std::uint64_t heads_ = 0;
  std::uint64_t rows_of_part_ = 1;
  RowRange range_{};
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
