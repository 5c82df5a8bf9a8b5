// SPDX-License-Identifier: Apache-2.0
// tests/pm4/engine_card.hpp: an engine on a modelled card, and small requests.
#pragma once

#include <array>
#include <pm4.hpp>
#include <span>
#include <string>
#include <string_view>

namespace zrt::test {

/// A processor, and the way to its queues.
struct CardWay {
  std::string_view target;
  pm4::Tier tier;

  [[nodiscard]] std::string name() const {
    return std::string(target) + (tier == pm4::Tier::kfd ? "_kfd" : "_user_queue");
  }
};
/// RDNA3 and RDNA4 by each way, and RDNA3.5 once.
inline constexpr std::array kCardWays{CardWay{"gfx1201", pm4::Tier::kfd}, CardWay{"gfx1100", pm4::Tier::user_queue},
                                      CardWay{"gfx1201", pm4::Tier::user_queue}, CardWay{"gfx1100", pm4::Tier::kfd},
                                      CardWay{"gfx1151", pm4::Tier::user_queue}};

/// An engine on a modelled card, and the card.
struct OnCard {
  /// The kernel offers both ways to the card's queues; one is forced. Kernels whose workgroups race are refused. `model` is
  /// what Engine::open takes.
  template <class Model>
  OnCard(const CardWay& way, const Model& model, const EngineOptions& options, const ThreadHook& threads = {},
         bool runs_at_doorbell = false)
      : card({.target = pm4::find_target(way.target),
              .kernel = zrt::emulator::kLinux6_16,
              .follows_workgroups = true,
              .runs_at_doorbell = runs_at_doorbell},
             threads),
        engine(Engine<zrt::emulator::Pm4Backend>::open(
            model, options, {.os = &card.os(), .kernels = engines::kernels(), .tier = way.tier})) {}

  [[nodiscard]] std::string why(const Error& error) {
    return std::string(error.text()) + " / " + std::string(card.model().refusal()) + " / " +
           std::string(card.model().queues().stopped());
  }

  engines::ModelledCard card;
  Result<Engine<zrt::emulator::Pm4Backend>> engine;
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
