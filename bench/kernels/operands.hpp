// SPDX-License-Identifier: Apache-2.0
// bench/kernels/operands.hpp: a matrix of any weight type and the rows that it multiplies, with random values.
#pragma once

#include <zrt/backend/cpu/kernels.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <vector>

namespace bench {

namespace cpu = zrt::cpu;
using zrt::DType;

constexpr std::uint32_t kOutputs = 256, kCols = 2048;  // a few MiB at most: out of the caches of one core

/// Activations and their rounded forms, with integers and scales as rounding leaves them.
struct Rows {
  explicit Rows(std::uint32_t rows)
      : x(std::size_t{rows} * kCols), q(x.size()), d(x.size() / 32), sum(d.size()), half(2 * d.size()) {
    std::mt19937 random(1);
    for (float& v : x) v = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
    for (std::int8_t& v : q) v = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
    for (float& v : d) v = static_cast<float>(random() % 1000 + 1) / 1e5f;
    for (std::size_t i = 0; i < q.size(); ++i) {
      sum[i / 32] += q[i];
      half[i / 16] += q[i];
    }
    activations = {x.data(), q.data(),   d.data(),    sum.data(), half.data(), q.data(),
                   d.data(), sum.data(), half.data(), rows,       kCols};
  }
  std::vector<float> x;
  std::vector<std::int8_t> q;
  std::vector<float> d;
  std::vector<std::int32_t> sum, half;
  cpu::Activations activations{};
};

/// A matrix with random codes and small scales: packed where its type is, or else as its file has it.
class Matrix {
 public:
  explicit Matrix(const cpu::WeightKernels& kernels) : packed_(kernels.packed != nullptr) {
    const zrt::DTypeInfo& type = zrt::info(kernels.dtype);
    const cpu::PackedForm form = packed_ ? kernels.packed->form : cpu::PackedForm{};
    const std::size_t each = packed_ ? std::size_t{kCols} / form.elems() * form.block_bytes()  // a group's, or a row's
                                     : std::size_t{kCols} / type.block_elems * type.block_bytes;
    bytes_ = kOutputs / (packed_ ? cpu::kPackedRows : 1) * each;
    data_.reset(new (kLine) std::byte[bytes_ + kFetched]);
    std::mt19937 random(2);
    for (std::size_t i = 0; i < bytes_; ++i) data_[i] = static_cast<std::byte>(random());
    if (packed_)
      for (std::size_t at = 0; at < bytes_; at += form.block_bytes()) set_scales(form, &data_[at], random);
    else
      for (std::size_t at = 0; at < bytes_; at += type.block_bytes) set_element(kernels.dtype, &data_[at], random);
    weight_ = {data_.get(), kernels.packed == nullptr ? nullptr : &kernels.packed->form, kCols, kOutputs, each};
    plain_ = {data_.get(), kernels.dtype, kOutputs, kCols, each};
  }

  /// y[t][n], as a step of one worker computes it.
  void multiply(const cpu::WeightTable& set, const cpu::WeightKernels& kernels, const Rows& rows, float* y) const {
    if (packed_)
      set.dot_packed(weight_, 0, kOutputs, rows.activations, y, kOutputs);
    else
      kernels.dot(plain_, 0, kOutputs, rows.activations, y, kOutputs);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The elements of a matrix of f32, row behind row.
  [[nodiscard]] const float* f32() const { return plain_.f32(); }

 private:
  static constexpr std::align_val_t kLine{64};
  static constexpr std::size_t kFetched = 1 << 16;  // kernels fetch ahead
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, kLine); }
  };

  static void set_scales(const cpu::PackedForm& form, std::byte* block, std::mt19937& random) {
    for (std::uint32_t at = form.scales_at(); at < form.factors_at(); at += form.scale_bytes() / cpu::kPackedRows)
      cpu::detail::put_scale(form.scale, block + at, 0, static_cast<float>(random() % 100 + 1) / 1e4f);
  }
  static void set_element(DType type, std::byte* element, std::mt19937& random) {
    const float value = static_cast<float>(random() % 2001) / 1e3f - 1.0f;
    cpu::detail::put_scale(type == DType::f16 || type == DType::f32 ? type : DType::bf16, element, 0, value);
  }

  bool packed_;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[], Free> data_{};
  cpu::PackedWeight weight_{};
  zrt::HostWeight plain_{};
};

}  // namespace bench
