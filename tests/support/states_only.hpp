// SPDX-License-Identifier: Apache-2.0
// tests/support/states_only.hpp: what a slot table needs of a backend, and no more.
#pragma once

#include <zrt/exec/host_device.hpp>

namespace zrt::test {

/// Its states lie in the process's own memory.
struct StatesOnly {
  using Device = exec::HostDevice;
  using State = HostState;
  using Memory = Buffer;
};

}  // namespace zrt::test
