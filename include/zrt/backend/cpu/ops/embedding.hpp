// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/embedding.hpp: rows of an embedding table.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_EMBEDDING)
#define ZRT_BACKEND_CPU_OPS_EMBEDDING

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/simd/variants.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/embedding.hpp>

#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

struct EmbeddingArgs {
  HostCall<ops::Embedding> call{};
  WidenRow widen = nullptr;
};

template <> struct Kernels<ops::Embedding> {
  exec::HostKernel<EmbeddingArgs> rows = nullptr;
};

template <> struct Adapter<ops::Embedding> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Embedding>& c,
                             const Kernels<ops::Embedding>& k) noexcept {
    auto table = r.kernels_of(c.w[0]);
    if (!table) return pass(table);
    return r.push(k.rows, EmbeddingArgs{c, (*table)->widen});
  }
};
static_assert(Records<ops::Embedding>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/embedding.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Embedding rows, of the table or given; tokens are split.
inline void embedding(const EmbeddingArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const HostWeight& table = a.call.w[0];
  const auto* ids = a.call.in[0].as<std::int32_t>();
  const Range part = split(a.call.in[0].elements(step), 1, worker);
  for (std::uint64_t t = part.first; t < part.last; ++t) {
    auto id = static_cast<std::uint32_t>(ids[t]);
    float* y = a.call.out[0].as<float>() + t * table.cols;
    if (ids[t] < 0 && a.call.in[1].present()) {
      std::memcpy(y, a.call.in[1].as<float>() + t * table.cols, table.cols * sizeof(float));
      continue;
    }
    if (id >= table.rows) {
      step.violated_row(worker, a.call.in[0].type.shape[0], t);
      id = 0;
    }
    a.widen(table.row(id), table.cols, a.call.params.scale, y);
  }
}

template <> inline constexpr Kernels<ops::Embedding> kKernels<ops::Embedding>{.rows = &embedding};

#endif
