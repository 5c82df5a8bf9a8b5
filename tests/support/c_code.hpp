// SPDX-License-Identifier: Apache-2.0
// tests/support/c_code.hpp: programs as C, built by the system's compiler in one call and loaded.
#pragma once

#include <span>
#include <string>
#include <support/run_program.hpp>
#include <vector>

namespace zrt::inline ZRT_ABI::ir::fused {
struct FusedProgram;
struct FeedType;
}  // namespace zrt::inline ZRT_ABI::ir::fused

namespace zrt::test {

/// Functions of one C file. `build` compiles it with warnings as errors and loads it; what was added is called
/// by its name.
class CCode {
 public:
  CCode();
  CCode(const CCode&) = delete;
  CCode& operator=(const CCode&) = delete;
  ~CCode();

  [[nodiscard]] Result<void> add(const std::string& name, const ir::ptir::Program& program,
                                 std::span<const HostValue> inputs, std::uint64_t trip_limit = std::uint64_t{1} << 32,
                                 bool optimise = true);
  [[nodiscard]] Result<void> add(const std::string& name, const ir::fused::FusedProgram& program,
                                 std::span<const ir::fused::FeedType> feeds);

  /// Empty, or what went wrong: the compiler's words.
  [[nodiscard]] std::string build();

  /// Runs a function; `outputs` have the types that it gives, and their bytes are written.
  [[nodiscard]] int call(const std::string& name, std::span<const HostValue> inputs, std::span<HostValue> outputs,
                         bool training = false) const;

 private:
  struct State;
  State* state_;
};

}  // namespace zrt::test
