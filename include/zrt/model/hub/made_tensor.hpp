// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/made_tensor.hpp: a tensor of a file in the making, row by row from tensors of a folder; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/elementary64.hpp>
#include <zrt/core/half.hpp>
#include <zrt/model/hub/row_order.hpp>
#include <zrt/model/hub/safetensors.hpp>
#include <zrt/quant/types.hpp>

#include <cstring>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

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

  /// Another tensor of the same parts.
  [[nodiscard]] MadeTensor again_as(std::string name, const TensorChange& change) const {
    MadeTensor made(std::move(name), change);
    made.parts_ = parts_;
    return made;
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const TensorChange& change() const noexcept { return change_; }
  /// What rows are multiplied with, one behind the other.
  [[nodiscard]] std::vector<RowScale>& scales() noexcept { return scales_; }
  /// Whether it is blocks of MXFP4, which are read as such.
  [[nodiscard]] bool is_packed() const noexcept { return change_.values == ValueChange::mxfp4; }
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

  /// Whether both are one tensor each, of the same type, shape and bits.
  [[nodiscard]] bool equals(const MadeTensor& other) const noexcept {
    if (parts_.size() != 1 || other.parts_.size() != 1 || parts_[0] == nullptr || other.parts_[0] == nullptr)
      return false;
    const SafeTensor& a = *parts_[0];
    const SafeTensor& b = *other.parts_[0];
    return a.type == b.type && a.extents == b.extents && a.data.size() == b.data.size() &&
           std::memcmp(a.data.data(), b.data.data(), a.data.size()) == 0;
  }

  /// Checks that all parts are there and alike, and settles dims.
  ///
  /// Errors: Errc::missing_weight, Errc::shape_mismatch, Errc::unsupported_weight_type.
  [[nodiscard]] Result<void> settle(const HeadSizes& sizes) {
    if (parts_.empty()) return {};
    if (is_packed()) return settle_packed(sizes);
    if (auto r = expect_alike(); !r) return r;
    if (parts_[0]->elems == 0) return bad_shape("expected some values");
    std::vector<std::uint64_t> extents = parts_[0]->extents;
    if (change_.axes == Axes::squeezed) std::erase(extents, std::uint64_t{1});
    if (change_.axes == Axes::column) extents.push_back(1);
    if (change_.axes == Axes::groups)
      if (auto r = split_groups(extents, sizes.groups); !r) return r;
    if (change_.axes == Axes::experts)
      if (auto r = split_experts(extents, sizes.experts); !r) return r;
    if (extents.empty()) return bad_shape("expected an axis");
    dims_.assign(extents.rbegin(), extents.rend());
    width_ = dims_[0];
    if (transposed()) {
      if (dims_.size() < 2) return bad_shape("expected a matrix");
      std::swap(dims_[0], dims_[1]);
    }
    if (auto r = take_rows(sizes); !r) return r;
    if (by_heads()) split_heads();
    if (change_.rows == Rows::stacked) dims_.push_back(parts_.size());
    if (dims_.size() > 4) return bad_shape("expected at most 4 axes");
    return {};
  }

  /// Writes the blocks of row `row` to `to`; false where a scale is no number.
  [[nodiscard]] bool read_packed(std::uint64_t row, std::byte* to) const noexcept {
    constexpr std::byte kNoNumber{0xff};
    const std::uint64_t blocks = columns() / kBlock;
    bool numbers = true;
    for (std::uint64_t i = 0; i < blocks; ++i, to += 1 + kBlock / 2) {
      const std::uint64_t block = order_(row) * blocks + i;
      to[0] = parts_[1]->data[static_cast<std::size_t>(block)];
      numbers = numbers && to[0] != kNoNumber;
      repack(parts_[0]->data.data() + block * (kBlock / 2), to + 1);
    }
    return numbers;
  }

  /// Writes the values of row `row` to `to`, columns() of them.
  void read(std::uint64_t row, float* to) const noexcept {
    if (parts_.empty()) {
      for (std::size_t i = 0; i < values_.size(); ++i) to[i] = values_[i];
      return;
    }
    if (transposed())
      read_column(row / dims_[1] * dims_[0], order_(row % dims_[1]), to);
    else if (change_.rows == Rows::head_keys)
      read_column(row / dims_[1] * order_.period(), row % dims_[1], to);
    else if (by_values())
      for (std::uint64_t i = 0; i < columns(); ++i) read_elements(*parts_[0], row * width_ + order_(i), 1, to + i);
    else if (dims_.size() <= 1 && by_rows())
      for (std::uint64_t i = 0; i < columns(); ++i) read_elements(*parts_[0], order_(i), 1, to + i);
    else
      read_elements(*parts_[static_cast<std::size_t>(row / rows_of_part_)], order_(row % rows_of_part_) * columns(),
                    columns(), to);
    scale(row, to);
  }

 private:
  static constexpr std::uint32_t kMaxParts = 1u << 16;
  static constexpr std::uint64_t kBlock = 32;  // values of a block of MXFP4

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

  [[nodiscard]] Result<void> split_groups(std::vector<std::uint64_t>& extents, std::uint64_t groups) const {
    if (extents.size() != 1 || groups == 0 || extents[0] % groups != 0)
      return bad_shape("expected a vector of whole groups");
    extents = {groups, extents[0] / groups};
    return {};
  }

  [[nodiscard]] Result<void> split_experts(std::vector<std::uint64_t>& extents, std::uint64_t experts) const {
    if (extents.size() != 2 || experts == 0 || extents[0] % experts != 0)
      return bad_shape("expected a matrix for each expert");
    extents = {experts, extents[0] / experts, extents[1]};
    return {};
  }

  [[nodiscard]] bool by_rows() const noexcept { return change_.rows != Rows::all && change_.rows != Rows::stacked; }
  [[nodiscard]] bool transposed() const noexcept {
    return change_.rows == Rows::columns || change_.rows == Rows::even_columns || change_.rows == Rows::odd_columns ||
           change_.rows == Rows::first_columns || change_.rows == Rows::second_columns;
  }
  [[nodiscard]] bool by_values() const noexcept {
    return change_.rows == Rows::even_values || change_.rows == Rows::odd_values || change_.rows == Rows::value_columns;
  }

  /// The axis that rows are taken of: the last but one, or the only one.
  [[nodiscard]] std::uint64_t& row_extent() noexcept { return dims_[dims_.size() <= 1 || by_values() ? 0 : 1]; }

  [[nodiscard]] Result<void> take_rows(const HeadSizes& sizes) {
    if (!by_rows()) {
      rows_of_part_ = rows();
      order_ = RowOrder(Rows::all, rows_of_part_, sizes);
      return {};
    }
    if (by_heads() && dims_.size() != 2) return bad_shape("expected a matrix");
    const std::uint64_t there = row_extent();
    order_ = RowOrder(change_.rows, there, sizes);
    const std::uint64_t parts = by_heads() ? sizes.heads : 1;
    if (pairs() && !order_.fits()) return bad_shape("expected whole pairs of heads");
    if (change_.rows == Rows::answers && !order_.fits()) return bad_shape("expected rows of both answers");
    if (!order_.fits() || parts == 0 || there % parts != 0 || order_.period() != there / parts)
      return bad_shape("which is not what the numbers of heads say");
    row_extent() = order_.count() * parts;
    rows_of_part_ = rows();
    return {};
  }

  [[nodiscard]] bool by_heads() const noexcept {
    return change_.rows == Rows::head_keys || change_.rows == Rows::head_values;
  }
  /// A matrix for each head, that of its keys transposed.
  void split_heads() {
    const std::uint64_t heads = dims_[1] / order_.count();
    dims_ = {dims_[0], order_.count(), heads};
    if (change_.rows == Rows::head_keys) std::swap(dims_[0], dims_[1]);
  }

  [[nodiscard]] bool pairs() const noexcept {
    return change_.rows == Rows::query_pairs || change_.rows == Rows::key_pairs || change_.rows == Rows::query_halves ||
           change_.rows == Rows::key_halves;
  }

  // --- blocks of MXFP4 ---

  /// The last axes of part 0 are the blocks of a row and the bytes of a block; part 1 has a scale for each block.
  [[nodiscard]] Result<void> settle_packed(const HeadSizes& sizes) {
    if (parts_.size() != 2 || parts_[0] == nullptr || parts_[1] == nullptr)
      return fail(Errc::missing_weight, "the blocks or the scales of '", detail::Quoted(name_).view(), "' are missing");
    std::vector<std::uint64_t> extents = parts_[0]->extents;
    if (parts_[0]->type != "U8" || parts_[1]->type != "U8" || extents.size() < 3 || extents.back() != kBlock / 2 ||
        parts_[0]->elems == 0)
      return bad_shape("expected bytes of blocks of 16");
    extents.pop_back();
    if (parts_[1]->extents != extents)
      return fail(Errc::shape_mismatch, "tensor '", detail::Quoted(parts_[1]->name).view(),
                  "' has not a scale for each block of '", detail::Quoted(parts_[0]->name).view(), "'");
    dims_.assign(extents.rbegin(), extents.rend());
    dims_[0] *= kBlock;
    if (dims_.size() > 4) return bad_shape("expected at most 4 axes");
    return take_rows(sizes);
  }
  /// Source: the folder has neighbours in a byte, GGUF the values that are half a block apart.
  static void repack(const std::byte* from, std::byte* to) noexcept {
    const auto value = [&](std::uint64_t i) noexcept {
      return i % 2 == 0 ? from[i / 2] & std::byte{15} : from[i / 2] >> 4;
    };
    for (std::uint64_t i = 0; i < kBlock / 2; ++i) to[i] = value(i) | value(i + kBlock / 2) << 4;
  }

  // --- values ---

  void scale(std::uint64_t row, float* x) const noexcept {
    for (const RowScale& s : scales_)
      if (row >= s.first && row - s.first < s.count)
        for (std::uint64_t i = 0; i < columns(); ++i) x[i] = as_held(x[i] * s.factor, *parts_[0]->dtype);
  }

  void read_elements(const SafeTensor& part, std::uint64_t first, std::uint64_t count, float* to) const noexcept {
    const std::uint64_t width = info(*part.dtype).block_bytes;
    quant::find(*part.dtype)->dequantise(part.data.data() + first * width, count, to);
    for (std::uint64_t i = 0; i < count; ++i) to[i] = changed(to[i], *part.dtype);
  }
  /// Reads a column of a matrix that begins at row `first` of the first part.
  void read_column(std::uint64_t first, std::uint64_t column, float* to) const noexcept {
    for (std::uint64_t i = 0; i < columns(); ++i) read_elements(*parts_[0], (first + i) * width_ + column, 1, to + i);
  }

  [[nodiscard]] float changed(float x, DType type) const noexcept {
    if (change_.values == ValueChange::plus_one) return as_held(x + 1.0f, type);
    if (change_.values == ValueChange::minus_exponential)
      return as_held(-static_cast<float>(math::exp64(static_cast<double>(x))), type);
    return x;
  }
  /// A result is one of the tensor's type, but for bf16, which is widened first.
  [[nodiscard]] static float as_held(float x, DType type) noexcept {
    return type == DType::f16 ? to_f32(to_f16(x)) : x;
  }

  std::string name_;
  TensorChange change_;
  std::vector<std::uint64_t> dims_;
  std::vector<const SafeTensor*> parts_;
  std::vector<float> values_;
  std::vector<RowScale> scales_;
  RowOrder order_;
  std::uint64_t width_ = 0;  // columns of the first part
  std::uint64_t rows_of_part_ = 1;
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
