// SPDX-License-Identifier: Apache-2.0
// tests/vulkan/loader_double.hpp: a loader between zrt and the machine's, which has calls fail and listens to the
// validation layer.
#pragma once

#include <zrt/backend/vulkan/device.hpp>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace zrt::test {

/// A call that fails instead of reaching the driver.
struct Fault {
  std::string function;
  VkResult result = VK_SUCCESS;
  int calls_before = 0;  ///< that still succeed
};

/// What the double does; functions of Vulkan have no context, so there is one, reset by each test.
struct DoubleState {
  PFN_vkGetInstanceProcAddr real = nullptr;
  PFN_vkGetDeviceProcAddr real_of_device = nullptr;
  std::map<std::string, PFN_vkVoidFunction> functions;  ///< the driver's
  std::vector<Fault> faults;
  std::string missing_function;
  std::string missing_feature;
  bool has_no_device = false;
  bool leaves_rounding_open = false;  ///< the device has no float controls
  std::uint32_t most_groups = 0;      ///< of a launch, on its first axis, where it is told
  bool never_ends = false;            ///< what is handed over is never done
  std::uint32_t loader_version = 0;
  /// The device has memory of its own that the host does not see, and sees the host's, as a card behind a bus.
  bool has_own_memory = false;
  /// The host sees that memory too, but has none of it in its cache.
  bool sees_own_memory = false;
  std::uint64_t memory_bytes = 0;  ///< of each heap, where it is told
  bool validates = false;
  VkDebugUtilsMessengerEXT messenger = nullptr;
  std::vector<std::string> complaints;
  std::map<std::string, int> calls;
  std::string commands;  ///< that were recorded: [ begins a buffer, | is a barrier, . a launch

  /// The result that a call is to have.
  VkResult injected(const std::string& function) {
    ++calls[function];
    for (Fault& fault : faults)
      if (fault.function == function && fault.calls_before-- <= 0) return fault.result;
    return VK_SUCCESS;
  }
};
inline DoubleState& double_state() {
  static DoubleState state;
  return state;
}

namespace doubled {

template <std::size_t N> struct Text {
  char text[N]{};
  constexpr Text(const char (&from)[N]) {  // NOLINT: a literal is a name
    for (std::size_t i = 0; i < N; ++i) text[i] = from[i];
  }
};

/// A function that may be told to fail.
template <Text kName, class F> struct Faulty;
template <Text kName, class... A> struct Faulty<kName, VkResult(VKAPI_PTR*)(A...)> {
  static VKAPI_ATTR VkResult VKAPI_CALL call(A... arguments) {
    DoubleState& state = double_state();
    if (const VkResult r = state.injected(kName.text); r != VK_SUCCESS) return r;
    return reinterpret_cast<VkResult(VKAPI_PTR*)(A...)>(state.functions[kName.text])(arguments...);
  }
};

inline VKAPI_ATTR VkResult VKAPI_CALL list_devices(VkInstance instance, std::uint32_t* count, VkPhysicalDevice* to) {
  if (double_state().has_no_device) {
    *count = 0;
    return VK_SUCCESS;
  }
  return Faulty<"vkEnumeratePhysicalDevices", PFN_vkEnumeratePhysicalDevices>::call(instance, count, to);
}
inline VKAPI_ATTR VkResult VKAPI_CALL loader_version(std::uint32_t* version) {
  *version = double_state().loader_version;
  return VK_SUCCESS;
}
inline VKAPI_ATTR void VKAPI_CALL features(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* to) {
  DoubleState& state = double_state();
  reinterpret_cast<PFN_vkGetPhysicalDeviceFeatures2>(state.functions["vkGetPhysicalDeviceFeatures2"])(device, to);
  if (state.missing_feature.empty()) return;
  // The chain is that of vulkan::DeviceFeatures, whose first member it begins with.
  auto& chain = *reinterpret_cast<vulkan::DeviceFeatures*>(to);
  for (const vulkan::NamedFeature& feature : vulkan::kRequiredFeatures)
    if (feature.name == state.missing_feature) feature.of(chain) = VK_FALSE;
  if (vulkan::kFloat64Feature.name == state.missing_feature) vulkan::kFloat64Feature.of(chain) = VK_FALSE;
}
inline VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice device, VkPhysicalDeviceProperties2* to) {
  DoubleState& state = double_state();
  reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(state.functions["vkGetPhysicalDeviceProperties2"])(device, to);
  if (state.most_groups != 0) to->properties.limits.maxComputeWorkGroupCount[0] = state.most_groups;
  for (auto* next = static_cast<VkBaseOutStructure*>(to->pNext); next != nullptr; next = next->pNext) {
    if (!state.leaves_rounding_open || next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES) continue;
    auto& p = *reinterpret_cast<VkPhysicalDeviceVulkan12Properties*>(next);
    for (VkBool32* const each :
         {&p.shaderSignedZeroInfNanPreserveFloat16, &p.shaderSignedZeroInfNanPreserveFloat32,
          &p.shaderSignedZeroInfNanPreserveFloat64, &p.shaderDenormPreserveFloat16, &p.shaderDenormPreserveFloat32,
          &p.shaderDenormPreserveFloat64, &p.shaderRoundingModeRTEFloat16, &p.shaderRoundingModeRTEFloat32,
          &p.shaderRoundingModeRTEFloat64})
      *each = VK_FALSE;
  }
}
/// Two types of memory where the driver has one.
inline VKAPI_ATTR void VKAPI_CALL memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* to) {
  DoubleState& state = double_state();
  reinterpret_cast<PFN_vkGetPhysicalDeviceMemoryProperties2>(state.functions["vkGetPhysicalDeviceMemoryProperties2"])(
      device, to);
  VkPhysicalDeviceMemoryProperties& p = to->memoryProperties;
  if (state.has_own_memory) {
    p.memoryTypeCount = p.memoryHeapCount = 2;
    p.memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    if (state.sees_own_memory)
      p.memoryTypes[0].propertyFlags |= VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    p.memoryTypes[1] = {
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
        1};
    p.memoryHeaps[1] = {p.memoryHeaps[0].size, 0};
  }
  for (std::uint32_t i = 0; i < p.memoryHeapCount && state.memory_bytes != 0; ++i)
    p.memoryHeaps[i].size = state.memory_bytes;
}
inline VKAPI_ATTR void VKAPI_CALL requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* to) {
  DoubleState& state = double_state();
  reinterpret_cast<PFN_vkGetBufferMemoryRequirements>(state.functions["vkGetBufferMemoryRequirements"])(device, buffer,
                                                                                                        to);
  if (state.has_own_memory) to->memoryTypeBits = 3;
}
inline VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo* asked,
                                               const VkAllocationCallbacks* allocator, VkDeviceMemory* to) {
  VkMemoryAllocateInfo info = *asked;
  if (double_state().has_own_memory) info.memoryTypeIndex = 0;
  return Faulty<"vkAllocateMemory", PFN_vkAllocateMemory>::call(device, &info, allocator, to);
}
inline VKAPI_ATTR VkResult VKAPI_CALL wait(VkDevice device, const VkSemaphoreWaitInfo* info, std::uint64_t timeout) {
  DoubleState& state = double_state();
  if (state.never_ends) return VK_TIMEOUT;
  // Of a lost device nothing is under way any more.
  const VkResult driver =
      reinterpret_cast<PFN_vkWaitSemaphores>(state.functions["vkWaitSemaphores"])(device, info, timeout);
  const VkResult injected = state.injected("vkWaitSemaphores");
  return injected != VK_SUCCESS ? injected : driver;
}
/// Nothing is seen to have ended before it was waited for, so that a wait may fail.
inline VKAPI_ATTR VkResult VKAPI_CALL counter(VkDevice, VkSemaphore, std::uint64_t* value) {
  *value = 0;
  return VK_SUCCESS;
}

