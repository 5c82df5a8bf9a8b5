// SPDX-License-Identifier: Apache-2.0
// tests/package/fast_math.cpp: a translation unit under -ffast-math is refused.
// expect-error: zrt: .*-ffast-math
#include <zrt/core/config.hpp>
