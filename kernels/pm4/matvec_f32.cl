// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/matvec_f32.cl: a matrix of f32 times activations of f32, for generated tokens.
#define ELEMENT float
#define WIDEN(x) ((float)(x))
#define NAME matvec_f32
#define EXPERTS experts_f32
#include "matvec_dot16.h"
