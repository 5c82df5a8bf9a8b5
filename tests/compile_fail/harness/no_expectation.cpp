// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/harness/no_expectation.cpp: fails without saying why it should.
#ifdef ZRT_COMPILE_FAIL
static_assert(sizeof(int) == 1, "zrt: the answer must be 42");
#endif
