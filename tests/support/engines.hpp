// SPDX-License-Identifier: Apache-2.0
// tests/support/engines.hpp: the engines of both host backends, compiled once, behind calls of one type.
#pragma once

#include <zrt/backend/cpu.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/engine/engine.hpp>
#include <zrt/models.hpp>

#include <functional>

extern template class zrt::Engine<zrt::CpuBackend>;
extern template class zrt::Engine<zrt::ReferenceBackend>;

namespace zrt::test {

using OnToken = std::function<bool(const Token&)>;
using OnRequestToken = std::function<bool(RequestId, const Token&)>;
using OnLogits = std::function<void(std::uint32_t position, std::span<const float> logits)>;

/// The engine's calls that are templates on their callable, instantiated for the three above.
template <class B>
struct Calls {
  static Result<Completion> generate(Engine<B>& engine, const Request& request, const OnToken& on_token, std::stop_token stop = {});
  static Result<std::size_t> step(Engine<B>& engine, const OnRequestToken& on_token);
  static Result<void> evaluate(Engine<B>& engine, std::span<const std::int32_t> tokens, std::span<const std::int32_t> decode,
                               const OnLogits& on_logits);
};
extern template struct Calls<CpuBackend>;
extern template struct Calls<ReferenceBackend>;

using Cpu = Calls<CpuBackend>;
using Oracle = Calls<ReferenceBackend>;

}  // namespace zrt::test
