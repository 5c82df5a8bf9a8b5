// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/harness/compiles.cpp: compiles although it promises a fault.
// expect-error: zrt: the answer must be 42
#ifdef ZRT_COMPILE_FAIL
static_assert(sizeof(char) == 1, "zrt: the answer must be 42");
#endif
