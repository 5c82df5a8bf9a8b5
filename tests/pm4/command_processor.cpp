// SPDX-License-Identifier: Apache-2.0
// tests/pm4/command_processor.cpp: whole rings on the device model: the golden cases from ring to fence, and what a
// queue refuses.
#include <zrt/backend/pm4/preamble.hpp>
#include <zrt/emulator/command_processor.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <pm4/isa_interpreter.hpp>
#include <pm4/stream_cases.hpp>

namespace command_processor_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::emulator;
using zrt::Errc;
using zrt::Result;
using zrt::test::Words;

using Bytes = std::vector<std::byte>;

const auto kInterpret = [](const Dispatch& dispatch, const AddressSpace& memory) -> Result<void> {
  const auto ran = zrt::test::run_dispatch(dispatch, memory);
  if (!ran) return zrt::pass(ran);
  return {};
};

/// A golden case with its memory; the ring lies in the address space too.
struct Case {
  nlohmann::json json;
  std::map<std::string, Bytes> memory, after;
  AddressSpace space;
  Words ring;

  explicit Case(const std::filesystem::path& folder) : ring(zrt::test::file_words(folder / "ring.bin")) {
    std::ifstream(folder / "case.json") >> json;
    for (const auto& region : json["regions"]) {
      const std::string name = region["name"];
      memory[name] = zrt::test::file_bytes(folder / region["file"].get<std::string>());
      after[name] =
          region.contains("after") ? zrt::test::file_bytes(folder / region["after"].get<std::string>()) : memory[name];
      for (Bytes* bytes : {&memory[name], &after[name]}) bytes->resize(region["size"].get<std::size_t>());
      const Permission permission =
          name == "code" ? Permission::read | Permission::execute : Permission::read | Permission::write;
      EXPECT_TRUE(space.map(std::stoull(region["va"].get<std::string>(), nullptr, 16), memory[name], permission, name));
    }
  }
  /// Where memory is not that of the other emulator by more than a rounding of floats; -1 where it is the same.
  std::ptrdiff_t first_difference(const std::string& name) {
    for (std::size_t at = 0; at < memory[name].size(); at += 4) {
      float got = 0, want = 0;
      std::memcpy(&got, &memory[name][at], 4);
      std::memcpy(&want, &after[name][at], 4);
      if (std::memcmp(&got, &want, 4) == 0) continue;
      if (!(std::fabs(got - want) <= 4e-7f * std::max(0.5f, std::fabs(want)))) return static_cast<std::ptrdiff_t>(at);
    }
    return -1;
  }
  const TargetFacts& target() const { return *find_target(json["target"].get<std::string>()); }
};

TEST(CommandProcessor, RunsTheGoldenRingsFromBarrierToFence) {
  const auto folders = zrt::test::golden_cases();
  if (folders.empty()) GTEST_SKIP() << "SKIPPED: no golden PM4 cases in " ZRT_SHARED_DIR;
  for (const auto& folder : folders) {
    SCOPED_TRACE(folder.filename());
    Case c(folder);
    CommandProcessor queue(c.space, c.target());
    const auto ran = queue.run(c.ring, kInterpret);
    ASSERT_TRUE(ran) << ran.error().text();
    EXPECT_EQ(queue.counters().dispatches, 1u);
    EXPECT_EQ(queue.counters().fences, 1u);
    for (const auto& [name, bytes] : c.memory) EXPECT_EQ(c.first_difference(name), -1) << name;
    std::uint32_t fence = 0;
    std::memcpy(&fence, c.memory["signal"].data(), 4);
    EXPECT_EQ(fence, 0x1234abcdu);
  }
}

