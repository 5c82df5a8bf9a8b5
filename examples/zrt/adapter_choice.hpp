// SPDX-License-Identifier: Apache-2.0
// examples/zrt/adapter_choice.hpp: the LoRA adapter that the command line names.
#pragma once

#include <zrt/core/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace program {

/// A file, and what its products count.
struct AdapterChoice {
  std::string path;
  float scale = 1.0f;
};

/// An adapter with the name that requests give it.
struct NamedAdapter {
  std::string name;
  AdapterChoice choice;
};

/// Reads NAME=FILE or NAME=FILE:SCALE. Errors: Errc::invalid_argument for a text without a name or a file, for a name
/// that `taken` is or that an earlier one has.
[[nodiscard]] zrt::Result<std::vector<NamedAdapter>> named_adapters(const std::vector<std::string>& texts,
                                                                    const std::string& taken);

/// Reads FILE or FILE:SCALE.
[[nodiscard]] AdapterChoice adapter_choice(const std::string& text);

/// The largest rank in an adapter's file, for which the engine needs room.
[[nodiscard]] zrt::Result<std::uint32_t> adapter_rank(const std::string& path);
/// The largest rank in the files of all of them; 0 without any.
[[nodiscard]] zrt::Result<std::uint32_t> adapter_rank(const std::vector<NamedAdapter>& adapters);

}  // namespace program
