// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/kernel_machine.hpp: a kernel of kernels/vulkan on a device, with buffers of exactly their size.
#pragma once

#include <zrt/device/upload/types.hpp>

#include <map>
#include <support/kernel_values.hpp>
#include <vulkan/vulkan_test.hpp>

namespace zrt::test {

/// A device, the kernels that it has taken, and memory for the launches of a test.
class VulkanKernels {
 public:
  VulkanKernels() {
    auto device = vulkan::Device::open(system_allocator(), LoaderDouble{}, {.software = true});
    if (!device) {
      ADD_FAILURE() << device.error().text();
      return;
    }
    device_ = std::move(*device);
    auto memory = vulkan::Memory::allocate(*device_, vulkan::Heap::shared, kBytes);
    if (!memory) ADD_FAILURE() << memory.error().text();
    if (memory) memory_ = std::move(*memory);
  }

  [[nodiscard]] vulkan::Device& device() { return *device_; }
  [[nodiscard]] vulkan::Memory& memory() { return memory_; }
  /// Multiply-adds in f64, as lavapipe's are not fused; quotients and roots by the device.
  [[nodiscard]] const vulkan::Pipeline& pipeline(const std::string& name) {
    const auto found = pipelines_.find(name);
    if (found != pipelines_.end()) return found->second;
    const std::vector<std::uint32_t> words = spirv_of(name);
    auto made = vulkan::Pipeline::make(*device_, name, words, constants_);
    if (!made) {
      ADD_FAILURE() << name << ": " << made.error().text();
      made = vulkan::Pipeline();
    }
    return pipelines_.emplace(name, std::move(*made)).first->second;
  }
  /// For kernels that are made from now on.
  void set_constants(std::uint32_t fused_by, std::uint32_t divided_by) {
    pipelines_.clear();
    constants_ = {fused_by, divided_by};
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{32} << 20;

  Owned<vulkan::Device> device_;
  vulkan::Memory memory_;
  std::map<std::string, vulkan::Pipeline> pipelines_;
  std::array<std::uint32_t, 2> constants_{2, 0};
};

/// One launch: its buffers and values in the order of its arguments. A byte written beside the buffers fails it.
class KernelMachine {
 public:
  KernelMachine(VulkanKernels& kernels, const std::string& name) : kernels_(&kernels), name_(name) {
    std::memset(kernels.memory().span().data(), kGuard, kFirst);
  }

  /// The next buffer. Returns its number.
  std::uint32_t input(std::span<const std::byte> bytes) { return add(bytes, {}); }
  template <class T> std::uint32_t input(const std::vector<T>& values) {
    return add(std::as_bytes(std::span(values)), {});
  }
  template <class T> std::uint32_t output(std::vector<T>& values) {
    return add(std::as_bytes(std::span(values)), std::as_writable_bytes(std::span(values)));
  }
  void absent() { put(std::uint64_t{0}); }
  /// The same memory again, as an in-place operand.
  void same_as(std::uint32_t buffer) { put(address_of(buffers_[buffer].at)); }
  template <class T> void push(T value) {
    static_assert(sizeof(T) == 4);
    put(value);
  }

  /// Runs the grid; the launch must succeed.
  void run(std::uint32_t x, std::uint32_t y = 1) {
    ASSERT_LE(arguments_.size(), kFirst);
    std::byte* const memory = kernels_->memory().span().data();
    std::memcpy(memory, arguments_.data(), arguments_.size());
    const auto r = vulkan::run_once(kernels_->device(), kernels_->pipeline(name_), kernels_->memory().address(),
                                    {x, y, 1}, kTimeout);
    ASSERT_TRUE(r.has_value()) << name_ << ": " << r.error().text();
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Buffer& b = buffers_[i];
      for (std::size_t at = b.at + b.bytes; at < b.end; ++at)
        ASSERT_EQ(memory[at], std::byte{kGuard}) << name_ << " writes behind buffer " << i;
      if (b.to.empty())
        ASSERT_EQ(std::memcmp(memory + b.at, b.from.data(), b.bytes), 0) << name_ << " writes to buffer " << i;
      else
        std::memcpy(b.to.data(), memory + b.at, b.bytes);
    }
  }

 private:
  static constexpr std::size_t kFirst = 4096, kAlignment = 256;
  static constexpr unsigned char kGuard = 0xcd;
  /// Nanoseconds; a machine may have other things to do.
  static constexpr std::uint64_t kTimeout = std::uint64_t{300} * 1'000'000'000;
  struct Buffer {
    std::size_t at, bytes, end;
    std::span<const std::byte> from;
    std::span<std::byte> to;
  };

  [[nodiscard]] std::uint64_t address_of(std::size_t at) const { return kernels_->memory().address() + at; }
  std::uint32_t add(std::span<const std::byte> from, std::span<std::byte> to) {
    const std::size_t end = end_ + (from.size() / kAlignment + 2) * kAlignment;
    if (end > kernels_->memory().bytes()) {
      ADD_FAILURE() << "too little memory";
      return 0;
    }
    std::byte* const memory = kernels_->memory().span().data();
    std::memset(memory + end_, kGuard, end - end_);
    std::memcpy(memory + end_, from.data(), from.size());
    buffers_.push_back({end_, from.size(), end, from, to});
    put(address_of(end_));
    end_ = end;
    return static_cast<std::uint32_t>(buffers_.size() - 1);
  }
  template <class T> void put(T value) {
    arguments_.resize(arguments_.size() + sizeof value);
    std::memcpy(arguments_.data() + arguments_.size() - sizeof value, &value, sizeof value);
  }

  VulkanKernels* kernels_;
  std::string name_;
  std::vector<std::byte> arguments_;
  std::vector<Buffer> buffers_;
  std::size_t end_ = kFirst;
};

/// The kernels of a device for the checks of support/kernel_checks.
struct DeviceKernels {
  VulkanKernels kernels{};

  [[nodiscard]] KernelMachine launch(const std::string& kernel) { return {kernels, kernel}; }
  [[nodiscard]] static Span<const device::UploadFunctions> types() { return device::kAllUploads; }
};

}  // namespace zrt::test
