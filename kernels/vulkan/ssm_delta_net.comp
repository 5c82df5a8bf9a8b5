#version 460
// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/ssm_delta_net.comp: the gated delta rule over the tokens of a slot.
//
// Grid: (value_heads, tokens), as recurrent.glsl says. A workgroup takes a value head, a lane columns of its matrix; keys
// have at most 256 dims. alpha may be absent: then beta has both. Canonical: ssm_delta_net's orders.
//
// For each token of its slot a lane takes key_dim / 8 + 9 turns of loops, and for each of its columns key_dim / 4 + 5: of
// heads of 128 at most 650 tokens in a step.
#include "dot16.glsl"
#include "elementary.glsl"
#include "recurrent.glsl"

ZRT_LANES(64);
ZRT_ARGUMENTS {
  uint64_t qkv, beta, alpha, a, dt_bias, slots, state, y;
  uint tokens, key_heads, value_heads, key_dim, value_dim, alternates;
  float eps;
  uint part, block;
};

const uint kLanes = 64, kKeys = 256;
shared float query[kKeys], key[kKeys];

/// 1 / max(|x|, eps).
real inverse_norm(uint64_t x, uint dim, float eps) {
  real chain = 0.0;
  for (uint i = lane_id(); i < chain_end(dim); i += 16) {
    real value = real_at(x, i);
    chain = zrt_fma(value, value, chain);
  }
  return zrt_div(1.0, larger(zrt_sqrt(tree16(chain)), eps));
}

/// Query and key of a row, normed, into shared memory.
void load_keys(Arguments args, uint64_t q, uint64_t k) {
  real of_query = inverse_norm(q, args.key_dim, args.eps);
  real of_key = inverse_norm(k, args.key_dim, args.eps);
  real query_scale = zrt_div(1.0, zrt_sqrt(float(args.key_dim)));
  for (uint i = lane_id(); i < args.key_dim; i += kLanes) {
    real scaled = real_at(q, i) * of_query * query_scale;
    real normed = real_at(k, i) * of_key;
    query[i] = scaled;
    key[i] = normed;
  }
  meet();
}

struct Gates {
  float decay, gate;
};
Gates gates_of(Arguments args, uint row, uint head) {
  const uint each = args.value_heads / args.key_heads;
  uint64_t of_beta = args.beta + (uint64_t(row) * args.value_heads + head) * 4;
  uint64_t of_alpha = args.alpha + (uint64_t(row) * args.value_heads + head) * 4;
  if (args.alpha == 0) {
    of_beta = args.beta + (2 * (uint64_t(row) * args.value_heads + head / each * each) + head % each) * 4;
    of_alpha = of_beta + each * 4;
  }
  real shifted = real_at(of_alpha, 0) + real_at(args.dt_bias, head);
  real exponent = real_at(args.a, head) * softplus_of(shifted);
  return Gates(exp_of(exponent), sigmoid_of(real_at(of_beta, 0)));
}

/// A column of the matrix of states.
struct Column {
  uint64_t s;
  uint width;  // from one element to the next
};

real found_by(Column of, float decay, uint i, float found) {
  real faded = real_at(of.s, i * of.width) * decay;
  return zrt_fma(faded, key[i], found);
}
/// What the key finds in the faded column.
real find(Column of, float decay, uint dim) {
  real found = 0.0;
  uint i = 0;
  for (; i + 8 <= dim; i += 8)
    [[unroll]] for (uint j = 0; j < 8; ++j) found = found_by(of, decay, i + j, found);
  for (; i < dim; ++i) found = found_by(of, decay, i, found);
  return found;
}

real written_by(Column of, float decay, float change, uint i, float sum) {
  real faded = real_at(of.s, i * of.width) * decay;
  real next = zrt_fma(key[i], change, faded);
  put_real(of.s, i * of.width, next);
  return zrt_fma(next, query[i], sum);
}
/// Writes the change by the key. Returns what the query finds then.
real write_change(Column of, float decay, float change, uint dim) {
  real sum = 0.0;
  uint i = 0;
  for (; i + 8 <= dim; i += 8)
    [[unroll]] for (uint j = 0; j < 8; ++j) sum = written_by(of, decay, change, i + j, sum);
  for (; i < dim; ++i) sum = written_by(of, decay, change, i, sum);
  return sum;
}

void take_row(Arguments args, uint64_t matrix, uint row, uint head) {
  const uint each = args.value_heads / args.key_heads;
  const uint key_head = args.alternates != 0 ? head % args.key_heads : head / each;
  const uint keys = args.key_heads * args.key_dim, columns = 2 * keys + args.value_heads * args.value_dim;
  const uint64_t first = args.qkv + uint64_t(row) * columns * 4, q = first + key_head * args.key_dim * 4;
  load_keys(args, q, q + keys * 4);
  const Gates gates = gates_of(args, row, head);
  for (uint j = lane_id(); j < args.value_dim; j += kLanes) {
    const Column of = Column(matrix + tile_base(j, args.key_dim) * 4, tile_width(j, args.value_dim));
    real value = real_at(first, 2 * keys + head * args.value_dim + j);
    real missing = value - find(of, gates.decay, args.key_dim);
    real change = gates.gate * missing;
    put_real(args.y, (uint64_t(row) * args.value_heads + head) * args.value_dim + j,
             write_change(of, gates.decay, change, args.key_dim));
  }
  meet();
}

void main() {
  Arguments args = Arguments(address_of_arguments);
  const Rows run = run_of(args.slots, args.state, args.tokens, args.part, args.block);
  const uint head = group_x();
  const uint64_t matrix = run.state + uint64_t(head) * args.key_dim * args.value_dim * 4;
  for (uint row = run.first; row < run.end; ++row) take_row(args, matrix, row, head);
}
