// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/self_test.hpp: the kernels of an engine, each once on its device before the first step.
#pragma once

#include <zrt/backend/vulkan/memory.hpp>
#include <zrt/backend/vulkan/one_off.hpp>
#include <zrt/backend/vulkan/pipeline_set.hpp>
#include <zrt/device/selftest/compare_case.hpp>
#include <zrt/device/selftest/kernel_cases.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::vulkan {

/// When an engine tries its kernels.
enum class SelfTest : std::uint8_t {
  on_gpu,  ///< not on a device that the processor computes
  always,
  never,
};

namespace detail {

/// The memory of one case: an argument block, and behind it each buffer at a multiple of 256.
class CaseMemory {
 public:
  [[nodiscard]] static Result<CaseMemory> make(const Device& device, const device::KernelCase& c) noexcept {
    std::uint64_t bytes = kArguments;
    for (const device::CaseBuffer& buffer : c.buffers()) bytes += align_up(buffer.before.size(), kAlignment);
    auto memory = Memory::allocate(device, Heap::for_host, bytes);
    if (!memory) return pass(memory);
    CaseMemory made(std::move(*memory));
    made.write(c);
    return made;
  }
  [[nodiscard]] std::uint64_t arguments() const noexcept { return memory_.address(); }
  /// Errors: Errc::spec_violation for another result; see device::first_wrong() for the bound.
  [[nodiscard]] Result<void> compare(const device::KernelCase& c, float bound) const noexcept {
    std::uint64_t at = kArguments;
    for (std::size_t i = 0; i < c.buffers().size(); ++i) {
      const device::CaseBuffer& buffer = c.buffers()[i];
      const Span<const std::byte> found = memory_.span().subspan(static_cast<std::size_t>(at), buffer.after.size());
      if (const auto wrong = device::first_wrong(buffer, found, bound))
        return fail(Errc::spec_violation, "element ", *wrong, " of buffer ", i, " is not what it must be",
                    bound == 0.0f ? "" : ", nor near it");
      at += align_up(buffer.before.size(), kAlignment);
    }
    return {};
  }

 private:
  static constexpr std::uint64_t kArguments = 512, kAlignment = 256;

  explicit CaseMemory(Memory memory) noexcept : memory_(std::move(memory)) {}
  void write(const device::KernelCase& c) noexcept {
    std::byte* to = memory_.span().data();
    std::uint64_t at = kArguments;
    for (const device::CaseBuffer& buffer : c.buffers()) {
      write_little(to, buffer.before.empty() ? std::uint64_t{0} : memory_.address() + at);
      if (!buffer.before.empty()) std::memcpy(memory_.span().data() + at, buffer.before.data(), buffer.before.size());
      at += align_up(buffer.before.size(), kAlignment);
      to += 8;
    }
    for (const std::uint32_t value : c.values()) {
      write_little(to, value);
      to += 4;
    }
  }

  Memory memory_;
};

[[nodiscard]] inline Result<void> run_case(Device& device, const Pipeline& kernel, const device::KernelCase& c,
                                           float bound) noexcept {
  const auto memory = CaseMemory::make(device, c);
  if (!memory) return pass(memory);
  if (auto r = run_once(device, kernel, memory->arguments(), c.grid()); !r) return r;
  return memory->compare(c, bound);
}

/// What a case is run on.
struct SelfTestRun {
  Device* device;
  PipelineSet* kernels;
  DeviceNumerics numerics;

  [[nodiscard]] Result<void> operator()(const device::KernelCase& c) const noexcept {
    const Span<const device::KernelSignature> all = kernels->signatures();
    const device::KernelSignature* const found = device::find_kernel(all, c.kernel_name());
    if (found == nullptr) return {};
    const auto kernel = kernels->pipeline(*device, static_cast<std::size_t>(found - all.data()), numerics);
    const auto ran = kernel ? run_case(*device, **kernel, c, numerics.bound()) : Result<void>(pass(kernel));
    if (!ran) return fail(ran.error().code(), "self-test of kernel ", c.kernel_name(), ": ", ran.error().text());
    return {};
  }
};

}  // namespace detail

/// Runs a case of each kernel that zrt has a case for. On a relaxed device results may be off by its bound.
///
/// Errors: with the kernel's name in front, Errc::spec_violation for another result; those of the device.
[[nodiscard]] ZRT_COLD inline Result<void> test_kernels(Device& device, PipelineSet& kernels,
                                                        const DeviceNumerics& numerics,
                                                        const Allocator& allocator) noexcept {
  detail::SelfTestRun run{&device, &kernels, numerics};
  return device::for_each_kernel_case(allocator, device::kAllUploads,
                                      {&run, [](void* context, const device::KernelCase& c) noexcept {
                                         return (*static_cast<const detail::SelfTestRun*>(context))(c);
                                       }});
}

}  // namespace zrt::inline ZRT_ABI::vulkan

ZRT_LOAD_TIME_END
