// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_attention.cpp: rotation with page write, and attention over pages, against the ops' references.
#include <pm4/kernel_machine.hpp>
#include <support/kernel_checks/attention.hpp>

namespace zrt::test::kernels_attention_test {
namespace {

using namespace kernel_checks;

class AttentionKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, AttentionKernels, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

TEST_P(AttentionKernels, RotationAndPageWriteHaveTheReferencesBits) {
  check_rotation_and_page_write(Target{GetParam()});
}
TEST_P(AttentionKernels, PagedAttentionHasTheReferencesBits) { check_paged_attention(Target{GetParam()}); }

}  // namespace
}  // namespace zrt::test::kernels_attention_test
