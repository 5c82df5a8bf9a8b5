// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/kernels_checks.cpp: the kernels of kernels/vulkan on many shapes: the bits of the ops' references.
#include <support/kernel_checks/attention.hpp>
#include <support/kernel_checks/ops.hpp>
#include <support/kernel_checks/products.hpp>
#include <support/kernel_checks/recurrent.hpp>
#include <support/kernel_checks/sampling.hpp>
#include <vulkan/kernel_machine.hpp>

namespace zrt::test::vulkan_kernels_checks_test {
namespace {

using namespace kernel_checks;

struct VulkanKernelChecks : VulkanTest {};

TEST_F(VulkanKernelChecks, EmbeddingOfEachType) { check_embedding(DeviceKernels()); }
TEST_F(VulkanKernelChecks, RowsByIndex) { check_rows_by_index(DeviceKernels()); }
TEST_F(VulkanKernelChecks, ResidualsAndTheEndOfTheHead) { check_residuals(DeviceKernels()); }
TEST_F(VulkanKernelChecks, NormsWithAndWithoutWeightInPlaceAndNot) { check_norms(DeviceKernels()); }
TEST_F(VulkanKernelChecks, GatedActivations) { check_gated_activations(DeviceKernels()); }
TEST_F(VulkanKernelChecks, GreedyTokenTakesTheFirstOfEqualsAndNoNan) { check_greedy_token(DeviceKernels()); }
TEST_F(VulkanKernelChecks, RotationAndPageWrite) { check_rotation_and_page_write(DeviceKernels()); }
TEST_F(VulkanKernelChecks, PagedAttention) { check_paged_attention(DeviceKernels()); }
TEST_F(VulkanKernelChecks, RoundingOfActivations) { check_rounding(DeviceKernels()); }
TEST_F(VulkanKernelChecks, VectorProductsOfEachType) { check_matvec(DeviceKernels()); }
TEST_F(VulkanKernelChecks, MatrixProductsOfEachType) { check_matmul(DeviceKernels()); }
TEST_F(VulkanKernelChecks, ATokenIsTheSameAmongAnyOthers) { check_numbers_of_tokens(DeviceKernels()); }
TEST_F(VulkanKernelChecks, Routers) { check_routers(DeviceKernels()); }
TEST_F(VulkanKernelChecks, ExpertsOfEachType) { check_experts(DeviceKernels()); }
TEST_F(VulkanKernelChecks, SharedExpert) { check_shared_expert(DeviceKernels()); }
TEST_F(VulkanKernelChecks, Convolution) { check_convolution(DeviceKernels()); }
TEST_F(VulkanKernelChecks, Scan) { check_scan(DeviceKernels()); }
TEST_F(VulkanKernelChecks, DeltaNet) { check_delta_net(DeviceKernels()); }
TEST_F(VulkanKernelChecks, GatedNorm) { check_gated_norm(DeviceKernels()); }
TEST_F(VulkanKernelChecks, TokensOfTheCatalogsCases) { check_sampling_of_cases(DeviceKernels(), 150); }
TEST_F(VulkanKernelChecks, TokensByEverySetting) { check_sampling_of_settings(DeviceKernels()); }
TEST_F(VulkanKernelChecks, TokensOfRowsThatAreHardToOrder) { check_sampling_of_rows(DeviceKernels()); }
TEST_F(VulkanKernelChecks, TokensWithLongLists) { check_sampling_with_lists(DeviceKernels()); }

}  // namespace
}  // namespace zrt::test::vulkan_kernels_checks_test
