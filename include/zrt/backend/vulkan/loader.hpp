// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/loader.hpp: where the first function of Vulkan comes from, as a policy.
#pragma once

#include <zrt/backend/vulkan/api.hpp>
#include <zrt/core/error.hpp>

#include <concepts>
#include <dlfcn.h>

namespace zrt::inline ZRT_ABI::vulkan {

/// Finds vkGetInstanceProcAddr, which finds everything else. Whoever stands in its place sees, and may answer, every call
/// that zrt makes of Vulkan.
template <class L>
concept VulkanLoader = requires(const L& loader) {
  { loader.entry() } noexcept -> std::same_as<Result<PFN_vkGetInstanceProcAddr>>;
};

/// The machine's loader, libvulkan.so.1.
struct SystemLoader {
  /// Errors: Errc::unsupported_device where no Vulkan is installed.
  [[nodiscard]] Result<PFN_vkGetInstanceProcAddr> entry() const noexcept {
    // Drivers have threads and data of threads: their code stays with the process.
    void* const library = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr)
      return fail(Errc::unsupported_device,
                  "there is no Vulkan loader (libvulkan.so.1): install it and a driver, on Debian libvulkan1 and "
                  "mesa-vulkan-drivers");
    const auto found = reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
    ::dlclose(library);
    if (found == nullptr) return fail(Errc::unsupported_device, "libvulkan.so.1 has no vkGetInstanceProcAddr");
    return found;
  }
};
static_assert(VulkanLoader<SystemLoader>);

}  // namespace zrt::inline ZRT_ABI::vulkan
