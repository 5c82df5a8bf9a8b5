// SPDX-License-Identifier: Apache-2.0
// examples/zrt/engine_pm4.cpp: models on an AMD card, or on a modelled one.
#include "model_of.hpp"

#include <pm4.hpp>

namespace program {
namespace {

constexpr std::string_view kEmulated = "emulated-";

/// Room for what a model needs beside its weights; a modelled card has as much memory as it is told.
constexpr std::uint64_t kModelledBytes = std::uint64_t{16} << 30;

}  // namespace

Opened open_pm4(const std::string& path, const zrt::EngineOptions& options, const std::string& device) {
  using Model = ModelOf<zrt::Pm4Backend>;
  if (device.empty()) {
    auto os = std::make_shared<zrt::pm4::ChosenOs>();
    return Model::open(path, options, {.os = os.get(), .kernels = engines::kernels()}, os);
  }
  const std::string_view name(device);
  const zrt::pm4::TargetFacts* target =
      name.starts_with(kEmulated) ? zrt::pm4::find_target(name.substr(kEmulated.size())) : nullptr;
  if (target == nullptr)
    return zrt::fail(zrt::Errc::invalid_argument, "no device is called ", name,
                     "; a modelled card is emulated- and its processor, as in emulated-gfx1201");
  auto card = std::make_shared<engines::ModelledCard>(
      zrt::pm4::emulator::Card{.target = target, .video_bytes = kModelledBytes});
  auto model = Model::open(path, options, {.os = &card->os(), .kernels = engines::kernels()}, card);
  if (model || card->model().refusal().empty()) return model;
  zrt::Error error = model.error();
  return std::unexpected<zrt::Error>(error.append("; the device model says: ").append(card->model().refusal()));
}

}  // namespace program
