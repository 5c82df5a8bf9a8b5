// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/quant_listed_twice.cpp: a weight type stands once in the list of types.
// expect-error: zrt: a weight type stands twice in quant/types.hpp and HostTypes
// compiled alone: a macro changes what headers say
#include <zrt/quant/dot.hpp>
#include <zrt/quant/plain.hpp>
#include <zrt/quant/q4_0.hpp>
#include <zrt/quant/q8_0.hpp>

// The list itself lies in the library; a macro gives one of its lines another type.
#ifdef ZRT_COMPILE_FAIL
#define q8_0 q4_0
#endif
#include <zrt/quant/types.hpp>

static_assert(zrt::quant::facts(zrt::DType::q4_0)->act == zrt::quant::Act::q8_32);
