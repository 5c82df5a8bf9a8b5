// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/recorded_device_bytes.cpp: a device moves bytes out too; the message names both ways.
// expect-error: zrt: a recorded device needs copy_in\(address, bytes\) and copy_out
// expect-error: CheckRecordedDevice<StuckDevice>
// expect-error: MovesBytes
#include "hollow_device.hpp"

struct StuckDevice : compile_fail::HollowDevice {
#ifdef ZRT_COMPILE_FAIL
  void copy_out(std::uint64_t) noexcept;
#endif
};
static_assert(zrt::device::CheckRecordedDevice<StuckDevice>::kOk);
