// SPDX-License-Identifier: Apache-2.0
// zrt/core/scalar.hpp: elements of every computed type: the domain that they are computed in, reading and writing.
#pragma once

#include <zrt/core/dtype.hpp>
#include <zrt/core/fp8.hpp>
#include <zrt/core/half.hpp>
#include <zrt/core/little_endian.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace zrt::inline ZRT_ABI {

/// The types that loops compute in: f32 for it and the narrower floats, f64, i64 for the signed
/// integers, u64 for the unsigned ones and i1.
enum class Domain : std::uint8_t { f32, f64, i64, u64 };

/// True for the types that have a domain: all but the complex types and the block types.
[[nodiscard]] constexpr bool is_computed(DType dtype) noexcept {
  return info(dtype).kind != DTypeKind::complex && !is_block(dtype);
}

/// The domain of a computed type.
[[nodiscard]] constexpr Domain domain_of(DType dtype) noexcept {
  ZRT_ASSERT(is_computed(dtype));
  const DTypeInfo& row = info(dtype);
  if (row.kind == DTypeKind::floating) return row.block_bytes == sizeof(double) ? Domain::f64 : Domain::f32;
  return row.kind == DTypeKind::signed_integer ? Domain::i64 : Domain::u64;
}

/// The C++ types of the domains.
template <class T>
concept DomainValue = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int64_t> ||
                      std::same_as<T, std::uint64_t>;

/// Calls `f(std::type_identity<T>{})` with the type of the domain; every T gives the same return type.
template <class F> constexpr decltype(auto) visit_domain(Domain domain, F&& f) {
  switch (domain) {
    case Domain::f32:
      return f(std::type_identity<float>{});
    case Domain::f64:
      return f(std::type_identity<double>{});
    case Domain::i64:
      return f(std::type_identity<std::int64_t>{});
    case Domain::u64:
      return f(std::type_identity<std::uint64_t>{});
  }
  __builtin_unreachable();
}

/// Calls `f` with the domain of a computed type.
template <class F> constexpr decltype(auto) visit_domain(DType dtype, F&& f) {
  return visit_domain(domain_of(dtype), static_cast<F&&>(f));
}

/// A DType as a type, for visitors.
template <DType D> using DTypeConstant = std::integral_constant<DType, D>;

namespace detail {

template <class R, class F, DType D> constexpr R visit_one(F& f) { return f(DTypeConstant<D>{}); }

template <class R, class F>
inline constexpr auto kDTypeVisits = []<std::size_t... I>(std::index_sequence<I...>) {
  std::array<R (*)(F&), sizeof...(I)> visits{};
  auto add = [&]<std::size_t J> {
    if constexpr (is_computed(kDTypes[J].dtype)) visits[J] = &visit_one<R, F, kDTypes[J].dtype>;
  };
  (add.template operator()<I>(), ...);
  return visits;
}(std::make_index_sequence<kDTypes.size()>{});

}  // namespace detail

/// Calls `f(DTypeConstant<D>{})` with a computed type D == `dtype`; every D gives the same return type.
///
/// Each use instantiates `f` once per type: a loop is better written over domains, with ElementFunctions.
template <class F> constexpr decltype(auto) visit_dtype(DType dtype, F&& f) {
  ZRT_ASSERT(is_computed(dtype));
  using R = decltype(f(DTypeConstant<DType::i1>{}));
  const auto row = static_cast<std::size_t>(detail::kDTypeRow[static_cast<std::size_t>(dtype)]);
  return detail::kDTypeVisits<R, std::remove_reference_t<F>>[row](f);
}

/// How elements of a computed type lie in memory.
///
/// `Value` is the domain's type; `lowest` and `highest` are the ends of the type's range, infinities
/// where it has them. `load(data, index)` gives element `index` of a tensor that begins at `data`;
/// `store(data, index, value)` writes it. Words are little-endian and need not be aligned. Integers
/// keep the low bits of the value, floats round to nearest even. Two 4-bit integers share a byte,
/// the even index in its low half; storing one keeps the other, so threads must not share a byte.
/// An i1 is a byte: every byte but 0 is read as 1, and the value's lowest bit is written.
template <DType D> struct Scalar;

