// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/harness/right.cpp: fails for the reason that it names.
// expect-error: zrt: the answer must be 42
#ifdef ZRT_COMPILE_FAIL
static_assert(sizeof(int) == 1, "zrt: the answer must be 42");
#endif
