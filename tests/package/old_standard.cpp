// SPDX-License-Identifier: Apache-2.0
// tests/package/old_standard.cpp: a translation unit in an older language mode is refused.
// expect-error: zrt: C\+\+23 is needed
#include <zrt/core/config.hpp>
