// SPDX-License-Identifier: Apache-2.0
// zrt/ops/params.hpp: parameter structs described once by a field list, their rules, and their codec.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>
#include <zrt/ops/opcode.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// The largest parameter block (runtime contract A9.3).
inline constexpr std::size_t kMaxParamBytes = 256;

/// What a field of a parameter struct holds.
enum class FieldKind : std::uint8_t { unsigned_integer, signed_integer, floating };

/// One member of a parameter struct; an array member counts `count` elements.
struct Field {
  std::string_view name;
  std::uint16_t offset;
  std::uint16_t size;   ///< bytes of one element
  std::uint16_t count;  ///< elements
  FieldKind kind;
};

/// Names one member while a field list is written.
template <class P, class M> struct Member {
  M P::* pointer;
  std::string_view name;
};
template <class P, class M> Member(M P::*, std::string_view) -> Member<P, M>;

namespace detail {

template <class M> struct FieldTraits {
  using Element = M;
  static constexpr std::uint16_t kCount = 1;
};
template <class E, std::size_t N> struct FieldTraits<std::array<E, N>> {
  using Element = E;
  static constexpr std::uint16_t kCount = N;
};

template <class E> consteval FieldKind field_kind() {
  if constexpr (std::floating_point<E>)
    return FieldKind::floating;
  else if constexpr (std::is_enum_v<E>)
    return field_kind<std::underlying_type_t<E>>();
  else if constexpr (std::unsigned_integral<E>)
    return FieldKind::unsigned_integer;
  else
    return FieldKind::signed_integer;
}

}  // namespace detail

namespace detail {

template <class M>
concept NestedParams = requires { M::fields.size(); };

template <class M> consteval std::size_t field_count() {
  if constexpr (NestedParams<M>)
    return M::fields.size();
  else
    return 1;
}

}  // namespace detail

/// Turns members, written in declaration order, into the table that everything reads.
///
/// A member that has a field list itself contributes its fields. Offsets follow from order, size
/// and natural alignment; <zrt/ops/hana.hpp> audits them against the members themselves.
template <class P, class... M> [[nodiscard]] consteval auto field_list(Member<P, M>... members) {
  std::array<Field, (detail::field_count<M>() + ... + 0)> fields{};
  std::size_t offset = 0;
  std::size_t index = 0;
  auto add = [&]<class T>(Member<P, T> member) {
    offset = (offset + alignof(T) - 1) / alignof(T) * alignof(T);
    if constexpr (detail::NestedParams<T>) {
      for (Field field : T::fields) {
        field.offset = static_cast<std::uint16_t>(field.offset + offset);
        fields[index++] = field;
      }
    } else {
      using Element = typename detail::FieldTraits<T>::Element;
      fields[index++] = {member.name, static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(sizeof(Element)),
                         detail::FieldTraits<T>::kCount, detail::field_kind<Element>()};
    }
    offset += sizeof(T);
  };
  (add(members), ...);
  return fields;
}

/// The base of every parameter struct without fields.
struct NoParams {
  static constexpr std::uint8_t version = 1;
  static constexpr std::array<Field, 0> fields{};
};

namespace detail {

template <class P> consteval std::size_t described_bytes() {
  std::size_t total = 0;
  for (const Field& field : P::fields) total += std::size_t{field.size} * field.count;
  return total;
}

}  // namespace detail

/// A field's name as a template argument, so that a compiler that rejects the field says which it is.
template <std::size_t N> struct FieldName {
  char text[N + 1]{};

  constexpr explicit FieldName(std::string_view name) noexcept {
    for (std::size_t i = 0; i < N; ++i) text[i] = name[i];
  }
  constexpr operator std::string_view() const noexcept { return {text, N}; }
};
/// The name of field I of P.
template <class P, std::size_t I> inline constexpr FieldName<P::fields[I].name.size()> kFieldName{P::fields[I].name};

/// True when the field list covers every byte of P in order, so that nothing is padding.
template <class P>
concept NoPadding = std::is_empty_v<P> || detail::described_bytes<P>() == sizeof(P);
/// A struct that a multiple of eight bytes aligns.
template <class P>
concept NaturallyAligned = alignof(P) <= 8;

/// A struct that may stand in a parameter block (runtime contract A2, A9.3).
template <class P>
concept ParamStruct = std::is_trivially_copyable_v<P> && std::is_standard_layout_v<P> && requires {
  { P::version } -> std::convertible_to<std::uint8_t>;
  P::fields.size();
} && NaturallyAligned<P>;

/// Immutable parameters of one instruction (runtime contract, ParamBlock). Owns nothing.
struct ParamBlock {
  std::uint8_t version = 0;
  Opcode opcode{};
  Span<const std::byte> data;
};

/// Bytes that P takes in a block.
template <ParamStruct P> inline constexpr std::size_t kParamBytes = std::is_empty_v<P> ? 0 : sizeof(P);

namespace detail {

inline void copy_little_endian(std::byte* to, const std::byte* from, Span<const Field> fields) noexcept {
  for (const Field& field : fields) {
    for (std::size_t i = 0; i < field.count; ++i) {
      const std::size_t at = field.offset + i * field.size;
      for (std::size_t b = 0; b < field.size; ++b) {
        const std::size_t source = std::endian::native == std::endian::little ? b : field.size - 1u - b;
        to[at + b] = from[at + source];
      }
    }
  }
}

}  // namespace detail

/// Writes `params` as little-endian bytes; `out` holds kParamBytes<P>.
template <ParamStruct P> void encode_params(const P& params, Span<std::byte> out) noexcept {
  if constexpr (!std::is_empty_v<P>)
    detail::copy_little_endian(out.data(), reinterpret_cast<const std::byte*>(&params), P::fields);
}

namespace detail {

[[nodiscard]] ZRT_COLD inline Result<void> check_block(const ParamBlock& block, std::string_view op, Opcode opcode,
                                                       std::uint8_t version, std::size_t bytes) noexcept {
  if (block.opcode != opcode)
    return fail(Errc::invalid_param_block_abi, "the block of ", op, " is for opcode ", unsigned{number(block.opcode)},
                ", expected ", unsigned{number(opcode)});
  if (block.version != version)
    return fail(Errc::invalid_param_block_abi, "the block of ", op, " has version ", unsigned{block.version},
                ", expected ", unsigned{version});
  if (block.data.size() != bytes)
    return fail(Errc::invalid_param_block_abi, "the block of ", op, " has ", block.data.size(), " bytes, expected ",
                bytes);
  return {};
}

}  // namespace detail

/// Reads the parameters of op O out of a block, into `params`.
///
/// In place, since a Result for each op's parameters would be instantiated in all its members.
/// Errors: Errc::invalid_param_block_abi for another version, size or opcode.
template <class O>
[[nodiscard]] ZRT_COLD Result<void> decode_params(const ParamBlock& block, typename O::Params& params) noexcept {
  using P = typename O::Params;
  auto checked = detail::check_block(block, O::name, O::opcode, P::version, kParamBytes<P>);
  if constexpr (!std::is_empty_v<P>)
    if (checked) detail::copy_little_endian(reinterpret_cast<std::byte*>(&params), block.data.data(), P::fields);
  return checked;
}

/// Reads the parameters of op O out of a block.
///
/// Errors: Errc::invalid_param_block_abi for another version, size or opcode.
template <class O> [[nodiscard]] ZRT_COLD Result<typename O::Params> decode_params(const ParamBlock& block) noexcept {
  typename O::Params params{};
  if (auto r = decode_params<O>(block, params); !r) return pass(r);
  return params;
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
