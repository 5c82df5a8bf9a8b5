// SPDX-License-Identifier: Apache-2.0
// tests/package/kernels_without_optimisation.cpp: the kernels of an op in every variant, for optimize_floor.py.
#include <zrt/backend/cpu/ops/softmax.hpp>

#if ZRT_HAS_V1
zrt::cpu::Kernels<zrt::ops::Softmax> v1() { return zrt::cpu::v1::kKernels<zrt::ops::Softmax>; }
#endif
#if ZRT_HAS_V3
zrt::cpu::Kernels<zrt::ops::Softmax> v3() { return zrt::cpu::v3::kKernels<zrt::ops::Softmax>; }
#endif
#if ZRT_HAS_V4
zrt::cpu::Kernels<zrt::ops::Softmax> v4() { return zrt::cpu::v4::kKernels<zrt::ops::Softmax>; }
#endif
