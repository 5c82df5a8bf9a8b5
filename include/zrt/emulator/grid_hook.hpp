// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/grid_hook.hpp: who runs the grids that a queue of the device model dispatches.
#pragma once

#include <zrt/emulator/dispatch.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// Runs a grid and returns when it is done; without a function every grid is refused.
///
/// A hook, so that the model's system calls compile without the interpreter.
struct GridHook {
  void* context = nullptr;
  Result<void> (*run)(void* context, const Dispatch& dispatch, const AddressSpace& memory) noexcept = nullptr;

  [[nodiscard]] Result<void> operator()(const Dispatch& dispatch, const AddressSpace& memory) const noexcept {
    if (run == nullptr) return fail(Errc::unimplemented, "this device model runs no grids");
    return run(context, dispatch, memory);
  }
};

}  // namespace zrt::inline ZRT_ABI::emulator
