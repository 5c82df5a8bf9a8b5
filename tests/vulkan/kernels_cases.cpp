// SPDX-License-Identifier: Apache-2.0
// covers: device/kernel_abi.hpp, device/selftest/kernel_cases.hpp
#include <zrt/device/kernel_abi.hpp>
#include <zrt/device/selftest/kernel_cases.hpp>

#include <set>
#include <vulkan/kernel_machine.hpp>

namespace zrt::test::vulkan_kernel_cases_test {
namespace {

struct VulkanKernelCases : VulkanTest {
  struct Visit {
    VulkanKernels* kernels;
    std::set<std::string> seen;
  };

  static Result<void> visit(void* context, const device::KernelCase& c) noexcept {
    auto& v = *static_cast<Visit*>(context);
    const std::string name(c.kernel_name());
    SCOPED_TRACE(name);
    v.seen.insert(name);
    KernelMachine m(*v.kernels, name);
    std::vector<std::vector<std::byte>> results(c.buffers().size());
    for (std::size_t i = 0; i < c.buffers().size(); ++i) {
      const device::CaseBuffer& b = c.buffers()[i];
      if (b.before.empty())
        m.absent();
      else if (!b.is_written())
        m.input(std::span(b.before.data(), b.before.size()));
      else
        m.output(results[i] = std::vector<std::byte>(b.before.begin(), b.before.end()));
    }
    for (const std::uint32_t value : c.values()) m.push(value);
    m.run(c.grid()[0], c.grid()[1]);
    for (std::size_t i = 0; i < results.size(); ++i) expect_bytes(i, results[i], c.buffers()[i].after);
    return {};
  }
  static void expect_bytes(std::size_t buffer, const std::vector<std::byte>& got, Span<const std::byte> want) {
    for (std::size_t at = 0; at < want.size(); ++at)
      ASSERT_EQ(got[at], want[at]) << "byte " << at << " of buffer " << buffer;
  }

  static void expect_all(VulkanKernels& kernels) {
    Visit v{&kernels, {}};
    const auto r = device::for_each_kernel_case(system_allocator(), device::kAllUploads, {&v, &visit});
    ASSERT_TRUE(r.has_value()) << r.error().text();
    EXPECT_EQ(v.seen.size(), device::kernel_count(device::kAllUploads));
  }
};

TEST_F(VulkanKernelCases, EachKernelHasTheReferencesBits) {
  VulkanKernels kernels;
  expect_all(kernels);
}

TEST_F(VulkanKernelCases, QuotientsAndRootsInF64HaveThemToo) {
  VulkanKernels kernels;
  kernels.set_constants(2, 1);
  expect_all(kernels);
}

}  // namespace
}  // namespace zrt::test::vulkan_kernel_cases_test
