// SPDX-License-Identifier: Apache-2.0
// covers: backend/vulkan/loop_turns.hpp
#include <zrt/backend/vulkan/loop_turns.hpp>
#include <zrt/ops/rms_norm.hpp>

#include <support/kernel_checks/attention.hpp>
#include <support/kernel_checks/products.hpp>
#include <support/kernel_checks/recurrent.hpp>
#include <support/kernel_checks/sampling.hpp>
#include <vulkan/kernel_machine.hpp>

namespace zrt::test::vulkan_loop_turns_test {
namespace {

using namespace kernel_checks;

constexpr std::uint64_t turns(std::string_view name, std::initializer_list<std::uint32_t> values) {
  return vulkan::loop_turns(*device::find_kernel_abi(name), name,
                            Span<const std::uint32_t>(values.begin(), values.size()));
}
constexpr bool ends(std::uint64_t count) { return count <= vulkan::kMostTurns; }

// What docs/kernel-abi.md says of the tightest kernels.
static_assert(ends(turns("paged_attention_f16", {8, 1, 128, 128, 0, 0, 0, 74'000 / 16, 0})));
static_assert(!ends(turns("paged_attention_f16", {8, 1, 128, 128, 0, 0, 0, 77'000 / 16, 0})));
static_assert(ends(turns("paged_attention_f16", {8, 1, 128, 128, 0, 0, 4096, 1'000'000 / 16, 0})));
static_assert(ends(turns("matmul_q8_0", {1, 58'000, 64})) && !ends(turns("matmul_q8_0", {1, 58'336, 64})));
static_assert(ends(turns("matmul_q4_k", {1, 80'384, 64})) && !ends(turns("matmul_q4_k", {1, 80'896, 64})));
static_assert(ends(turns("matvec_f16", {1, 174'000, 4})) && !ends(turns("matvec_f16", {1, 175'000, 4})));
static_assert(ends(turns("ssm_scan", {1800, 8, 64, 1, 128})) && !ends(turns("ssm_scan", {1850, 8, 64, 1, 128})));
static_assert(ends(turns("ssm_delta_net", {650, 8, 16, 128, 128})));
static_assert(!ends(turns("ssm_delta_net", {670, 8, 16, 128, 128})));
static_assert(ends(turns("moe_route", {1024, 8, 1, 1, 0, 0, 0})));
static_assert(ends(turns("argmax", {262'144})));
static_assert(ends(turns("sample", {275'000, 64, 64})) && !ends(turns("sample", {285'000, 64, 64})));

struct VulkanLoopTurns : VulkanTest {};

TEST_F(VulkanLoopTurns, LaunchesJustBelowTheBoundAreWhole) {
  std::mt19937 random(31);
  DeviceKernels kernels;
  struct Case {
    DType dtype;
    bool vector;
    std::uint32_t cols, tokens;
  };
  for (const Case& c : {Case{DType::q8_0, false, 57'984, 64}, Case{DType::q4_k, false, 80'384, 64},
                        Case{DType::mxfp4, false, 57'984, 64}, Case{DType::q6_k, false, 80'384, 64},
                        Case{DType::nvfp4, false, 57'984, 64}, Case{DType::q2_k, false, 80'384, 64},
                        Case{DType::f16, true, 174'000, 4}}) {
    SCOPED_TRACE(name(c.dtype));
    const KernelMatrix w(random, c.dtype, 2, c.cols);
    const std::vector<float> x = reals(random, std::size_t{c.tokens} * c.cols);
    std::vector<float> got(std::size_t{c.tokens} * w.rows);
    c.vector ? run_matvec(kernels, w, x, {}, got) : run_matmul(kernels, w, x, {}, got);
    expect_same(got, product_of(w, x, {}));
  }
}

TEST_F(VulkanLoopTurns, SoIsAttention) {
  std::mt19937 random(33);
  constexpr std::uint32_t kLast = 102'000, kDim = 8;
  static_assert(ends(turns("paged_attention_f16", {1, 1, kDim, kDim, 0, 0, 0, kLast / 16 + 1, 0})));
  static_assert(!ends(turns("paged_attention_f16", {1, 1, kDim, kDim, 0, 0, 0, kLast / 15, 0})));
  Pages p(random, {1, 1, kDim, kDim}, DType::f16, {kLast});
  expect_attention(DeviceKernels(), random, p, false, 0.0f, 0, 0);
}

TEST_F(VulkanLoopTurns, SoAreMixers) {
  static_assert(ends(turns("ssm_scan", {1800, 4, 21, 2, 128})) && ends(turns("ssm_conv1d", {9'300, 131, 4})));
  static_assert(ends(turns("ssm_delta_net", {900, 2, 4, 64, 75})));
  check_scan(DeviceKernels(), std::vector<std::uint32_t>(1800, 2), {128u});
  check_convolution(DeviceKernels(), std::vector<std::uint32_t>(9'300, 1), {4u});
  check_delta_net(DeviceKernels(), std::vector<std::uint32_t>(900, 0), {64u});
}

/// Every logit is a candidate, and has a part in both sums.
TEST_F(VulkanLoopTurns, SoIsTheSampler) {
  std::mt19937 random(34);
  SampledRows rows(random, 1, 275'000, 0.5f);
  rows.requests[0].top_p = 0.9999f;
  DeviceKernels kernels;
  expect_sampled(kernels, rows);
}

TEST_F(VulkanLoopTurns, SoIsANorm) {
  std::mt19937 random(32);
  DeviceKernels kernels;
  constexpr std::uint32_t kDim = 500'000;
  static_assert(ends(turns("rms_norm", {kDim, 0, 0})));
  std::vector<float> x = reals(random, kDim), got(kDim), want(kDim);
  const HostTensor in{reinterpret_cast<std::byte*>(x.data()), {DType::f32, Shape{kDim}}},
      out{reinterpret_cast<std::byte*>(want.data()), {DType::f32, Shape{kDim}}};
  const ops::RmsNormParams params{1e-5f, 0.0f, kDim};
  ops::RmsNorm::reference({{in}, {out}, {}, {}, params}, ExecutionContext{}, Worker{});
  auto m = kernels.launch("rms_norm");
  m.input(x);
  m.absent();
  m.output(got);
  m.push(kDim);
  m.push(params.eps);
  m.push(params.weight_offset);
  m.run(1);
  expect_same(got, want);
}

}  // namespace
}  // namespace zrt::test::vulkan_loop_turns_test