TEST(CommandProcessor, RunsOurOwnStreamInAnIndirectBuffer) {
  const auto folders = zrt::test::golden_cases();
  if (folders.empty()) GTEST_SKIP() << "SKIPPED: no golden PM4 cases in " ZRT_SHARED_DIR;
  for (const std::string name : {"gfx1201-vadd", "gfx1100-vadd"}) {
    Case c(std::filesystem::path(ZRT_SHARED_DIR "/golden/pm4") / name);
    // The registers of their ring, set by our own dispatch, with a fence of 64 bits that the ring waits for.
    const auto at = [&](std::size_t dword) { return c.ring[dword]; };
    Launch launch{.program = {(std::uint64_t{at(11)} << 32 | at(10)) << 8, at(14), at(15), at(18)},
                  .arguments = std::uint64_t{at(28)} << 32 | at(27),
                  .workgroup = {at(34), at(35), at(36)},
                  .grid = {at(40), at(41), at(42)}};
    constexpr std::uint64_t buffer_at = 0x6000'0050'0000, fence_at = 0x6000'0030'0000;
    Words buffer(128);
    const auto stream = [&]<class Target>(Target) {
      PacketWriter<Target> inner(buffer);
      write_full_barrier(inner);
      write_dispatch(inner, launch);
      EXPECT_TRUE(inner.finish()) << inner.finish().error().text();
      const auto ring = stream_of<Target>(
          IndirectBuffer{.address = buffer_at, .dwords = static_cast<std::uint32_t>(inner.size())},
          ReleaseMem{fence_at, 0x1'0000'0007}, WaitMemory64{.address = fence_at, .reference = 0x1'0000'0007});
      return Words(ring.span().begin(), ring.span().end());
    };
    const Words ring = name.starts_with("gfx1201") ? stream(Gfx1201{}) : stream(Gfx1100{});
    ASSERT_TRUE(c.space.map(buffer_at, std::as_writable_bytes(std::span(buffer)), Permission::read, "packets"));
    CommandProcessor queue(c.space, c.target());
    const auto ran = queue.run(ring, kInterpret);
    ASSERT_TRUE(ran) << ran.error().text();
    EXPECT_EQ(c.first_difference("buffer"), -1);
    std::uint64_t fence = 0;
    std::memcpy(&fence, c.memory["signal"].data(), 8);
    EXPECT_EQ(fence, 0x1'0000'0007u);
  }
}

/// A queue with a page of memory at 0x10000 and no grid to run.
struct Page {
  Bytes bytes = Bytes(4096);
  AddressSpace space;
  std::size_t grids = 0;
  std::array<std::uint32_t, 3> groups{};
  Page() { EXPECT_TRUE(space.map(0x10000, bytes, Permission::read | Permission::write, "page")); }

  template <class... Packets> std::string run(const Packets&... packets) {
    CommandProcessor queue(space, kTargetFacts<Gfx1201>);
    const auto stream = stream_of<Gfx1201>(packets...);
    EXPECT_GT(stream.size, 0u);
    const auto ran = queue.run(stream.span(), [&](const Dispatch& d, const AddressSpace&) -> Result<void> {
      ++grids;
      groups = d.groups;
      return {};
    });
    return ran ? "" : std::string(ran.error().text());
  }
  std::uint64_t at(std::size_t offset) const { return zrt::read_little<std::uint64_t>(bytes.data() + offset); }
};

TEST(CommandProcessor, WritesCopiesAndWaits) {
  Page page;
  const std::array<std::uint32_t, 2> data{5, 6};
  EXPECT_EQ(page.run(WriteData{0x10008, data}, CopyMemory{0x10008, 0x10020, true}, CopyClock{0x10030},
                     WaitMemory{.address = 0x1000c, .reference = 6, .compare = WaitCondition::equal},
                     ReleaseMem{.address = 0x10040, .value = 9, .data = ReleaseData::low_32_bits},
                     ReleaseMem{.address = 0x10048,
                                .data = ReleaseData::gpu_clock,
                                .event = ReleaseEvent::bottom_of_pipe,
                                .writes_back = false}),
            "");
  EXPECT_EQ(page.at(0x20), 0x6'0000'0005u);
  EXPECT_EQ(page.at(0x30), 3u) << "the clock has a tick for each packet";
  EXPECT_EQ(page.at(0x40), 9u);
  EXPECT_EQ(page.at(0x48), 6u);
  EXPECT_NE(
      page.run(ReleaseMem{.address = 0x1004c, .data = ReleaseData::gpu_clock}).find("a multiple of 8 for 64 bits"),
      std::string::npos);
  EXPECT_EQ(page.run(ReleaseMem{.address = 0x11000, .data = ReleaseData::gpu_clock}),
            "8 bytes at 0x11000 are not mapped");
  EXPECT_EQ(page.run(WaitMemory{.address = 0x10008, .reference = 6}),
            "WAIT_REG_MEM waits without end: 0x00010008 holds 0x00000005, reference 0x00000006");
  EXPECT_EQ(page.run(WriteData{0x10ffc, data}), "4 bytes at 0x11000 are not mapped");
  EXPECT_NE(page.run(WriteWaitRegister{1, 2}), "");
}

