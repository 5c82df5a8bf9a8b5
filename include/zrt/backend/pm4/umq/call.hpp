// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/umq/call.hpp: a call of a render node whose failure is an error with the call's name.
#pragma once

#include <zrt/backend/pm4/device_call.hpp>
#include <zrt/backend/pm4/umq/abi.hpp>

namespace zrt::inline ZRT_ABI::pm4::umq {

/// The name of a call; empty for one that is not listed.
[[nodiscard]] constexpr std::string_view call_name(std::uint32_t request) noexcept {
  return pm4::call_name(kCalls, request);
}

/// As call_device().
template <OperatingSystem Os, class Arguments>
[[nodiscard]] Result<void> call(Os& os, int file, std::uint32_t request, Arguments& arguments) noexcept {
  return call_device(os, file, request, arguments, kCalls, "of the render node");
}

/// Asks the driver about its card; what it does not answer stays as it was. Errors as call().
template <OperatingSystem Os, class Answer>
[[nodiscard]] Result<void> ask(Os& os, int file, InfoQuery query, Answer& answer, std::uint32_t engine = 0) noexcept {
  Info info{.return_pointer = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&answer)),
            .return_size = sizeof answer,
            .query = query,
            .parameters = {engine}};
  return call(os, file, kInfo, info);
}

/// The rate of the GPU's clock among the driver's answers. Errors: Errc::unsupported_device where it is not told.
[[nodiscard]] inline Result<std::uint32_t> checked_clock_rate(const DeviceInfo& info) noexcept {
  if (info.gpu_counter_freq == 0)
    return fail(Errc::unsupported_device, "the driver does not tell the rate of the GPU's clock");
  return info.gpu_counter_freq;
}

}  // namespace zrt::inline ZRT_ABI::pm4::umq
