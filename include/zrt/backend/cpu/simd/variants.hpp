// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/variants.hpp: the lane types and elementary functions of every variant.
#pragma once

#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/backend/cpu/simd/lanes_avx2.hpp>
#include <zrt/backend/cpu/simd/lanes_avx512.hpp>
#include <zrt/backend/cpu/simd/lanes_portable.hpp>
#include <zrt/core/elementary_angle.hpp>
#include <zrt/core/elementary_ops.hpp>

// The namespaces hold the same names, which have the same meaning and give the same bits
// (NaN payloads apart); simd/lanes_portable.inc.hpp describes them.
#define ZRT_KERNELS_FRAGMENT <zrt/core/elementary.inc.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// The lowest variant that this translation unit builds; its own baseline demands it of the processor.
#if ZRT_HAS_V1
inline constexpr Isa kLowestIsa = Isa::v1;
#elif ZRT_HAS_V3
inline constexpr Isa kLowestIsa = Isa::v3;
#else
inline constexpr Isa kLowestIsa = Isa::v4;
#endif

}  // namespace zrt::inline ZRT_ABI::cpu
