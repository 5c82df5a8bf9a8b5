// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/support/byte_program.hpp: programs that a fuzzer's bytes decide, compiled once for all targets.
#pragma once

#include <zrt/ir/ptir/program.hpp>

#include <cstdint>
#include <span>

namespace zrt::test {

/// A program of about `instructions` instructions, valid by construction; past the end `bytes` read as zeros.
[[nodiscard]] Result<ir::ptir::Program> program_of_bytes(std::span<const std::uint8_t> bytes, std::size_t instructions);

/// The same for bytes that follow from `seed`.
[[nodiscard]] Result<ir::ptir::Program> program_of_seed(std::uint32_t seed, std::size_t instructions);

}  // namespace zrt::test
