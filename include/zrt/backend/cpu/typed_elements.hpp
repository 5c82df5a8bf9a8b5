// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/typed_elements.hpp: functions of single elements of any type, split over workers.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/halves.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/backend/cpu/typed_runs.hpp>

#include <array>
#include <utility>

namespace zrt::inline ZRT_ABI::cpu {

/// Calls `f` with `kind` as a type, so that a loop has no choice among the kinds in it; kinds count from 0.
template <auto kCount, class Kind, class F> void with_kind(Kind kind, F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (void)((kind == static_cast<Kind>(I) && (f(std::integral_constant<Kind, static_cast<Kind>(I)>{}), true)) || ...);
  }(std::make_index_sequence<kCount>{});
}

/// y[i] = f(x[i]...) for this worker's share: operands of dtype `from` and domain T, results of domain R.
template <DomainValue T, DomainValue R = T, class F, class... X>
void map_share(DType from, const HostTensor& y, const ExecutionContext& step, const Worker& worker, F&& f,
               const X&... x) noexcept {
  const Range part = split(y.elements(step), 64, worker);
  const RunsTo<R> results(y.type.dtype, y.data);
  const RunsOf<T> operands[]{RunsOf<T>(from, x.data)...};
  T in[sizeof...(X)][kTypedRun];
  R out[kTypedRun];
  for (std::uint64_t first = part.first; first < part.last; first += kTypedRun) {
    const std::uint64_t run = part.last - first < kTypedRun ? part.last - first : kTypedRun;
    R* const to = results.place(first, out);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      [&](const auto*... values) {
        for (std::uint64_t i = 0; i < run; ++i) to[i] = f(values[i]...);
      }(operands[K].read(first, run, in[K])...);
    }(std::index_sequence_for<X...>{});
    results.wrote(first, run, out);
  }
}

/// The kernels of an op of single elements: for f32, and what brings narrower floats to f32 and back.
template <class O> struct ElementKernels : HalfKernels {
  exec::HostKernel<HostCall<O>> f32 = nullptr;
};

/// A call of elements in a float narrower than f32, and the kernel for f32.
template <class O> struct NarrowArgs {
  HostCall<O> call{};
  exec::HostKernel<HostCall<O>> f32 = nullptr;
  const ElementFunctions<float>* type = nullptr;  ///< of the operands
};

/// Runs a kernel for f32 on runs of this worker's share that are widened before, and rounded behind unless the
/// result is i1.
template <class O>
void narrow_elements(const NarrowArgs<O>& a, const ExecutionContext& step, const Worker& worker) noexcept {
  constexpr std::uint32_t kRun = 512;
  const HostTensor& y = a.call.out[0];
  const bool truth = y.type.dtype == DType::i1;
  float in[O::input_roles.size()][kRun];
  float result[kRun];
  HostCall<O> some = a.call;
  const Range part = split(y.elements(step), 64, worker);
  for (std::uint64_t first = part.first; first < part.last; first += kRun) {
    const std::uint32_t run = part.last - first < kRun ? static_cast<std::uint32_t>(part.last - first) : kRun;
    for (std::size_t i = 0; i < some.in.size(); ++i) {
      a.type->unpack(a.call.in[i].data, first, run, in[i]);
      some.in[i] = {reinterpret_cast<std::byte*>(in[i]), {DType::f32, Shape{run}}};
    }
    if (truth)
      some.out[0] = {y.data + first, {DType::i1, Shape{run}}};
    else
      some.out[0] = {reinterpret_cast<std::byte*>(result), {DType::f32, Shape{run}}};
    a.f32(some, step, Worker{0, 1, worker.instruction, {}});
    if (!truth) a.type->pack(result, first, run, y.data);
  }
}

/// Records a function of single elements: by its kernel where the operands, of `dtype`, are f32 or computed in it, else by
/// `loops`.
template <class O>
[[nodiscard]] Result<void> push_elements(Recorder& r, const HostCall<O>& c, DType dtype, const ElementKernels<O>& k,
                                         exec::HostKernel<HostCall<O>> loops) noexcept {
  if (dtype == DType::f32) return r.push(k.f32, c);
  if (domain_of(dtype) != Domain::f32) return r.push(loops, c);
  return r.push(&narrow_elements<O>, NarrowArgs<O>{c, k.f32, &k.floats(dtype)});
}

}  // namespace zrt::inline ZRT_ABI::cpu
