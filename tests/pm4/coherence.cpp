// SPDX-License-Identifier: Apache-2.0
// tests/pm4/coherence.cpp: each packet that orders two dispatches, or a dispatch and the host, is left out in turn.
#include <zrt/emulator/command_processor.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <pm4/isa_interpreter.hpp>
#include <pm4/scaled_add.hpp>

namespace coherence_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::emulator;
using zrt::Result;
using zrt::test::Words;

constexpr std::uint64_t kCode = 0x100000, kArguments = 0x200000, kIn = 0x300000, kMiddle = 0x400000, kOut = 0x500000;
constexpr std::uint64_t kFence = 0x600000, kBar = 0x700000;
constexpr std::uint32_t kCount = 40;

/// Code that came through the BAR, arguments, inputs and results in the host's memory, and memory of the card between,
/// which the host sees or not.
template <class Target> class Machine {
 public:
  Machine() : code_(zrt::test::scaled_add(std::string(Target::name), descriptor_).value()) {
    const auto map = [&](std::uint64_t at, std::vector<std::byte>& bytes, Permission permission, HostView host) {
      const std::string name = "region " + std::to_string(at >> 20);
      EXPECT_TRUE(space_.map(at, bytes, permission, name, host));
    };
    const Permission writable = Permission::read | Permission::write;
    map(kCode, code_, Permission::read | Permission::execute, HostView::bar);
    map(kArguments, arguments_, Permission::read, HostView::memory);
    map(kIn, in_, Permission::read, HostView::memory);
    map(kMiddle, middle_, writable, HostView::none);
    map(kOut, out_, writable, HostView::memory);
    map(kFence, fence_, writable, HostView::memory);
    map(kBar, bar_, writable, HostView::bar);
    for (std::uint32_t i = 0; i < kCount; ++i)
      zrt::write_little(in_.data() + std::size_t{4} * i, std::bit_cast<std::uint32_t>(static_cast<float>(i)));
    arguments(0, kMiddle, kIn, kIn);
    arguments(1, kOut, kMiddle, kIn);
  }
  /// What the dispatch of that number reads and writes.
  void arguments(std::size_t number, std::uint64_t out, std::uint64_t a, std::uint64_t b,
                 std::uint32_t count = kCount) {
    std::byte* const at = arguments_.data() + 64 * number;
    zrt::write_little(at, a);
    zrt::write_little(at + 8, b);
    zrt::write_little(at + 16, out);
    zrt::write_little(at + 24, count);
  }
  Launch launch(std::size_t number) const {
    return {.program = program_registers<Target>(descriptor_, kCode).value(),
            .arguments = kArguments + 64 * number,
            .workgroup = {256, 1, 1}};
  }
  /// Packets that `write(writer)` writes.
  template <class Write> static Words words(Write&& write) {
    Words words(256);
    PacketWriter<Target> writer(words);
    write(writer);
    EXPECT_TRUE(writer.finish());
    words.resize(writer.size());
    return words;
  }
  Words barrier() const {
    return words([](auto& w) { write_full_barrier(w); });
  }
  /// As write_dispatch() makes it: ACQUIRE_MEM, registers, DISPATCH_DIRECT, CS_PARTIAL_FLUSH.
  Words dispatch(std::size_t number) const {
    return words([&](auto& w) { write_dispatch(w, launch(number)); });
  }
  Words fence() const {
    return words([](auto& w) { write_fence(w, kFence, 1); });
  }

  CommandProcessor& queue() { return queue_; }
  std::string run(const Words& stream) {
    const auto ran = queue_.run(stream, [](const Dispatch& dispatch, const AddressSpace& memory) -> Result<void> {
      const auto done = zrt::test::run_dispatch(dispatch, memory);
      if (!done) return zrt::pass(done);
      return {};
    });
    return ran ? "" : std::string(ran.error().text());
  }
  float result(std::size_t i) const {
    return std::bit_cast<float>(zrt::read_little<std::uint32_t>(out_.data() + 4 * i));
  }
  std::vector<std::byte>& in() { return in_; }
  std::vector<std::byte>& bar() { return bar_; }
  std::vector<std::byte>& block() { return arguments_; }

 private:
  KernelDescriptor descriptor_{};
  std::vector<std::byte> code_, arguments_ = std::vector<std::byte>(4096), in_ = arguments_, middle_ = arguments_,
                                out_ = arguments_, fence_ = arguments_, bar_ = arguments_;
  AddressSpace space_{};
  CommandProcessor queue_{space_, kTargetFacts<Target>};
};

