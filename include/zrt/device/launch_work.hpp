// SPDX-License-Identifier: Apache-2.0
// zrt/device/launch_work.hpp: how much a launch has to do, reckoned before it runs.
#pragma once

#include <zrt/device/kernel_abi.hpp>
#include <zrt/device/launch_values.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::device {

namespace detail {

/// A weight is read once for all tokens, which takes as long as so many multiply-adds.
inline constexpr std::uint64_t kReadWork = 4;

/// No product of numbers from a file overflows, nor do sums of such products over a step.
inline constexpr std::uint64_t kMostWork = std::uint64_t{1} << 48;
constexpr std::uint64_t work_of(std::initializer_list<std::uint64_t> factors) noexcept {
  CheckedSize product = 1;
  for (const std::uint64_t factor : factors) product *= factor;
  return product.ok() && product.raw() < kMostWork ? product.raw() : kMostWork;
}

}  // namespace detail

/// About how many multiply-adds a launch takes, bytes read counted as such: good for comparing launches of one device.
/// `values` are the launch's in the order of its arguments, `grid` its workgroups, and no token of the step stands behind
/// position `furthest`. A kernel that is not known counts its lanes.
[[nodiscard]] constexpr std::uint64_t launch_work(std::string_view kernel, std::uint32_t lanes,
                                                  Span<const std::uint32_t> values,
                                                  const std::array<std::uint32_t, 2>& grid,
                                                  std::uint32_t furthest) noexcept {
  const KernelAbi* const abi = find_kernel_abi(kernel);
  const std::string_view family = abi == nullptr ? kernel : abi->family;
  const auto value = [&](std::size_t i) { return i < values.size() ? std::uint64_t{values[i]} : 0; };
  const std::uint64_t x = grid[0], y = grid[1];
  if (family == "matvec" || family == "matmul")
    return detail::work_of({value(0), value(1), value(2) + detail::kReadWork});
  if (family == "experts" || family == "lora_rows")
    return detail::work_of({value(0), value(1), y, 1 + detail::kReadWork});
  if (family == "paged_attention") {
    const std::uint64_t window = std::max(value(6), value(9)), all = std::uint64_t{furthest} + 1;
    return detail::work_of({x, y, value(2) + value(3), window == 0 ? all : std::min(all, window)});
  }
  if (family == "ssm_scan") return detail::work_of({value(0), value(1), value(2), value(4) + detail::kReadWork});
  if (family == "ssm_delta_net") return detail::work_of({value(0), value(2), value(3), value(4), 4});
  if (family == "moe_route") return detail::work_of({x, y, value(0), value(1) + detail::kReadWork});
  if (family == "sample") return detail::work_of({x, y, value(0), 4 * detail::kReadWork});
  if (family == "argmax" || family == "rms_norm" || family == "residual_rms_norm" || family == "layer_norm_runs" ||
      family == "ssm_gated_norm" || family == "shared_expert")
    return detail::work_of({x, y, value(0), detail::kReadWork});
  return detail::work_of({x, y, lanes, detail::kReadWork});
}

/// Calls `visit(launch number, work)` for each launch of a step.
template <class Visit>
void for_each_work(const StepRecord& record, const Extents& step, std::uint32_t furthest, const Visit& visit) noexcept {
  LaunchValues values(record, step);
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const RecordedLaunch& launch = record.launches[i];
    const auto& grid = record.grids[launch.grid];
    visit(i, launch_work(launch.signature->name.view(), launch.signature->lanes, values.of(launch),
                         {grid[0].in(step), grid[1].in(step)}, furthest));
  }
}

}  // namespace zrt::inline ZRT_ABI::device
