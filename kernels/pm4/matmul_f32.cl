// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matmul_f32.cl: a matrix of f32 times activations of f32, for prompt tokens.
#define ELEMENT float
#define WIDEN(x) ((float)(x))
#define NAME matmul_f32
#include "matmul_dot16.h"
