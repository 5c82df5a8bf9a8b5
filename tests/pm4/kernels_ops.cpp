// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_ops.cpp: the kernels of kernels/ that are no matrix products, against the ops' own references.
#include <pm4/kernel_machine.hpp>
#include <support/kernel_checks/ops.hpp>

namespace zrt::test::kernels_ops_test {
namespace {

using namespace kernel_checks;

class OpKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, OpKernels, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

TEST_P(OpKernels, EmbeddingOfEachType) { check_embedding(Target{GetParam()}); }
TEST_P(OpKernels, RowsByIndex) { check_rows_by_index(Target{GetParam()}); }
TEST_P(OpKernels, ResidualsAndTheEndOfTheHead) { check_residuals(Target{GetParam()}); }
TEST_P(OpKernels, NormsWithAndWithoutWeightInPlaceAndNot) { check_norms(Target{GetParam()}); }
TEST_P(OpKernels, GatedActivations) { check_gated_activations(Target{GetParam()}); }
TEST_P(OpKernels, GreedyTokenTakesTheFirstOfEqualsAndNoNan) { check_greedy_token(Target{GetParam()}); }

}  // namespace
}  // namespace zrt::test::kernels_ops_test
