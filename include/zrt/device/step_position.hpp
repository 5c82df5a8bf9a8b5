// SPDX-License-Identifier: Apache-2.0
// zrt/device/step_position.hpp: where in its launches a step stands, as its commands tell it.
#pragma once

#include <zrt/device/step_record.hpp>
#include <zrt/ops/catalog.hpp>
#include <zrt/ops/op_table.hpp>

namespace zrt::inline ZRT_ABI::device {

/// A step's commands write where they are into a word that the host sees: 0 before them all, n + 1 once every launch before
/// the n-th (from 0) has ended, which each barrier and the end of the step know.
inline constexpr std::uint32_t kNotBegun = 0;
[[nodiscard]] constexpr std::uint32_t position_before(std::size_t launch) noexcept {
  return static_cast<std::uint32_t>(launch) + 1;
}

/// The error of a queue that runs a step, with the launch in front that has not ended, its kernel and its op, and the
/// instruction. Launches that no barrier parts may run at once: then it is one of them.
[[nodiscard]] inline std::unexpected<Error> at_launch(const Error& why, Span<const RecordedLaunch> launches,
                                                      std::uint32_t position) noexcept {
  Error error(why.code());
  if (position == kNotBegun || position > position_before(launches.size())) {
    error.append("the step has not begun: ");
  } else if (position == position_before(launches.size())) {
    error.append("every launch has ended: ");
  } else {
    const std::size_t first = position - position_before(0);
    std::size_t end = first + 1;
    while (end < launches.size() && !launches[end].barrier) ++end;
    const RecordedLaunch& launch = launches[first];
    const OpRow* const op = kOpTable<ops::Catalog>[number(launch.opcode)];
    error.append("launch ").append(first + 1);
    if (end != first + 1) error.append('-').append(end);
    error.append(" of ").append(launches.size()).append(", ").append(launch.signature->name.view());
    if (op != nullptr && op->name != launch.signature->name.view()) error.append(" of ").append(op->name);
    error.append(": ").at_instruction(launch.instruction, number(launch.opcode));
  }
  return std::unexpected<Error>(error.append(why.text()));
}

}  // namespace zrt::inline ZRT_ABI::device
