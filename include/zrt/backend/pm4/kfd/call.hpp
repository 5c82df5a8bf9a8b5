// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/call.hpp: a call of /dev/kfd whose failure is an error with the call's name.
#pragma once

#include <zrt/backend/pm4/kfd/abi.hpp>
#include <zrt/backend/pm4/os.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

/// The name of a call; empty for one that is not listed.
[[nodiscard]] constexpr std::string_view call_name(std::uint32_t request) noexcept {
  for (const IoctlCall& known : kCalls)
    if (ioctl_number(known.request) == ioctl_number(request)) return known.name;
  return {};
}

/// Calls, again where a signal interrupted it. Errors as system_failure().
template <OperatingSystem Os, class Arguments>
[[nodiscard]] Result<void> call(Os& os, int file, std::uint32_t request, Arguments& arguments) noexcept {
  SystemValue answer = 0;
  do {
    answer = os.ioctl(file, request, &arguments);
  } while (answer == -EINTR);
  if (answer < 0) return system_failure(answer, call_name(request), "of /dev/kfd");
  return {};
}

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
