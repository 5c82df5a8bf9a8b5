// SPDX-License-Identifier: Apache-2.0
// zrt/backend/split.hpp: a plan on two backends: the first layers on one, the last layers and the head on another.
#pragma once

#include <zrt/backend/split/program.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/ops/catalog.hpp>

#include <boost/mp11/set.hpp>

namespace zrt::inline ZRT_ABI {

/// Runs a model that is larger than the device of `Last`: its last layers and its head run there, the layers before them
/// on `First`. Weights, keys, values and other state lie where their layer runs. It runs the ops that both claim.
///
/// Results have the bits of either backend alone where both are canonical.
template <class First, class Last> struct SplitBackend {
  static constexpr std::string_view name = Last::name;
  using Tensor = split::TensorPair<First, Last>;
  using Weight = split::WeightPair<First, Last>;
  using State = split::StatePair<First, Last>;
  using Scratch = split::ScratchPair<First, Last>;
  using Memory = split::MemoryPair<First, Last>;
  using Device = split::Device<First, Last>;
  using DeviceOptions = split::SplitOptions<First, Last>;
  using Program = split::Program<First, Last>;
  using Recorder = split::Recorder<First, Last>;
  using Claims = boost::mp11::mp_set_intersection<typename Last::Claims, typename First::Claims>;
  using Unsupported = OpsWithoutClaim<ops::Catalog, Claims>;
};

namespace split {

/// One backend's half of an op's operands.
template <class B, class O, class From, class Get>
[[nodiscard]] Call<B, O> part_of(const From& from, Get get) noexcept {
  Call<B, O> call;
  zrt::fill(call.in, from.in, get);
  zrt::fill(call.out, from.out, get);
  zrt::fill(call.w, from.w, get);
  call.state = get(from.state);
  call.params = from.params;
  return call;
}

/// What is true of two adapters of an op.
[[nodiscard]] consteval AdapterCapability both(const AdapterCapability& a, const AdapterCapability& b) {
  AdapterCapability out;
  out.supports_batch = a.supports_batch && b.supports_batch;
  const bool a_is_less = b.max_batch_size == 0 || (a.max_batch_size != 0 && a.max_batch_size < b.max_batch_size);
  out.max_batch_size = a_is_less ? a.max_batch_size : b.max_batch_size;
  if (a.numerics == NumericsClass::relaxed || b.numerics == NumericsClass::relaxed)
    out.numerics = NumericsClass::relaxed;
  out.bound = a.bound < b.bound ? b.bound : a.bound;
  return out;
}

}  // namespace split

/// Records an op with the adapter of the backend that runs its part.
template <class First, class Last, class O>
  requires(HasAdapter<First, O> && HasAdapter<Last, O>)
struct Adapter<SplitBackend<First, Last>, O> {
  using Backend = SplitBackend<First, Last>;
  static constexpr AdapterCapability capability =
      split::both(exec::capability_of<First, O>(), exec::capability_of<Last, O>());

  /// The larger of both: which part an instruction is in, is not known here.
  static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    CheckedSize first = 0, last = 0;
    if constexpr (AdapterNeedsScratch<First, O>) first = Adapter<First, O>::scratch(call, bounds);
    if constexpr (AdapterNeedsScratch<Last, O>) last = Adapter<Last, O>::scratch(call, bounds);
    return !first.ok() || (last.ok() && last.raw() < first.raw()) ? first : last;
  }
  static Result<void> record(typename Backend::Recorder& recorder, const Call<Backend, O>& c) noexcept {
    if (recorder.is_last())
      return Adapter<Last, O>::record(recorder.last(),
                                      split::part_of<Last, O>(c, [](const auto& operand) { return operand.last; }));
    return Adapter<First, O>::record(recorder.first(),
                                     split::part_of<First, O>(c, [](const auto& operand) { return operand.first; }));
  }
};

}  // namespace zrt::inline ZRT_ABI
