// SPDX-License-Identifier: Apache-2.0
// zrt/engine/slot_context.hpp: how many positions a slot of an engine has.
#pragma once

#include <zrt/engine/options.hpp>
#include <zrt/model/config.hpp>

namespace zrt::inline ZRT_ABI {

/// Positions per slot: as the options say, or the model's own, at most 4096.
[[nodiscard]] constexpr std::uint32_t positions_per_slot(const EngineOptions& options,
                                                         const model::Config& config) noexcept {
  return options.context != 0 ? options.context : config.context < 4096 ? config.context : 4096;
}

}  // namespace zrt::inline ZRT_ABI
