// SPDX-License-Identifier: Apache-2.0
// zrt/core/config.hpp: compiler conditionals, the versioned namespace and the floating-point guards.
#pragma once

#if !defined(__cplusplus) || __cplusplus <= 202002L
#error "zrt: C++23 is needed; compile with -std=c++23 (or -std=c++2b)"
#endif

// -ffast-math (and what it stands for) lets a compiler reorder sums and drop NaNs, so that the same
// request would no longer give the same bits.
// GCC names its parts; Clang defines a macro for the whole and for finite-math-only alone.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error \
    "zrt: this translation unit is compiled with -ffast-math or a part of it (-funsafe-math-optimizations, -ffinite-math-only, -fassociative-math, -freciprocal-math, -fno-signed-zeros); remove the flag for files that include zrt"
#endif
// The other parts have no macro in Clang, but it refuses this pragma wherever one of them is on:
// -funsafe-math-optimizations, -freciprocal-math, -fno-signed-zeros, -fapprox-func, and -fassociative-math
// where that has an effect. Its message names the macro.
#if defined(__clang__)
#define ZRT_REFUSES_UNSAFE_MATH_FLAGS_REMOVE_THEM _Pragma("float_control(except, on)")
#pragma float_control(push)
ZRT_REFUSES_UNSAFE_MATH_FLAGS_REMOVE_THEM
#pragma float_control(pop)
#undef ZRT_REFUSES_UNSAFE_MATH_FLAGS_REMOVE_THEM
#endif

// A float is computed as a float: not on the x87, nor by another method of evaluation. 16 widens the type of
// two bytes alone.
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error \
    "zrt: this translation unit is compiled with arithmetic wider than its types (-mfpmath=387, -ffp-eval-method); remove the flag for files that include zrt"
#endif
static_assert(sizeof(1.0) == sizeof(double),
              "zrt: this translation unit is compiled with -fsingle-precision-constant; remove the flag for files that "
              "include zrt");

// CMake, and all that packages zrt, read the version here.
#define ZRT_VERSION_MAJOR 0
#define ZRT_VERSION_MINOR 1
#define ZRT_VERSION_PATCH 0

// Inline functions with floating-point arithmetic compile to other instructions under other
// baselines; the baseline is part of the namespace so that the linker never merges them.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__AVX512VNNI__) && defined(__FMA__)
#define ZRT_BASELINE_NAME x86_64_v4
#define ZRT_BASELINE 4
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__) && defined(__AVX512F__)
#define ZRT_BASELINE_NAME x86_64_v3_avx512
#define ZRT_BASELINE 3
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#define ZRT_BASELINE_NAME x86_64_v3
#define ZRT_BASELINE 3
#elif defined(__x86_64__) && defined(__AVX__)
#define ZRT_BASELINE_NAME x86_64_avx
#define ZRT_BASELINE 1
#elif defined(__x86_64__) && defined(__SSE4_2__)
#define ZRT_BASELINE_NAME x86_64_v2
#define ZRT_BASELINE 1
#elif defined(__x86_64__)
#define ZRT_BASELINE_NAME x86_64
#define ZRT_BASELINE 1
#elif defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#define ZRT_BASELINE_NAME aarch64_dotprod
#define ZRT_BASELINE 1
#elif defined(__aarch64__)
#define ZRT_BASELINE_NAME aarch64
#define ZRT_BASELINE 1
#else
#define ZRT_BASELINE_NAME portable
#define ZRT_BASELINE 1
#endif

// Options that change what inline functions do are part of the namespace too.
#if defined(ZRT_DEBUG_CHECKS)
#define ZRT_OPTIONS_NAME _checks
#else
#define ZRT_OPTIONS_NAME
#endif

// The inline namespace of everything: a source that was compiled against another version, baseline or set of options
// does not link with this one.
#define ZRT_ABI_JOIN(major, minor, patch, baseline, options) v##major##_##minor##_##patch##_##baseline##options
#define ZRT_ABI_OF(major, minor, patch, baseline, options) ZRT_ABI_JOIN(major, minor, patch, baseline, options)
#define ZRT_ABI ZRT_ABI_OF(ZRT_VERSION_MAJOR, ZRT_VERSION_MINOR, ZRT_VERSION_PATCH, ZRT_BASELINE_NAME, ZRT_OPTIONS_NAME)

// Contraction happens only where fma is written. The lock is in the sources: a product never feeds
// an addition. No pragma can replace that: an inline function takes the contraction mode of its
// caller, Clang ignores its own pragma under -ffp-contract=fast, and GCC's `optimize` pragma stops
// the inlining of whatever it covers. The guards stand around every header and target region that
// computes with floating point and do what a pragma can: Clang's default mode, which fuses inside
// one expression, is switched off.
#if defined(__clang__)
#define ZRT_FP_BEGIN _Pragma("float_control(push)") _Pragma("clang fp contract(off)")
#define ZRT_FP_END _Pragma("float_control(pop)")
#else
#define ZRT_FP_BEGIN
#define ZRT_FP_END
#endif

#define ZRT_PRAGMA(text) _Pragma(#text)

// Around headers whose functions run when a model is opened, or at most once in a request or a step: they are compiled
// for size, and on GCC without the passes that take longest there. A region's functions are not inlined outside of it.
#if defined(__clang__)
#define ZRT_LOAD_TIME_BEGIN                                                       \
  ZRT_PRAGMA(clang diagnostic push)                                               \
  ZRT_PRAGMA(clang diagnostic ignored "-Wpragma-clang-attribute")                 \
  ZRT_PRAGMA(clang attribute push(__attribute__((minsize)), apply_to = function)) \
  ZRT_PRAGMA(clang diagnostic pop)
#define ZRT_LOAD_TIME_END ZRT_PRAGMA(clang attribute pop)
#elif defined(__OPTIMIZE__)
#define ZRT_LOAD_TIME_BEGIN                                                                                   \
  ZRT_PRAGMA(GCC push_options)                                                                                \
  ZRT_PRAGMA(GCC optimize("Os", "no-tree-pre", "no-gcse", "no-schedule-insns2", "no-expensive-optimizations", \
                          "no-ivopts", "no-tree-vrp", "no-thread-jumps", "no-code-hoisting",                  \
                          "no-rerun-cse-after-loop", "no-tree-dominator-opts", "no-tree-pta", "no-ipa-ra"))
#define ZRT_LOAD_TIME_END ZRT_PRAGMA(GCC pop_options)
#else
#define ZRT_LOAD_TIME_BEGIN
#define ZRT_LOAD_TIME_END
#endif

#define ZRT_ALWAYS_INLINE [[gnu::always_inline]] inline
#define ZRT_NOINLINE [[gnu::noinline, gnu::cold]]
/// Runs when a model is opened, never in a step: compiled for size, which takes half the time.
#define ZRT_COLD [[gnu::cold]]

// Debug-only check of zrt's own invariants; never applied to user input or device replies.
#if defined(ZRT_DEBUG_CHECKS)
#define ZRT_ASSERT(condition)           \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (false)
#else
#define ZRT_ASSERT(condition) ((void)0)
#endif
