// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/sampled_rows.cpp: the sample op on a device, of which the host sees the memory or not, is the reference's: tokens and faults.
// covers: backend/vulkan/copy_list.hpp device/adapters/choice.hpp device/host_sampler.hpp device/host_samples.hpp
#include <zrt/backend/vulkan.hpp>

#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <property/op_cases/run.hpp>
#include <property/op_cases/sample.hpp>
#include <vulkan/vulkan_test.hpp>

namespace zrt::test::vulkan_sampled_rows_test {
namespace {

using namespace op_cases;
using zrt::Shape;
using Backend = BasicVulkanBackend<LoaderDouble>;

constexpr auto kOps = zrt::ir::Ops::of<zrt::ops::Catalog>();

/// The kernels that a plan of this op needs, and those that the backend has for itself.
struct SamplingKernels {
  std::map<std::string, std::vector<std::uint32_t>> words{};
  std::vector<vulkan::KernelFile> files{};

  SamplingKernels() {
    for (const char* const name : {"sample", "numerics_probe", "copy_words"}) {
      const auto& kept = words[name] = spirv_of(name);
      files.push_back({name, std::as_bytes(std::span(kept))});
    }
  }
};

struct VulkanSampledRows : VulkanTest {
  /// What the op's reference gives, with the status of its step.
  static Outcome expected(const Case& c, const Batch& b) {
    Outcome outcome;
    outcome.out.push_back({true, {DType::si32, Shape{kRows}}, std::vector<std::byte>(b.tokens() * 4)});
    HostCall<ops::Sample> call{};
    for (std::size_t i = 0; i < call.in.size(); ++i)
      call.in[i] = {const_cast<std::byte*>(c.in[i].data.data()), c.in[i].type};
    call.out[0] = {outcome.out[0].data.data(), outcome.out[0].type};
    StepStatus status;
    ExecutionContext step;
    step.extents.value[kTokens] = b.tokens();
    step.status = &status;
    std::vector<std::byte> scratch(std::size_t{c.in[0].type.shape[1].extent} * 12);
    ops::Sample::reference(call, step, Worker{.scratch = {scratch.data(), scratch.size()}});
    outcome.status = status.word.load();
    return outcome;
  }
  static Result<Outcome> run_on_device(const Case& c, const Batch& b) {
    auto graph = one_node(c, b, kOps);
    if (!graph) return pass(graph);
    auto compiled = plan::compile(*graph, kOps, OpSet::of(Backend::Claims{}), {ActPolicy::weight, Validation::strict});
    if (!compiled) return pass(compiled);
    const SamplingKernels kernels;
    Backend::Device device(system_allocator(), {},
                           {.kernels = {kernels.files.data(), kernels.files.size()}, .device = {.software = true}});
    if (auto r = device.ready(); !r) return pass(r);
    return run<Backend>(c, b, *compiled, *kOps.table, 1, std::byte{0xa5}, std::move(device));
  }
  /// Whether the step has a fault.
  static bool expect_references(const Case& c, const Batch& b) {
    const Outcome want = expected(c, b);
    const auto got = run_on_device(c, b);
    EXPECT_TRUE(got) << got.error().text();
    if (!got) return false;
    EXPECT_EQ(got->status, want.status);
    EXPECT_EQ(distance(c, *got, want, {}), 0.0);
    return want.status != StepStatus().word.load();
  }
  /// Whether the host sees the memory of the device, and whether it reads it fast.
  static void use_memory(std::uint32_t kind) {
    double_state().has_own_memory = kind % 3 != 0;
    double_state().sees_own_memory = kind % 3 == 1;
  }
};

TEST_F(VulkanSampledRows, OfTheCatalogsCases) {
  int faults = 0;
  for (std::uint32_t seed = 1000; seed < 1024; ++seed) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    use_memory(seed);
    Random r(seed);
    const Batch b = Batch::draw(r);
    faults += expect_references(draw<ops::Sample>(r, b), b) ? 1 : 0;
  }
  EXPECT_LT(faults, 12);
}

TEST_F(VulkanSampledRows, WithoutANumberOrWithTooLongListsAreFaults) {
  Random r(7);
  Batch b;
  b.slot_count = 1;
  b.slots = {0, 0, 0};
  b.positions = {0, 1, 2};
  b.pages.resize(b.page_count());
  b.bound = b.tokens();
  for (const std::uint32_t fault : {0u, 1u, 2u, 3u})
    for (const std::uint32_t memory : {0u, 1u, 2u}) {
      SCOPED_TRACE(testing::Message() << fault << ", memory " << memory);
      use_memory(memory);
      Typed<ops::Sample> typed;
      typed.in[0] = f32(r, b, Shape{kRows, 40});
      std::vector<ops::SampleRequest> requests(b.tokens());
      for (ops::SampleRequest& request : requests) request = {.active = 1, .temperature = 0.9f};
      requests[0].active = 0;
      if (fault == 1) requests[1].history = 4;
      if (fault == 2) requests[1].biases = 3;
      if (fault == 3) std::memset(typed.in[0].data.data() + 40 * sizeof(float), 0xff, 40 * sizeof(float));
      typed.in[1] = {true, {DType::ui32, Shape{kRows, ops::kSampleRequestWords}}, op_cases::bytes_of(requests)};
      typed.in[2] = si32(r, b, Shape{kRows, 3}, 0, 39);
      typed.in[3] = si32(r, b, Shape{kRows, 2}, 0, 39);
      typed.in[4] = f32(r, b, Shape{kRows, 2});
      EXPECT_EQ(expect_references(case_of(typed), b), fault != 0);
    }
}

/// A request that forbids every token gets none, which is no fault, and its neighbours get theirs.
TEST_F(VulkanSampledRows, ThatForbidEveryTokenGiveNone) {
  Random r(8);
  Batch b;
  b.slot_count = 1;
  b.slots = {0, 0, 0, 0};
  b.positions = {0, 1, 2, 3};
  b.pages.resize(b.page_count());
  b.bound = b.tokens();
  for (const std::uint32_t memory : {0u, 1u, 2u}) {
    SCOPED_TRACE(testing::Message() << "memory " << memory);
    use_memory(memory);
    Typed<ops::Sample> typed;
    typed.in[0] = f32(r, b, Shape{kRows, 40});
    std::vector<ops::SampleRequest> requests(b.tokens());
    for (std::uint32_t row = 0; row < b.tokens(); ++row)
      requests[row] = {.active = 1, .temperature = row < 2 ? 0.0f : 0.9f, .biases = row % 2 == 0 ? 0u : 40u};
    std::vector<std::int32_t> ids(b.tokens() * 40);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i % 40);
    const std::vector<float> never(ids.size(), -std::numeric_limits<float>::infinity());
    typed.in[1] = {true, {DType::ui32, Shape{kRows, ops::kSampleRequestWords}}, op_cases::bytes_of(requests)};
    typed.in[2] = si32(r, b, Shape{kRows, 3}, 0, 39);
    typed.in[3] = {true, {DType::si32, Shape{kRows, 40}}, op_cases::bytes_of(ids)};
    typed.in[4] = {true, {DType::f32, Shape{kRows, 40}}, op_cases::bytes_of(never)};
    EXPECT_FALSE(expect_references(case_of(typed), b));
  }
}

