// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/backend_device.cpp: an engine makes the device; the message names the backend and the part that lacks.
// expect-error: zrt: this type does not satisfy zrt::Backend; see docs/adding-a-backend.md
// expect-error: CheckBackend<LoneBackend
// expect-error: MakesDevices
#include "small_ops.hpp"

struct LoneDevice : zrt::reference::Device {
  LoneDevice() = default;
};

struct LoneBackend : compile_fail::SmallBackend<boost::mp11::mp_list<>> {
#ifdef ZRT_COMPILE_FAIL
  using Device = LoneDevice;
#endif
};
static_assert(zrt::CheckBackend<LoneBackend, boost::mp11::mp_list<>>::kOk);