TEST(CommandProcessor, RefusesFieldsWhoseEffectIsNotModelled) {
  Page page;
  const auto run = [&](const auto& packet, std::size_t dword, std::uint32_t bits) {
    const auto stream = stream_of<Gfx1201>(packet);
    Words words(stream.words.begin(), stream.words.begin() + static_cast<std::ptrdiff_t>(stream.size));
    words[dword] ^= bits;
    CommandProcessor queue(page.space, kTargetFacts<Gfx1201>);
    const auto ran = queue.run(words, kInterpret);
    return ran ? std::string() : std::string(ran.error().text());
  };
  const auto refused = [](std::string_view packet, std::string_view field) {
    return std::string(packet) + " has " + std::string(field) + " set, which is not modelled";
  };
  const AcquireMem acquire{};
  EXPECT_EQ(run(acquire, 7, 0), "");
  EXPECT_EQ(run(acquire, 7, 1u << 2), refused("ACQUIRE_MEM", "GL1_RANGE"));
  EXPECT_EQ(run(acquire, 7, 1u << 10), refused("ACQUIRE_MEM", "GL2_US"));
  EXPECT_EQ(run(acquire, 7, 1u << 11), refused("ACQUIRE_MEM", "GL2_RANGE"));
  EXPECT_EQ(run(acquire, 7, 1u << 13), refused("ACQUIRE_MEM", "GL2_DISCARD"));
  EXPECT_EQ(run(acquire, 7, 1u << 18), refused("ACQUIRE_MEM", "RANGE_IS_PA"));
  EXPECT_EQ(run(acquire, 7, 3u), "ACQUIRE_MEM with a range of the instruction cache is not modelled");
  const ReleaseMem release{.address = 0x10040, .value = 9};
  EXPECT_EQ(run(release, 1, 0), "");
  EXPECT_EQ(run(release, 1, 1u << 19), refused("RELEASE_MEM", "GL2_DISCARD"));
}

TEST(CommandProcessor, NeedsEveryRegisterOfADispatch) {
  Page page;
  Words words(64);
  PacketWriter<Gfx1201> writer(words);
  write_dispatch(writer, {});
  ASSERT_TRUE(writer.finish());
  words.resize(writer.size());
  // Each packet of the dispatch in turn is left out.
  std::size_t refused = 0;
  PacketReader reader(words, Generation::gfx12);
  while (!reader.done()) {
    const auto left_out = reader.next();
    ASSERT_TRUE(left_out);
    Words rest(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(left_out->offset));
    rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(left_out->offset + left_out->words.size()),
                words.end());
    CommandProcessor queue(page.space, kTargetFacts<Gfx1201>);
    const auto ran = queue.run(rest, [](const Dispatch&, const AddressSpace&) -> Result<void> { return {}; });
    EXPECT_TRUE(ran || ran.error().text().find("which no packet has set") != std::string_view::npos);
    refused += !ran;
  }
  // Program, RSRC1 and 2, RSRC3, TMPRING_SIZE, RESOURCE_LIMITS, threads.
  EXPECT_EQ(refused, 6u);
}

TEST(CommandProcessor, EndsChainsThatGoInCircles) {
  Page page;
  const auto chain = stream_of<Gfx1201>(IndirectBuffer{.address = 0x10000, .dwords = 4, .chain = true});
  std::memcpy(page.bytes.data(), chain.words.data(), chain.size * 4);
  EXPECT_EQ(page.run(IndirectBuffer{0x10000, 4}), "a queue has executed 262144 packets of one submission");
  const auto nested = stream_of<Gfx1201>(IndirectBuffer{.address = 0x10000, .dwords = 4});
  std::memcpy(page.bytes.data(), nested.words.data(), nested.size * 4);
  EXPECT_EQ(page.run(IndirectBuffer{0x10000, 4}), "an indirect buffer inside another is not modelled");
  EXPECT_EQ(page.run(IndirectBuffer{0x20000, 4}), "16 bytes at 0x20000 are not mapped");
}

