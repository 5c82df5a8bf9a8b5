// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/cpu_policies.cpp: the CPU backend is compiled for weight types that it computes, and for a variant.
// expect-error: zrt: a type in WeightTypes is no weight type that is computed; quant/types.hpp lists those that are
// expect-error: zrt: Variants is empty; name at least one cpu::Isa
#include <zrt/backend/cpu/policies.hpp>

#ifdef ZRT_COMPILE_FAIL
using Types = zrt::cpu::WeightTypes<zrt::DType::q8_0, zrt::DType::q8_1>;
using Set = zrt::cpu::Variants<>;
#else
using Types = zrt::cpu::WeightTypes<zrt::DType::q8_0>;
using Set = zrt::cpu::Variants<zrt::cpu::Isa::v3>;
#endif

[[maybe_unused]] constexpr std::size_t kSize = sizeof(Types) + sizeof(Set);
