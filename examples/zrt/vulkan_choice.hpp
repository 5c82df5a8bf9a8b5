// SPDX-License-Identifier: Apache-2.0
// examples/zrt/vulkan_choice.hpp: which Vulkan device the command line names.
#pragma once

#include <zrt/backend/vulkan/device_choice.hpp>

#include <string>
#include <string_view>

namespace program {

/// A number of `zrt devices`, a UUID, `software`, or nothing for the best GPU.
///
/// Errors: Errc::invalid_argument for another spelling.
[[nodiscard]] zrt::Result<zrt::vulkan::DeviceChoice> vulkan_choice(std::string_view device);

/// 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12.
[[nodiscard]] std::string text_of(const zrt::vulkan::DeviceUuid& uuid);

}  // namespace program