/// What Scalar<D> has for a computed type.
template <class S>
concept ScalarTrait = DomainValue<typename S::Value> &&
                      requires(const std::byte* from, std::byte* to, std::uint64_t index, typename S::Value value) {
                        { S::lowest } -> std::convertible_to<typename S::Value>;
                        { S::highest } -> std::convertible_to<typename S::Value>;
                        { S::load(from, index) } noexcept -> std::same_as<typename S::Value>;
                        { S::store(to, index, value) } noexcept -> std::same_as<void>;
                      };

namespace detail {

template <std::unsigned_integral Word, bool kSigned> struct WholeBytes {
  using Value = std::conditional_t<kSigned, std::int64_t, std::uint64_t>;
  using Stored = std::conditional_t<kSigned, std::make_signed_t<Word>, Word>;
  static constexpr Value lowest = std::numeric_limits<Stored>::min();
  static constexpr Value highest = std::numeric_limits<Stored>::max();

  static constexpr Value load(const std::byte* data, std::uint64_t index) noexcept {
    return static_cast<Stored>(read_little<Word>(data + index * sizeof(Word)));
  }
  static constexpr void store(std::byte* data, std::uint64_t index, Value value) noexcept {
    write_little(data + index * sizeof(Word), static_cast<Word>(value));
  }
};

template <bool kSigned> struct HalfByte {
  using Value = std::conditional_t<kSigned, std::int64_t, std::uint64_t>;
  static constexpr auto lowest = static_cast<Value>(kSigned ? -8 : 0);
  static constexpr Value highest = kSigned ? 7 : 15;

  static constexpr Value load(const std::byte* data, std::uint64_t index) noexcept {
    const auto bits = static_cast<Value>(std::to_integer<unsigned>(data[index / 2]) >> index % 2 * 4 & 0xfu);
    return bits > highest ? bits - 16 : bits;
  }
  static constexpr void store(std::byte* data, std::uint64_t index, Value value) noexcept {
    const auto shift = static_cast<unsigned>(index % 2 * 4);
    const auto bits = static_cast<std::byte>(static_cast<std::uint64_t>(value) & 0xfu);
    data[index / 2] = (data[index / 2] & ~(std::byte{0xf} << shift)) | bits << shift;
  }
};

template <class Word, std::floating_point T> struct NativeFloat {
  using Value = T;
  static constexpr Value lowest = -std::numeric_limits<T>::infinity();
  static constexpr Value highest = std::numeric_limits<T>::infinity();

  static constexpr Value load(const std::byte* data, std::uint64_t index) noexcept {
    return std::bit_cast<T>(read_little<Word>(data + index * sizeof(Word)));
  }
  static constexpr void store(std::byte* data, std::uint64_t index, Value value) noexcept {
    write_little(data + index * sizeof(Word), std::bit_cast<Word>(value));
  }
};

/// `Stored` is a type with bits and a to_f32; `kNarrow` rounds a float to it.
template <class Stored, Stored (*kNarrow)(float) noexcept> struct NarrowFloat {
  using Value = float;
  using Word = decltype(Stored::bits);
  static constexpr bool kInfinite =
      kNarrow(std::numeric_limits<float>::infinity()) != kNarrow(std::numeric_limits<float>::quiet_NaN());
  static constexpr Value highest = kInfinite ? std::numeric_limits<float>::infinity()
                                             : to_f32(Stored{Word{std::numeric_limits<Word>::max() / 2 - 1}});
  static constexpr Value lowest = -highest;

  static constexpr Value load(const std::byte* data, std::uint64_t index) noexcept {
    return to_f32(Stored{read_little<Word>(data + index * sizeof(Word))});
  }
  static constexpr void store(std::byte* data, std::uint64_t index, Value value) noexcept {
    write_little(data + index * sizeof(Word), kNarrow(value).bits);
  }
};

}  // namespace detail

