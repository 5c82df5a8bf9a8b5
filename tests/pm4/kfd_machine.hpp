// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kfd_machine.hpp: a modelled machine, and what the tests of its queues submit.
#pragma once

#include <zrt/backend/pm4/kfd/transport.hpp>
#include <zrt/emulator/os.hpp>

#include <pm4/isa_interpreter.hpp>
#include <pm4/stream_cases.hpp>

namespace zrt::test {

using EmulatedOs = zrt::emulator::EmulatedOs;
using KfdDevice = pm4::kfd::Device<EmulatedOs>;
using KfdMemory = pm4::kfd::Memory<EmulatedOs>;
using KfdTransport = pm4::kfd::Transport<EmulatedOs>;

/// Runs grids on the interpreter.
inline constexpr zrt::emulator::GridHook kInterpreter{
    nullptr,
    [](void*, const zrt::emulator::Dispatch& dispatch,
       const zrt::emulator::AddressSpace& memory) noexcept -> Result<void> {
      const auto ran = run_dispatch(dispatch, memory);
      if (!ran) return pass(ran);
      return {};
    }};

/// The smallest ring.
inline constexpr pm4::kfd::TransportOptions kSmallRing{.ring_bytes = 4096, .timeout = 1'000'000};

template <class T> std::string text(const Result<T>& result) {
  return result ? "" : std::string(result.error().text());
}

template <class... Packets> Words words_of(const Packets&... packets) {
  const auto stream = pm4::stream_of<pm4::Gfx1201>(packets...);
  return {stream.span().begin(), stream.span().end()};
}

}  // namespace zrt::test
