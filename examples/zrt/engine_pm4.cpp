// SPDX-License-Identifier: Apache-2.0
// examples/zrt/engine_pm4.cpp: models on an AMD card, or on a modelled one.
#include "card.hpp"
#include "model_of.hpp"
#include "output.hpp"

namespace program {

Opened open_pm4(const std::string& path, const zrt::EngineOptions& options, const CardChoice& choice,
                const Watchers& watchers) {
  auto made = CardSystem::make(choice, kModelledBytes, options.threads);
  if (!made) return zrt::pass(made);
  return open_on(std::move(*made), choice, path, options, watchers);
}

Opened open_on(const std::shared_ptr<CardSystem>& system, const CardChoice& choice, const std::string& path,
               const zrt::EngineOptions& options, const Watchers& watchers) {
  auto model = open_watched<zrt::emulator::Pm4Backend>(path, options, watchers, card_options(*system, choice), system);
  if (!model) return std::unexpected<zrt::Error>(explained(model.error(), *system));
  if (system->modelled() != nullptr)
    note("the card is modelled (" + choice.device + "): tokens are a real card's, speed is the model's");
  return model;
}

}  // namespace program
