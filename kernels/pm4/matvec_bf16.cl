// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_bf16.cl: a matrix of bf16 times activations of f32, for generated tokens.
#define ELEMENT ushort
#define WIDEN(x) bits_to_float((uint)(x) << 16)
#define NAME matvec_bf16
#define EXPERTS experts_bf16
#include "matvec_dot16.h"
