// SPDX-License-Identifier: Apache-2.0
// examples/zrt/program_file.hpp: a tensor program and its inputs from files.
#pragma once

#include "npy.hpp"
#include <zrt/ir/ptir/program.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace program {

/// The program in a file; of `feeds`, those that became part of it are taken off.
[[nodiscard]] zrt::Result<zrt::ir::ptir::Program> read_program(const std::string& path, std::vector<std::string>& feeds,
                                                               std::optional<std::int64_t> unrolled_trips);

/// The name of an input, or its id.
[[nodiscard]] std::string input_name(const zrt::ir::ptir::Parameter& input);

/// The fed tensors in the order of the inputs; an input without one is empty and of no shape.
[[nodiscard]] zrt::Result<std::vector<std::optional<Array>>> read_feeds(const zrt::ir::ptir::Program& source,
                                                                        const std::vector<std::string>& feeds);

/// The shapes to make the program ready for; without a tensor, an input's own where they are constants.
[[nodiscard]] zrt::Result<std::vector<zrt::ir::ptir::Shape>> shapes_of(const zrt::ir::ptir::Program& source,
                                                                       const std::vector<std::optional<Array>>& arrays);

}  // namespace program
