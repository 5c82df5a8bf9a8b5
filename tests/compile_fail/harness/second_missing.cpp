// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/harness/second_missing.cpp: gives only the first of two messages.
// expect-error: zrt: the answer must be 42
// expect-error: zrt: the question must be known
#ifdef ZRT_COMPILE_FAIL
static_assert(sizeof(int) == 1, "zrt: the answer must be 42");
#endif