inline VKAPI_ATTR VkBool32 VKAPI_CALL complain(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                               const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  double_state().complaints.emplace_back(data->pMessage);
  return VK_FALSE;
}
inline VkDebugUtilsMessengerCreateInfoEXT messenger_info() {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = &complain;
  return info;
}

inline bool has_validation() {
  const auto list = reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
      double_state().real(nullptr, "vkEnumerateInstanceLayerProperties"));
  std::uint32_t count = 0;
  if (list == nullptr || list(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  list(&count, layers.data());
  for (const VkLayerProperties& layer : layers)
    if (std::strcmp(layer.layerName, "VK_LAYER_KHRONOS_validation") == 0) return true;
  return false;
}

inline void start_messenger(VkInstance instance) {
  DoubleState& state = double_state();
  const auto create =
      reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(state.real(instance, "vkCreateDebugUtilsMessengerEXT"));
  const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info();
  create(instance, &info, nullptr, &state.messenger);
}
inline VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* asked,
                                                      const VkAllocationCallbacks* allocator, VkInstance* to) {
  DoubleState& state = double_state();
  if (const VkResult r = state.injected("vkCreateInstance"); r != VK_SUCCESS) return r;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(state.real(nullptr, "vkCreateInstance"));
  state.validates = has_validation();
  if (!state.validates) return create(asked, allocator, to);
  VkInstanceCreateInfo info = *asked;
  const VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info();
  const std::array layers{"VK_LAYER_KHRONOS_validation"};
  const std::array extensions{VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  const std::array enabled{VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  VkValidationFeaturesEXT validation{};
  validation.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  validation.pNext = &messenger;
  validation.enabledValidationFeatureCount = enabled.size();
  validation.pEnabledValidationFeatures = enabled.data();
  info.pNext = &validation;
  info.enabledLayerCount = layers.size();
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = extensions.size();
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult r = create(&info, allocator, to);
  if (r == VK_SUCCESS) start_messenger(*to);
  return r;
}
inline VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
  DoubleState& state = double_state();
  if (state.messenger != nullptr)
    reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(state.real(instance, "vkDestroyDebugUtilsMessengerEXT"))(
        instance, state.messenger, nullptr);
  state.messenger = nullptr;
  reinterpret_cast<PFN_vkDestroyInstance>(state.functions["vkDestroyInstance"])(instance, allocator);
}

inline VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer buffer, const VkCommandBufferBeginInfo* info) {
  double_state().commands += '[';
  return Faulty<"vkBeginCommandBuffer", PFN_vkBeginCommandBuffer>::call(buffer, info);
}
inline VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer buffer, const VkDependencyInfo* info) {
  double_state().commands += '|';
  reinterpret_cast<PFN_vkCmdPipelineBarrier2>(double_state().functions["vkCmdPipelineBarrier2"])(buffer, info);
}
inline VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer buffer, VkBuffer memory, VkDeviceSize offset) {
  double_state().commands += '.';
  reinterpret_cast<PFN_vkCmdDispatchIndirect>(double_state().functions["vkCmdDispatchIndirect"])(buffer, memory,
                                                                                                 offset);
}

