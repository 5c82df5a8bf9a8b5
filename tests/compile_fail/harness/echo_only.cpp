// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/harness/echo_only.cpp: holds the text only in a line that a compiler echoes.
// expect-error: zrt: the answer must be 42
#ifdef ZRT_COMPILE_FAIL
const char* text = undeclared_name + "zrt: the answer must be 42";
#endif
