// SPDX-License-Identifier: Apache-2.0
// zrt/ops/data_fault.hpp: which element of an operand broke an op's contract.
#pragma once

#include <zrt/ops/host.hpp>
#include <zrt/ops/index_operand.hpp>
#include <zrt/ops/op.hpp>

#include <concepts>
#include <optional>

namespace zrt::inline ZRT_ABI {

/// The first element of an operand that breaks the contract of its op.
struct DataFault {
  enum class Kind : std::uint8_t { index, divisor };

  std::uint32_t input = 0;    ///< the operand that holds it
  std::uint64_t element = 0;  ///< its place there, in row-major order
  std::int64_t value = 0;
  std::uint64_t extent = 0;  ///< an index must be below
  Kind kind = Kind::index;
};

/// An op that finds what broke its contract, in the operands as they were before it ran. Nothing asks during a step:
/// whoever reports a fault runs what is before the op again, and then asks.
template <class O>
concept FindsFault = requires(const HostCall<O>& c, const ExecutionContext& step) {
  { O::find_fault(c, step) } noexcept -> std::same_as<std::optional<DataFault>>;
};

namespace ops {

/// The first index of operand `input` that is outside [0, extent).
[[nodiscard]] inline std::optional<DataFault> first_outside(const HostTensor& indices, const ExecutionContext& step,
                                                            std::uint32_t input, std::uint64_t extent) noexcept {
  const std::uint64_t count = indices.elements(step);
  for (std::uint64_t i = 0; i < count; ++i)
    if (const std::uint64_t index = index_at(indices, i); index >= extent)
      return DataFault{input, i, static_cast<std::int64_t>(index), extent};
  return std::nullopt;
}

}  // namespace ops

}  // namespace zrt::inline ZRT_ABI
