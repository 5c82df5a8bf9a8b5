// SPDX-License-Identifier: Apache-2.0
// tests/package/wide_float.cpp: a translation unit whose floats are computed in a wider type is refused.
// expect-error: zrt: .*-mfpmath=387
#include <zrt/core/config.hpp>
