// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/take.hpp: rows chosen by index.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_TAKE)
#define ZRT_BACKEND_CPU_OPS_TAKE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/simd/variants.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/take.hpp>

#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Take> {
  exec::HostKernel<HostCall<ops::Take>> rows = nullptr;
};

template <> struct Adapter<ops::Take> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Take>& c, const Kernels<ops::Take>& k) noexcept {
    return r.push(k.rows, c);
  }
};
static_assert(Records<ops::Take>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/take.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Rows are split; a row is one copy, and of 4-bit elements, whose rows may begin within a byte, one by one.
inline void take(const HostCall<ops::Take>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const HostTensor& x = c.in[0];
  const HostTensor& indices = c.in[1];
  const DTypeInfo& type = info(x.type.dtype);
  const ops::AxisSplit table(x, 0, step);
  const std::uint64_t row_bytes = table.inner * type.block_bytes;
  const Range part = split(indices.elements(step), ops::Take::granule(c), worker);
  for (std::uint64_t row = part.first; row < part.last; ++row) {
    const std::uint64_t index = ops::index_at(indices, row);
    const bool found = index < table.extent;
    if (!found) step.violated(worker);
    if (type.block_elems != 1) {
      if (found)
        copy_elements(x.type.dtype, x.data, index * table.inner, c.out[0].data, row * table.inner, table.inner);
      else
        for (std::uint64_t i = 0; i < table.inner; ++i) {
          const std::byte zero{};
          copy_elements(x.type.dtype, &zero, 0, c.out[0].data, row * table.inner + i, 1);
        }
    } else if (row_bytes != 0) {
      std::byte* y = c.out[0].data + row * row_bytes;
      if (found)
        std::memcpy(y, x.data + index * row_bytes, row_bytes);
      else
        std::memset(y, 0, row_bytes);
    }
  }
}

template <> inline constexpr Kernels<ops::Take> kKernels<ops::Take>{.rows = &take};

#endif
