// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/ssm_delta_net.cl: the gated delta rule over the tokens of a slot.
//
// Grid: (value_heads, tokens), as recurrent.h says. A workgroup takes a value head, a lane columns of its matrix. alpha
// may be null: then beta has both. Canonical: ssm_delta_net's orders.
#include "dot16.h"
#include "elementary.h"
#include "recurrent.h"

#define LANES 64
#define KEYS 256

/// 1 / max(|x|, eps).
ZRT_INLINE float inverse_norm(global const float* x, uint dim, float eps) {
  float chain = 0.0f;
  for (uint i = lane_id() % 16; i < dim; i += 16) chain = __builtin_fmaf(x[i], x[i], chain);
  return 1.0f / larger(__builtin_sqrtf(tree16(chain)), eps);
}

ZRT_KERNEL(LANES)
ssm_delta_net(global const float* qkv, global const float* beta, global const float* alpha, global const float* a,
              global const float* dt_bias, global const uint* slots, global float* state, global float* y, uint tokens,
              uint key_heads, uint value_heads, uint key_dim, uint value_dim, uint alternates, float eps, uint part,
              uint block) {
  local float query[KEYS], key[KEYS];
  const Run run = run_of(slots, state, tokens, part, block);
  const uint head = group_x(), each = value_heads / key_heads;
  const uint key_head = alternates != 0 ? head % key_heads : head / each;
  const uint columns = 2 * key_heads * key_dim + value_heads * value_dim;
  const float query_scale = 1.0f / __builtin_sqrtf((float)key_dim);
  global float* matrix = run.state + (ulong)head * key_dim * value_dim;
  for (uint row = run.first; row < run.end; ++row) {
    global const float* q = qkv + ((ulong)row * columns + key_head * key_dim);
    global const float* k = q + key_heads * key_dim;
    global const float* v = qkv + ((ulong)row * columns + 2 * key_heads * key_dim + head * value_dim);
    const float of_query = inverse_norm(q, key_dim, eps), of_key = inverse_norm(k, key_dim, eps);
    for (uint i = lane_id(); i < key_dim; i += LANES) {
      query[i] = q[i] * of_query * query_scale;
      key[i] = k[i] * of_key;
    }
    meet();
    global const float* of_beta = beta + ((ulong)row * value_heads + head);
    global const float* of_alpha = alpha + ((ulong)row * value_heads + head);
    if (alpha == 0) {
      of_beta = beta + ((ulong)2 * ((ulong)row * value_heads + head / each * each) + head % each);
      of_alpha = of_beta + each;
    }
    const float decay = exp_of(a[head] * softplus_of(*of_alpha + dt_bias[head])), gate = sigmoid_of(*of_beta);
    for (uint j = lane_id(); j < value_dim; j += LANES) {
      const uint width = tile_width(j, value_dim);
      global float* s = matrix + tile_base(j, key_dim);
      float found = 0.0f;
      for (uint i = 0; i < key_dim; ++i) found = __builtin_fmaf(s[i * width] * decay, key[i], found);
      const float change = gate * (v[j] - found);
      float sum = 0.0f;
      for (uint i = 0; i < key_dim; ++i) {
        const float next = __builtin_fmaf(key[i], change, s[i * width] * decay);
        s[i * width] = next;
        sum = __builtin_fmaf(next, query[i], sum);
      }
      y[((ulong)row * value_heads + head) * value_dim + j] = sum;
    }
    meet();
  }
}
