// SPDX-License-Identifier: Apache-2.0
// examples/zrt/card.hpp: the modelled cards that the command line names.
#pragma once

#include <pm4.hpp>
#include <string>

namespace program {

/// Memory of a modelled card: as much as it is told.
inline constexpr std::uint64_t kModelledBytes = std::uint64_t{16} << 30;

/// The processor of a modelled card called emulated-<processor>.
[[nodiscard]] zrt::Result<const zrt::pm4::TargetFacts*> modelled_target(std::string_view device);

}  // namespace program
