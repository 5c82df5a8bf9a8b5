// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/decode_memory.hpp: addresses and data of vector memory instructions: DS, flat, global and scratch.
#pragma once

#include <zrt/emulator/decoder.hpp>

namespace zrt::inline ZRT_ABI::emulator {

namespace detail {

inline void decode_ds(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  if (s.src[0] == Type::none) return;
  const bool two = s.access.bytes == 0 && s.run != &swizzle && s.run != &bpermute && s.run != &permute;
  const u32 offsets = d.take(0, 15, 0);
  d.out->offset = static_cast<i32>(two ? offsets & 0xffu : offsets);
  d.out->offset1 = static_cast<i32>(offsets >> 8);
  d.out->src[0] = d.vgpr(d.take(1, 7, 0), s.src[0]);
  if (s.src[2] != Type::none) d.out->src[2] = d.vgpr(d.take(1, 15, 8), s.src[2]);
  if (s.src[1] != Type::none) d.out->src[1] = d.vgpr(d.take(1, 23, 16), s.src[1]);
  d.out->returns = s.access.atomic && s.access.extend == ElementAccess::Extend::zero;
  if (s.dst != Type::none && (!s.access.atomic || d.out->returns)) d.out->dst = d.vgpr(d.take(1, 31, 24), s.dst);
}

/// Where the instruction set has a field of an access to global, flat or scratch memory.
struct FieldPlace {
  u8 word, high, low;
};
struct AccessPlaces {
  FieldPlace address, base, data, dst, offset, returns, scratch_address, policy;
};
inline constexpr AccessPlaces kAccess11{{1, 7, 0},  {1, 22, 16}, {1, 15, 8},  {1, 31, 24},
                                        {0, 12, 0}, {0, 14, 14}, {1, 23, 23}, {0, 15, 13}};
inline constexpr AccessPlaces kAccess12{{2, 7, 0},  {0, 6, 0},   {1, 30, 23}, {1, 7, 0},
                                        {2, 31, 8}, {1, 20, 20}, {1, 17, 17}, {1, 22, 18}};

template <const AccessPlaces& kPlaces> void decode_access(Decoder& d) noexcept {
  auto take = [&](FieldPlace p) { return d.take(p.word, p.high, p.low); };
  const Semantics& s = d.out->instruction->semantics;
  Decoded& o = *d.out;
  const Encoding encoding = o.instruction->encoding;
  const u32 base = take(kPlaces.base);
  (void)take(kPlaces.policy);
  const bool has_base = base != sgpr::kNull;
  if (has_base && (encoding == Encoding::flat || s.src[0] == Type::none || base == sgpr::kExec + 1)) d.ok = false;
  if (s.src[0] == Type::none) return;
  if (has_base) o.src[1] = d.sgpr(base, s.src[1]);
  if (encoding != Encoding::scratch)  // With a scalar base the vector address is an offset of 32 bits.
    o.src[0] = d.vgpr(take(kPlaces.address), has_base ? Type::u32 : Type::u64);
  else if (take(kPlaces.scratch_address) != 0)
    o.src[0] = d.vgpr(take(kPlaces.address), Type::u32);
  if (s.src[2] != Type::none) o.src[2] = d.vgpr(take(kPlaces.data), s.src[2]);
  o.returns = s.access.atomic && take(kPlaces.returns) != 0;
  if (s.dst != Type::none && (!s.access.atomic || o.returns)) o.dst = d.vgpr(take(kPlaces.dst), s.dst);
  o.offset = signed_field(take(kPlaces.offset), static_cast<unsigned>(kPlaces.offset.high - kPlaces.offset.low), 0);
  if (encoding == Encoding::flat && d.target.isa == Isa::gfx11 && o.offset < 0) d.ok = false;
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::emulator
