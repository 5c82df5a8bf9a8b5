// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/types.hpp: the types of operands of RDNA instructions.
#pragma once

#include <zrt/core/half.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::emulator {

/// What an operand holds; decides its registers, its inline constants and its sign modifiers.
enum class Type : std::uint8_t { none, u16, i16, f16, bf16, u32, i32, f32, u64, i64, f64, mask, b96, b128, b256, b512 };

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using f16 = Half;
using f32 = float;
using f64 = double;

/// Lanes of one pass: a wave64 executes a vector instruction as two passes of 32 lanes.
inline constexpr unsigned kLanes = 32;

/// The registers of 32 bits that an operand takes; a lane mask takes one or two, by wave size.
[[nodiscard]] constexpr unsigned words(Type type, unsigned mask_words = 1) noexcept {
  switch (type) {
    case Type::none:
      return 0;
    case Type::u64:
    case Type::i64:
    case Type::f64:
      return 2;
    case Type::mask:
      return mask_words;
    case Type::b96:
      return 3;
    case Type::b128:
      return 4;
    case Type::b256:
      return 8;
    case Type::b512:
      return 16;
    default:
      return 1;
  }
}

[[nodiscard]] constexpr bool is_16_bit(Type type) noexcept { return type >= Type::u16 && type <= Type::bf16; }
[[nodiscard]] constexpr bool is_64_bit(Type type) noexcept { return type >= Type::u64 && type <= Type::f64; }

/// The bit that neg flips and abs clears, in the operand's highest word; 0 where it has no sign of its own.
[[nodiscard]] constexpr u32 sign_bit(Type type) noexcept {
  if (type == Type::f32 || type == Type::f64) return 0x80000000u;
  return type == Type::f16 || type == Type::bf16 ? 0x8000u : 0;
}

/// The lane's number in its wave, as an argument of a lane's function.
struct LaneIndex {
  u32 value;
};
/// The scalar condition code, as an argument of a scalar function.
struct Scc {
  bool value;
};
/// A scalar result with the condition code that it sets.
template <class T> struct WithScc {
  T value;
  bool scc;
};
/// A lane's result with its bit of a lane mask: the carry, or the flag of v_div_scale.
template <class T> struct WithMask {
  T value;
  bool bit;
};

template <class T> inline constexpr Type kTypeOf = Type::none;
template <> inline constexpr Type kTypeOf<u16> = Type::u16;
template <> inline constexpr Type kTypeOf<i16> = Type::i16;
template <> inline constexpr Type kTypeOf<f16> = Type::f16;
template <> inline constexpr Type kTypeOf<BFloat16> = Type::bf16;
template <> inline constexpr Type kTypeOf<u32> = Type::u32;
template <> inline constexpr Type kTypeOf<i32> = Type::i32;
template <> inline constexpr Type kTypeOf<f32> = Type::f32;
template <> inline constexpr Type kTypeOf<u64> = Type::u64;
template <> inline constexpr Type kTypeOf<i64> = Type::i64;
template <> inline constexpr Type kTypeOf<f64> = Type::f64;
template <> inline constexpr Type kTypeOf<bool> = Type::mask;
template <class T> inline constexpr Type kTypeOf<WithScc<T>> = kTypeOf<T>;
template <class T> inline constexpr Type kTypeOf<WithMask<T>> = kTypeOf<T>;

}  // namespace zrt::inline ZRT_ABI::emulator
