// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/recorded_device_queue.cpp: a queue says when it is done; the message names its calls.
// expect-error: zrt: a recorded device needs wait\(fence\), and submit\(commands, piece\) with whole_step_tokens
// expect-error: CheckRecordedDevice<ImpatientDevice>
// expect-error: RunsCommands
#include "hollow_device.hpp"

struct ImpatientDevice : compile_fail::HollowDevice {
#ifdef ZRT_COMPILE_FAIL
  void wait(std::uint64_t) noexcept;
#endif
};
static_assert(zrt::device::CheckRecordedDevice<ImpatientDevice>::kOk);