TEST(CommandProcessor, NeedsScratchForTheWavesThatTmpringSizeParts) {
  constexpr std::uint32_t wave_units = 4;  // of 256 bytes
  Page page;
  const auto run = [&](std::uint32_t waves, std::uint32_t engines, std::uint32_t threads) {
    CommandProcessor queue(page.space, kTargetFacts<Gfx1201>);
    queue.set_engines(engines);
    Words packets(256);
    PacketWriter<Gfx1201> writer(packets);
    write_dispatch(writer, {.program = {.rsrc2 = 1},
                            .workgroup = {threads, 1, 1},
                            .scratch = {.base = 0x10000, .tmpring_size = wave_units << 12 | waves}});
    EXPECT_TRUE(writer.finish());
    packets.resize(writer.size());
    std::uint64_t room = 0;
    const auto ran = queue.run(packets, [&](const Dispatch& dispatch, const AddressSpace&) -> Result<void> {
      room = dispatch.scratch_bytes;
      return {};
    });
    return ran ? std::to_string(room) : std::string(ran.error().text());
  };
  // The page has 4096 bytes: four waves.
  EXPECT_EQ(run(4, 1, 32), "4096");
  EXPECT_EQ(run(2, 2, 64), "4096");
  EXPECT_EQ(run(2, 1, 64), "2048") << "what TMPRING_SIZE leaves is nobody's";
  EXPECT_EQ(run(5, 1, 32), "scratch of 5120 bytes at 0x00010000, 4096 are mapped there");
  EXPECT_EQ(run(3, 2, 32), "scratch of 6144 bytes at 0x00010000, 4096 are mapped there");
  EXPECT_EQ(run(0, 1, 32), "COMPUTE_TMPRING_SIZE has scratch for 0 waves of a shader engine, a workgroup has 1");
  EXPECT_EQ(run(1, 1, 64), "COMPUTE_TMPRING_SIZE has scratch for 1 waves of a shader engine, a workgroup has 2");
}

TEST(CommandProcessor, RunsNoGridThatACardWouldNotStartOrStartElsewhere) {
  Page page;
  const auto run = [&](std::uint16_t offset, std::uint32_t value) {
    CommandProcessor queue(page.space, kTargetFacts<Gfx1201>);
    queue.set_engines(1);
    Words packets(256);
    PacketWriter<Gfx1201> writer(packets);
    write_launch_registers(writer, {.workgroup = {32, 1, 1}});
    writer.add(SetShReg{offset, std::span(&value, 1)});
    writer.add(DispatchDirect{{0, 1, 1}, {}});
    EXPECT_TRUE(writer.finish());
    packets.resize(writer.size());
    const auto ran = queue.run(packets, kInterpret);
    return ran ? std::string() : std::string(ran.error().text());
  };
  EXPECT_EQ(run(register_offset("COMPUTE_RESTART_Y"), 0), "");
  EXPECT_EQ(run(register_offset("COMPUTE_RESTART_Y"), 5), "a grid that starts again where it was is not modelled");
  EXPECT_EQ(run(register_offset("COMPUTE_STATIC_THREAD_MGMT_SE0"), 1), "");
  EXPECT_EQ(run(register_offset("COMPUTE_STATIC_THREAD_MGMT_SE1"), 0), "");
  EXPECT_EQ(run(register_offset("COMPUTE_STATIC_THREAD_MGMT_SE0"), 0),
            "DISPATCH_DIRECT has masks that leave none of the card's compute units");
}

TEST(CommandProcessor, WithoutMasksFromTheStartNeedsThemSet) {
  for (const TargetFacts* const target : {&kTargetFacts<Gfx1201>, &kTargetFacts<Gfx1100>})
    for (const std::size_t engines : {0u, 1u, 2u, 3u}) {
      AddressSpace none;
      CommandProcessor queue(none, *target);
      queue.set_engines(2);
      queue.require_masks();
      Words packets(256);
      const auto write = [&]<class Target>(PacketWriter<Target> writer) {
        const std::array<std::uint32_t, 3> masks{0xffffffff, 0xffff, 1};
        if (engines != 0) write_preamble(writer, std::span(masks).first(engines));
        write_dispatch(writer, {.workgroup = {32, 1, 1}, .grid = {0, 1, 1}});
        EXPECT_TRUE(writer.finish());
        packets.resize(writer.size());
      };
      if (target == &kTargetFacts<Gfx1201>)
        write(PacketWriter<Gfx1201>(packets));
      else
        write(PacketWriter<Gfx1100>(packets));
      const auto ran = queue.run(packets, kInterpret);
      EXPECT_EQ(ran.has_value(), engines == 2) << engines;
      if (ran) continue;
      EXPECT_EQ(ran.error().code(), Errc::invalid_packet);
      EXPECT_EQ(ran.error().text(),
                engines == 0 ? "DISPATCH_DIRECT needs COMPUTE_STATIC_THREAD_MGMT_SE0, which no packet has set"
                : engines == 1
                    ? "DISPATCH_DIRECT has COMPUTE_STATIC_THREAD_MGMT_SE1 = 0x00000000 on a card of 2 shader "
                      "engines"
                    : "DISPATCH_DIRECT has COMPUTE_STATIC_THREAD_MGMT_SE2 = 0x00000001 on a card of 2 shader "
                      "engines");
    }
}

}  // namespace
}  // namespace command_processor_test