template <> struct Scalar<DType::i1> {
  using Value = std::uint64_t;
  static constexpr Value lowest = 0;
  static constexpr Value highest = 1;

  static constexpr Value load(const std::byte* data, std::uint64_t index) noexcept {
    return data[index] != std::byte{0} ? 1 : 0;
  }
  static constexpr void store(std::byte* data, std::uint64_t index, Value value) noexcept {
    data[index] = static_cast<std::byte>(value & 1u);
  }
};
template <> struct Scalar<DType::si4> : detail::HalfByte<true> {};
template <> struct Scalar<DType::ui4> : detail::HalfByte<false> {};
template <> struct Scalar<DType::si8> : detail::WholeBytes<std::uint8_t, true> {};
template <> struct Scalar<DType::ui8> : detail::WholeBytes<std::uint8_t, false> {};
template <> struct Scalar<DType::si16> : detail::WholeBytes<std::uint16_t, true> {};
template <> struct Scalar<DType::ui16> : detail::WholeBytes<std::uint16_t, false> {};
template <> struct Scalar<DType::si32> : detail::WholeBytes<std::uint32_t, true> {};
template <> struct Scalar<DType::ui32> : detail::WholeBytes<std::uint32_t, false> {};
template <> struct Scalar<DType::si64> : detail::WholeBytes<std::uint64_t, true> {};
template <> struct Scalar<DType::ui64> : detail::WholeBytes<std::uint64_t, false> {};
template <> struct Scalar<DType::fp8_e4m3> : detail::NarrowFloat<Fp8E4M3, to_fp8_e4m3> {};
template <> struct Scalar<DType::fp8_e5m2> : detail::NarrowFloat<Fp8E5M2, to_fp8_e5m2> {};
template <> struct Scalar<DType::bf16> : detail::NarrowFloat<BFloat16, to_bf16> {};
template <> struct Scalar<DType::f16> : detail::NarrowFloat<Half, to_f16> {};
template <> struct Scalar<DType::f32> : detail::NativeFloat<std::uint32_t, float> {};
template <> struct Scalar<DType::f64> : detail::NativeFloat<std::uint64_t, double> {};

/// Reads and writes runs of elements as domain values, so that a loop is compiled per domain and not per type.
///
/// The rules are Scalar's. `unpack` reads elements [first, first + count) of `data` to `out`;
/// `pack` writes `in` to them. Null for a type of another domain.
template <DomainValue T> struct ElementFunctions {
  void (*unpack)(const std::byte* data, std::uint64_t first, std::uint64_t count, T* out) noexcept = nullptr;
  void (*pack)(const T* in, std::uint64_t first, std::uint64_t count, std::byte* data) noexcept = nullptr;
  T lowest{};
  T highest{};
};

namespace detail {

template <class S>
constexpr void unpack(const std::byte* data, std::uint64_t first, std::uint64_t count,
                      typename S::Value* out) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) out[i] = S::load(data, first + i);
}

template <class S>
constexpr void pack(const typename S::Value* in, std::uint64_t first, std::uint64_t count, std::byte* data) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) S::store(data, first + i, in[i]);
}

template <DomainValue T>
inline constexpr auto kElementFunctions = []<std::size_t... I>(std::index_sequence<I...>) {
  std::array<ElementFunctions<T>, sizeof...(I)> rows{};
  auto add = [&]<std::size_t J> {
    constexpr DType kType = kDTypes[J].dtype;
    if constexpr (is_computed(kType)) {
      using S = Scalar<kType>;
      static_assert(ScalarTrait<S>);
      if constexpr (std::same_as<typename S::Value, T>) rows[J] = {&unpack<S>, &pack<S>, S::lowest, S::highest};
    }
  };
  (add.template operator()<I>(), ...);
  return rows;
}(std::make_index_sequence<kDTypes.size()>{});

}  // namespace detail

/// The functions of a computed type of domain `T`.
template <DomainValue T> [[nodiscard]] constexpr const ElementFunctions<T>& element_functions(DType dtype) noexcept {
  return detail::kElementFunctions<T>[static_cast<std::size_t>(detail::kDTypeRow[static_cast<std::size_t>(dtype)])];
}

static_assert(Scalar<DType::fp8_e4m3>::highest == 448.0f);
static_assert(Scalar<DType::si4>::load(std::array{std::byte{0x78}}.data(), 0) == -8);

}  // namespace zrt::inline ZRT_ABI
