// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/recorded_device_clock.cpp: a device says how fast its clock ticks; the message names the call.
// expect-error: zrt: a recorded device needs clock_rate\(\)
// expect-error: CheckRecordedDevice<TimelessDevice>
// expect-error: HasClock
#include "hollow_device.hpp"

struct TimelessDevice : compile_fail::HollowDevice {
#ifdef ZRT_COMPILE_FAIL
  std::uint32_t clock_rate() noexcept;
#endif
};
static_assert(zrt::device::CheckRecordedDevice<TimelessDevice>::kOk);
