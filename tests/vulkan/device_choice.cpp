// SPDX-License-Identifier: Apache-2.0
// covers: backend/vulkan/device_choice.hpp backend/vulkan/memory_types.hpp
#include <zrt/backend/vulkan/device_choice.hpp>
#include <zrt/backend/vulkan/memory_types.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace zrt::test {
namespace {

using vulkan::DeviceFacts;
using vulkan::Heap;

DeviceFacts device(const char* name, VkPhysicalDeviceType type, std::uint64_t gigabytes) {
  DeviceFacts facts{.name = Name(name), .type = type, .local_bytes = gigabytes << 30};
  facts.uuid[0] = static_cast<std::uint8_t>(name[0]);
  return facts;
}
const std::vector<DeviceFacts> kMachine{device("software", VK_PHYSICAL_DEVICE_TYPE_CPU, 64),
                                        device("integrated", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, 32),
                                        device("small", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 8),
                                        device("large", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 16),
                                        device("virtual", VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, 80)};

std::string_view chosen(std::span<const DeviceFacts> of, const vulkan::DeviceChoice& choice) {
  const auto found = vulkan::choose(of, choice);
  return found ? (*found)->name.view() : name(found.error().code());
}

TEST(VulkanChoice, DiscreteBeforeIntegratedThenMoreMemory) {
  EXPECT_EQ(chosen(kMachine, {}), "large");
  EXPECT_EQ(chosen(std::span(kMachine).first(2), {}), "integrated");
  const std::vector<DeviceFacts> two{kMachine[4], kMachine[1]};
  EXPECT_EQ(chosen(two, {}), "integrated");
}

TEST(VulkanChoice, SoftwareIsTakenByNameOrWhereItIsAllowedAndAlone) {
  EXPECT_EQ(chosen(std::span(kMachine).first(1), {}), "unsupported_device");
  EXPECT_EQ(chosen(std::span(kMachine).first(1), {.software = true}), "software");
  EXPECT_EQ(chosen(kMachine, {.software = true}), "large");
  EXPECT_EQ(chosen(kMachine, {.index = 0}), "software");
}

TEST(VulkanChoice, ANameIsAnIndexOrAUuid) {
  EXPECT_EQ(chosen(kMachine, {.index = 2}), "small");
  EXPECT_EQ(chosen(kMachine, {.index = 5}), "not_found");
  vulkan::DeviceUuid uuid{};
  uuid[0] = 'v';
  EXPECT_EQ(chosen(kMachine, {.uuid = uuid}), "virtual");
  uuid[1] = 1;
  EXPECT_EQ(chosen(kMachine, {.uuid = uuid}), "not_found");
}

TEST(VulkanChoice, WhatCannotBeUsedIsPassedOverAndItsReasonTold) {
  std::vector<DeviceFacts> machine = kMachine;
  machine[3].usable = fail(Errc::unsupported_device, "large lacks the feature shaderInt8");
  EXPECT_EQ(chosen(machine, {}), "small");
  const auto named = vulkan::choose(machine, {.index = 3});
  ASSERT_FALSE(named.has_value());
  EXPECT_EQ(named.error().text(), "large lacks the feature shaderInt8");
  const auto alone = vulkan::choose(std::span(machine).subspan(3, 1), {});
  ASSERT_FALSE(alone.has_value());
  EXPECT_EQ(alone.error().text(), "large lacks the feature shaderInt8");
}

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                kSeen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

VkPhysicalDeviceMemoryProperties memory_of(std::initializer_list<VkMemoryType> types,
                                           std::initializer_list<VkDeviceSize> megabytes) {
  VkPhysicalDeviceMemoryProperties memory{};
  for (const VkMemoryType& type : types) memory.memoryTypes[memory.memoryTypeCount++] = type;
  for (const VkDeviceSize size : megabytes) memory.memoryHeaps[memory.memoryHeapCount++].size = size << 20;
  return memory;
}
std::uint32_t type_of(const VkPhysicalDeviceMemoryProperties& memory, Heap heap, std::uint32_t allowed = ~0u) {
  const auto type = vulkan::choose_memory_type(memory, allowed, heap);
  return type ? *type : VK_MAX_MEMORY_TYPES;
}

TEST(VulkanMemoryTypes, ACardWithASmallWindowHasBulkBehindItAndSharesTheHosts) {
  const auto memory =
      memory_of({{kLocal, 0}, {kSeen, 1}, {kSeen | kCached, 1}, {kLocal | kSeen, 2}}, {16384, 32768, 256});
  EXPECT_EQ(type_of(memory, Heap::device), 0u);
  EXPECT_EQ(type_of(memory, Heap::shared), 1u);
  EXPECT_EQ(type_of(memory, Heap::for_host), 2u);
}

TEST(VulkanMemoryTypes, ACardThatTheHostSeesWholeIsWrittenDirectly) {
  const auto memory = memory_of({{kLocal, 0}, {kSeen, 1}, {kSeen | kCached, 1}, {kLocal | kSeen, 0}}, {16384, 32768});
  EXPECT_EQ(type_of(memory, Heap::device), 3u);
  EXPECT_EQ(type_of(memory, Heap::shared), 3u);
  EXPECT_EQ(type_of(memory, Heap::for_host), 2u);
}

TEST(VulkanMemoryTypes, OfEqualTypesTheOneOfTheLargestHeapIsTaken) {
  const auto memory = memory_of({{kLocal, 0}, {kLocal, 1}, {kLocal, 2}}, {1024, 8192, 4096});
  EXPECT_EQ(type_of(memory, Heap::device), 1u);
  EXPECT_EQ(type_of(memory, Heap::device, 0b101), 2u);
}

TEST(VulkanMemoryTypes, BulkIsWhereMostRoomIsEvenIfTheHostSeesALargePartOfACard) {
  const auto memory = memory_of({{kLocal, 0}, {kSeen, 1}, {kLocal | kSeen, 2}}, {16384, 32768, 2048});
  EXPECT_EQ(type_of(memory, Heap::device), 0u);
  EXPECT_EQ(type_of(memory, Heap::shared), 2u);
}

TEST(VulkanMemoryTypes, WhereADeviceHasAWindowAloneBulkIsShared) {
  const auto memory = memory_of({{kLocal | kSeen, 0}, {kSeen, 1}}, {256, 16384});
  EXPECT_EQ(type_of(memory, Heap::device), 1u);
}

TEST(VulkanMemoryTypes, WhatNeedsAFeatureThatIsNotAskedForIsNotTaken) {
  const auto memory = memory_of({{kLocal | kSeen | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD, 0},
                                 {kLocal | kSeen | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD, 0},
                                 {kLocal, 0},
                                 {kSeen, 1}},
                                {16384, 8192});
  EXPECT_EQ(type_of(memory, Heap::device), 2u);
  EXPECT_EQ(type_of(memory, Heap::shared), 3u);
}

TEST(VulkanMemoryTypes, ProtectedAndLazyMemoryIsNone) {
  const auto memory = memory_of(
      {{kLocal | VK_MEMORY_PROPERTY_PROTECTED_BIT, 0}, {kLocal | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT, 0}}, {8192});
  EXPECT_EQ(type_of(memory, Heap::device), VK_MAX_MEMORY_TYPES);
  EXPECT_EQ(type_of(memory, Heap::shared), VK_MAX_MEMORY_TYPES);
}

}  // namespace
}  // namespace zrt::test
