// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/step_commands.hpp: the packets of a step in the GPU's memory, and what a ring gets to start them.
#pragma once

#include <zrt/backend/pm4/backend_device.hpp>
#include <zrt/backend/pm4/step_packets.hpp>
#include <zrt/device/recorded_device.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// What a ring gets for a step, its fence left out. The packets themselves lie at the begin of the step's memory.
template <PacketTransport Transport> class StepCommands {
 public:
  using Start = FixedStream<kStepStartDwords>;

  explicit StepCommands(const Allocator& allocator) noexcept : pieces_(allocator) {}

  /// Bytes of memory for the packets of a record.
  [[nodiscard]] static CheckedSize bytes(const device::StepRecord& record) noexcept {
    return CheckedSize(record.launches.size()) * kLaunchDwords * 4 + 128;
  }

  /// Writes the packets for `Target`, and what starts them on the queue of `transport`.
  ///
  /// Errors: Errc::capacity_exceeded for more dwords than an indirect buffer has.
  template <class Target>
  [[nodiscard]] Result<void> write(const Transport& transport, Span<const Kernel> kernels,
                                   const device::PlacedStep<typename Transport::Memory>& step) noexcept {
    const std::uint64_t memory = step.memory.address(), words = step.words.address();
    PacketWriter<Target> packets({reinterpret_cast<std::uint32_t*>(step.memory.span().data()),
                                  static_cast<std::size_t>(step.layout.arguments / 4)});
    const StepPieces pieces = write_step(packets, step.record.launches.span(), kernels,
                                         {.arguments = memory + step.layout.arguments,
                                          .grids = memory + step.layout.grids,
                                          .progress = words + step.answers.progress,
                                          .times = step.record.times_launches ? words + step.answers.times : 0});
    if (const auto r = packets.finish(); !r) return pass(r);
    dwords_ = packets.size();
    if (dwords_ >= std::size_t{1} << 20)
      return fail(Errc::capacity_exceeded, "a step of ", dwords_, " dwords, an indirect buffer has fewer than ",
                  std::size_t{1} << 20);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < pieces.count; ++i) {
      Start piece;
      if (auto r = write_start<Target>(transport, memory, begin, pieces.ends[i], piece); !r) return r;
      if (auto r = pieces_.push_back(piece); !r) return r;
      begin = pieces.ends[i];
    }
    return write_start<Target>(transport, memory, 0, dwords_, whole_);
  }

  [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }
  /// What starts a piece, or device::kWholeStep.
  [[nodiscard]] Span<const std::uint32_t> start(std::size_t piece) const noexcept {
    return piece == device::kWholeStep ? whole_.span() : pieces_[piece].span();
  }
  /// Of the packets.
  [[nodiscard]] std::size_t dwords() const noexcept { return dwords_; }

 private:
  /// Starts the packets from one dword to another: the host has written before those of the first alone.
  template <class Target>
  [[nodiscard]] static Result<void> write_start(const Transport& transport, std::uint64_t packets, std::size_t begin,
                                                std::size_t end, Start& to) noexcept {
    PacketWriter<Target> start(to.words);
    const IndirectBuffer buffer =
        transport.indirect_buffer(packets + begin * 4, static_cast<std::uint32_t>(end - begin));
    if (begin == 0)
      write_step_start(start, buffer);
    else
      start.add(buffer);
    if (const auto r = start.finish(); !r) return pass(r);
    to.size = start.size();
    return {};
  }

  Start whole_{};         ///< of a step in one piece
  Vector<Start> pieces_;  ///< of one in several
  std::size_t dwords_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4
