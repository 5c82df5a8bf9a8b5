// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapter.hpp: what an op's adapter must say.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_ADAPTER)
#define ZRT_BACKEND_CPU_ADAPTER

#include <zrt/backend/cpu/recorder.hpp>
#include <zrt/backend/cpu/simd/variants.hpp>
#include <zrt/ops/op.hpp>

#include <concepts>

namespace zrt::inline ZRT_ABI::cpu {

/// How the CPU computes op O: one specialisation per claimed op, in ops/<op>.hpp.
template <class O> struct Adapter;

/// The vector kernels of op O: function pointers, of which each variant has its own in `kKernels<O>`. Specialised for ops
/// that have some, in ops/<op>.hpp; `Adapter<O>::record` then takes those of the processor's variant. They are never freed.
template <class O> struct Kernels;

/// An op whose header lists kernels, one for each variant and type.
template <class O>
concept HasKernels = requires { sizeof(Kernels<O>); };

/// What the loops of an adapter are, as its member `loops` says: the list of what is scalar is made from it.
enum class Loops : std::uint8_t {
  vector,  ///< vectors, or copies of words and runs
  typed,   ///< f32 and what is computed in it by vectors; loops that the compiler may turn into vectors for other types
  scalar,  ///< one element after the other
  control,  ///< nothing is computed: regions are run
};

/// An adapter that records without a table of kernels.
template <class O>
concept RecordsAlone = requires(Recorder& recorder, const HostCall<O>& call) {
  { Adapter<O>::record(recorder, call) } noexcept -> std::same_as<Result<void>>;
};
/// An adapter that records kernels of its op's table.
template <class O>
concept RecordsKernels = requires(Recorder& recorder, const HostCall<O>& call, const Kernels<O>& kernels) {
  { Adapter<O>::record(recorder, call, kernels) } noexcept -> std::same_as<Result<void>>;
};
/// An op with an adapter of this backend: with kernels where its header lists some, else without.
template <class O>
concept Records = (HasKernels<O> && RecordsKernels<O>) || (!HasKernels<O> && RecordsAlone<O>);

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

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// This variant's kernels of op O: one specialisation per op that has some, in ops/<op>.hpp.
///
/// One for any `L` whose kernels are templates is compiled only by programs that record the op.
template <class O, class L = void> extern const Kernels<O> kKernels;

#endif
