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

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/simd/lanes_portable.inc.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>
