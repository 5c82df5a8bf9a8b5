// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/matrix.hpp: WMMA: products of 16 x 16 tiles by a whole wave.
#pragma once

#include <zrt/emulator/multiply_add.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

/// Elements of the factors.
enum class Element : u8 { half, brain, iu8, iu4 };

template <Element kElement>
inline constexpr unsigned kElementBits = kElement == Element::iu8   ? 8
                                         : kElement == Element::iu4 ? 4
                                                                    : 16;

/// One element of a factor: the tile's row of A or column of B, and its place along the contraction.
///
/// GFX12: lane l holds row l % 16, and of the depth the part l / 16. GFX11: a lane holds its row's whole depth; the
/// upper lanes repeat the lower ones.
template <Element kElement>
[[nodiscard]] inline u32 factor_bits(const Wave& w, unsigned first, unsigned row, unsigned k, unsigned depth) noexcept {
  constexpr unsigned kBits = kElementBits<kElement>;
  const unsigned parts = w.group->isa == Isa::gfx12 ? w.lanes() / 16 : 1;
  const unsigned per_lane = depth / parts;
  const unsigned lane = row + k / per_lane * 16;
  const unsigned bit = k % per_lane * kBits;
  return w.vgpr(lane / kLanes, first + bit / 32)[lane % kLanes] >> bit % 32 & ((u32{1} << kBits) - 1);
}

/// The first lane above 15 in which a factor of `words` registers is not what the lane 16 below has, or 0: GFX11 wants
/// every row in all groups of 16 lanes (ISA reference of RDNA3, 7.9).
[[nodiscard]] inline unsigned unrepeated_lane(const Wave& w, unsigned first, unsigned words) noexcept {
  for (unsigned lane = 16; lane < w.lanes(); ++lane) {
    const unsigned below = lane - 16;
    for (unsigned word = 0; word < words; ++word)
      if (w.vgpr(lane / kLanes, first + word)[lane % kLanes] != w.vgpr(below / kLanes, first + word)[below % kLanes])
        return lane;
  }
  return 0;
}

/// Where an element of C and D is: register and lane.
struct TilePlace {
  unsigned word, lane;
};
[[nodiscard]] constexpr TilePlace tile_place(Isa isa, unsigned lanes, unsigned row, unsigned column) noexcept {
  const unsigned groups = lanes / 16;
  if (isa == Isa::gfx11) return {row / groups, column + row % groups * 16};
  return {row % (16 / groups), column + row / (16 / groups) * 16};
}