template <class F> PFN_vkVoidFunction erased(F* function) { return reinterpret_cast<PFN_vkVoidFunction>(function); }

template <Text kName, class F> void add(std::map<std::string, PFN_vkVoidFunction>& to) {
  to[kName.text] = erased(&Faulty<kName, F>::call);
}

PFN_vkVoidFunction VKAPI_PTR of_device(VkDevice device, const char* name);

/// What stands before a function of the driver, by its name.
inline const std::map<std::string, PFN_vkVoidFunction>& before() {
  static const auto all = [] {
    std::map<std::string, PFN_vkVoidFunction> to;
    to["vkCreateInstance"] = erased(&create_instance);
    to["vkDestroyInstance"] = erased(&destroy_instance);
    to["vkEnumeratePhysicalDevices"] = erased(&list_devices);
    to["vkGetPhysicalDeviceFeatures2"] = erased(&features);
    to["vkGetPhysicalDeviceProperties2"] = erased(&properties);
    to["vkGetDeviceProcAddr"] = erased(&of_device);
    to["vkWaitSemaphores"] = erased(&wait);
    to["vkGetSemaphoreCounterValue"] = erased(&counter);
    add<"vkEnumerateDeviceExtensionProperties", PFN_vkEnumerateDeviceExtensionProperties>(to);
    add<"vkCreateDevice", PFN_vkCreateDevice>(to);
    add<"vkCreateSemaphore", PFN_vkCreateSemaphore>(to);
    add<"vkCreateCommandPool", PFN_vkCreateCommandPool>(to);
    add<"vkCreatePipelineLayout", PFN_vkCreatePipelineLayout>(to);
    add<"vkCreateBuffer", PFN_vkCreateBuffer>(to);
    to["vkGetPhysicalDeviceMemoryProperties2"] = erased(&memory);
    to["vkGetBufferMemoryRequirements"] = erased(&requirements);
    to["vkAllocateMemory"] = erased(&allocate);
    add<"vkBindBufferMemory", PFN_vkBindBufferMemory>(to);
    add<"vkMapMemory", PFN_vkMapMemory>(to);
    add<"vkCreateShaderModule", PFN_vkCreateShaderModule>(to);
    add<"vkCreateComputePipelines", PFN_vkCreateComputePipelines>(to);
    add<"vkAllocateCommandBuffers", PFN_vkAllocateCommandBuffers>(to);
    to["vkBeginCommandBuffer"] = erased(&begin);
    to["vkCmdPipelineBarrier2"] = erased(&barrier);
    to["vkCmdDispatchIndirect"] = erased(&dispatch);
    add<"vkEndCommandBuffer", PFN_vkEndCommandBuffer>(to);
    add<"vkQueueSubmit2", PFN_vkQueueSubmit2>(to);
    add<"vkCreateQueryPool", PFN_vkCreateQueryPool>(to);
    return to;
  }();
  return all;
}

/// The double's function of that name where it has one, and else the driver's.
inline PFN_vkVoidFunction standing_in(const char* name, PFN_vkVoidFunction driver) {
  DoubleState& state = double_state();
  if (state.missing_function == name) return nullptr;
  const auto found = before().find(name);
  if (found == before().end() || driver == nullptr) return driver;
  state.functions[name] = driver;
  return found->second;
}
inline PFN_vkVoidFunction VKAPI_PTR of_device(VkDevice device, const char* name) {
  return standing_in(name, double_state().real_of_device(device, name));
}
inline PFN_vkVoidFunction VKAPI_PTR of_instance(VkInstance instance, const char* name) {
  DoubleState& state = double_state();
  const PFN_vkVoidFunction driver = state.real(instance, name);
  if (std::string_view(name) == "vkGetDeviceProcAddr")
    state.real_of_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(driver);
  if (std::string_view(name) == "vkEnumerateInstanceVersion" && state.loader_version != 0)
    return erased(&loader_version);
  return standing_in(name, driver);
}

}  // namespace doubled

/// The double as a loader.
struct LoaderDouble {
  [[nodiscard]] Result<PFN_vkGetInstanceProcAddr> entry() const noexcept {
    const auto real = vulkan::SystemLoader{}.entry();
    if (!real) return real;
    double_state().real = *real;
    return &doubled::of_instance;
  }
};
static_assert(vulkan::VulkanLoader<LoaderDouble>);

}  // namespace zrt::test
