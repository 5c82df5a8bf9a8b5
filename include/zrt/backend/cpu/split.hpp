// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/split.hpp: which part of an instruction's outputs a worker computes.
#pragma once

#include <zrt/ops/execution_context.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// Indices first..last-1.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Cuts 0..total into one contiguous range per worker, each a multiple of `granule` but the last.
[[nodiscard]] inline Range split(std::uint64_t total, std::uint64_t granule, const Worker& worker) noexcept {
  const std::uint64_t pieces = (total + granule - 1) / granule;
  const std::uint64_t first = pieces * worker.index / worker.count * granule;
  const std::uint64_t last = pieces * (worker.index + 1u) / worker.count * granule;
  return {first < total ? first : total, last < total ? last : total};
}

}  // namespace zrt::inline ZRT_ABI::cpu
