// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/variants.hpp: the lane types and elementary functions of every variant.
#pragma once

#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/backend/cpu/simd/region.hpp>
#include <zrt/core/elementary_angle.hpp>
#include <zrt/core/elementary_ops.hpp>
#include <zrt/core/half.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Each namespace below holds the same names, which have the same meaning and give the same bits
// (NaN payloads apart); simd/lanes_portable.inc.hpp describes them.
ZRT_FP_BEGIN

#if ZRT_HAS_V1
namespace zrt::inline ZRT_ABI::cpu::v1 {
inline constexpr Isa kIsa = Isa::v1;
#include <zrt/backend/cpu/simd/lanes_portable.inc.hpp>
#include <zrt/core/elementary.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v1
#endif

#if ZRT_HAS_V3
ZRT_REGION_BEGIN(ZRT_TARGET_V3)
namespace zrt::inline ZRT_ABI::cpu::v3 {
inline constexpr Isa kIsa = Isa::v3;
#include <zrt/backend/cpu/simd/lanes_avx2.inc.hpp>
#include <zrt/core/elementary.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v3
ZRT_REGION_END
#endif

#if ZRT_HAS_V4
ZRT_REGION_BEGIN(ZRT_TARGET_V4)
namespace zrt::inline ZRT_ABI::cpu::v4 {
inline constexpr Isa kIsa = Isa::v4;
#include <zrt/backend/cpu/simd/lanes_avx512.inc.hpp>
#include <zrt/core/elementary.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v4
ZRT_REGION_END
#endif

ZRT_FP_END
