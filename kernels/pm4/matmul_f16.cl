// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matmul_f16.cl: a matrix of f16 times activations of f32, for prompt tokens.
#define ELEMENT half
#define WIDEN(x) ((float)(x))
#define NAME matmul_f16
#include "matmul_dot16.h"
