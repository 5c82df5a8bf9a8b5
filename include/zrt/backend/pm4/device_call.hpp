// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/device_call.hpp: a call of a device file whose failure is an error with the call's name.
#pragma once

#include <zrt/backend/pm4/ioctl.hpp>
#include <zrt/backend/pm4/os.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// The name of a call in a list; empty for one that is not there.
[[nodiscard]] constexpr std::string_view call_name(Span<const IoctlCall> calls, std::uint32_t request) noexcept {
  for (const IoctlCall& known : calls)
    if (ioctl_number(known.request) == ioctl_number(request)) return known.name;
  return {};
}

/// Calls, again where a signal interrupted it or the kernel asks for it.
template <OperatingSystem Os, class Arguments>
[[nodiscard]] SystemValue answer_of_device(Os& os, int file, std::uint32_t request, Arguments& arguments) noexcept {
  // So that a driver that always asks for another try does not hold the caller for ever.
  constexpr int most_tries = 1000;
  SystemValue answer = 0;
  for (int tries = 0; tries < most_tries; ++tries) {
    answer = os.ioctl(file, request, &arguments);
    if (answer != -EINTR && answer != -EAGAIN) break;
  }
  return answer;
}

/// The same with errors as system_failure(), with the name from `calls`; `of` says whose call it is.
template <OperatingSystem Os, class Arguments>
[[nodiscard]] Result<void> call_device(Os& os, int file, std::uint32_t request, Arguments& arguments,
                                       Span<const IoctlCall> calls, std::string_view of) noexcept {
  const SystemValue answer = answer_of_device(os, file, request, arguments);
  if (answer < 0) return system_failure(answer, call_name(calls, request), of);
  return {};
}

/// Makes a call of `device` that gives something back, once more where it fails: its owner goes, nobody will ask again.
/// False where it stays with the process.
template <class Device, class Arguments>
[[nodiscard]] bool give_back(const Device& device, std::uint32_t request, const Arguments& arguments) noexcept {
  for (int tries = 0; tries < 2; ++tries) {
    Arguments again = arguments;
    if (device.call_with(request, again)) return true;
  }
  return false;
}

}  // namespace zrt::inline ZRT_ABI::pm4
