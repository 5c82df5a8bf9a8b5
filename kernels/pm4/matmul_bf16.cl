// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matmul_bf16.cl: a matrix of bf16 times activations of f32, for prompt tokens.
#define ELEMENT ushort
#define WIDEN(x) bits_to_float((uint)(x) << 16)
#define NAME matmul_bf16
#include "matmul_dot16.h"
