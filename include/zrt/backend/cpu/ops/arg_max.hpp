// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/arg_max.hpp: the index of the largest element along an axis.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_ARG_MAX)
#define ZRT_BACKEND_CPU_OPS_ARG_MAX

#include <zrt/backend/cpu/ops/greedy_token.hpp>
#include <zrt/backend/cpu/typed_runs.hpp>
#include <zrt/ops/arg_max.hpp>

#include <algorithm>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::ArgMax> {
  exec::HostKernel<HostCall<ops::GreedyToken>> rows = nullptr;
};

/// si32 indices over the last axis of f32, constant and so never empty, are those of greedy_token.
template <> struct Adapter<ops::ArgMax> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::ArgMax>& c, const Kernels<ops::ArgMax>& k) noexcept {
    const TensorType& x = c.in[0].type;
    const bool rows = x.dtype == DType::f32 && c.params.axis + 1u == x.shape.rank && x.shape.last().symbol == 0 &&
                      c.params.index_dtype == DType::si32;
    if (!rows) return r.push(&lines, c);
    return r.push(k.rows, HostCall<ops::GreedyToken>{{c.in[0]}, {c.out[0]}, {}, {}, {}, {}});
  }

 private:
  /// Lines are split.
  static void lines(const HostCall<ops::ArgMax>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const ops::AxisSplit x(c.in[0], c.params.axis, step);
    const std::uint64_t count = x.outer * x.inner;
    const ElementFunctions<std::int64_t>& index = element_functions<std::int64_t>(c.params.index_dtype);
    const Range part = split(count, 16, worker);
    if (x.extent == 0) {
      if (count != 0) step.violated(worker);
      constexpr std::int64_t kNone = 0;
      for (std::uint64_t y = part.first; y < part.last; ++y) index.pack(&kNone, y, 1, c.out[0].data);
      return;
    }
    visit_domain(c.in[0].type.dtype, [&]<class T>(std::type_identity<T>) {
      const ElementFunctions<T>& type = element_functions<T>(c.in[0].type.dtype);
      T run[kTypedRun];
      T largest[kTypedRun];
      std::int64_t at[kTypedRun];
      // NaN gives way to every number, and no number to NaN.
      const auto passes = [](T a, T b) { return a > b || (b != b && a == a); };
      for (std::uint64_t y = part.first; y < part.last;) {
        const std::uint64_t base = y / x.inner * x.extent * x.inner + y % x.inner;
        // Neighbouring lines side by side.
        const std::uint64_t width = std::min({x.inner - y % x.inner, part.last - y, kTypedRun});
        type.unpack(c.in[0].data, base, width, largest);
        std::fill_n(at, width, 0);
        if (x.inner == 1) {
          for (std::uint64_t first = 0; first < x.extent; first += kTypedRun) {
            const std::uint64_t n = std::min(x.extent - first, kTypedRun);
            type.unpack(c.in[0].data, base + first, n, run);
            for (std::uint64_t i = 0; i < n; ++i) {
              if (!passes(run[i], *largest)) continue;
              *largest = run[i];
              *at = static_cast<std::int64_t>(first + i);
            }
          }
        } else {
          for (std::uint64_t k = 1; k < x.extent; ++k) {
            type.unpack(c.in[0].data, base + k * x.inner, width, run);
            for (std::uint64_t i = 0; i < width; ++i) {
              const bool larger = passes(run[i], largest[i]);
              largest[i] = larger ? run[i] : largest[i];
              at[i] = larger ? static_cast<std::int64_t>(k) : at[i];
            }
          }
        }
        index.pack(at, y, width, c.out[0].data);
        y += width;
      }
    });
  }
};
static_assert(Records<ops::ArgMax>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/arg_max.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

template <class L> inline constexpr Kernels<ops::ArgMax> kKernels<ops::ArgMax, L>{.rows = &greedy_token};

#endif
