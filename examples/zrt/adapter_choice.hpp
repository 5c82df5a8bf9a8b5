// SPDX-License-Identifier: Apache-2.0
// examples/zrt/adapter_choice.hpp: the LoRA adapter that the command line names.
#pragma once

#include <zrt/core/error.hpp>

#include <cstdint>
#include <string>

namespace program {

/// A file, and what its products count.
struct AdapterChoice {
  std::string path;
  float scale = 1.0f;
};

/// Reads FILE or FILE:SCALE.
[[nodiscard]] AdapterChoice adapter_choice(const std::string& text);

/// The largest rank in an adapter's file, for which the engine needs room.
[[nodiscard]] zrt::Result<std::uint32_t> adapter_rank(const std::string& path);

}  // namespace program
