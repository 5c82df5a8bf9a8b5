// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/region.hpp: which variants this translation unit builds, and their target regions.
#pragma once

#include <zrt/core/config.hpp>

// A variant below the translation unit's own baseline is left out: inside its region the compiler
// could use more than the region names.
#if ZRT_BASELINE < 3
#define ZRT_HAS_V1 1
#else
#define ZRT_HAS_V1 0
#endif
#if defined(__aarch64__)
#define ZRT_HAS_DOTPROD 1
#else
#define ZRT_HAS_DOTPROD 0
#endif
#if defined(__x86_64__) && ZRT_BASELINE <= 3
#define ZRT_HAS_V3 1
#else
#define ZRT_HAS_V3 0
#endif
#if defined(__x86_64__)
#define ZRT_HAS_V4 1
#else
#define ZRT_HAS_V4 0
#endif

// The extension alone where the baseline has it already; else an architecture by name, which the assembler wants.
#if defined(__ARM_FEATURE_DOTPROD)
#define ZRT_TARGET_DOTPROD "+dotprod"
#else
#define ZRT_TARGET_DOTPROD "arch=armv8.2-a+dotprod"
#endif
#define ZRT_TARGET_V3 "avx2,fma,f16c,bmi,bmi2"
#define ZRT_TARGET_V4 "avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"

#if defined(__clang__)
// A region may hold tables alone, which take no attribute.
#define ZRT_REGION_BEGIN(target_text)                                                         \
  ZRT_PRAGMA(clang diagnostic push)                                                           \
  ZRT_PRAGMA(clang diagnostic ignored "-Wpragma-clang-attribute")                             \
  ZRT_PRAGMA(clang attribute push(__attribute__((target(target_text))), apply_to = function)) \
  ZRT_PRAGMA(clang diagnostic pop)
#define ZRT_REGION_END ZRT_PRAGMA(clang attribute pop)
#define ZRT_PORTABLE_BEGIN
#define ZRT_PORTABLE_END
#else
// A host without a build type compiles at -O0, where kernels take fifteen times as long. GCC can optimise them
// alone; Clang has no pragma for it.
#if defined(__OPTIMIZE__)
#define ZRT_OPTIMIZE_FLOOR
#else
#define ZRT_OPTIMIZE_FLOOR ZRT_PRAGMA(GCC optimize("O2"))
#endif
#define ZRT_REGION_BEGIN(target_text) \
  ZRT_PRAGMA(GCC push_options) ZRT_OPTIMIZE_FLOOR ZRT_PRAGMA(GCC target(target_text))
#define ZRT_REGION_END ZRT_PRAGMA(GCC pop_options)
#define ZRT_PORTABLE_BEGIN ZRT_PRAGMA(GCC push_options) ZRT_OPTIMIZE_FLOOR
#define ZRT_PORTABLE_END ZRT_PRAGMA(GCC pop_options)
#endif

/// for (std::size_t i = 0; i < count; ++i), which is gone after compilation, so that arrays indexed by `i` stay in
/// registers. `count` is a constant, at most 64.
#define ZRT_UNROLL(i, count) ZRT_UNROLL_IN(ZRT_VARIANT) for (std::size_t i = 0; i < (count); ++i)
#define ZRT_UNROLL_IN(variant) ZRT_UNROLL_OF(variant)
#define ZRT_UNROLL_OF(variant) ZRT_UNROLL_##variant
#if defined(__clang__)
#define ZRT_UNROLL_4 ZRT_PRAGMA(clang loop unroll(full))
#else
#define ZRT_UNROLL_4 ZRT_PRAGMA(GCC unroll 64)
#endif
#define ZRT_UNROLL_3 ZRT_UNROLL_4
#define ZRT_UNROLL_2 ZRT_UNROLL_4
// Plain x86-64 has registers for four times sixteen lanes: arrays of them lie in memory in any case, and loops that stay
// are less code.
#if defined(__x86_64__)
#define ZRT_UNROLL_1
#else
#define ZRT_UNROLL_1 ZRT_UNROLL_4
#endif

/// Marks a lambda that is nothing but the body of a loop or a part of one.
#define ZRT_UNROLLED __attribute__((always_inline))
