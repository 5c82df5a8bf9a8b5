// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/foreach_variant.hpp: includes the kernels named by ZRT_KERNELS_FRAGMENT once per variant.
//
// No include guard: define ZRT_KERNELS_FRAGMENT as the quoted or bracketed name of a textual
// fragment, include this header outside every namespace, and the fragment's names exist in
// zrt::cpu::v1, v3 and v4, as far as ZRT_HAS_V1, ZRT_HAS_V3 and ZRT_HAS_V4 say. Inside the fragment
// everything of simd/lanes_portable.inc.hpp and core/elementary.inc.hpp is at hand unqualified, and
// kIsa names the variant. The fragment includes nothing; what it needs of core and quant is included
// before. Only plain functions and constant tables of function pointers may be used from outside.

#ifndef ZRT_KERNELS_FRAGMENT
#error "zrt: define ZRT_KERNELS_FRAGMENT before including simd/foreach_variant.hpp"
#endif

#include <zrt/backend/cpu/simd/variants.hpp>

ZRT_FP_BEGIN

#if ZRT_HAS_V1
namespace zrt::inline ZRT_ABI::cpu::v1 {
#include ZRT_KERNELS_FRAGMENT
}  // namespace zrt::inline ZRT_ABI::cpu::v1
#endif

#if ZRT_HAS_V3
ZRT_REGION_BEGIN(ZRT_TARGET_V3)
namespace zrt::inline ZRT_ABI::cpu::v3 {
#include ZRT_KERNELS_FRAGMENT
}  // namespace zrt::inline ZRT_ABI::cpu::v3
ZRT_REGION_END
#endif

#if ZRT_HAS_V4
ZRT_REGION_BEGIN(ZRT_TARGET_V4)
namespace zrt::inline ZRT_ABI::cpu::v4 {
#include ZRT_KERNELS_FRAGMENT
}  // namespace zrt::inline ZRT_ABI::cpu::v4
ZRT_REGION_END
#endif

ZRT_FP_END
#undef ZRT_KERNELS_FRAGMENT
