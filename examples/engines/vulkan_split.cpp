// SPDX-License-Identifier: Apache-2.0
// examples/engines/vulkan_split.cpp: the one place where the engine on the processor and a Vulkan device is compiled.
#include "vulkan_split.hpp"

template class zrt::Engine<engines::VulkanSplit>;