/// What a packet reads of the card's memory that the host wrote.
template <class Target> std::string read_through_bar(const Words& before, HostView view = HostView::bar) {
  std::vector<std::byte> page(4096, std::byte{1}), out(4096);
  AddressSpace space;
  EXPECT_TRUE(space.map(kIn, page, Permission::read, "page", view));
  EXPECT_TRUE(space.map(kOut, out, Permission::read | Permission::write, "out"));
  CommandProcessor queue(space, kTargetFacts<Target>);
  Words stream = before;
  const auto copy = stream_of<Target>(CopyMemory{kIn + 8, kOut, true});
  stream.insert(stream.end(), copy.span().begin(), copy.span().end());
  const auto ran = queue.run(stream, [](const Dispatch&, const AddressSpace&) -> Result<void> { return {}; });
  return ran ? "" : std::string(ran.error().text());
}

template <class... Streams> Words join(const Streams&... streams) {
  Words all;
  (all.insert(all.end(), streams.begin(), streams.end()), ...);
  return all;
}

/// The packets of a stream that are not registers and grids, each left out in turn.
std::vector<std::pair<std::string, Words>> without_each(const Words& stream, Generation generation) {
  std::vector<std::pair<std::string, Words>> all;
  PacketReader reader(stream, generation);
  while (!reader.done()) {
    const auto packet = reader.next();
    if (!packet) break;
    if (packet->kind == &kSetShReg || packet->kind == &kDispatchDirect) continue;
    const auto at = stream.begin() + static_cast<std::ptrdiff_t>(packet->offset);
    all.emplace_back(
        packet->kind->name,
        join(Words(stream.begin(), at), Words(at + static_cast<std::ptrdiff_t>(packet->words.size()), stream.end())));
  }
  return all;
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

template <class Target> void leave_each_out() {
  const bool old = kTargetFacts<Target>.generation == Generation::gfx11;
  Words whole;
  {
    Machine<Target> m;
    whole = join(m.barrier(), m.dispatch(0), m.dispatch(1), m.fence());
    ASSERT_EQ(m.run(whole), "");
    for (std::uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(m.result(i), 7.0f * static_cast<float>(i));
  }
  struct Expected {
    std::string packet;
    std::vector<std::string> text;
  };
  const std::vector<Expected> expected{
      {"WAIT_REG_MEM", {"dispatch 1 executes 0x100", "which the host wrote: the flush of the host data path"}},
      {"ACQUIRE_MEM", {"dispatch 1 executes 0x100", "which the host wrote: ACQUIRE_MEM with GLI_INV and GL2_INV is"}},
      {"ACQUIRE_MEM", {}},  // the barrier has just done it
      {"EVENT_WRITE", {"dispatch 2 reads 0x400", "which dispatch 1 wrote: CS_PARTIAL_FLUSH is missing between them"}},
      {"ACQUIRE_MEM",
       {"dispatch 2 reads 0x400", old ? "which dispatch 1 wrote: ACQUIRE_MEM with GLV_INV and GL1_INV is missing"
                                      : "which dispatch 1 wrote: ACQUIRE_MEM with GLV_INV is missing"}},
      {"EVENT_WRITE", {}},  // the fence waits for the dispatch
      {"RELEASE_MEM", {"the host cannot see what dispatch 2 wrote to the memory at 0x500000: RELEASE_MEM with GL2_WB"}},
  };
  const auto streams = without_each(whole, kTargetFacts<Target>.generation);
  ASSERT_EQ(streams.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(streams[i].first, expected[i].packet);
    Machine<Target> m;
    const std::string found = m.run(streams[i].second);
    EXPECT_EQ(found.empty(), expected[i].text.empty()) << i << ": " << found;
    for (const std::string& part : expected[i].text) EXPECT_TRUE(holds(found, part)) << i << ": " << found;
  }
}

TEST(Coherence, PacketsReadWhatTheHostWroteByTheBarBehindFlushAndInvalidation) {
  const Words barrier = Machine<Gfx1201>::words([](auto& w) { write_full_barrier(w); });
  constexpr std::size_t flush = 7;  // dwords of the host data path's
  EXPECT_EQ(read_through_bar<Gfx1201>(barrier), "");
  EXPECT_EQ(read_through_bar<Gfx1201>({}, HostView::memory), "") << "of the host's own memory nothing is cached";
  EXPECT_EQ(
      read_through_bar<Gfx1201>({}),
      "COPY_DATA reads 0x300008, which the host wrote: the flush of the host data path (WAIT_REG_MEM of registers "
      "0xe26 and 0xe27) is missing between them");
  EXPECT_EQ(read_through_bar<Gfx1201>(Words(barrier.begin(), barrier.begin() + flush)),
            "COPY_DATA reads 0x300008, which the host wrote: ACQUIRE_MEM with GL2_INV is missing between them");
  const Words upside_down =
      join(Words(barrier.begin() + flush, barrier.end()), Words(barrier.begin(), barrier.begin() + flush));
  EXPECT_NE(read_through_bar<Gfx1201>(upside_down), "") << "the L2 is emptied before the memory is there";
  const Words wait = Machine<Gfx1201>::words([](auto& w) { w.add(WaitMemory{.address = kIn, .reference = 1}); });
  EXPECT_TRUE(holds(read_through_bar<Gfx1201>(wait), "WAIT_REG_MEM reads 0x300000"));
}

TEST(Coherence, EachPacketThatIsLeftOutIsNamed) {
  leave_each_out<Gfx1201>();
  leave_each_out<Gfx1100>();
}

/// The caches that no ACQUIRE_MEM of the stream empties, and what is then found.
template <class Target> std::string without_caches(std::uint32_t bits) {
  Machine<Target> m;
  Words stream = join(m.barrier(), m.dispatch(0), m.dispatch(1), m.fence());
  PacketReader reader(std::span<const std::uint32_t>(stream), kTargetFacts<Target>.generation);
  while (!reader.done()) {
    const auto packet = reader.next();
    if (!packet) return "no packet";
    if (packet->kind == &kAcquireMem) stream[packet->offset + 7] &= ~bits;
  }
  return m.run(stream);
}

TEST(Coherence, EachCacheThatIsNotEmptiedIsNamed) {
  constexpr std::uint32_t gli = 3, glk = 1u << 7, glv = 1u << 8, gl1 = 1u << 9, gl2 = 1u << 14;
  for (const std::uint32_t bits : {gli, gl2})
    for (const std::string& found : {without_caches<Gfx1201>(bits), without_caches<Gfx1100>(bits)})
      EXPECT_TRUE(holds(found, "dispatch 1 executes 0x100")) << found;
  for (const std::string& found : {without_caches<Gfx1201>(glk), without_caches<Gfx1100>(glk)})
    EXPECT_TRUE(holds(found, "which the host wrote: ACQUIRE_MEM with GLK_INV")) << found;
  for (const std::string& found :
       {without_caches<Gfx1201>(glv), without_caches<Gfx1100>(glv), without_caches<Gfx1100>(gl1)})
    EXPECT_TRUE(holds(found, "ACQUIRE_MEM with GLV_INV")) << found;
  EXPECT_EQ(without_caches<Gfx1201>(gl1), "") << "GFX12 has no such cache";
}

TEST(Coherence, AnAcquireCountsBehindTheFlushAlone) {
  Machine<Gfx1201> m;
  const Words second = m.dispatch(1);
  Words first = m.dispatch(0);
  const Words flush(first.end() - 2, first.end());
  first.resize(first.size() - 2);
  constexpr std::ptrdiff_t acquire = 8;
  const std::string found = m.run(join(m.barrier(), first, Words(second.begin(), second.begin() + acquire), flush,
                                       Words(second.begin() + acquire, second.end()), m.fence()));
  EXPECT_TRUE(holds(found, "dispatch 2 reads 0x400")) << found;
  EXPECT_TRUE(holds(found, "ACQUIRE_MEM with GLV_INV is missing")) << found;
}

TEST(Coherence, AReleaseStandsForTheFlushOnceItIsWaitedFor) {
  const auto run = [](const std::function<Words(const Machine<Gfx1201>&)>& between) {
    Machine<Gfx1201> m;
    Words first = m.dispatch(0);
    first.resize(first.size() - 2);
    return m.run(join(m.barrier(), first, m.fence(), between(m), m.dispatch(1), m.fence()));
  };
  const auto waits = [&](std::uint64_t reference, WaitCondition compare = WaitCondition::greater_equal) {
    return run([&](const auto& m) {
      return m.words(
          [&](auto& w) { w.add(WaitMemory64{.address = kFence, .reference = reference, .compare = compare}); });
    });
  };
  constexpr std::string_view kMissing = "CS_PARTIAL_FLUSH is missing";
  EXPECT_EQ(waits(1), "");
  EXPECT_TRUE(holds(run([](const auto&) { return Words{}; }), kMissing));
  // What holds before the release too waits for nothing.
  EXPECT_TRUE(holds(waits(0), kMissing));
  EXPECT_TRUE(holds(waits(1, WaitCondition::always), kMissing));
  // A release is written when the dispatches have ended, whatever stands behind it in the stream.
  const std::string early =
      run([](const auto& m) { return m.words([](auto& w) { w.add(CopyMemory{.from = kFence, .to = kOut}); }); });
  EXPECT_TRUE(holds(early, "COPY_DATA reads 0x600000, which RELEASE_MEM writes once dispatches have ended")) << early;
}

/// A fence behind the first dispatch, at the word that `what` uses, and `between` before it.
std::string behind_a_fence(const std::function<Words(Machine<Gfx1201>&)>& what,
                           const std::function<Words(const Machine<Gfx1201>&)>& between) {
  Machine<Gfx1201> m;
  m.arguments(0, kOut, kIn, kIn);
  Words first = m.dispatch(0);
  first.resize(first.size() - 2);
  const Words fence = m.words([](auto& w) { write_fence(w, kMiddle, 1); });
  const std::string found = m.run(join(m.barrier(), first, fence, between(m), what(m), m.fence()));
  // Without the instruction that found it.
  const std::size_t at = found.find("dispatch 2 ");
  return at == std::string::npos ? found : found.substr(at);
}

TEST(Coherence, WhatAReleaseWritesIsThereOnceItIsWaitedFor) {
  const auto nothing = [](const auto&) { return Words{}; };
  const auto wait = [](const auto& m) {
    return m.words([](auto& w) { w.add(WaitMemory64{.address = kMiddle, .reference = 1}); });
  };
  const auto acquire = [](const auto& m) {
    const Words dispatch = m.dispatch(1);
    return Words(dispatch.begin(), dispatch.begin() + 8);
  };
  const auto dispatch = [](std::uint64_t out, std::uint64_t in, bool acquires = true) {
    return [=](auto& m) {
      m.arguments(1, out, in, kIn);
      const Words words = m.dispatch(1);
      return Words(words.begin() + (acquires ? 0 : 8), words.end());
    };
  };
  const std::string missing =
      ", which RELEASE_MEM writes once dispatches have ended: a wait for it is missing between them";
  const auto reader = dispatch(kOut + 1024, kMiddle), writer = dispatch(kMiddle, kIn);
  EXPECT_EQ(behind_a_fence(reader, nothing), "dispatch 2 reads 0x400000" + missing);
  EXPECT_EQ(behind_a_fence(writer, nothing), "dispatch 2 writes 0x400000" + missing);
  EXPECT_EQ(behind_a_fence(reader, wait), "");
  EXPECT_EQ(behind_a_fence(writer, wait), "");
  const auto flush = [](const auto& m) { return m.words([](auto& w) { w.add(PartialFlush{}); }); };
  EXPECT_EQ(behind_a_fence(reader, flush), "dispatch 2 reads 0x400000" + missing) << "it waits for dispatches alone";
  // Words beside the fence are free.
  EXPECT_EQ(behind_a_fence(dispatch(kOut + 1024, kMiddle + 8), nothing), "");
  EXPECT_EQ(behind_a_fence(dispatch(kOut + 1024, kMiddle + 4), nothing), "dispatch 2 reads 0x400004" + missing);
  // An ACQUIRE_MEM before the wait empties the caches too early.
  const auto unacquired = dispatch(kOut + 1024, kMiddle, false);
  EXPECT_EQ(behind_a_fence(unacquired, [&](const auto& m) { return join(wait(m), acquire(m)); }), "");
  EXPECT_EQ(behind_a_fence(unacquired, [&](const auto& m) { return join(acquire(m), wait(m)); }),
            "dispatch 2 reads 0x400000, which RELEASE_MEM wrote: ACQUIRE_MEM with GLV_INV is missing between them");
  const auto packet = [](auto&& p) { return [=](auto& m) { return m.words([&](auto& w) { w.add(p); }); }; };
  constexpr std::array<std::uint32_t, 1> data{7};
  for (const auto& between : std::initializer_list<std::function<Words(const Machine<Gfx1201>&)>>{nothing, wait}) {
    const bool waits = !between(Machine<Gfx1201>()).empty();
    EXPECT_EQ(behind_a_fence(packet(CopyMemory{kMiddle, kFence + 64}), between),
              waits ? "" : "COPY_DATA reads 0x400000" + missing);
    EXPECT_EQ(behind_a_fence(packet(CopyMemory{kIn, kMiddle + 4}), between),
              waits ? "" : "COPY_DATA writes 0x400004" + missing);
    EXPECT_EQ(behind_a_fence(packet(WriteData{kMiddle, data}), between),
              waits ? "" : "WRITE_DATA writes 0x400000" + missing);
    // Releases keep their order.
    EXPECT_EQ(behind_a_fence([](auto& m) { return m.words([](auto& w) { write_fence(w, kMiddle, 2); }); }, between),
              "");
  }
}

TEST(Coherence, WhatTheHostWritesIsSeenBehindAnAcquire) {
  Machine<Gfx1201> m;
  ASSERT_EQ(m.run(join(m.barrier(), m.dispatch(0), m.dispatch(1), m.fence())), "");
  const Words again = join(m.dispatch(1), m.fence());
  constexpr std::ptrdiff_t acquire = 8;
  // Nothing is new: the caches may keep what they have.
  ASSERT_EQ(m.run(Words(again.begin() + acquire, again.end())), "");
  m.in()[0] = std::byte{1};
  ASSERT_EQ(m.run(again), "");
  m.in()[4] = std::byte{1};
  const std::string vector = m.run(Words(again.begin() + acquire, again.end()));
  EXPECT_TRUE(holds(vector, "dispatch 5 reads 0x300004, which the host wrote: ACQUIRE_MEM with GLV_INV is missing"))
      << vector;
  m.arguments(1, kOut, kIn, kIn);
  const std::string scalar = m.run(Words(again.begin() + acquire, again.end()));
  EXPECT_TRUE(holds(scalar, "dispatch 6 reads 0x200040, which the host wrote: ACQUIRE_MEM with GLK_INV is missing"))
      << scalar;
}

/// What dispatch 2 meets that the host wrote by the BAR since dispatch 1, behind the flush of the host data path and an
/// ACQUIRE_MEM that does `caches` alone: new inputs, or new arguments.
enum class New { inputs, arguments };
std::string behind_an_acquire(New what, const CacheActions& caches) {
  Machine<Gfx1201> m;
  m.arguments(0, kOut, kBar + 1024, kIn);
  std::memcpy(m.bar().data(), m.block().data(), 64);
  Launch launch = m.launch(0);
  launch.arguments = kBar;
  const Words dispatch = m.words([&](auto& w) { write_dispatch(w, launch); });
  EXPECT_EQ(m.run(join(m.barrier(), dispatch, m.fence())), "");
  m.bar()[what == New::inputs ? 1024 + 4 : 24] ^= std::byte{1};
  constexpr std::ptrdiff_t flush = 7, acquire = 8;
  const Words barrier = m.barrier();
  const std::string found =
      m.run(join(Words(barrier.begin(), barrier.begin() + flush), m.words([&](auto& w) { w.add(AcquireMem{caches}); }),
                 Words(dispatch.begin() + acquire, dispatch.end()), m.fence()));
  // Without the instruction that found it, and the word.
  const std::size_t at = found.find("dispatch 2 "), end = found.find(", which ");
  return at == std::string::npos || end == std::string::npos ? found : found.substr(at, 18) + found.substr(end);
}

TEST(Coherence, WhatTheHostWritesByTheBarIsSeenBehindItsCacheAndTheL2) {
  struct Case {
    New what;
    bool CacheActions::* cache;
    std::string found;
  };
  const std::string missing = ", which the host wrote: ACQUIRE_MEM with ";
  const std::vector<Case> cases{
      {New::inputs, &CacheActions::glv_inv, "dispatch 2 reads 0" + missing + "GLV_INV and GL2_INV"},
      {New::arguments, &CacheActions::glk_inv, "dispatch 2 reads 0" + missing + "GLK_INV and GL2_INV"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.found);
    CacheActions with_l2{.gl2_inv = true}, without_l2 = kAcquireAll, without_own = kAcquireAll;
    with_l2.*c.cache = true;
    without_l2.gl2_inv = false;
    without_own.*c.cache = false;
    EXPECT_EQ(behind_an_acquire(c.what, with_l2), "") << "of one cache and the L2 nothing else is wanted";
    EXPECT_EQ(behind_an_acquire(c.what, without_l2), c.found + " is missing between them");
    EXPECT_EQ(behind_an_acquire(c.what, without_own), c.found + " is missing between them");
  }
}

TEST(Coherence, WhatTheHostWritesOverTheGpusWordsIsTheHosts) {
  for (const bool behind_another : {false, true}) {
    SCOPED_TRACE(behind_another);
    Machine<Gfx1201> m;
    m.arguments(0, kBar, kIn, kIn);
    m.arguments(1, kOut, kBar, kIn);
    ASSERT_EQ(m.run(join(m.barrier(), m.dispatch(0), m.fence())), "");
    ASSERT_EQ(m.run(join(m.dispatch(1), m.fence())), "") << "the GPU's own words are in no cache of the host";
    if (behind_another) {
      ASSERT_EQ(m.run(m.barrier()), "");
    }
    m.bar()[4] ^= std::byte{1};
    const std::string found = m.run(join(m.dispatch(1), m.fence()));
    EXPECT_TRUE(holds(found, "reads 0x700004, which the host wrote: the flush of the host data path")) << found;
    EXPECT_EQ(m.run(join(m.barrier(), m.dispatch(1), m.fence())), "");
  }
}

TEST(Coherence, PacketsThatWriteTheL2AloneAreReleasedToo) {
  constexpr std::array<std::uint32_t, 1> data{7};
  for (const WriteTo to : {WriteTo::memory, WriteTo::l2}) {
    Machine<Gfx1201> m;
    const Words write = m.words([&](auto& w) { w.add(WriteData{.address = kBar, .data = data, .to = to}); });
    EXPECT_EQ(m.run(write),
              to == WriteTo::memory
                  ? ""
                  : "the host cannot see what WRITE_DATA wrote to the memory at 0x700000: RELEASE_MEM with "
                    "GL2_WB is missing behind it");
    EXPECT_EQ(m.run(join(write, m.fence())), "");
  }
}

TEST(Coherence, PacketsAreWritersAndReadersToo) {
  constexpr std::array<std::uint32_t, 1> data{7};
  constexpr std::ptrdiff_t acquire = 8;
  Machine<Gfx1201> m;
  const Words second = m.dispatch(1);
  const Words unseen(second.begin() + acquire, second.end());
  const Words write = m.words([&](auto& w) { w.add(WriteData{kMiddle + 8, data}); });
  const std::string found = m.run(join(m.barrier(), m.dispatch(0), write, unseen, m.fence()));
  EXPECT_TRUE(holds(found, "dispatch 2 reads 0x4000")) << found;
  Machine<Gfx1201> seen;
  EXPECT_EQ(seen.run(join(seen.barrier(), seen.dispatch(0), write, second, seen.fence())), "");

  Machine<Gfx1201> reader;
  Words first = reader.dispatch(0);
  first.resize(first.size() - 2);
  const Words copy = reader.words([](auto& w) { w.add(CopyMemory{kMiddle, kFence}); });
  EXPECT_EQ(
      reader.run(join(reader.barrier(), first, copy)),
      "COPY_DATA reads 0x400000 while dispatch 1 may still write there: CS_PARTIAL_FLUSH is missing between them");
}

TEST(Coherence, DispatchesAtOnceKeepToTheirOwnWords) {
  const auto run = [](std::uint64_t second_out) {
    Machine<Gfx1201> m;
    m.arguments(0, kMiddle, kIn, kIn);
    m.arguments(1, second_out, kIn, kIn);
    Words first = m.dispatch(0);
    first.resize(first.size() - 2);
    return m.run(join(m.barrier(), first, m.dispatch(1), m.fence()));
  };
  // Neighbours in one cache line are no hazard, one word in common is.
  EXPECT_EQ(run(kMiddle + kCount * 4), "");
  const std::string found = run(kMiddle + kCount * 4 - 4);
  EXPECT_TRUE(holds(found, "dispatch 2 writes 0x40009c while dispatch 1 may still write there")) << found;
}

/// Dispatch 1 reads `middle` and writes `out`; what follows has no CS_PARTIAL_FLUSH before it unless `flushed`.
std::string behind_a_reader(bool flushed, const std::function<Words(Machine<Gfx1201>&)>& what) {
  Machine<Gfx1201> m;
  m.arguments(0, kOut, kMiddle, kIn);
  Words first = m.dispatch(0);
  if (!flushed) first.resize(first.size() - 2);
  return m.run(join(m.barrier(), first, what(m), m.fence()));
}

TEST(Coherence, NobodyWritesWhatADispatchThatMayStillRunReads) {
  const auto second = [](std::uint64_t out, std::uint64_t in) {
    return [=](Machine<Gfx1201>& m) {
      m.arguments(1, out, in, kIn);
      return m.dispatch(1);
    };
  };
  const std::string missing = " there: CS_PARTIAL_FLUSH is missing between them";
  const auto over = second(kMiddle, kIn);
  EXPECT_EQ(behind_a_reader(true, over), "");
  EXPECT_TRUE(
      holds(behind_a_reader(false, over), "dispatch 2 writes 0x400000 while dispatch 1 may still read" + missing))
      << behind_a_reader(false, over);
  // What it reads itself hides no other reader; words beside are free.
  for (const bool flushed : {true, false}) {
    const auto in_place = [&](Machine<Gfx1201>& m) {
      Words words = second(kMiddle, kMiddle)(m);
      if (!flushed) words.resize(words.size() - 2);
      return words;
    };
    EXPECT_TRUE(holds(behind_a_reader(false, in_place), "dispatch 1 may still read" + missing)) << flushed;
  }
  EXPECT_EQ(behind_a_reader(false, second(kMiddle + kCount * 4, kIn)), "");
  EXPECT_TRUE(holds(behind_a_reader(false, second(kMiddle + kCount * 4 - 4, kIn)), "dispatch 2 writes 0x40009c while"));

  constexpr std::array<std::uint32_t, 1> data{7};
  const auto write = [&](std::uint64_t at) {
    return [=](Machine<Gfx1201>& m) { return m.words([&](auto& w) { w.add(WriteData{at, data}); }); };
  };
  EXPECT_EQ(behind_a_reader(true, write(kMiddle + 8)), "");
  EXPECT_EQ(behind_a_reader(false, write(kMiddle + 8)),
            "WRITE_DATA writes 0x400008 while dispatch 1 may still read" + missing);
  EXPECT_EQ(behind_a_reader(false, write(kMiddle + kCount * 4)), "");
  const auto copy = [](Machine<Gfx1201>& m) { return m.words([](auto& w) { w.add(CopyMemory{kIn, kMiddle}); }); };
  EXPECT_TRUE(holds(behind_a_reader(false, copy), "COPY_DATA writes 0x400000 while dispatch 1 may still read"));
  const auto release = [](Machine<Gfx1201>& m) { return m.words([](auto& w) { write_fence(w, kMiddle, 1); }); };
  EXPECT_EQ(behind_a_reader(false, release), "") << "it waits for the end of all dispatches";
}

TEST(Coherence, AReaderHasEndedOnceAReleaseBehindItIsWaitedFor) {
  const auto run = [](bool second_reads) {
    return behind_a_reader(false, [=](Machine<Gfx1201>& m) {
      // The second reader of the words runs behind the release.
      m.arguments(1, kOut + 1024, second_reads ? kMiddle : kIn, kIn);
      Words second = m.dispatch(1);
      second.resize(second.size() - 2);
      constexpr std::array<std::uint32_t, 1> data{7};
      return join(m.fence(), second, m.words([](auto& w) { w.add(WaitMemory64{.address = kFence, .reference = 1}); }),
                  m.words([&](auto& w) { w.add(WriteData{kMiddle + 8, data}); }));
    });
  };
  EXPECT_EQ(run(false), "");
  EXPECT_TRUE(holds(run(true), "WRITE_DATA writes 0x400008 while dispatch 2 may still read")) << run(true);
}

TEST(Coherence, WorkgroupsOfOneDispatchRaceWhereTheyAreFollowed) {
  // Two workgroups of 256 words each: out[i] = a[i] + b[i] * 3.
  const auto run = [](std::uint64_t out, std::uint64_t a, bool followed) {
    Machine<Gfx1201> m;
    if (followed) m.queue().follow_workgroups();
    m.arguments(0, out, a, kIn, 512);
    Launch launch = m.launch(0);
    launch.grid = {2, 1, 1};
    const Words dispatch = m.words([&](auto& w) { write_dispatch(w, launch); });
    return m.run(join(m.barrier(), dispatch, dispatch, m.fence()));
  };
  for (const bool followed : {false, true}) {
    EXPECT_EQ(run(kOut, kMiddle, followed), "");
    EXPECT_EQ(run(kMiddle, kMiddle, followed), "") << "each workgroup reads what it writes itself";
  }
  EXPECT_EQ(run(kMiddle + 4, kMiddle, false), "");
  EXPECT_TRUE(holds(run(kMiddle + 4, kMiddle, true),
                    "dispatch 1: its workgroups race at 0x400400, which one of them writes and number 1 reads"))
      << run(kMiddle + 4, kMiddle, true);
  EXPECT_TRUE(holds(run(kMiddle, kMiddle + 4, true),
                    "dispatch 1: its workgroups race at 0x400400, which one of them writes and number 1 writes"))
      << run(kMiddle, kMiddle + 4, true);
}

TEST(GroupStamps, KnowWhoRaces) {
  using enum MemoryUse;
  struct Step {
    std::uint32_t group;
    MemoryUse use;
    bool fits = true;
    std::uint32_t moment = 1;
  };
  const std::vector<std::vector<Step>> cases{
      {{0, read}, {1, read}, {0, write, false}},
      {{0, write}, {0, read}, {0, write}, {0, atomic}, {1, read, false}},
      {{0, write}, {1, write, false}},
      {{0, write}, {1, atomic, false}},
      {{0, atomic}, {1, atomic}, {2, atomic}, {1, atomic}},
      {{0, atomic}, {1, atomic}, {1, write, false}},
      {{0, atomic}, {1, atomic}, {0, read, false}},
      {{0, atomic}, {0, write}, {1, atomic, false}},
      {{0, read}, {1, atomic, false}},
      {{0, write}, {1, write, true, 2}},
  };
  for (const auto& steps : cases) {
    GroupStamps stamps;
    ASSERT_TRUE(stamps.make_bytes(2));
    for (const Step& s : steps) {
      EXPECT_EQ(stamps.note(1, s.moment, s.group, s.use), s.fits) << &steps - cases.data();
      EXPECT_TRUE(stamps.note(0, s.moment, 7, write));
    }
  }
}

TEST(Coherence, AReleaseThatKeepsTheL2ReleasesNothing) {
  Machine<Gfx1201> m;
  Words fence = m.fence();
  fence[1] &= ~(1u << 21);  // GL2_WB
  const std::string found = m.run(join(m.barrier(), m.dispatch(0), m.dispatch(1), fence));
  EXPECT_TRUE(holds(found, "the host cannot see what dispatch 2 wrote")) << found;
}

}  // namespace
}  // namespace coherence_test
