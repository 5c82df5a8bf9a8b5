// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapter.hpp: what an op's adapter must say.
#pragma once

#include <zrt/backend/cpu/recorder.hpp>

#include <concepts>

namespace zrt::inline ZRT_ABI::cpu {

/// How the CPU computes op O: one specialisation per claimed op, in adapters/<op>.hpp.
template <class O> struct Adapter;

/// What the loops of an adapter are, as its member `loops` says: the list of what is scalar is made from it.
enum class Loops : std::uint8_t {
  vector,  ///< vectors, or copies of words and runs
  typed,   ///< f32 and what is computed in it by vectors; loops that the compiler may turn into vectors for other types
  scalar,  ///< one element after the other
  control,  ///< nothing is computed: regions are run
};

template <class O>
concept Records = requires(Recorder& recorder, const HostCall<O>& call) {
  { Adapter<O>::record(recorder, call) } noexcept -> std::same_as<Result<void>>;
};

/// An op whose kernels need memory beyond its outputs; sized with the symbols at their bounds.
template <class O>
concept HasScratch = requires(const TypeCall<O>& call, const Extents& bounds) {
  { Adapter<O>::scratch(call, bounds) } noexcept -> std::same_as<CheckedSize>;
};

/// Bytes of scratch of an instruction.
template <class O>
[[nodiscard]] constexpr CheckedSize scratch_bytes(const TypeCall<O>& call, const Extents& bounds) noexcept {
  if constexpr (HasScratch<O>)
    return Adapter<O>::scratch(call, bounds);
  else
    return 0;
}

}  // namespace zrt::inline ZRT_ABI::cpu
