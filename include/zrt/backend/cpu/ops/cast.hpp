// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/cast.hpp: elements as another type.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_CAST)
#define ZRT_BACKEND_CPU_OPS_CAST

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/halves.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/backend/cpu/typed_runs.hpp>
#include <zrt/ops/cast.hpp>

#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Cast> : HalfKernels {};

template <> struct Adapter<ops::Cast> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Cast>& c, const Kernels<ops::Cast>& k) noexcept {
    const DType from = c.in[0].type.dtype;
    if (from == c.params.dtype && is_float(from)) return r.push(&copy, c);
    return r.push(&convert, Args{c, &k});
  }

 private:
  struct Args {
    HostCall<ops::Cast> call{};
    const HalfKernels* halves = nullptr;

    template <DomainValue T> [[nodiscard]] const ElementFunctions<T>& type(DType dtype) const noexcept {
      if constexpr (std::same_as<T, float>)
        return halves->floats(dtype);
      else
        return element_functions<T>(dtype);
    }
  };

  /// Elements are split, as below. Every bit is kept.
  static void copy(const HostCall<ops::Cast>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Range part = split(c.out[0].elements(step), 64, worker);
    const std::uint64_t bytes = info(c.params.dtype).block_bytes;
    if (part.first != part.last)
      std::memmove(c.out[0].data + part.first * bytes, c.in[0].data + part.first * bytes,
                   (part.last - part.first) * bytes);
  }
  static void convert(const Args& a, const ExecutionContext& step, const Worker& worker) noexcept {
    const HostTensor& x = a.call.in[0];
    const HostTensor& y = a.call.out[0];
    const DType to = a.call.params.dtype;
    const Range part = split(y.elements(step), 64, worker);
    visit_domain(x.type.dtype, [&]<class F>(std::type_identity<F>) {
      visit_domain(to, [&]<class T>(std::type_identity<T>) {
        const RunsOf<F> operands(a.type<F>(x.type.dtype), x.type.dtype, x.data);
        const RunsTo<T> results(a.type<T>(to), to, y.data);
        F in[kTypedRun];
        T out[kTypedRun];
        for (std::uint64_t first = part.first; first < part.last; first += kTypedRun) {
          const std::uint64_t run = part.last - first < kTypedRun ? part.last - first : kTypedRun;
          convert_values(operands.read(first, run, in), run, to, results.place(first, out));
          results.wrote(first, run, out);
        }
      });
    });
  }
};
static_assert(Records<ops::Cast>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/cast.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

template <class L> inline constexpr Kernels<ops::Cast> kKernels<ops::Cast, L>{kHalves<L>};

#endif
