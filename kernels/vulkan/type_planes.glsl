// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/type_planes.glsl: blocks of any type in planes, as plane_types.glsl describes it.
//
// Codes of 32 elements are a chunk: eight words of four. A plane of b bits has b words of a chunk; word i holds words i,
// i + b, i + 2b, ... from the lowest bits up. BITS says which planes there are: of four bits, of two, of one. Where a block
// meets two scales, the second is the offset or, without OFFSETS, the scale of its second half.
#include "plane_types.glsl"

#if BLOCK == 32
#define STEPS 1
#else
#define STEPS 4
#endif

struct Parts {
#if BITS & 4
  uint64_t fours;
#endif
#if BITS & 2
  uint64_t twos;
#endif
#if BITS & 1
  uint64_t ones;
#endif
  uint64_t d;
#if PART
  uint64_t factors;
#endif
};
struct Head {
  float d, second;
};
/// The integers of a chunk.
struct Chunk {
  uvec4 lower, upper;
};

real scale_at(Parts m, uint row, uint index, uint count) {
  const uint64_t place = piece_place(row, index, count);
#if SCALE == 32
  return real_at(m.d, place);
#elif SCALE == 16
  return f16_at(m.d, place);
#else
  return bf16_of(short_at(m.d, place));
#endif
}
Head head_of(Parts m, uint row, uint b, uint blocks) {
  const uint first = b / SHARING * SCALES, count = blocks / SHARING * SCALES;
#if SCALES == 2
  return Head(scale_at(m, row, first, count), scale_at(m, row, first + 1, count));
#else
  return Head(scale_at(m, row, first, count), 0.0);
#endif
}

#ifdef LEVELS
uint level_of(uint code) {
  const uvec4 levels = LEVELS;
  const uint four = code < 8 ? (code < 4 ? levels.x : levels.y) : (code < 12 ? levels.z : levels.w);
  return four >> code % 4 * 8 & 255u;
}
uint integers_of(uint codes) {
  return level_of(codes & 255u) | level_of(codes >> 8 & 255u) << 8 | level_of(codes >> 16 & 255u) << 16 |
         level_of(codes >> 24) << 24;
}
uvec4 integers_of(uvec4 codes) {
  return uvec4(integers_of(codes.x), integers_of(codes.y), integers_of(codes.z), integers_of(codes.w));
}
#elif LOWEST == 0
uint integers_of(uint codes) { return codes; }
uvec4 integers_of(uvec4 codes) { return codes; }
#else
/// With the top bit set, no byte takes anything from the next.
uint integers_of(uint codes) { return (codes + 0x80808080u - uint(-LOWEST) * 0x01010101u) ^ 0x80808080u; }
uvec4 integers_of(uvec4 codes) { return (codes + 0x80808080u - uint(-LOWEST) * 0x01010101u) ^ 0x80808080u; }
#endif

Chunk chunk_of(Parts m, uint row, uint chunk, uint chunks) {
  const uint64_t place = piece_place(row, chunk, chunks);
  Chunk codes = Chunk(uvec4(0), uvec4(0));
#if BITS & 4
  const uvec4 fours = piece_at(m.fours, place);
  codes.lower = fours & 0x0f0f0f0fu;
  codes.upper = fours >> 4 & 0x0f0f0f0fu;
#endif
#if BITS & 2
  const uvec2 twos = unpackUint2x32(Long(m.twos + place * 8).value);
  codes.lower |= (uvec4(twos, twos >> 2) & 0x03030303u) << (BITS & 4);
  codes.upper |= (uvec4(twos >> 4, twos >> 6) & 0x03030303u) << (BITS & 4);
#endif
#if BITS & 1
  const uint ones = word_at(m.ones, place);
  codes.lower |= (uvec4(ones, ones >> 1, ones >> 2, ones >> 3) & 0x01010101u) << (BITS & 6);
  codes.upper |= (uvec4(ones >> 4, ones >> 5, ones >> 6, ones >> 7) & 0x01010101u) << (BITS & 6);
#endif
  return Chunk(integers_of(codes.lower), integers_of(codes.upper));
}

#if PART
#define FACTOR_WORDS (BLOCK / PART / 4)
/// The factors of the sixteens of two chunks, step `part` of a block; those of offsets stand behind all others.
ivec4 factors_of(Parts m, uint row, uint b, uint part, uint blocks, uint offset) {
  const uint words = FACTOR_WORDS * (1 + OFFSETS), first = b * words + offset * FACTOR_WORDS;
#if PART == 16
  const uint word = word_at(m.factors, piece_place(row, first + part, blocks * words));
  return ivec4(signed_byte(word, 0), signed_byte(word, 1), signed_byte(word, 2), signed_byte(word, 3));
#else
  const uint word = word_at(m.factors, piece_place(row, first + part / 2, blocks * words)) >> part % 2 * 16;
  const int near = signed_byte(word, 0), far = signed_byte(word, 1);
  return ivec4(near, near, far, far);
#endif
}
#else
ivec4 factors_of(Parts m, uint row, uint b, uint part, uint blocks, uint offset) { return ivec4(1); }
#endif

