// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/lanes_portable.hpp: sixteen f32 lanes in vectors of any processor: plain, and with ARM's products of four bytes.
#pragma once

#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/backend/cpu/simd/region.hpp>
#include <zrt/core/elementary_ops.hpp>
#include <zrt/core/half.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

ZRT_FP_BEGIN

#if ZRT_HAS_V1
#define ZRT_VARIANT 1
ZRT_PORTABLE_BEGIN
namespace zrt::inline ZRT_ABI::cpu::v1 {
#include <zrt/backend/cpu/simd/lanes_portable.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v1
ZRT_PORTABLE_END
#undef ZRT_VARIANT
#endif

#if ZRT_HAS_DOTPROD
#define ZRT_VARIANT 2
ZRT_REGION_BEGIN(ZRT_TARGET_DOTPROD)
namespace zrt::inline ZRT_ABI::cpu::dotprod {
#include <zrt/backend/cpu/simd/lanes_portable.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::dotprod
ZRT_REGION_END
#undef ZRT_VARIANT
#endif

ZRT_FP_END
