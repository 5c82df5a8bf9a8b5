// SPDX-License-Identifier: Apache-2.0
// examples/zrt/engine_pm4.cpp: models on an AMD card, or on a modelled one.
#include "card.hpp"
#include "model_of.hpp"
#include <zrt/exec/thread_pool.hpp>

namespace program {

zrt::Result<const zrt::pm4::TargetFacts*> modelled_target(std::string_view device) {
  constexpr std::string_view emulated = "emulated-";
  const zrt::pm4::TargetFacts* target =
      device.starts_with(emulated) ? zrt::pm4::find_target(device.substr(emulated.size())) : nullptr;
  if (target != nullptr) return target;
  return zrt::fail(zrt::Errc::invalid_argument, "no modelled card is called '", device,
                   "': it is emulated- and its processor, as in emulated-gfx1201");
}

namespace {

/// A modelled card, and the threads that run its workgroups.
struct CardWithWorkers {
  CardWithWorkers(const zrt::pm4::emulator::Card& described, std::uint32_t threads)
      : started(threads > 1 ? workers.start(threads) : zrt::Result<void>{}),
        card(described, threads > 1 ? workers.hook() : zrt::ThreadHook{}) {}

  zrt::exec::ThreadPool workers{zrt::system_allocator()};
  zrt::Result<void> started;
  engines::ModelledCard card;
};

}  // namespace

Opened open_pm4(const std::string& path, const zrt::EngineOptions& options, const std::string& device) {
  using OnCard = ModelOf<zrt::Pm4Backend>;
  if (device.empty()) {
    auto os = std::make_shared<zrt::pm4::ChosenOs>();
    auto model = OnCard::open(path, options, {.os = os.get(), .kernels = engines::kernels()}, os);
    if (model || model.error().code() != zrt::Errc::unsupported_device) return model;
    zrt::Error error = model.error();
    return std::unexpected<zrt::Error>(error.append("; --device emulated-gfx1201 is a modelled card"));
  }
  const auto target = modelled_target(device);
  if (!target) return zrt::pass(target);
  auto machine = std::make_shared<CardWithWorkers>(
      zrt::pm4::emulator::Card{.target = *target, .video_bytes = kModelledBytes}, options.threads);
  if (auto r = machine->started; !r) return zrt::pass(r);
  engines::ModelledCard* const card = &machine->card;
  auto model = OnCard::open(path, options, {.os = &card->os(), .kernels = engines::kernels()}, machine);
  if (model || card->model().refusal().empty()) return model;
  zrt::Error error = model.error();
  return std::unexpected<zrt::Error>(error.append("; the device model says: ").append(card->model().refusal()));
}

}  // namespace program
