// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_f16.cl: a matrix of f16 times activations of f32, for generated tokens.
#define ELEMENT half
#define WIDEN(x) ((float)(x))
#define NAME matvec_f16
#define EXPERTS experts_f16
#include "matvec_dot16.h"
