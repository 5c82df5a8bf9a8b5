// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/any_target.hpp: a target that is known when a program is compiled, or only when its device is opened.
#pragma once

#include <zrt/backend/pm4/target.hpp>

#include <type_traits>

namespace zrt::inline ZRT_ABI::pm4 {

/// Whatever card is there.
struct AnyTarget {};

/// A target policy, or AnyTarget.
template <class T>
concept TargetChoice = std::is_same_v<T, AnyTarget> || requires { kTargetFacts<T>; };

/// Calls `write` with a policy whose packets the device reads: `Target`, or one of the device's generation.
template <TargetChoice Target, class F> constexpr auto with_target(const TargetFacts& device, F&& write) noexcept {
  if constexpr (!std::is_same_v<Target, AnyTarget>)
    return write(Target{});
  else if (device.generation == Generation::gfx11)
    return write(Gfx1100{});
  else
    return write(Gfx1201{});
}

}  // namespace zrt::inline ZRT_ABI::pm4