/// D = A * B + C. Floating sums run from C through the depth in order, each step fused in f32.
template <Element kElement, class Sum, unsigned kDepth> Flow matrix_multiply(Wave& w, const Decoded& d) noexcept {
  if (w.exec_all() != (w.halves == 2 ? ~u64{0} : u64{0xffffffff}))
    return fault(w, d, Errc::spec_violation, "a matrix instruction needs every lane active");
  const Isa isa = w.group->isa;
  if (isa == Isa::gfx12 && w.halves == 2)
    return fault(w, d, Errc::unimplemented, "matrix instructions of a wave64 are modelled on GFX11 alone");
  if (isa == Isa::gfx11) {
    for (unsigned source = 0; source < 2; ++source)
      if (const unsigned lane = unrepeated_lane(w, d.src[source].index, kDepth * kElementBits<kElement> / 32);
          lane != 0)
        return fault(w, d, Errc::spec_violation, "lane ", lane, " of source ", source, " differs from lane ", lane - 16,
                     ": the card wants every row in all groups of 16 lanes");
  }
  constexpr bool kInteger = std::is_same_v<Sum, i32>;
  constexpr bool kNarrow = sizeof(Sum) == 2;
  const bool sign_a = (d.neg_lo & 1) != 0, sign_b = (d.neg_lo & 2) != 0;
  auto integer = [](u32 field, bool sign) -> i32 {
    constexpr u32 kTop = kElement == Element::iu8 ? 0x80u : 8u;
    return static_cast<i32>(sign ? (field ^ kTop) - kTop : field);
  };
  auto real = [&](u32 field, unsigned source, unsigned k) -> f32 {
    const u8 negate = k % 2 == 0 ? d.neg_lo : d.neg_hi;
    const auto bits = static_cast<u16>(field ^ ((negate >> source & 1) != 0 ? 0x8000u : 0));
    return kElement == Element::brain ? to_f32(BFloat16{bits}) : to_f32(f16{bits});
  };
  // All of A, B and C is read before D is written.
  u32 result[16][16];
  f32 a[16][kDepth], b[16][kDepth];
  i32 ia[16][kDepth], ib[16][kDepth];
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned k = 0; k < kDepth; ++k) {
      const u32 x = factor_bits<kElement>(w, d.src[0].index, row, k, kDepth);
      const u32 y = factor_bits<kElement>(w, d.src[1].index, row, k, kDepth);
      if constexpr (kInteger) {
        ia[row][k] = integer(x, sign_a);
        ib[row][k] = integer(y, sign_b);
      } else {
        a[row][k] = real(x, 0, k);
        b[row][k] = real(y, 1, k);
      }
    }
  }
  // A narrow sum of GFX12 is packed by pairs of rows; of GFX11 it lies in the half that op_sel names.
  auto narrow_place = [&](TilePlace p) { return isa == Isa::gfx12 ? TilePlace{p.word / 2, p.lane} : p; };
  auto upper_half = [&](TilePlace p) { return isa == Isa::gfx12 ? p.word % 2 != 0 : (d.op_sel & 4) != 0; };
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned column = 0; column < 16; ++column) {
      const TilePlace p = tile_place(isa, w.lanes(), row, column);
      const TilePlace at = kNarrow ? narrow_place(p) : p;
      u32 c = d.src[2].kind == Operand::Kind::vgpr
                  ? w.vgpr(at.lane / kLanes, d.src[2].index + at.word)[at.lane % kLanes]
                  : scalar_word(w, d.src[2], 0);
      if constexpr (kInteger) {
        i64 sum = static_cast<i32>(c);
        for (unsigned k = 0; k < kDepth; ++k) sum += i64{ia[row][k]} * ib[column][k];
        if (d.clamp) sum = lane::clamped<i64>(sum, -0x80000000ll, 0x7fffffffll);
        result[row][column] = static_cast<u32>(sum);
      } else {
        if (kNarrow && upper_half(p) && d.src[2].kind == Operand::Kind::vgpr) c >>= 16;
        f32 sum = 0;
        if constexpr (kNarrow)
          sum = to_f32(Sum{static_cast<u16>(c)});
        else
          sum = lane::float_of(c);
        if ((d.neg_hi & 4) != 0) sum = lane::float_of(lane::bits(sum) & 0x7fffffffu);
        if ((d.neg_lo & 4) != 0) sum = -sum;
        for (unsigned k = 0; k < kDepth; ++k) sum = lane::fma_f32(a[row][k], b[column][k], sum);
        if constexpr (std::is_same_v<Sum, f16>)
          result[row][column] = to_f16(sum).bits;
        else if constexpr (std::is_same_v<Sum, BFloat16>)
          result[row][column] = to_bf16(sum).bits;
        else
          result[row][column] = lane::bits(sum);
      }
    }
  }
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned column = 0; column < 16; ++column) {
      const TilePlace p = tile_place(isa, w.lanes(), row, column);
      const TilePlace at = kNarrow ? narrow_place(p) : p;
      u32& to = w.vgpr(at.lane / kLanes, d.dst.index + at.word)[at.lane % kLanes];
      if (kNarrow && upper_half(p))
        to = (to & 0xffffu) | result[row][column] << 16;
      else if (kNarrow)
        to = (to & 0xffff0000u) | result[row][column];
      else
        to = result[row][column];
    }
  }
  return Flow::next;
}

/// The modifiers of sums in f32, in halves, in integers.
inline constexpr PackedModifiers kTile{0, 0, 7, 7, false}, kNarrowTile{4, 0, 7, 7, false},
    kIntegerTile{0, 0, 3, 0, true};

/// The registers of a factor and of the sum differ between the instruction sets; these are GFX12's of a wave32, by
/// which the reads are checked.
[[nodiscard]] constexpr Semantics matrix_of(Execute run, Type factor, Type sum,
                                            const PackedModifiers& heeded) noexcept {
  Semantics s = own_function(run, sum, factor, factor, sum).with_modifiers(heeded);
  s.matrix = true;
  s.lane_permuted = false;
  s.vector_sources = 3;
  return s;
}

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
