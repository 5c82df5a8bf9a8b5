// SPDX-License-Identifier: Apache-2.0
// examples/zrt/packet_cases.hpp: each form of each packet that zrt writes, with what it leaves in memory.
#pragma once

#include "open_card.hpp"

#include <cstring>
#include <vector>

namespace program {

/// A stream, and 64 bits of memory behind it.
struct PacketCase {
  enum class Result : std::uint8_t { nothing, value, clock };

  std::string name;
  std::vector<std::uint32_t> words;
  std::size_t at = 0;  ///< byte of the page
  Result result = Result::nothing;
  std::uint64_t expected = 0;
};

/// The cases, in an order in which what is used most comes first. `page` is writable by the card, `inside` readable.
template <class Target> class PacketCases {
 public:
  using Words = std::vector<std::uint32_t>;

  PacketCases(const CardQueue& queue, std::uint64_t page, CardMemory& inside, bool user_queue) : page_(page) {
    memory();
    waits();
    caches();
    registers();
    buffers(queue, inside);
    rare_releases();
    if (user_queue) add("PROTECTED_FENCE_SIGNAL", zrt::pm4::ProtectedFenceSignal{});
  }

  [[nodiscard]] const std::vector<PacketCase>& all() const { return cases_; }
  /// The streams of indirect buffers.
  [[nodiscard]] const std::vector<Words>& inside() const { return inside_; }

 private:
  using Result = PacketCase::Result;

  static constexpr std::array<std::uint32_t, 3> kThree{1, 2, 3};
  static constexpr std::uint64_t kWide = std::uint64_t{2} << 32 | 1;
  static constexpr std::uint64_t kFence = 0x1122'3344'5566'7788;
  // SCRATCH_REG0, which the amdgpu driver itself writes to try a ring.
  static constexpr std::uint16_t kScratchRegister = 0x40;

  template <class... Packets> static Words words(const Packets&... packets) {
    const auto stream = zrt::pm4::stream_of<Target>(packets...);
    return {stream.span().begin(), stream.span().end()};
  }
  template <class P> void add(std::string name, const P& packet) { cases_.push_back({std::move(name), words(packet)}); }
  /// A packet that writes to the next place of the page.
  template <class Make> void add_write(std::string name, std::uint64_t expected, Result result, const Make& make) {
    cases_.push_back({std::move(name), words(make(page_ + next_)), next_, result, expected});
    next_ += 16;
  }

  void memory() {
    using namespace zrt::pm4;
    add("NOP", Nop{kThree});
    cases_.push_back({"NOP of one dword, and the filler", {kNopWord, kFiller}});
    add_write("WRITE_DATA", kWide, Result::value, [](std::uint64_t to) { return WriteData{to, kThree}; });
    add_write("WRITE_DATA into the L2", kWide, Result::value,
              [](std::uint64_t to) { return WriteData{.address = to, .data = kThree, .to = WriteTo::l2}; });
    add_write("WRITE_DATA to one address", 3, Result::value,
              [](std::uint64_t to) { return WriteData{.address = to, .data = kThree, .one_address = true}; });
    add_write("WRITE_DATA that is not confirmed", kWide, Result::value,
              [](std::uint64_t to) { return WriteData{.address = to, .data = kThree, .confirmed = false}; });
    for (const bool past_l2 : {false, true}) {
      const std::string how = past_l2 ? " past the L2" : "";
      add_write("COPY_DATA of 32 bits" + how, 1, Result::value,
                [&](std::uint64_t to) { return CopyMemory{page_, to, false, past_l2}; });
      add_write("COPY_DATA of 64 bits" + how, kWide, Result::value,
                [&](std::uint64_t to) { return CopyMemory{page_, to, true, past_l2}; });
    }
    add_write("COPY_DATA of a value of 32 bits", 7, Result::value,
              [](std::uint64_t to) { return CopyImmediate{7, to, false}; });
    add_write("COPY_DATA of a value of 64 bits", kFence, Result::value,
              [](std::uint64_t to) { return CopyImmediate{kFence, to, true}; });
    add_write("COPY_DATA of the clock", 0, Result::clock, [](std::uint64_t to) { return CopyClock{to}; });
  }

  /// A reference that `value` compares with as wanted.
  static constexpr std::uint64_t reference(zrt::pm4::WaitCondition compare, std::uint64_t value) {
    using zrt::pm4::WaitCondition;
    if (compare == WaitCondition::greater) return value - 1;
    return compare == WaitCondition::less || compare == WaitCondition::not_equal ? value + 1 : value;
  }

  /// Of the first words of the page, which WRITE_DATA has left there.
  void waits() {
    using namespace zrt::pm4;
    for (const NamedValue& function : fields::kCompare) {
      const auto compare = static_cast<WaitCondition>(function.value);
      const std::string name = " until " + std::string(function.name);
      add("WAIT_REG_MEM" + name,
          WaitMemory{
              .address = page_, .reference = static_cast<std::uint32_t>(reference(compare, 1)), .compare = compare});
      add("WAIT_REG_MEM64" + name,
          WaitMemory64{.address = page_, .reference = reference(compare, kWide), .compare = compare});
    }
    add("WAIT_REG_MEM of some bits", WaitMemory{.address = page_ + 8, .reference = 2, .mask = 2});
    add("WAIT_REG_MEM that may be preempted", WaitMemory{.address = page_, .reference = 1, .preemptable = true});
    add("WAIT_REG_MEM64 that may be preempted",
        WaitMemory64{.address = page_, .reference = kWide, .preemptable = true});
    add("WAIT_REG_MEM of the host data path", WriteWaitRegister{kHdpFlushRequest, kHdpFlushDone});
  }

  void caches() {
    using namespace zrt::pm4;
    for (const NamedValue& sequence : fields::kSequence)
      for (const CacheActions& caches : {kAcquireAll, kAcquireWrites})
        add("ACQUIRE_MEM, " + std::string(sequence.name),
            AcquireMem{caches, static_cast<CacheSequence>(sequence.value)});
    add("EVENT_WRITE", PartialFlush{});
    add_write("RELEASE_MEM of 64 bits", kFence, Result::value,
              [](std::uint64_t to) { return ReleaseMem{.address = to, .value = kFence}; });
    add_write("RELEASE_MEM of 32 bits", kFence & 0xffffffff, Result::value, [](std::uint64_t to) {
      return ReleaseMem{.address = to, .value = kFence, .data = ReleaseData::low_32_bits};
    });
    add_write("RELEASE_MEM of the clock", 0, Result::clock,
              [](std::uint64_t to) { return ReleaseMem{.address = to, .data = ReleaseData::gpu_clock}; });
    add_write("RELEASE_MEM of the clock, caches left alone", 0, Result::clock, [](std::uint64_t to) {
      return ReleaseMem{
          .address = to, .data = ReleaseData::gpu_clock, .event = ReleaseEvent::bottom_of_pipe, .writes_back = false};
    });
    add_write("RELEASE_MEM with an interrupt", kFence, Result::value, [](std::uint64_t to) {
      return ReleaseMem{.address = to, .value = kFence, .interrupt = ReleaseInterrupt::after_write};
    });
  }

  void registers() {
    using namespace zrt::pm4;
    add("SET_SH_REG", SetShReg{register_offset("COMPUTE_USER_DATA_"), kThree});
    add("SET_UCONFIG_REG", SetUconfigReg{kScratchRegister, std::span(kThree).first(1)});
  }

  void buffers(const CardQueue& queue, CardMemory& inside) {
    using namespace zrt::pm4;
    const auto place = [&](std::size_t at, Words stream) {
      std::memcpy(inside.span().data() + at, stream.data(), stream.size() * 4);
      auto packet = queue.indirect_buffer(inside.address() + at, static_cast<std::uint32_t>(stream.size()));
      inside_.push_back(std::move(stream));
      return packet;
    };
    const auto plain = place(0, words(WriteData{page_ + next_, kThree}));
    add_write("INDIRECT_BUFFER", kWide, Result::value, [&](std::uint64_t) { return plain; });
    auto chained = place(1024, words(WriteData{page_ + next_, kThree}));
    chained.chain = true;
    const auto first = place(2048, words(Nop{kThree}, chained));
    add_write("INDIRECT_BUFFER with a chain", kWide, Result::value, [&](std::uint64_t) { return first; });
  }

  void rare_releases() {
    using namespace zrt::pm4;
    add("RELEASE_MEM of nothing with an interrupt",
        ReleaseMem{.address = page_, .data = ReleaseData::none, .interrupt = ReleaseInterrupt::alone});
    add_write("RELEASE_MEM behind confirmed writes", kFence, Result::value, [](std::uint64_t to) {
      return ReleaseMem{.address = to, .value = kFence, .interrupt = ReleaseInterrupt::no_but_late};
    });
    add_write("RELEASE_MEM into the L2", kFence, Result::value,
              [](std::uint64_t to) { return ReleaseMem{.address = to, .value = kFence, .to_l2 = true}; });
    add_write("RELEASE_MEM at the bottom of the pipe", kFence, Result::value, [](std::uint64_t to) {
      return ReleaseMem{.address = to, .value = kFence, .event = ReleaseEvent::bottom_of_pipe};
    });
    add_write("RELEASE_MEM behind all waves", kFence, Result::value, [](std::uint64_t to) {
      return ReleaseMem{.address = to, .value = kFence, .event = ReleaseEvent::shaders_done};
    });
  }

  std::uint64_t page_;
  std::size_t next_ = 0;
  std::vector<PacketCase> cases_{};
  std::vector<Words> inside_{};
};

}  // namespace program
