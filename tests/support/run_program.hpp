// SPDX-License-Identifier: Apache-2.0
// tests/support/run_program.hpp: programs of the portable tensor IR on backends that are compiled once.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/ir/ptir/program.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace zrt::test {

/// A tensor that a program takes or gives.
struct HostValue {
  TensorType type{};
  std::vector<std::byte> bytes;
};

/// What a program did: the error of making it ready, of running it, or what it gave.
struct ProgramRun {
  std::optional<Error> refused;
  std::optional<Error> failed;
  std::vector<HostValue> outputs;
  std::vector<std::string> ops;  ///< names of the plan's instructions in order, regions apart; a chain as its steps
  std::size_t chains = 0;        ///< of them that are element_chain
  std::uint64_t arena_bytes = 0;
};

/// Makes `program` ready on ReferenceBackend for inputs like `inputs` and runs it `times` times; loops end after
/// `trip_limit` trips.
[[nodiscard]] ProgramRun run_program(const ir::ptir::Program& program, std::span<const HostValue> inputs, int times = 1,
                                     std::uint64_t trip_limit = std::uint64_t{1} << 32, bool optimise = true);
/// The same on CpuBackend with two workers.
[[nodiscard]] ProgramRun run_program_on_cpu(const ir::ptir::Program& program, std::span<const HostValue> inputs,
                                            int times = 1);

}  // namespace zrt::test
