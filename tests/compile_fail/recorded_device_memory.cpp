// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/recorded_device_memory.cpp: a device says where the host sees an address; the message names what memory needs.
// expect-error: zrt: a recorded device needs Memory \(address, bytes, span\), allocate_for\(role, bytes\) and host_view
// expect-error: CheckRecordedDevice<SecretiveDevice>
// expect-error: HoldsMemory
#include "hollow_device.hpp"

struct SecretiveDevice : compile_fail::HollowDevice {
#ifdef ZRT_COMPILE_FAIL
  std::uint64_t host_view(std::uint64_t) noexcept;
#endif
};
static_assert(zrt::device::CheckRecordedDevice<SecretiveDevice>::kOk);
