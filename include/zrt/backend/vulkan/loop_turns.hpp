// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/loop_turns.hpp: how often a lane of a launch goes round its loops.
#pragma once

#include <zrt/device/kernel_abi.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::vulkan {

/// lavapipe ends the loops of a lane after so many turns of all of them together, and reports nothing. That in which a
/// loop finds its end is a turn too.
inline constexpr std::uint64_t kMostTurns = 65'535;

namespace detail {

constexpr std::uint64_t parts_of(std::uint64_t count, std::uint64_t size) noexcept { return (count + size - 1) / size; }

/// Of a row of a matrix times one token, or several between which it keeps their sums.
constexpr std::uint64_t row_turns(std::uint64_t cols, std::uint64_t block, std::uint64_t tokens) noexcept {
  const bool alone = tokens < 2;
  const std::uint64_t around = alone ? 1 : 2 * tokens + 3;
  if (block == 256) return cols / 256 * (alone ? 7 : 5 * tokens + 12) + around;
  return parts_of(cols, block == 1 ? 16 : 32) * (alone ? 1 : tokens + 2) + around;
}

constexpr std::uint64_t product_turns(bool vector, std::uint64_t block, std::uint64_t cols,
                                      std::uint64_t tokens) noexcept {
  if (vector) return row_turns(cols, block, std::min<std::uint64_t>(tokens, block == 1 ? 4 : 8));
  const std::uint64_t of_group = std::min<std::uint64_t>(tokens, 64);
  if (block == 1) return parts_of(of_group, 8) * (row_turns(cols, block, 1) + 1) + 1;
  const std::uint64_t together = block == 256 ? 8 : 16;
  return parts_of(of_group, 2 * together) * (row_turns(cols, block, together) + 1) + 1;
}

/// Of attention over `positions` positions, `window` of which are seen, 0 for all.
constexpr std::uint64_t attention_turns(std::uint64_t key_dim, std::uint64_t value_dim, std::uint64_t positions,
                                        std::uint64_t window) noexcept {
  const std::uint64_t lanes = parts_of(value_dim, 128);
  const std::uint64_t step = key_dim / 8 + key_dim % 8 + 26 * lanes + 13;
  const std::uint64_t segments = parts_of(positions, 512);
  const std::uint64_t seen = window == 0 ? segments : std::min(segments, parts_of(window, 512) + 1);
  return seen * (8 * step + 2 * lanes + 4) + 4 * lanes + parts_of(key_dim, 128) + 8;
}

constexpr std::uint64_t delta_net_turns(std::uint64_t tokens, std::uint64_t key_dim, std::uint64_t value_dim) noexcept {
  const std::uint64_t column = 2 * (key_dim / 8 + key_dim % 8 + 2) + 1;
  return tokens * (2 * parts_of(key_dim, 16) + parts_of(key_dim, 64) + parts_of(value_dim, 64) * column + 6) + 2;
}

constexpr std::uint64_t routing_turns(std::uint64_t experts) noexcept {
  return (parts_of(experts, 128) + 1) * (2 * experts + 64) + 4 * experts + 64;
}

/// Of a row whose candidates are all sorted and added up twice, in tiles of 1024.
constexpr std::uint64_t sampling_turns(std::uint64_t cols, std::uint64_t history, std::uint64_t biases) noexcept {
  const std::uint64_t tiles = parts_of(cols, 1024);
  std::uint64_t order = tiles * 52 + 3, widths = 0;
  for (std::uint64_t size = 1024; size < cols; size *= 2)
    order += ++widths * (parts_of(cols, 2048) + 2) + tiles * 9 + 4;
  const std::uint64_t sums = 2 * (tiles * 34 + 1);
  return 11 * (tiles + 1) + 300 + order + sums + 3 * (parts_of(history, 1024) + 1) + biases + 12;
}

}  // namespace detail

/// An upper bound of the turns of a lane in a launch of that kernel with those values, in the order of its arguments.
/// What is not known before a launch, the rows of a slot and its positions, counts as the most that the values allow.
[[nodiscard]] constexpr std::uint64_t loop_turns(const device::KernelAbi& kernel, std::string_view name,
                                                 Span<const std::uint32_t> values) noexcept {
  const std::string_view family = kernel.family;
  const auto value = [&](std::size_t i) { return i < values.size() ? std::uint64_t{values[i]} : 0; };
  const auto block = [&] {
    const device::UploadFunctions* const version = device::detail::version_of(kernel, name);
    return version == nullptr ? std::uint64_t{1} : std::uint64_t{info(version->dtype).block_elems};
  };
  if (family == "matvec" || family == "matmul")
    return detail::product_turns(family == "matvec", block(), value(1), value(2));
  if (family == "experts") return detail::row_turns(value(1), block(), 1) + value(2) + 1;
  if (family == "paged_attention")
    return detail::attention_turns(value(2), value(3), 16 * value(7), std::max(value(6), value(9)));
  if (family == "ssm_conv1d") return value(0) * (value(2) + 3) + value(2) + 3;
  if (family == "ssm_scan") return value(0) * (value(4) / 4 + value(4) % 4 + 4) + 2;
  if (family == "ssm_delta_net") return detail::delta_net_turns(value(0), value(3), value(4));
  if (family == "moe_route") return detail::routing_turns(value(0));
  if (family == "expert_sum") return value(1) + 1;
  if (family == "argmax") return detail::parts_of(value(0), 1024) + 66;
  if (family == "sample") return detail::sampling_turns(value(0), value(1), value(2));
  // Norms take two passes at most over a run by sixteen lanes, and one by all.
  if (family == "rms_norm" || family == "residual_rms_norm" || family == "layer_norm_runs" ||
      family == "ssm_gated_norm")
    return 2 * detail::parts_of(value(0), 16) + detail::parts_of(value(0), 256) + 3;
  if (family == "shared_expert") return detail::parts_of(value(0), 16) + detail::parts_of(value(1), 256) + 2;
  if (family == "rope") return detail::parts_of(value(1), 16) + 2;
  if (family == "kv_write") return detail::parts_of(std::max(value(1), value(2)), 32) + 1;
  if (family == "mla_kv_write") return detail::parts_of(value(0), 8) + detail::parts_of(value(1), 16) + 4;
  if (family == "rope_kv_write") return detail::parts_of(value(2), 8) + detail::parts_of(value(3), 32) + 4;
  return 16;
}

}  // namespace zrt::inline ZRT_ABI::vulkan
