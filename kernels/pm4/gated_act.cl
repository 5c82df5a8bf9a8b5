// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/gated_act.cl: act(gate) * up, element by element.
//
// Grid: ceil(count / 256). Canonical. `act` is Activation's number; `up` may be null.
#include "elementary.h"

ZRT_INLINE float activated(uint act, float x) {
  switch (act) {
    case 1: return silu_of(x);
    case 2: return gelu_of(x);
    case 3: return gelu_tanh_of(x);
    case 4: return relu2_of(x);
    case 5: return x < 0.0f ? 0.0f : x;
    case 6: return swiglu_oai_gate_of(x);
  }
  return x;
}

ZRT_KERNEL(256)
gated_act(global const float* gate, global const float* up, global float* y, uint count, uint act) {
  const uint i = group_x() * 256 + lane_id();
  if (i >= count) return;
  const float a = activated(act, gate[i]);
  y[i] = up == 0 ? a : a * (act == 6 ? swiglu_oai_up_of(up[i]) : up[i]);
}
