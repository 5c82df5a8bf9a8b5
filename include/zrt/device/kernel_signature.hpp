// SPDX-License-Identifier: Apache-2.0
// zrt/device/kernel_signature.hpp: what a device says about a kernel that it has loaded.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/core/span.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::device {

/// A kernel's arguments (docs/kernel-abi.md): so many buffers' addresses, then so many bytes of values. A device lists
/// those that it has loaded; a kernel's number is its place in that list.
struct KernelSignature {
  Name name{};
  std::uint32_t buffers = 0;
  std::uint32_t value_bytes = 0;
  std::uint32_t lanes = 0;  ///< of a workgroup
};

/// The kernel of that name, or null.
[[nodiscard]] inline const KernelSignature* find_kernel(Span<const KernelSignature> kernels,
                                                        std::string_view name) noexcept {
  for (const KernelSignature& kernel : kernels)
    if (kernel.name.view() == name) return &kernel;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::device
