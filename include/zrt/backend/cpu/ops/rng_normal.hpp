// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/rng_normal.hpp: random numbers of mean 0 and variance 1.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RNG_NORMAL)
#define ZRT_BACKEND_CPU_OPS_RNG_NORMAL

#include <zrt/backend/cpu/ops/elementwise_unary.hpp>
#include <zrt/backend/cpu/random_run.hpp>
#include <zrt/ops/rng_normal.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::RngNormal> : ElementKernels<ops::ElementwiseUnary> {};

template <> struct Adapter<ops::RngNormal> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::RngNormal>& c,
                             const Kernels<ops::RngNormal>& k) noexcept {
    if (c.params.dtype == DType::f64) return r.push(&numbers64, c);
    return r.push(&numbers, Args{c, k.f32, &k.floats(c.params.dtype)});
  }

 private:
  using Unary = exec::HostKernel<HostCall<ops::ElementwiseUnary>>;
  struct Args {
    HostCall<ops::RngNormal> call{};
    Unary unary = nullptr;
    const ElementFunctions<float>* type = nullptr;
  };

  /// Elements are split; logarithms and cosines are those of elementwise_unary.
  static void numbers(const Args& a, const ExecutionContext& step, const Worker& worker) noexcept {
    const auto each = [&](ops::UnaryKind kind, float* x) noexcept {
      const HostTensor run{reinterpret_cast<std::byte*>(x), {DType::f32, Shape{std::uint32_t{kTypedRun}}}};
      a.unary({{run}, {run}, {}, {}, {kind}, {}}, step, Worker{});
    };
    random_share(a.call, *a.type, step, worker, [&](const RandomRun& words, float* values) {
      float cosine[kTypedRun];
      for (std::uint64_t k = 0; k < kTypedRun; ++k) {
        values[k] = ops::RngNormal::radius_draw(words.word[0][k]);
        cosine[k] = ops::RngNormal::angle(words.word[1][k]);
      }
      each(ops::UnaryKind::log, values);
      each(ops::UnaryKind::cos, cosine);
      for (std::uint64_t k = 0; k < kTypedRun; ++k) values[k] = ops::RngNormal::from_polar(values[k], cosine[k]);
    });
  }
  static void numbers64(const HostCall<ops::RngNormal>& c, const ExecutionContext& step,
                        const Worker& worker) noexcept {
    random_share(c, element_functions<double>(DType::f64), step, worker, [&](const RandomRun& words, double* values) {
      for (std::uint64_t k = 0; k < kTypedRun; ++k)
        values[k] = ops::RngNormal::number64(c.params,
                                             {words.word[0][k], words.word[1][k], words.word[2][k], words.word[3][k]});
    });
  }
};
static_assert(Records<ops::RngNormal>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/rng_normal.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

template <class L>
inline constexpr Kernels<ops::RngNormal> kKernels<ops::RngNormal, L>{kKernels<ops::ElementwiseUnary, L>};

#endif
