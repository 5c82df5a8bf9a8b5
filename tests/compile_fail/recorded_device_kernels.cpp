// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/recorded_device_kernels.cpp: a device lists what it has loaded; the message names the list.
// expect-error: zrt: a recorded device needs kName, weight_types\(\) and signatures\(\)
// expect-error: CheckRecordedDevice<NamelessDevice>
// expect-error: ListsKernels
#include "hollow_device.hpp"

struct NamelessDevice : compile_fail::HollowDevice {
#ifdef ZRT_COMPILE_FAIL
  int signatures() const noexcept;
#endif
};
static_assert(zrt::device::CheckRecordedDevice<NamelessDevice>::kOk);
