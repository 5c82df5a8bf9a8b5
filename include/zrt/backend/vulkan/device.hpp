// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/device.hpp: an opened Vulkan device: its functions, its queue, its timeline and whether it still lives.
#pragma once

#include <zrt/backend/vulkan/address_map.hpp>
#include <zrt/backend/vulkan/device_choice.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/owned.hpp>

namespace zrt::inline ZRT_ABI::vulkan {

/// What each launch is given beside its grid; kernels/vulkan/place.glsl reads it.
struct LaunchConstants {
  std::uint64_t arguments = 0;    ///< the address of its argument block
  std::uint32_t first_group = 0;  ///< on the first axis
  std::uint32_t unused = 0;
};
static_assert(sizeof(LaunchConstants) == 16);

/// One queue of a device, used by one thread at a time. It stays where it is made; what is allocated on it does not
/// outlive it.
///
/// A device that was lost, or whose work did not end in time, is dead: every later call gives the same error.
class Device {
 public:
  /// Opens the device that is asked for, with its queue. Errors: those of Instance::open, list_devices, choose and Vulkan.
  template <VulkanLoader Loader>
  [[nodiscard]] static Result<Owned<Device>> open(const Allocator& allocator, const Loader& loader,
                                                  const DeviceChoice& choice = {}) noexcept {
    auto instance = Instance::open(loader);
    if (!instance) return pass(instance);
    return open(allocator, std::move(*instance), choice);
  }
  [[nodiscard]] static Result<Owned<Device>> open(const Allocator& allocator, Instance instance,
                                                  const DeviceChoice& choice) noexcept {
    const auto all = list_devices(instance, allocator);
    if (!all) return pass(all);
    const auto chosen = choose(all->span(), choice);
    if (!chosen) return pass(chosen);
    auto device = Owned<Device>::make(allocator, allocator, std::move(instance), **chosen);
    if (!device) return pass(device);
    if (auto r = (*device)->start(); !r) return pass(r);
    return device;
  }

