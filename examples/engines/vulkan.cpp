// SPDX-License-Identifier: Apache-2.0
// examples/engines/vulkan.cpp: the one place where the engine on Vulkan devices is compiled.
#include "vulkan.hpp"

template class zrt::Engine<engines::VulkanBackend>;
template class zrt::Engine<engines::VulkanBackend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
template class zrt::Engine<engines::VulkanBackend, zrt::AllFamilies, zrt::trace::RunObserver>;
