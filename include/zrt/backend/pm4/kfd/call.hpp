// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/call.hpp: a call of /dev/kfd whose failure is an error with the call's name.
#pragma once

#include <zrt/backend/pm4/device_call.hpp>
#include <zrt/backend/pm4/kfd/abi.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

/// The name of a call; empty for one that is not listed.
[[nodiscard]] constexpr std::string_view call_name(std::uint32_t request) noexcept {
  return pm4::call_name(kCalls, request);
}

/// As call_device().
template <OperatingSystem Os, class Arguments>
[[nodiscard]] Result<void> call(Os& os, int file, std::uint32_t request, Arguments& arguments) noexcept {
  return call_device(os, file, request, arguments, kCalls, "of /dev/kfd");
}

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
