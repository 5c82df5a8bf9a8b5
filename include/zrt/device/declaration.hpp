// SPDX-License-Identifier: Apache-2.0
// zrt/device/declaration.hpp: what a device is asked for, and the names of steps, for sources that call engines compiled elsewhere.
#pragma once

#include <zrt/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::device {

struct StepRecord;
template <class Memory> struct PlacedStep;

/// What memory is for, by which a device chooses where it lies.
enum class MemoryRole : std::uint8_t {
  arena,    ///< tensors and state: kernels read and write it
  weights,  ///< the host writes it once, kernels read it
  program,  ///< the host writes it through span() before a step; kernels and commands read it
  answers,  ///< kernels and commands write it; the host reads it through span() when a step has ended
};

/// In place of a piece's number: all commands of a step at once.
inline constexpr std::size_t kWholeStep = ~std::size_t{0};

}  // namespace zrt::inline ZRT_ABI::device
