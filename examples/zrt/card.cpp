// SPDX-License-Identifier: Apache-2.0
// examples/zrt/card.cpp: the card that the command line names: the machine's own, or a modelled one.
#include "card.hpp"

#include <array>

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

struct TierSpelling {
  std::string_view spelling;
  zrt::pm4::Tier tier;
};
constexpr std::array kTierSpellings{TierSpelling{"user-queue", zrt::pm4::Tier::user_queue},
                                    TierSpelling{"kfd", zrt::pm4::Tier::kfd}};
static_assert(kTierSpellings.size() == zrt::pm4::kTiers.size());

}  // namespace

std::vector<std::string> tiers() {
  std::vector<std::string> names;
  for (const TierSpelling& known : kTierSpellings) names.emplace_back(known.spelling);
  return names;
}

std::vector<std::string> modelled_kernels() {
  std::vector<std::string> names;
  for (const zrt::emulator::KernelVersion& kernel : zrt::emulator::kKernels) names.emplace_back(kernel.name);
  return names;
}

std::optional<zrt::pm4::Tier> forced_tier(const CardChoice& choice) {
  for (const TierSpelling& known : kTierSpellings)
    if (known.spelling == choice.tier) return known.tier;
  return std::nullopt;
}

zrt::Result<std::unique_ptr<CardSystem>> CardSystem::make(const CardChoice& choice, std::uint64_t video_bytes,
                                                          std::uint32_t threads) {
  auto system = std::make_unique<CardSystem>();
  if (choice.device.empty()) return system;
  const auto target = modelled_target(choice.device);
  if (!target) return zrt::pass(target);
  for (const zrt::emulator::KernelVersion& kernel : zrt::emulator::kKernels)
    if (kernel.name == choice.kernel)
      system->model_.emplace(zrt::emulator::Card{.target = *target,
                                                 .video_bytes = video_bytes,
                                                 .kernel = kernel,
                                                 .follows_workgroups = choice.finds_races},
                             threads);
  if (auto r = system->model_->started; !r) return zrt::pass(r);
  return system;
}

zrt::emulator::Pm4Backend::DeviceOptions card_options(CardSystem& system, const CardChoice& choice) {
  return {.os = &system.os(),
          .kernels = engines::kernels(),
          .tier = forced_tier(choice),
          .tested = system.tested().cache()};
}

zrt::Error explained(const zrt::Error& error, CardSystem& system) {
  zrt::Error out = error;
  if (system.modelled() == nullptr) {
    if (error.code() == zrt::Errc::unsupported_device) out.append("; --device emulated-gfx1201 is a modelled card");
  } else if (error.text().find(" failed with ") != std::string_view::npos) {
    // A system call was refused. The reason of a question that may go unanswered is none for other errors.
    out.append("; the device model says: ").append(system.modelled()->model().refusal());
  }
  return out;
}

}  // namespace program
