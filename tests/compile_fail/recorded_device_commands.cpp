// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/recorded_device_commands.cpp: commands are made of a placed step; the message names how.
// expect-error: zrt: a recorded device needs Commands \(pieces\), command_bytes\(record\) and make_commands
// expect-error: CheckRecordedDevice<TalkativeDevice>
// expect-error: MakesCommands
#include "hollow_device.hpp"

struct TalkativeDevice : compile_fail::HollowDevice {
#ifdef ZRT_COMPILE_FAIL
  zrt::Result<void> make_commands(const zrt::device::StepRecord&) noexcept;
#endif
};
static_assert(zrt::device::CheckRecordedDevice<TalkativeDevice>::kOk);