/// A step leaves the logit of each row's token to the host; where there is no token, the first of the row.
TEST_F(VulkanSampledRows, LeaveALogitEachWhereverTheirTokenIs) {
  auto device = open();
  ASSERT_TRUE(device) << device.error().text();
  const auto kernel = vulkan::Pipeline::make(**device, "copy_words", spirv_of("copy_words"), {});
  auto memory = vulkan::Memory::allocate(**device, vulkan::Heap::for_host, 256);
  vulkan::CopyList list(system_allocator());
  ASSERT_TRUE(kernel && memory && list.make(**device, *kernel, vulkan::CopyWay::to_host, 256));
  const std::array<std::uint32_t, 10> words{~0u, 2, 10, 11, 12, 13, 20, 21, 22, 23};
  std::memcpy(memory->span().data(), words.data(), sizeof words);
  const std::uint64_t tokens = memory->address(), rows = tokens + 8;
  ASSERT_TRUE(list.add(tokens, 8) && list.add(rows, 4, tokens) && list.add(rows + 16, 4, tokens + 4));
  const VkCommandBufferSubmitInfo commands = list.submission();
  const auto fence = (*device)->submit({&commands, 1});
  ASSERT_TRUE(fence && (*device)->wait(*fence, 10'000'000'000u));
  list.settle();
  const auto word = [&](std::uint64_t address) {
    const std::byte* const found = list.find(address, 4);
    return found == nullptr ? 0 : read_little<std::uint32_t>(found);
  };
  EXPECT_EQ(word(rows), 10u);
  EXPECT_EQ(word(rows + 16 + 8), 22u);
  EXPECT_EQ(list.find(rows + std::uint64_t{~0u} * 4, 4), nullptr);
}

}  // namespace
}  // namespace zrt::test::vulkan_sampled_rows_test
