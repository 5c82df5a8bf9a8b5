// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/simd_fragment_missing.cpp: the loop over instruction sets needs a fragment to include.
// expect-error: zrt: define ZRT_KERNELS_FRAGMENT before including simd/foreach_variant.hpp
// compiled alone: the place of its message is the header alone
#ifdef ZRT_COMPILE_FAIL
#include <zrt/backend/cpu/simd/foreach_variant.hpp>
#endif
