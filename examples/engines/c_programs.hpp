// SPDX-License-Identifier: Apache-2.0
// examples/engines/c_programs.hpp: programs as C99, compiled elsewhere (programs_reference.cpp).
#pragma once

#include <zrt/plan/c/convert.hpp>

namespace engines {

/// zrt::plan::c::to_c, of either kind.
[[nodiscard]] zrt::Result<zrt::String> to_c(const zrt::ir::ptir::Program& program,
                                            std::span<const zrt::ir::ptir::Shape> shapes,
                                            const zrt::plan::c::Options& options = {});
[[nodiscard]] zrt::Result<zrt::String> to_c(const zrt::ir::fused::FusedProgram& program,
                                            std::span<const zrt::ir::fused::FeedType> feeds,
                                            zrt::ir::fused::CutWire* cut);
/// zrt::plan::c::to_package.
[[nodiscard]] zrt::Result<zrt::plan::c::Package> to_c_package(const zrt::ir::ptir::Program& program,
                                                              std::span<const zrt::ir::ptir::Shape> shapes,
                                                              bool threads, const zrt::plan::c::Options& options = {});
/// zrt::plan::c::add_program, of either kind.
[[nodiscard]] zrt::Result<void> add_to_c(zrt::plan::c::Module& module, std::string_view name,
                                         const zrt::ir::ptir::Program& program,
                                         std::span<const zrt::ir::ptir::Shape> shapes,
                                         const zrt::plan::c::Options& options);
[[nodiscard]] zrt::Result<void> add_to_c(zrt::plan::c::Module& module, std::string_view name,
                                         const zrt::ir::fused::FusedProgram& program,
                                         std::span<const zrt::ir::fused::FeedType> feeds);

/// zrt::plan::c::bound.
[[nodiscard]] float c_bound(zrt::Opcode opcode) noexcept;

}  // namespace engines
