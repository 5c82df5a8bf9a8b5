// SPDX-License-Identifier: Apache-2.0
// tests/pm4/engine_card.hpp: an engine on a modelled card, and small requests.
#pragma once

#include <pm4.hpp>
#include <string>
#include <string_view>

namespace zrt::test {

/// An engine on a modelled card, and the card.
struct OnCard {
  /// One card is reached by a user queue, the other by /dev/kfd.
  OnCard(const std::string& target, const std::string& path, const EngineOptions& options,
         const ThreadHook& threads = {})
      : card({.target = pm4::find_target(target),
              .kernel = target == "gfx1100" ? pm4::emulator::kLinux6_16 : pm4::emulator::kLinux6_12},
             threads),
        engine(Engine<Pm4Backend>::open(path, options, {.os = &card.os(), .kernels = engines::kernels()})) {}

  [[nodiscard]] std::string why(const Error& error) {
    return std::string(error.text()) + " / " + std::string(card.model().refusal()) + " / " +
           std::string(card.model().queues().stopped());
  }

  engines::ModelledCard card;
  Result<Engine<Pm4Backend>> engine;
};

inline EngineOptions small(std::uint32_t slots = 1) {
  EngineOptions options;
  options.slots = slots;
  options.context = 128;
  options.chunk = 16;
  return options;
}

inline Request greedy(std::string_view prompt, std::uint32_t tokens) {
  Request request;
  request.prompt = prompt;
  request.max_tokens = tokens;
  request.sampling.temperature = 0.0f;
  request.ignore_eos = true;
  return request;
}

}  // namespace zrt::test
