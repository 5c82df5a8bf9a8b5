// SPDX-License-Identifier: Apache-2.0
// bench/kernels/free_order.hpp: the same sums in whatever order is fastest: the compiler may change it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace free_order {

/// y[t][n] = sum of w[n][k] x[t][k]. Four rows of weights share a load of activations.
void products_of_f32(const float* w, const float* x, std::size_t outputs, std::size_t cols, std::size_t rows, float* y);

/// y[t][n] = sum over blocks of 32 of scale[n][b] d[t][b] (q times x - 128 times x), q being unsigned: what llama.cpp's
/// type Q8_0 means, row behind row. dx[t][b] is 128 d[t][b] times the sum of a block of x. Whole pairs of blocks.
void products_of_q8_0(const std::uint8_t* q, const float* scale, const std::int8_t* x, const float* d, const float* dx,
                      std::size_t outputs, std::size_t cols, std::size_t rows, float* y);

/// x / sqrt(mean of squares + eps) times weight.
void rms_norm(const float* x, const float* weight, std::size_t cols, float eps, float* y);

}  // namespace free_order
