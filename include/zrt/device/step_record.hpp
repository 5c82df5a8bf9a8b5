// SPDX-License-Identifier: Apache-2.0
// zrt/device/step_record.hpp: what adapters have recorded of a step, before it becomes the commands of a device.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/device/kernel_call.hpp>
#include <zrt/device/kernel_signature.hpp>
#include <zrt/exec/step_bounds.hpp>
#include <zrt/ops/sample.hpp>

namespace zrt::inline ZRT_ABI::device {

/// One dispatch of the step.
struct RecordedLaunch {
  const KernelSignature* signature = nullptr;
  std::uint32_t kernel = 0;     ///< its number in the device's kernel set
  std::uint32_t arguments = 0;  ///< byte of its block among the arguments
  std::uint32_t grid = 0;       ///< its entry among the grids
  std::uint32_t first = 0;      ///< the number of its first workgroup on the first axis
  std::uint32_t instruction = 0;
  Opcode opcode{};
  bool barrier = false;  ///< waits for all before it, and sees what they wrote
};

/// A sample op of the step, of which the host does the rest when the step has ended.
struct RecordedSample {
  Call<Operands, ops::Sample> call{};
  bool by_kernel = false;  ///< the device takes every row's token, else the most likely one alone
};

/// Everything of a step but addresses of memory that its program has still to get.
struct StepRecord {
  explicit StepRecord(const Allocator& a) noexcept
      : launches(a), arguments(a), tables(a), grids(a), links(a), faults(a), samples(a) {}

  exec::StepBounds bounds{};
  bool times_launches = false;  ///< the commands write the device's clock behind each launch
  Vector<RecordedLaunch> launches;
  Vector<std::byte> arguments;  ///< blocks, each at a multiple of 16
  Vector<std::byte> tables;     ///< what adapters computed, each at a multiple of 16
  Vector<std::array<StepCount, 2>> grids;
  Vector<Link> links;            ///< `at` counts from the first argument block
  Vector<std::uint32_t> faults;  ///< the instruction of each fault word
  Vector<RecordedSample> samples;
};

}  // namespace zrt::inline ZRT_ABI::device