#if BLOCK == 32
struct Step {
  Chunk w;
};

Step step_of(Parts m, Head h, uint row, uint b, uint part, uint blocks) { return Step(chunk_of(m, row, b, blocks)); }
void add(inout Sums sums, Step s, uint64_t x) {
  const uvec4 near = piece_at(x, 0), far = piece_at(x, 1);
  sums.scaled += dot_of(s.w.lower, near);
#if OFFSETS
  sums.scaled += dot_of(s.w.upper, far);
  sums.offset += sum_of(near) + sum_of(far);
#elif SCALES == 2
  sums.offset += dot_of(s.w.upper, far);
#else
  sums.scaled += dot_of(s.w.upper, far);
#endif
}
#else
/// Two chunks, with the factors of their sixteens.
struct Step {
  uint first;
  Chunk near, far;
  ivec4 factors, offsets;
};

Step step_of(Parts m, Head h, uint row, uint b, uint part, uint blocks) {
  const uint chunk = b * 8 + part * 2;
  Step s;
  s.first = part * 4;
  s.near = chunk_of(m, row, chunk, blocks * 8);
  s.far = chunk_of(m, row, chunk + 1, blocks * 8);
  s.factors = factors_of(m, row, b, part, blocks, 0);
#if OFFSETS
  s.offsets = factors_of(m, row, b, part, blocks, 1);
#endif
  return s;
}
void add(inout Sums sums, Step s, uint64_t x) {
  const uvec4 a = piece_at(x, s.first), b = piece_at(x, s.first + 1);
  const uvec4 c = piece_at(x, s.first + 2), d = piece_at(x, s.first + 3);
  sums.scaled += s.factors.x * dot_of(s.near.lower, a) + s.factors.y * dot_of(s.near.upper, b);
  sums.scaled += s.factors.z * dot_of(s.far.lower, c) + s.factors.w * dot_of(s.far.upper, d);
#if OFFSETS
  sums.offset += s.offsets.x * sum_of(a) + s.offsets.y * sum_of(b);
  sums.offset += s.offsets.z * sum_of(c) + s.offsets.w * sum_of(d);
#endif
}
#endif

real finished(Head h, Sums sums, float x_scale, float chain) {
  real scale = h.d * x_scale;
  real scaled = zrt_fma(scale, float(sums.scaled), chain);
#if SCALES == 2
  real second = h.second * x_scale;
  return zrt_fma(second, float(sums.offset), scaled);
#else
  return scaled;
#endif
}

/// The bits that a plane of `bits` has of element `i` of a chunk.
uint bits_at(uint64_t plane, uint bits, uint row, uint chunk, uint chunks, uint i) {
  const uint word = i / 4, byte = word % bits * 4 + i % 4;
  return byte_at(plane, piece_place(row, chunk, chunks) * 4 * bits + byte) >> word / bits * bits & (1u << bits) - 1;
}
/// Element `i` of block `b` of a row.
real value_at(Parts m, uint row, uint b, uint blocks, uint i) {
  const uint chunk = b * (BLOCK / 32) + i / 32, chunks = blocks * (BLOCK / 32);
  uint code = 0;
#if BITS & 4
  code |= bits_at(m.fours, 4, row, chunk, chunks, i % 32);
#endif
#if BITS & 2
  code |= bits_at(m.twos, 2, row, chunk, chunks, i % 32) << (BITS & 4);
#endif
#if BITS & 1
  code |= bits_at(m.ones, 1, row, chunk, chunks, i % 32) << (BITS & 6);
#endif
  const Head h = head_of(m, row, b, blocks);
  real integer = float(signed_byte(integers_of(code), 0));
  real factor = float(factors_of(m, row, b, i / 64, blocks, 0)[i / 16 % 4]);
#if OFFSETS
  real offset_factor = float(factors_of(m, row, b, i / 64, blocks, 1)[i / 16 % 4]);
  real step = h.d * factor;
  real offset = h.second * offset_factor;
  return zrt_fma(step, integer, offset);
#elif SCALES == 2
  real step = (i < 16 ? h.d : h.second) * factor;
  return step * integer;
#else
  real step = h.d * factor;
  return step * integer;
#endif
}
