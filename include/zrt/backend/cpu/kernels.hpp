// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels.hpp: the kernels of every variant, and the choice among them.
#pragma once

#include <zrt/backend/cpu/kernel_set.hpp>
#include <zrt/backend/cpu/scratch.hpp>
#include <zrt/backend/cpu/simd/variants.hpp>

#include <cstring>
#include <limits>
#include <utility>

/// Marks a lambda that is nothing but the body of an unrolled loop.
#define ZRT_UNROLLED __attribute__((always_inline))

// What differs between variants beyond simd/, and its tools: each namespace gets the same names.
ZRT_FP_BEGIN

// Each fragment needs the ones before it.
// clang-format off
#if ZRT_HAS_V1
namespace zrt::inline ZRT_ABI::cpu::v1 {
#include <zrt/backend/cpu/kernels/unroll.inc.hpp>
#include <zrt/backend/cpu/kernels/shuffles_portable.inc.hpp>
#include <zrt/backend/cpu/kernels/block_rows_portable.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v1
#endif

#if ZRT_HAS_V3
ZRT_REGION_BEGIN(ZRT_TARGET_V3)
namespace zrt::inline ZRT_ABI::cpu::v3 {
#include <zrt/backend/cpu/kernels/unroll.inc.hpp>
#include <zrt/backend/cpu/kernels/shuffles_avx2.inc.hpp>
#include <zrt/backend/cpu/kernels/block_rows_x86.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v3
ZRT_REGION_END
#endif

#if ZRT_HAS_V4
ZRT_REGION_BEGIN(ZRT_TARGET_V4)
namespace zrt::inline ZRT_ABI::cpu::v4 {
#include <zrt/backend/cpu/kernels/unroll.inc.hpp>
#include <zrt/backend/cpu/kernels/shuffles_avx512.inc.hpp>
#include <zrt/backend/cpu/kernels/block_rows_x86.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v4
ZRT_REGION_END
#endif
// clang-format on

ZRT_FP_END

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels.inc.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#undef ZRT_UNROLLED

namespace zrt::inline ZRT_ABI::cpu {

/// Returns the kernels of `isa`, or of the nearest variant that this translation unit builds: a lower
/// one where there is one, else the lowest, which the unit's own baseline demands anyway.
[[nodiscard]] inline const KernelSet& kernels_for(Isa isa) noexcept {
#if ZRT_HAS_V4
  if (isa == Isa::v4) return v4::kKernels;
#endif
#if ZRT_HAS_V3
  if (isa >= Isa::v3) return v3::kKernels;
#endif
#if ZRT_HAS_V1
  return v1::kKernels;
#elif ZRT_HAS_V3
  return v3::kKernels;
#else
  return v4::kKernels;
#endif
}

}  // namespace zrt::inline ZRT_ABI::cpu