  Device(const Allocator& allocator, Instance instance, const DeviceFacts& facts) noexcept
      : allocator_(allocator), instance_(std::move(instance)), facts_(facts), addresses_(allocator) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    if (handle_ == nullptr || call_.DestroyDevice == nullptr) return;
    if (abandoned_) {
      // What may still run stays with the process, and so does the instance below it.
      instance_.keep();
      return;
    }
    call_.DeviceWaitIdle(handle_);
    call_.DestroyPipelineLayout(handle_, layout_, nullptr);
    call_.DestroyCommandPool(handle_, commands_, nullptr);
    call_.DestroySemaphore(handle_, timeline_, nullptr);
    call_.DestroyDevice(handle_, nullptr);
  }

  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }
  [[nodiscard]] const DeviceFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] const Instance& instance() const noexcept { return instance_; }
  [[nodiscard]] const DeviceFunctions& functions() const noexcept { return call_; }
  [[nodiscard]] VkDevice handle() const noexcept { return handle_; }
  [[nodiscard]] VkCommandPool commands() const noexcept { return commands_; }
  /// Of every pipeline: LaunchConstants as push constants.
  [[nodiscard]] VkPipelineLayout layout() const noexcept { return layout_; }
  [[nodiscard]] const VkPhysicalDeviceMemoryProperties& memory() const noexcept { return memory_; }
  /// Bytes that a heap has left. What others use of it is known where the driver tells its budget.
  [[nodiscard]] std::uint64_t bytes_left(std::uint32_t heap) const noexcept {
    if (!facts_.has_memory_budget) return memory_.memoryHeaps[heap].size;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    memory.pNext = &budget;
    instance_.functions().GetPhysicalDeviceMemoryProperties2(facts_.handle, &memory);
    return budget.heapBudget[heap] > budget.heapUsage[heap] ? budget.heapBudget[heap] - budget.heapUsage[heap] : 0;
  }
  [[nodiscard]] AddressMap& addresses() const noexcept { return addresses_; }
  /// The error that the device died of.
  [[nodiscard]] const Result<void>& alive() const noexcept { return alive_; }
  /// Whether work that was handed over may still run after a time-out: then nothing that it uses may be destroyed.
  [[nodiscard]] bool is_abandoned() const noexcept { return abandoned_; }

  /// The error of a call; a lost device is dead from now on.
  template <class... Pieces>
  [[nodiscard]] std::unexpected<Error> failed(VkResult result, Pieces... what) const noexcept {
    auto error = failure(result, what...);
    if (result == VK_ERROR_DEVICE_LOST) alive_ = error;
    return error;
  }

  /// Hands recorded commands to the queue, with what comes before and behind them; returns the value of the timeline that
  /// says that all have ended.
  ///
  /// Errors: the device's death; Errc::device_lost, out_of_memory.
  [[nodiscard]] Result<std::uint64_t> submit(Span<const VkCommandBufferSubmitInfo> buffers,
                                             Span<const VkCommandBufferSubmitInfo> before = {},
                                             Span<const VkCommandBufferSubmitInfo> behind = {}) noexcept {
    if (!alive_) return pass(alive_);
    const VkSemaphoreSubmitInfo ended{VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO, nullptr, timeline_, submitted_ + 1,
                                      VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,    0};
    std::array<VkSubmitInfo2, 3> parts{};
    std::uint32_t count = 0;
    for (const auto& part : {before, buffers, behind}) {
      if (part.empty()) continue;
      VkSubmitInfo2& info = parts[count++];
      info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
      info.commandBufferInfoCount = static_cast<std::uint32_t>(part.size());
      info.pCommandBufferInfos = part.data();
    }
    VkSubmitInfo2& last = parts[count == 0 ? 0 : count - 1];
    last.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    last.signalSemaphoreInfoCount = 1;
    last.pSignalSemaphoreInfos = &ended;
    if (const VkResult r = call_.QueueSubmit2(queue_, count == 0 ? 1 : count, parts.data(), nullptr); r != VK_SUCCESS)
      return failed(r, "handing work to ", facts_.name.view());
    return ++submitted_;
  }

  /// Waits until the timeline has `value`, at most `timeout` nanoseconds.
  ///
  /// Errors: the device's death; Errc::device_lost; limit_exceeded after the time-out, of which the device dies.
  [[nodiscard]] Result<void> wait(std::uint64_t value, std::uint64_t timeout) noexcept {
    if (!alive_) return alive_;
    if (has_passed(value)) return {};
    const VkSemaphoreWaitInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, nullptr, 0, 1, &timeline_, &value};
    const VkResult r = call_.WaitSemaphores(handle_, &info, timeout);
    if (r == VK_SUCCESS) return {};
    abandoned_ = r != VK_ERROR_DEVICE_LOST;
    alive_ = r == VK_TIMEOUT ? fail(Errc::limit_exceeded, "work of ", facts_.name.view(), " has not ended in ",
                                    timeout / 1'000'000, " ms")
                             : failure(r, "waiting for ", facts_.name.view());
    return alive_;
  }

 private:
  /// A discrete device answers sooner than a thread wakes up; the processor computes for a software device meanwhile.
  static constexpr std::uint64_t kSpin = 200'000;

  [[nodiscard]] bool has_passed(std::uint64_t value) const noexcept {
    const std::uint64_t until = monotonic_clock()() + (facts_.is_software() ? 0 : kSpin);
    do {
      std::uint64_t at = 0;
      if (call_.GetSemaphoreCounterValue(handle_, timeline_, &at) != VK_SUCCESS) return false;
      // Of a lost device some drivers tell the largest number there is: the wait says what happened.
      if (at >= value) return at <= submitted_;
    } while (monotonic_clock()() < until);
    return false;
  }

  [[nodiscard]] Result<void> start() noexcept {
    if (auto r = make_device(); !r) return r;
    if (auto r = make_timeline(); !r) return r;
    if (auto r = make_pool(); !r) return r;
    if (auto r = make_layout(); !r) return r;
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    instance_.functions().GetPhysicalDeviceMemoryProperties2(facts_.handle, &memory);
    memory_ = memory.memoryProperties;
    return {};
  }
  [[nodiscard]] Result<void> make_device() noexcept {
    DeviceFeatures wanted;
    want(wanted, facts_.has_f64);
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = facts_.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    const char* const budget = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &wanted.core;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = facts_.has_memory_budget ? 1 : 0;
    info.ppEnabledExtensionNames = &budget;
    if (const VkResult r = instance_.functions().CreateDevice(facts_.handle, &info, nullptr, &handle_);
        r != VK_SUCCESS) {
      handle_ = nullptr;
      return failure(r, "opening ", facts_.name.view());
    }
    return find_device_functions();
  }
  [[nodiscard]] Result<void> find_device_functions() noexcept {
    const auto found = find_functions(instance_.functions(), handle_);
    if (!found) {
      const auto destroy =
          reinterpret_cast<PFN_vkDestroyDevice>(instance_.functions().GetDeviceProcAddr(handle_, "vkDestroyDevice"));
      if (destroy != nullptr) destroy(handle_, nullptr);
      handle_ = nullptr;
      return pass(found);
    }
    call_ = *found;
    call_.GetDeviceQueue(handle_, facts_.queue_family, 0, &queue_);
    return {};
  }
  [[nodiscard]] Result<void> make_timeline() noexcept {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    const VkResult r = call_.CreateSemaphore(handle_, &info, nullptr, &timeline_);
    if (r == VK_SUCCESS) return {};
    timeline_ = nullptr;
    return failed(r, "making the timeline of ", facts_.name.view());
  }
  [[nodiscard]] Result<void> make_pool() noexcept {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.queueFamilyIndex = facts_.queue_family;
    const VkResult r = call_.CreateCommandPool(handle_, &info, nullptr, &commands_);
    if (r == VK_SUCCESS) return {};
    commands_ = nullptr;
    return failed(r, "making a command pool of ", facts_.name.view());
  }
  [[nodiscard]] Result<void> make_layout() noexcept {
    const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(LaunchConstants)};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &constants;
    const VkResult r = call_.CreatePipelineLayout(handle_, &info, nullptr, &layout_);
    if (r == VK_SUCCESS) return {};
    layout_ = nullptr;
    return failed(r, "making a pipeline layout of ", facts_.name.view());
  }

  Allocator allocator_;
  Instance instance_;
  DeviceFacts facts_;
  DeviceFunctions call_{};
  VkPhysicalDeviceMemoryProperties memory_{};
  mutable AddressMap addresses_;
  VkDevice handle_ = nullptr;
  VkQueue queue_ = nullptr;
  VkSemaphore timeline_ = nullptr;
  VkCommandPool commands_ = nullptr;
  VkPipelineLayout layout_ = nullptr;
  std::uint64_t submitted_ = 0;
  mutable Result<void> alive_{};
  bool abandoned_ = false;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
