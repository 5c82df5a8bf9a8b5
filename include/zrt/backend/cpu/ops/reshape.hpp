// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/reshape.hpp: the copy of a value that could not stay where it was.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RESHAPE)
#define ZRT_BACKEND_CPU_OPS_RESHAPE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/simd/variants.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/reshape.hpp>

#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Reshape> {
  exec::HostKernel<HostCall<ops::Reshape>> bytes = nullptr;
};

template <> struct Adapter<ops::Reshape> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Reshape>& c, const Kernels<ops::Reshape>& k) noexcept {
    return r.push(k.bytes, c);
  }
};
static_assert(Records<ops::Reshape>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/reshape.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Bytes are split by cache lines.
inline void reshape(const HostCall<ops::Reshape>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t bytes = bytes_of(c.in[0].type.dtype, c.in[0].elements(step));
  const Range part = split(bytes, 4096, worker);
  std::memcpy(c.out[0].data + part.first, c.in[0].data + part.first, part.last - part.first);
}

template <> inline constexpr Kernels<ops::Reshape> kKernels<ops::Reshape>{.bytes = &reshape};

#endif
