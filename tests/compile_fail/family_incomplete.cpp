// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/family_incomplete.cpp: a family has all members of one; the message names family and part.
// expect-error: zrt: a model family lacks a member that docs/adding-a-family.md lists
// expect-error: Reticent
// expect-error: ReadsConfig
#include <zrt/model/arch/llama.hpp>
#include <zrt/model/check_arch.hpp>

#ifdef ZRT_COMPILE_FAIL
struct Reticent : zrt::model::Llama {
  static void read(int) noexcept {}
};
#else
using Reticent = zrt::model::Llama;
#endif
static_assert(zrt::model::CheckArch<Reticent>::kOk);
