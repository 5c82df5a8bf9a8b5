#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/gated_act.comp: act(gate) * up, element by element.
//
// Grid: ceil(count / 256). Canonical. `act` is Activation's number; `up` may be absent.
#include "elementary.glsl"

ZRT_LANES(256);
ZRT_ARGUMENTS {
  uint64_t gate, up, y;
  uint count, act;
};

real activated(uint act, float x) {
  switch (act) {
    case 1: return silu_of(x);
    case 2: return gelu_of(x);
    case 3: return gelu_tanh_of(x);
    case 4: return relu2_of(x);
    case 5: return x < 0.0 ? 0.0 : x;
    case 6: return swiglu_oai_gate_of(x);
  }
  return x;
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const uint i = group_x() * 256 + lane_id();
  if (i >= args.count) return;
  real a = activated(args.act, real_at(args.gate, i));
  if (args.up != 0) {
    real up = real_at(args.up, i);
    a = a * (args.act == 6 ? swiglu_oai_up_of(up) : up);
  }
  put_real(args.y, i, a);
}
