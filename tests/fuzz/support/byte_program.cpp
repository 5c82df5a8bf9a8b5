// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/support/byte_program.cpp: programs that a fuzzer's bytes decide, compiled once for all targets.
#include <array>
#include <fuzz/support/byte_program.hpp>
#include <support/random_program.hpp>

namespace zrt::test {
namespace {

struct Bytes {
  std::span<const std::uint8_t> left;

  std::uint32_t operator()() noexcept {
    if (left.empty()) return 0;
    const std::uint32_t value = left.front();
    left = left.subspan(1);
    return value;
  }
};

}  // namespace

Result<ir::ptir::Program> program_of_bytes(std::span<const std::uint8_t> bytes, std::size_t instructions) {
  return RandomProgram<Bytes>(Bytes{bytes}).make(instructions);
}

Result<ir::ptir::Program> program_of_seed(std::uint32_t seed, std::size_t instructions) {
  std::mt19937 random(seed);
  std::array<std::uint8_t, 256> bytes{};
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return program_of_bytes(bytes, instructions);
}

}  // namespace zrt::test
