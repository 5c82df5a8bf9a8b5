// SPDX-License-Identifier: Apache-2.0
// examples/zrt/machine.hpp: what the machine can do at this moment: read bandwidth and arithmetic peaks.
#pragma once

#include <zrt/core/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace program {

struct MachineRates {
  double memory_gbs = 0.0;    ///< reading a buffer beyond the caches, see read_buffer.hpp
  double resident_gbs = 0.0;  ///< reading a buffer as large as the model's weights again and again
  double int8_gops = 0.0;     ///< multiply and add count as two
  double f32_gflops = 0.0;
  double bf16_gflops = 0.0;  ///< 0 where the processor has no products of bf16
};

/// Measures with as many threads as the engine has workers. Holds no memory between measurements.
class Machine {
 public:
  /// `isa` is an instruction set as the engine names it; others are measured as plain C++.
  ///
  /// Errors: Errc::out_of_memory, see read_buffer_bytes().
  [[nodiscard]] static zrt::Result<Machine> make(std::uint32_t threads, std::string_view isa,
                                                 std::uint64_t weight_bytes);

  /// Takes about a fifth of a second. Errors: Errc::out_of_memory.
  [[nodiscard]] zrt::Result<MachineRates> measure() const;

  [[nodiscard]] std::uint64_t buffer_bytes() const { return buffer_bytes_; }
  [[nodiscard]] std::uint64_t cache_bytes() const { return cache_bytes_; }
  /// The processor as it names itself.
  [[nodiscard]] static std::string processor();

 private:
  Machine() = default;

  std::uint32_t threads_ = 1;
  std::string isa_{};
  std::uint64_t cache_bytes_ = 0;
  std::uint64_t resident_bytes_ = 0;
  std::uint64_t buffer_bytes_ = 0;
};

}  // namespace program
