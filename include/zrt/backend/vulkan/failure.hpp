// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/failure.hpp: what a VkResult means to a caller of zrt.
#pragma once

#include <zrt/backend/vulkan/api.hpp>
#include <zrt/core/error.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::vulkan {

/// A result of Vulkan that is a failure, with its name.
struct FailureResult {
  VkResult result{};
  std::string_view name{};
  Errc code = Errc::io_error;
};
inline constexpr auto kFailureResults = std::to_array<FailureResult>({
    {VK_TIMEOUT, "VK_TIMEOUT", Errc::limit_exceeded},
    {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", Errc::out_of_memory},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", Errc::out_of_memory},
    {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", Errc::unsupported_device},
    {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", Errc::device_lost},
    {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED", Errc::out_of_memory},
    {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", Errc::unsupported_device},
    {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", Errc::unsupported_device},
    {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", Errc::unsupported_device},
    {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", Errc::unsupported_device},
    {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", Errc::out_of_memory},
    {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL", Errc::out_of_memory},
    {VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY", Errc::out_of_memory},
    {VK_ERROR_FRAGMENTATION, "VK_ERROR_FRAGMENTATION", Errc::out_of_memory},
    {VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, "VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS", Errc::out_of_memory},
    {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV", Errc::invalid_file},
    {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", Errc::io_error},
});

/// The error of a call of Vulkan that gave `result`; `what` says which.
template <class... Pieces> [[nodiscard]] std::unexpected<Error> failure(VkResult result, Pieces... what) noexcept {
  for (const FailureResult& known : kFailureResults)
    if (known.result == result) return fail(known.code, what..., " failed with ", known.name);
  return fail(Errc::io_error, what..., " failed with VkResult ", static_cast<int>(result));
}

}  // namespace zrt::inline ZRT_ABI::vulkan
