// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/foreach_variant.hpp: includes the text named by ZRT_KERNELS_FRAGMENT once per variant.
//
// No include guard. A header of kernels names itself and includes this header at the end of its
// first part, outside every namespace:
//
//   #if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RELU)
//   #define ZRT_BACKEND_CPU_OPS_RELU
//     its includes, and what is there once
//   #define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/relu.hpp>
//   #include <zrt/backend/cpu/simd/foreach_variant.hpp>
//   #elif defined(ZRT_VARIANT)
//     what each variant has, without includes
//   #endif
//
// The names of the second part then exist in zrt::cpu::v1, dotprod, v3 and v4, as far as ZRT_HAS_V1,
// ZRT_HAS_DOTPROD, ZRT_HAS_V3 and ZRT_HAS_V4 say. It finds kIsa, everything of simd/variants.hpp and what
// the headers of kernels that its first part includes put there, unqualified. ZRT_VARIANT is 1, 2 (dotprod),
// 3 or 4. Only plain functions and constant tables of function pointers may be used from outside.

#ifndef ZRT_KERNELS_FRAGMENT
#error "zrt: define ZRT_KERNELS_FRAGMENT before including simd/foreach_variant.hpp"
#endif

#include <zrt/backend/cpu/simd/variants.hpp>

ZRT_FP_BEGIN

#if ZRT_HAS_V1
#define ZRT_VARIANT 1
ZRT_PORTABLE_BEGIN
namespace zrt::inline ZRT_ABI::cpu::v1 {
#include ZRT_KERNELS_FRAGMENT
}  // namespace zrt::inline ZRT_ABI::cpu::v1
ZRT_PORTABLE_END
#undef ZRT_VARIANT
#endif

#if ZRT_HAS_DOTPROD
#define ZRT_VARIANT 2
ZRT_REGION_BEGIN(ZRT_TARGET_DOTPROD)
namespace zrt::inline ZRT_ABI::cpu::dotprod {
#include ZRT_KERNELS_FRAGMENT
}  // namespace zrt::inline ZRT_ABI::cpu::dotprod
ZRT_REGION_END
#undef ZRT_VARIANT
#endif

#if ZRT_HAS_V3
#define ZRT_VARIANT 3
ZRT_REGION_BEGIN(ZRT_TARGET_V3)
namespace zrt::inline ZRT_ABI::cpu::v3 {
#include ZRT_KERNELS_FRAGMENT
}  // namespace zrt::inline ZRT_ABI::cpu::v3
ZRT_REGION_END
#undef ZRT_VARIANT
#endif

#if ZRT_HAS_V4
#define ZRT_VARIANT 4
ZRT_REGION_BEGIN(ZRT_TARGET_V4)
namespace zrt::inline ZRT_ABI::cpu::v4 {
#include ZRT_KERNELS_FRAGMENT
}  // namespace zrt::inline ZRT_ABI::cpu::v4
ZRT_REGION_END
#undef ZRT_VARIANT
#endif

ZRT_FP_END
#undef ZRT_KERNELS_FRAGMENT
