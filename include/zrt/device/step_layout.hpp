// SPDX-License-Identifier: Apache-2.0
// zrt/device/step_layout.hpp: where commands, arguments and a step's data lie, and what a step patches there.
#pragma once

#include <zrt/device/step_record.hpp>
#include <zrt/ops/execution_context.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Bytes from one grid in memory to the next: three counts and a gap.
inline constexpr std::size_t kGridBytes = 16;

/// Offsets of a program's parts in its memory, which the device only reads. The commands come first, where a device has
/// them in memory.
struct StepLayout {
  std::uint64_t arguments = 0;
  std::uint64_t tables = 0;
  std::uint64_t grids = 0;
  std::uint64_t slots = 0;
  std::uint64_t positions = 0;
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;

  /// Errors: Errc::size_overflow.
  [[nodiscard]] static Result<StepLayout> of(const StepRecord& record, CheckedSize commands = 0) noexcept {
    StepLayout layout;
    CheckedSize end = commands;
    auto part = [&end](std::uint64_t& at, CheckedSize size) {
      end = end.aligned(64);
      at = end.raw();
      end += size;
    };
    const exec::StepBounds& b = record.bounds;
    // A load may take four words where three are wanted.
    part(layout.arguments, CheckedSize(record.arguments.size()) + 16);
    part(layout.tables, record.tables.size());
    part(layout.grids, CheckedSize(record.grids.size()) * kGridBytes);
    part(layout.slots, CheckedSize(b.tokens) * 4);
    part(layout.positions, CheckedSize(b.tokens) * 4);
    part(layout.pages, CheckedSize(b.groups) * b.slots * b.pages_per_slot * 4);
    const auto bytes = end.get("the memory of a recorded step");
    if (!bytes) return pass(bytes);
    layout.bytes = *bytes;
    return layout;
  }

  /// Where a link of an argument block leads, the program's memory and its fault words beginning at these addresses.
  [[nodiscard]] std::uint64_t target(const Link& link, const exec::StepBounds& bounds, std::uint64_t memory,
                                     std::uint64_t faults) const noexcept {
    switch (link.kind) {
      case LinkKind::count:
        break;
      case LinkKind::table:
        return memory + tables + link.offset;
      case LinkKind::slots:
        return memory + slots;
      case LinkKind::positions:
        return memory + positions;
      case LinkKind::pages:
        return memory + pages + std::uint64_t{link.offset} * bounds.slots * bounds.pages_per_slot * 4;
      case LinkKind::fault:
        return faults + std::uint64_t{link.offset} * 4;
    }
    return 0;
  }
};

/// Offsets in the memory that the device writes for the host: a fault word for each instruction that may have a fault, where
/// the step stands, and the clock at the step's begin and behind each launch.
struct StepAnswers {
  std::uint64_t progress = 0;
  std::uint64_t times = 0;
  std::uint64_t bytes = 0;

  /// Errors: Errc::size_overflow.
  [[nodiscard]] static Result<StepAnswers> of(const StepRecord& record) noexcept {
    const CheckedSize progress = CheckedSize(record.faults.size()) * 4, times = (progress + 4).aligned(8);
    const auto bytes = (times + (record.times_launches ? (CheckedSize(record.launches.size()) + 1) * 8 : 0))
                           .get("what a recorded step tells");
    if (!bytes) return pass(bytes);
    return StepAnswers{progress.raw(), record.times_launches ? times.raw() : 0, *bytes};
  }
};

/// Writes the counts of a step: grids, and counts among the kernels' values.
inline void write_counts(const StepRecord& record, const StepLayout& layout, const Extents& step,
                         std::byte* memory) noexcept {
  for (std::size_t i = 0; i < record.grids.size(); ++i) {
    std::byte* const grid = memory + layout.grids + i * kGridBytes;
    write_little(grid, record.grids[i][0].in(step));
    write_little(grid + 4, record.grids[i][1].in(step));
    write_little(grid + 8, std::uint32_t{1});
  }
  for (const Link& link : record.links)
    if (link.kind == LinkKind::count) write_little(memory + layout.arguments + link.at, link.count.in(step));
}

/// Writes slots and positions of a step's tokens, and the pages that its slots may reach.
inline void write_batch(const StepRecord& record, const StepLayout& layout, const ExecutionContext& step,
                        std::byte* memory) noexcept {
  const exec::StepBounds& b = record.bounds;
  if (b.tokens == 0 || step.slots == nullptr || step.positions == nullptr) return;
  std::memcpy(memory + layout.slots, step.slots, std::size_t{step.tokens} * 4);
  std::memcpy(memory + layout.positions, step.positions, std::size_t{step.tokens} * 4);
  if (step.pages == nullptr) return;
  for (std::uint32_t t = 0; t < step.tokens; ++t) {
    // Rows of a slot follow each other in the order of their positions: its last one reaches furthest.
    if (t + 1 < step.tokens && step.slots[t + 1] == step.slots[t]) continue;
    const std::size_t bytes = (std::size_t{step.positions[t]} / kPageTokens + 1) * 4;
    for (std::uint32_t group = 0; group < b.groups; ++group) {
      const std::uint64_t at = (std::uint64_t{group} * b.slots + step.slots[t]) * b.pages_per_slot * 4;
      std::memcpy(memory + layout.pages + at, step.page_list(group, step.slots[t]), bytes);
    }
  }
}

}  // namespace zrt::inline ZRT_ABI::device
