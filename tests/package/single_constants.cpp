// SPDX-License-Identifier: Apache-2.0
// tests/package/single_constants.cpp: a translation unit whose constants of f64 are read as f32 is refused.
// expect-error: zrt: .*-fsingle-precision-constant
#include <zrt/core/config.hpp>
