// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/selftest/run_case.hpp: a kernel on a card, on the operands of a case, held to its results.
#pragma once

#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/heap.hpp>
#include <zrt/backend/pm4/kernel_table.hpp>
#include <zrt/core/little_endian.hpp>
#include <zrt/device/selftest/kernel_case.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// How a launch gets its grid: within the packet, or from memory as the steps of an engine do.
enum class GridSource : std::uint8_t { packet, memory };

/// Launches a kernel on the operands of its case, each in memory of its own, and compares what it leaves.
/// `submit(packets)` runs packets to their end and gives a Result<void>.
///
/// Errors: Errc::invalid_file for a kernel with other arguments; spec_violation for another result; those of Memory and
/// of `submit`.
template <class Target, class Memory, class Submit>
[[nodiscard]] Result<void> run_case(const typename Memory::Device& device, const Kernel& kernel,
                                    const device::KernelCase& c, GridSource grid, Submit&& submit) noexcept {
  if (kernel.signature.buffers != c.buffers().size() || kernel.signature.value_bytes != c.values().size() * 4)
    return fail(Errc::invalid_file, "it has ", kernel.signature.buffers, " buffers and ", kernel.signature.value_bytes,
                " bytes of values, ", c.buffers().size(), " and ", c.values().size() * 4, " expected");
  auto arguments = Memory::allocate(device, Heap::bar, kPageBytes, GpuAccess::read);
  if (!arguments) return pass(arguments);
  std::byte* to = arguments->span().data();
  std::array<Memory, device::KernelCase::kMostBuffers> memories{};
  for (std::size_t i = 0; i < c.buffers().size(); ++i) {
    const device::CaseBuffer& buffer = c.buffers()[i];
    if (!buffer.before.empty()) {
      // What is read lies in video memory, what is written in the host's.
      const bool written = buffer.is_written();
      auto memory = Memory::allocate(device, written ? Heap::host_visible : Heap::bar, buffer.before.size(),
                                     written ? GpuAccess::read_write : GpuAccess::read);
      if (!memory) return pass(memory);
      std::memcpy(memory->span().data(), buffer.before.data(), buffer.before.size());
      memories[i] = std::move(*memory);
    }
    write_little(to, buffer.before.empty() ? std::uint64_t{0} : memories[i].address());
    to += 8;
  }
  for (const std::uint32_t value : c.values()) {
    write_little(to, value);
    to += 4;
  }
  // Behind the arguments.
  constexpr std::size_t counts = kPageBytes / 2;
  for (std::size_t i = 0; i < 3; ++i) write_little(arguments->span().data() + counts + i * 4, c.grid()[i]);
  std::array<std::uint32_t, 256> words{};
  PacketWriter<Target> writer(words);
  write_full_barrier(writer);
  const bool indirect = grid == GridSource::memory;
  // An indirect launch takes the registers of one that starts nothing.
  write_dispatch(writer, {.program = kernel.program,
                          .arguments = arguments->address(),
                          .workgroup = kernel.workgroup,
                          .grid = indirect ? std::array<std::uint32_t, 3>{0, 1, 1} : c.grid(),
                          .wave32 = kernel.wave32});
  if (indirect) {
    writer.add(DispatchIndirect{arguments->address() + counts, {.wave32 = kernel.wave32}});
    writer.add(PartialFlush{});
  }
  const auto packets = writer.finish();
  if (!packets) return pass(packets);
  if (auto r = submit(*packets); !r) return r;
  for (std::size_t i = 0; i < c.buffers().size(); ++i) {
    const Span<const std::byte> after = c.buffers()[i].after;
    for (std::size_t at = 0; at < after.size(); ++at)
      if (const std::byte found = memories[i].span()[at]; found != after[at])
        return fail(Errc::spec_violation, "byte ", at, " of buffer ", i, " is ", static_cast<unsigned>(found), ", ",
                    static_cast<unsigned>(after[at]), " expected", indirect ? " (indirect launch)" : "");
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
