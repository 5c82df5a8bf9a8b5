// SPDX-License-Identifier: Apache-2.0
// tests/support/kernel_matrix.hpp: a random matrix of any weight type, as files have it and in the kernels' parts.
#pragma once

#include <zrt/device/upload/types.hpp>
#include <zrt/ops/projection.hpp>

#include <cstring>
#include <support/block_scales.hpp>
#include <support/kernel_values.hpp>

namespace zrt::test {

struct KernelMatrix {
  DType dtype;
  std::uint32_t rows, cols, blocks;
  std::vector<std::byte> file;
  std::vector<std::vector<std::byte>> parts;  ///< each of exactly its size

  KernelMatrix(std::mt19937& random, DType type, std::uint32_t row_count, std::uint32_t col_count)
      : dtype(type), rows(row_count), cols(col_count), blocks(cols / info(type).block_elems), file(rows * row_bytes()) {
    for (std::byte& b : file) b = static_cast<std::byte>(random());
    if (info(dtype).block_elems == 1) {
      const std::vector<float> values = reals(random, std::size_t{rows} * cols);
      for (std::size_t i = 0; i < values.size(); ++i) put_value(i, values[i]);
    } else {
      for (std::uint32_t b = 0; b < rows * blocks; ++b) {
        const float scale = reals(random, 1, 0.1f)[0], offset = reals(random, 1, 0.1f)[0];
        set_scales(dtype, &file[b * info(dtype).block_bytes], scale, offset);
      }
    }
    upload();
  }

  /// Gives a block another scale; MXFP4 takes the nearest power of two.
  void set_scale(std::uint32_t block, float scale) {
    set_scales(dtype, &file[block * info(dtype).block_bytes], scale, 0.0f);
    upload();
  }
  /// Gives all elements of a row of a type without blocks the same value.
  void set_row(std::uint32_t row, float value) {
    for (std::size_t i = 0; i < cols; ++i) put_value(std::size_t{row} * cols + i, value);
    upload();
  }
  [[nodiscard]] std::size_t row_bytes() const { return std::size_t{blocks} * info(dtype).block_bytes; }
  [[nodiscard]] quant::Act act() const { return quant::facts(dtype)->act; }
  [[nodiscard]] HostWeight weight() const { return {file.data(), dtype, rows, cols, row_bytes()}; }
  [[nodiscard]] std::string suffix() const { return "_" + std::string(name(dtype)); }

 private:
  template <class T> void put(std::size_t at, T value) { std::memcpy(&file[at], &value, sizeof value); }
  void put_value(std::size_t i, float value) {
    dtype == DType::f32    ? put(i * 4, value)
    : dtype == DType::bf16 ? put(i * 2, to_bf16(value).bits)
                           : put(i * 2, to_f16(value).bits);
  }
  void upload() {
    const device::UploadFunctions* u = device::upload_of(dtype);
    parts.clear();
    std::array<std::byte*, device::kMaxParts> to{};
    // What fills up a part has an influence on nothing: bits of NaNs.
    for (std::size_t p = 0; p < u->parts.size(); ++p)
      parts.emplace_back(u->parts[p].bytes(rows, blocks).raw(), std::byte{0xff});
    for (std::size_t p = 0; p < parts.size(); ++p) to[p] = parts[p].data();
    u->write(file.data(), row_bytes(), rows, blocks, to.data());
  }
};

/// Activations as round_activation_q8_32 and _256 leave them.
struct Rounded {
  std::vector<std::int8_t> q;
  std::vector<float> d;

  Rounded(const std::vector<float>& x, quant::Act act) : q(x.size()), d(x.size() / quant::group_elems(act)) {
    quant::round_activation(x.data(), x.size(), quant::group_elems(act), q.data(), d.data());
  }
};

/// What the ops' references give: y [tokens][rows], of rounded activations for block types.
inline std::vector<float> product_of(const KernelMatrix& w, const std::vector<float>& x,
                                     const std::vector<float>& bias) {
  std::vector<float> y, scratch(projection_scratch(w.cols).raw() / 4 + 1);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(scratch));
  for (std::size_t t = 0; t < x.size() / w.cols; ++t) {
    const ActivationRow row = round_row(&x[t * w.cols], w.cols, w.act(), bytes);
    for (std::uint32_t r = 0; r < w.rows; ++r) {
      const float sum = project(w.weight(), r, row, bytes);
      y.push_back(bias.empty() ? sum : sum + bias[r]);
    }
  }
  return y;
}

}  // namespace zrt::test
