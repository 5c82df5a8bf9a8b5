// SPDX-License-Identifier: Apache-2.0
// tests/pm4/recorder.cpp: what adapters record: barriers where they belong, counts of the step, and what is refused.
#include <zrt/backend/pm4/decode.hpp>
#include <zrt/backend/pm4/step_packets.hpp>
#include <zrt/device/recorder.hpp>
#include <zrt/device/step_layout.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace zrt::test::recorder_test {
namespace {

using namespace pm4;
using namespace device;

std::vector<std::byte> kernel_bytes(const std::string& name) {
  std::ifstream file(std::string(ZRT_SOURCE_DIR) + "/kernels/gfx1201/" + name + ".zrt", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A recorder over two kernels.
struct Recording {
  Recording() : kernels(system_allocator()), record(system_allocator()) {
    const auto norm = kernel_bytes("rms_norm"), act = kernel_bytes("gated_act");
    const std::span<const std::byte> files[] = {norm, act};
    const auto bytes = KernelTable::code_bytes(files, kTargetFacts<Gfx1201>);
    EXPECT_TRUE(bytes) << bytes.error().text();
    code.resize(*bytes);
    const auto loaded = kernels.load<Gfx1201>(files, kTargetFacts<Gfx1201>, 0x10000, code);
    EXPECT_TRUE(loaded) << loaded.error().text();
    recorder = Recorder(record, kernels.signatures());
    exec::StepBounds bounds{.tokens = 4, .slots = 2, .pages_per_slot = 3, .groups = 1};
    bounds.extents.value[1] = 4;
    EXPECT_TRUE(recorder.reserve(bounds));
  }
  void begin(std::uint32_t instruction, std::uint32_t wait_for = exec::RecordSite<Scratch>::kNoWait) {
    exec::RecordSite<Scratch> site;
    site.instruction = instruction;
    site.wait_for = wait_for;
    EXPECT_TRUE(recorder.begin(site));
  }
  [[nodiscard]] static KernelCall norm(const StepCount& runs = 1) {
    KernelCall call("rms_norm");
    call.buffer(0x1000).buffer(std::uint64_t{0}).buffer(0x2000).value(16u).value(1e-5f).value(0.0f).grid(runs);
    return call;
  }
  [[nodiscard]] std::string barriers() const {
    std::string text;
    for (const RecordedLaunch& launch : record.launches) text += launch.barrier ? '|' : '.';
    return text;
  }

  std::vector<std::byte> code;
  KernelTable kernels;
  StepRecord record;
  Recorder recorder{record, {}};
};

/// tokens times 32.
const StepCount kElements = StepCount::elements(Shape{Dim(1, 1), 32});

TEST(Pm4Recorder, BarriersStandWhereAHazardIsAndNowhereElse) {
  Recording r;
  r.begin(0);
  EXPECT_TRUE(r.recorder.push(Recording::norm()));
  EXPECT_TRUE(r.recorder.push(Recording::norm())) << "in order within an instruction";
  EXPECT_TRUE(r.recorder.push(Recording::norm().beside()));
  r.begin(1);
  EXPECT_TRUE(r.recorder.push(Recording::norm())) << "needs nothing of instruction 0";
  r.begin(2, 1);
  EXPECT_TRUE(r.recorder.push(Recording::norm())) << "waits for instruction 1";
  r.begin(3, 1);
  EXPECT_TRUE(r.recorder.push(Recording::norm())) << "waited for since";
  r.begin(4, 2);
  EXPECT_TRUE(r.recorder.push(Recording::norm())) << "instruction 2 ran behind its own barrier";
  EXPECT_EQ(r.barriers(), ".|..|.|");
}

TEST(Pm4Recorder, CountsFollowTheStep) {
  Recording r;
  r.begin(0);
  EXPECT_TRUE(r.recorder.push(Recording::norm(kElements.over(16))));
  EXPECT_TRUE(r.recorder.push(Recording::norm(kElements.over(16))));
  KernelCall act("gated_act");
  act.buffer(0x1000).buffer(0x2000).buffer(0x1000).value(kElements).value(1u).grid(kElements.over(256));
  EXPECT_TRUE(r.recorder.push(act));
  EXPECT_EQ(r.record.grids.size(), 2u) << "equal grids are kept once";
  const auto layout = StepLayout::of(r.record);
  ASSERT_TRUE(layout);
  std::vector<std::byte> memory(layout->bytes);
  Extents step;
  for (const std::uint32_t tokens : {4u, 1u}) {
    step.value[1] = tokens;
    write_counts(r.record, *layout, step, memory.data());
    const auto word = [&](std::uint64_t at) { return read_little<std::uint32_t>(memory.data() + at); };
    EXPECT_EQ(word(layout->grids), tokens * 2);
    EXPECT_EQ(word(layout->grids + kGridBytes), 1u);
    EXPECT_EQ(word(layout->grids + 4), 1u);
    // Behind the three addresses.
    EXPECT_EQ(word(layout->arguments + r.record.launches[2].arguments + 24), tokens * 32);
  }
}

TEST(Pm4Recorder, PagesOfTheLastTokenOfEachSlotAreWritten) {
  Recording r;
  const auto layout = StepLayout::of(r.record);
  ASSERT_TRUE(layout);
  std::vector<std::byte> memory(layout->bytes);
  const std::vector<std::uint32_t> slots{1, 0, 0}, positions{40, 15, 16}, pages{7, 8, 9, 4, 5, 6};
  ExecutionContext step;
  step.tokens = 3;
  step.slots = slots.data();
  step.positions = positions.data();
  step.pages = pages.data();
  step.pages_per_slot = 3;
  step.slot_count = 2;
  write_batch(r.record, *layout, step, memory.data());
  std::vector<std::uint32_t> written;
  for (std::size_t i = 0; i < pages.size(); ++i)
    written.push_back(read_little<std::uint32_t>(memory.data() + layout->pages + i * 4));
  EXPECT_EQ(written, (std::vector<std::uint32_t>{7, 8, 0, 4, 5, 6})) << "slot 0 is at its second page";
  EXPECT_EQ(read_little<std::uint32_t>(memory.data() + layout->positions + 8), 16u);
}

/// The words in front of a queue's error, and that the longest of both are whole.
TEST(Pm4Recorder, AStepSaysAtWhichLaunchItStands) {
  const KernelSignature norm{.name = "rms_norm"}, round{.name = "round_activation_q8_256"};
  std::vector<RecordedLaunch> launches{
      {.signature = &norm, .instruction = 4, .opcode = ops::RmsNorm::opcode},
      {.signature = &round, .instruction = 5, .opcode = ops::Linear::opcode, .barrier = true},
      {.signature = &round, .instruction = 6, .opcode = ops::Linear::opcode},
      {.signature = &norm, .instruction = 7, .opcode = ops::RmsNorm::opcode, .barrier = true}};
  const auto said = [&](std::uint32_t position, std::uint32_t instruction) {
    const Error error = at_launch(Error::of(Errc::limit_exceeded, "why"), launches, position).error();
    EXPECT_EQ(error.code(), Errc::limit_exceeded);
    EXPECT_EQ(error.instruction(), instruction);
    return std::string(error.text());
  };
  EXPECT_EQ(said(kNotBegun, Error::kNoIndex), "the step has not begun: why");
  EXPECT_EQ(said(position_before(0), 4), "launch 1 of 4, rms_norm: why");
  EXPECT_EQ(said(position_before(1), 5), "launch 2-3 of 4, round_activation_q8_256 of linear: why");
  EXPECT_EQ(said(position_before(3), 7), "launch 4 of 4, rms_norm: why");
  EXPECT_EQ(said(position_before(4), Error::kNoIndex), "every launch has ended: why");
  EXPECT_EQ(said(77, Error::kNoIndex), "the step has not begun: why") << "nothing that a step writes";
  launches.assign(1114, {.signature = &round, .opcode = ops::RmsNormFusedMlpGateUp::opcode});
  const Error hung =
      Error::of(Errc::limit_exceeded,
                "queue 1: no fence 1234567890 in 600000 ms, written 1234567890, read "
                "262143 of 262144, passed 1234567866, next WAIT_REG_MEM ACQUIRE_MEM x2 INDIRECT_BUFFER RELEASE_MEM");
  const std::string whole(at_launch(hung, launches, position_before(998)).error().text());
  EXPECT_TRUE(whole.ends_with(" RELEASE_MEM")) << whole;
}

TEST(Pm4Recorder, AStepWaitsBetweenItsLaunchesAndForTheLastBeforeItSaysSo) {
  const std::array<Kernel, 1> kernels{};
  const std::vector<RecordedLaunch> launches{
      {.kernel = 0}, {.kernel = 0, .barrier = true}, {.kernel = 0}, {.kernel = 0, .barrier = true}};
  std::vector<std::uint32_t> words((launches.size() + 1) * kLaunchDwords);
  PacketWriter<Gfx1201> writer(words);
  const StepPieces pieces =
      write_step(writer, launches, kernels, {.arguments = 0x10000, .grids = 0x20000, .progress = 0x30000});
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(pieces.count, 1u) << "few launches are one piece";
  EXPECT_EQ(pieces.ends[0], writer.size());
  std::vector<std::string> order;
  words.resize(writer.size());
  PacketReader reader(words, Generation::gfx12);
  while (!reader.done()) {
    const auto packet = reader.next();
    ASSERT_TRUE(packet) << packet.error().text();
    if (packet->kind == &kWriteData) {
      EXPECT_EQ(packet->get("ADDRESS"), 0x30000u);
      order.push_back("tell " + std::to_string(packet->words.back() - position_before(0)));
    } else if (packet->kind != &kSetShReg) {
      order.emplace_back(packet->kind->name);
    }
  }
  const std::string flush = "EVENT_WRITE", acquire = "ACQUIRE_MEM", run = "DISPATCH_INDIRECT";
  EXPECT_EQ(order, (std::vector<std::string>{"tell 0", run, flush, "tell 1", acquire, run, run, flush, "tell 3",
                                             acquire, run, flush, "tell 4"}));
}

/// The clock at the begin of the step and behind each launch; RELEASE_MEM writes it, and no cache is emptied for it.
TEST(Pm4Recorder, ATimedStepWritesTheClockBehindEachLaunch) {
  const std::array<Kernel, 1> kernels{};
  const std::vector<RecordedLaunch> launches{{.kernel = 0}, {.kernel = 0}, {.kernel = 0, .barrier = true}};
  std::vector<std::uint32_t> words((launches.size() + 1) * kLaunchDwords);
  PacketWriter<Gfx1100> writer(words);
  (void)write_step(writer, launches, kernels, {.progress = 0x30000, .times = 0x40000});
  ASSERT_TRUE(writer.finish());
  words.resize(writer.size());
  std::vector<std::uint64_t> clocks;
  bool dispatched = true;
  PacketReader reader(words, Generation::gfx11);
  while (!reader.done()) {
    const auto packet = reader.next();
    ASSERT_TRUE(packet) << packet.error().text();
    if (packet->kind == &kDispatchIndirect) dispatched = true;
    if (packet->kind != &kCopyData && packet->kind != &kReleaseMem) continue;
    EXPECT_TRUE(dispatched) << "a launch lies between two readings";
    dispatched = false;
    const bool copies = packet->kind == &kCopyData;
    clocks.push_back(packet->get(copies ? "DST" : "ADDRESS"));
    if (copies) continue;
    EXPECT_EQ(packet->get("DATA_SEL"), 3u);
    EXPECT_EQ(packet->get("INT_SEL"), 0u);
    EXPECT_EQ(packet->get("GL2_WB") + packet->get("GL2_INV") + packet->get("GLV_INV"), 0u);
  }
  EXPECT_EQ(clocks, (std::vector<std::uint64_t>{0x40000, 0x40008, 0x40010, 0x40018}));
}

/// Pieces are one after the other all packets, and each but the first begins with the barrier of a launch.
TEST(Pm4Recorder, AStepIsCutWhereALaunchWaits) {
  const std::array<Kernel, 1> kernels{};
  for (const std::size_t count : {15u, 40u, 400u}) {
    std::vector<RecordedLaunch> launches(count, {.kernel = 0, .barrier = true});
    for (std::size_t i = 0; i < count; i += 3) launches[i].barrier = false;
    std::vector<std::uint32_t> words((launches.size() + 1) * kLaunchDwords);
    PacketWriter<Gfx1201> writer(words);
    const StepPieces pieces = write_step(writer, launches, kernels, {.progress = 0x30000});
    ASSERT_TRUE(writer.finish());
    EXPECT_EQ(pieces.count, count < 16 ? 1u : count < 128 ? count / 8 : 16u);
    EXPECT_EQ(pieces.ends[pieces.count - 1], writer.size());
    for (std::size_t i = 0; i + 1 < pieces.count; ++i) {
      EXPECT_LT(i == 0 ? 0 : pieces.ends[i - 1], pieces.ends[i]);
      const auto rest = std::span(words).subspan(pieces.ends[i]);
      PacketReader reader(rest, Generation::gfx12);
      const auto packet = reader.next();
      ASSERT_TRUE(packet) << packet.error().text();
      EXPECT_EQ(packet->kind, &kEventWrite);
    }
  }
}

TEST(Pm4Recorder, TablesAreKeptOnce) {
  Recording r;
  const std::array<float, 3> a{1, 2, 3}, b{4, 5, 6};
  const auto first = r.recorder.table(std::as_bytes(std::span(a))),
             second = r.recorder.table(std::as_bytes(std::span(b)));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*r.recorder.table(std::as_bytes(std::span(b))), *second);
  EXPECT_EQ(*r.recorder.table(std::as_bytes(std::span(a))), *first);
  EXPECT_EQ(*second, 16u);
}

TEST(Pm4Recorder, RefusesWhatNoKernelTakes) {
  Recording r;
  r.begin(0);
  const auto code_of = [&](const KernelCall& call) {
    const auto pushed = r.recorder.push(call);
    return pushed ? Errc::ok : pushed.error().code();
  };
  EXPECT_EQ(code_of(KernelCall("no_such_kernel")), Errc::not_found);
  EXPECT_EQ(code_of(KernelCall("rms_norm").buffer(0x1000)), Errc::invalid_file);
  EXPECT_EQ(code_of(Recording::norm(kElements.times(1u << 31))), Errc::size_overflow);
  const StepCount two_symbols = StepCount::elements(Shape{Dim(1, 1), Dim(1, 2)});
  EXPECT_EQ(code_of(Recording::norm(two_symbols)), Errc::size_overflow);
  EXPECT_TRUE(r.record.launches.empty());
}

}  // namespace
}  // namespace zrt::test::recorder_test
