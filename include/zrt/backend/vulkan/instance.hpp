// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/instance.hpp: an instance of Vulkan, and the physical devices behind it.
#pragma once

#include <zrt/backend/vulkan/failure.hpp>
#include <zrt/backend/vulkan/functions.hpp>
#include <zrt/backend/vulkan/loader.hpp>
#include <zrt/core/vector.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI::vulkan {

/// The version of Vulkan that zrt is written for.
inline constexpr std::uint32_t kApiVersion = VK_API_VERSION_1_3;

/// Move-only; outlives its devices.
class Instance {
 public:
  Instance() = default;
  Instance(Instance&& other) noexcept : call_(other.call_), handle_(std::exchange(other.handle_, nullptr)) {}
  Instance& operator=(Instance&& other) noexcept {
    std::swap(call_, other.call_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Instance() {
    if (handle_ != nullptr && call_.DestroyInstance != nullptr) call_.DestroyInstance(handle_, nullptr);
  }

  /// Errors: those of the loader; Errc::unsupported_device for a Vulkan before 1.3 or without a driver; out_of_memory.
  template <VulkanLoader Loader> [[nodiscard]] static Result<Instance> open(const Loader& loader) noexcept {
    const auto entry = loader.entry();
    if (!entry) return pass(entry);
    return make(*entry);
  }

  /// Errors: those of vkEnumeratePhysicalDevices.
  [[nodiscard]] Result<Vector<VkPhysicalDevice>> devices(const Allocator& allocator) const noexcept {
    std::uint32_t count = 0;
    if (const VkResult r = call_.EnumeratePhysicalDevices(handle_, &count, nullptr); r != VK_SUCCESS)
      return failure(r, "listing the Vulkan devices");
    Vector<VkPhysicalDevice> found(allocator);
    if (auto r = found.resize(count); !r) return pass(r);
    // One that comes meanwhile is not seen: VK_INCOMPLETE.
    const VkResult r = call_.EnumeratePhysicalDevices(handle_, &count, found.data());
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) return failure(r, "listing the Vulkan devices");
    if (auto shrunk = found.resize(count); !shrunk) return pass(shrunk);
    return found;
  }

  [[nodiscard]] const InstanceFunctions& functions() const noexcept { return call_; }
  /// It stays with the process: something on it may still run.
  void keep() noexcept { handle_ = nullptr; }

 private:
  [[nodiscard]] static Result<Instance> make(PFN_vkGetInstanceProcAddr entry) noexcept {
    const auto version = reinterpret_cast<PFN_vkEnumerateInstanceVersion>(entry(nullptr, "vkEnumerateInstanceVersion"));
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(entry(nullptr, "vkCreateInstance"));
    if (create == nullptr) return missing_function("vkCreateInstance");
    std::uint32_t found = VK_API_VERSION_1_0;
    if (version != nullptr && version(&found) != VK_SUCCESS) found = VK_API_VERSION_1_0;
    if (found < kApiVersion)
      return fail(Errc::unsupported_device, "the Vulkan loader is of version ", VK_API_VERSION_MAJOR(found), ".",
                  VK_API_VERSION_MINOR(found), ", 1.3 expected");
    return make(entry, create);
  }
  [[nodiscard]] static Result<Instance> make(PFN_vkGetInstanceProcAddr entry, PFN_vkCreateInstance create) noexcept {
    const VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO, nullptr, "zrt", 0, "zrt", 0, kApiVersion};
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    Instance instance;
    if (const VkResult r = create(&info, nullptr, &instance.handle_); r != VK_SUCCESS) {
      instance.handle_ = nullptr;
      // So a loader says that it has found none.
      if (r == VK_ERROR_INCOMPATIBLE_DRIVER)
        return fail(Errc::unsupported_device,
                    "there is no Vulkan driver: install one, on Debian mesa-vulkan-drivers or NVIDIA's "
                    "(VK_ERROR_INCOMPATIBLE_DRIVER)");
      return failure(r, "making a Vulkan instance");
    }
    // What destroys it comes first.
    instance.call_.DestroyInstance =
        reinterpret_cast<PFN_vkDestroyInstance>(entry(instance.handle_, "vkDestroyInstance"));
    const auto functions = find_functions(entry, instance.handle_);
    if (!functions) return pass(functions);
    instance.call_ = *functions;
    return instance;
  }

  InstanceFunctions call_{};
  VkInstance handle_ = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::vulkan
