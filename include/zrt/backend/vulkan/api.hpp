// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/api.hpp: the types and numbers of Vulkan, from Vulkan-Headers.
#pragma once

#include <zrt/core/config.hpp>

// Functions are found at run time (functions.hpp): none of the header's prototypes is called, so nothing is linked.
#include <vulkan/vulkan_core.h>

static_assert(sizeof(void*) == 8, "handles that are no objects are told apart by their types");
