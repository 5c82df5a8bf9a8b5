// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/harness/wrong_reason.cpp: fails, but not with the message that it names.
// expect-error: zrt: the answer must be 42
#ifdef ZRT_COMPILE_FAIL
int value = undeclared_name;
#endif
