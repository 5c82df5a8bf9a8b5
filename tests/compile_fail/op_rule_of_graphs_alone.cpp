// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/op_rule_of_graphs_alone.cpp: an op that programs have needs a type rule that programs can use.
// expect-error: zrt: an operation of programs needs one infer for both dims in its header, or a ProgramRule
#include "small_ops.hpp"
#include <zrt/ir/ptir/infer.hpp>

struct ForGraphs : compile_fail::SmallOp<80, zrt::Rung::primitive> {
  static constexpr auto attributes = zrt::kNoAttributes;
#ifndef ZRT_COMPILE_FAIL
  template <class D> static zrt::Result<void> infer(zrt::RuleCall<D>& c) noexcept { return c.give(c.in[0]); }
#endif
};
static_assert(zrt::ProgramOp<ForGraphs>);
[[maybe_unused]] constexpr auto kRule = &zrt::ir::ptir::detail::infer_as<ForGraphs>;
