// SPDX-License-Identifier: Apache-2.0
// tests/support/engines.inc.hpp: bodies of Calls, for the sources that instantiate an engine.
#pragma once

#include <support/engines.hpp>

namespace zrt::test {

template <class B>
Result<Completion> Calls<B>::generate(Engine<B>& engine, const Request& request, const OnToken& on_token, std::stop_token stop) {
  return engine.generate(request, on_token, std::move(stop));
}

template <class B>
Result<std::size_t> Calls<B>::step(Engine<B>& engine, const OnRequestToken& on_token) {
  return engine.step(on_token);
}

template <class B>
Result<void> Calls<B>::evaluate(Engine<B>& engine, std::span<const std::int32_t> tokens, std::span<const std::int32_t> decode,
                                const OnLogits& on_logits) {
  return engine.evaluate(tokens, decode, on_logits);
}

}  // namespace zrt::test
