// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/bound.hpp: by how much what C computes for an op may be off the reference's bits.
#pragma once

#include <zrt/plan/c/claims.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

namespace detail {

template <class... O> consteval std::array<float, 256> stated_bounds(boost::mp11::mp_list<O...>) {
  std::array<float, 256> bounds{};
  const auto state = [&]<class Op>(std::type_identity<Op>) {
    if constexpr (StatesBoundInC<Op>) bounds[number(Op::opcode)] = Op::bound_in_c;
  };
  (state(std::type_identity<O>{}), ...);
  return bounds;
}
inline constexpr std::array<float, 256> kStatedBounds = stated_bounds(Claims{});

}  // namespace detail

/// The bound of an op in C, relative; 0: the reference's bits. Of what C has as what it expands to, it is the sum of
/// their bounds.
[[nodiscard]] inline float bound(Opcode opcode) noexcept {
  if (kClaims.contains(opcode)) return detail::kStatedBounds[number(opcode)];
  const OpRow* row = kOpTable<ops::Catalog>[number(opcode)];
  float sum = 0.0f;
  for (unsigned i = 0; row != nullptr && i < 256; ++i)
    if (const Opcode part{static_cast<std::uint8_t>(i)}; row->expands_to.contains(part)) sum += bound(part);
  return sum;
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
