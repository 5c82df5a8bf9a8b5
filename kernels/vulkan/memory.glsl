// SPDX-License-Identifier: Apache-2.0
// kernels/vulkan/memory.glsl: loads and stores at addresses; an index counts elements.
#ifndef ZRT_MEMORY
#define ZRT_MEMORY

#include "place.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Real { float value; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Word { uint value; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Long { uint64_t value; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Piece { u64vec2 value; };
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Short { uint16_t value; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Byte { uint8_t value; };

real real_at(uint64_t base, uint64_t index) { return Real(base + index * 4).value; }
uint word_at(uint64_t base, uint64_t index) { return Word(base + index * 4).value; }
uint short_at(uint64_t base, uint64_t index) { return uint(Short(base + index * 2).value); }
uint byte_at(uint64_t base, uint64_t index) { return uint(Byte(base + index).value); }
/// A piece of 16 bytes; lavapipe loads lane by lane and element by element, so that there are two.
uvec4 piece_at(uint64_t base, uint64_t index) {
  const u64vec2 words = Piece(base + index * 16).value;
  return uvec4(unpackUint2x32(words.x), unpackUint2x32(words.y));
}
/// Four floats at a multiple of 16.
real4 real4_at(uint64_t base, uint64_t index) { return uintBitsToFloat(piece_at(base + index * 4, 0)); }

/// The values of an f16 and of a bf16.
real f16_of(uint bits) { return unpackHalf2x16(bits).x; }
real bf16_of(uint bits) { return uintBitsToFloat(bits << 16); }
real f16_at(uint64_t base, uint64_t index) { return f16_of(short_at(base, index)); }

void put_real(uint64_t base, uint64_t index, float value) { Real(base + index * 4).value = value; }
void put_word(uint64_t base, uint64_t index, uint value) { Word(base + index * 4).value = value; }
void put_short(uint64_t base, uint64_t index, uint value) { Short(base + index * 2).value = uint16_t(value); }
void put_byte(uint64_t base, uint64_t index, uint value) { Byte(base + index).value = uint8_t(value); }

#endif
