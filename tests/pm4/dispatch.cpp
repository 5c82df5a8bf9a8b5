// SPDX-License-Identifier: Apache-2.0
// tests/pm4/dispatch.cpp: our dispatch, fence and barrier beside those of another driver, word by word.
// test-set: smoke
#include <zrt/backend/pm4/disassemble.hpp>
#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/preamble.hpp>
#include <zrt/backend/pm4/wave_start.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <pm4/stream_cases.hpp>
#include <sstream>

namespace dispatch_test {
namespace {

using namespace zrt::pm4;
using zrt::test::Words;

/// A word that we write otherwise, and why.
struct Difference {
  std::string_view target;
  std::string_view stream;
  std::size_t dword;
  std::uint32_t theirs;
  std::uint32_t ours;
  std::string_view reason;
};
constexpr Difference kDifferences[] = {
    {"gfx1201", "release", 1, 0x0070f514, 0x00704514,
     "RDNA4 has no GLM and no GL1 of the old kind: Mesa clears GLM_WB, GLM_INV and GL1_INV there"},
    {"gfx1201", "release", 2, 0x20000000, 0x40000000, "a fence of 64 bits does not wrap"},
    {"gfx1100", "release", 2, 0x20000000, 0x40000000, "a fence of 64 bits does not wrap"},
};

Words hexadecimal(const std::string& text) {
  std::istringstream in(text);
  Words words;
  for (std::string word; in >> word;) words.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
  return words;
}

/// The streams of tinygrad-dispatch.txt: by target, then by name.
std::map<std::string, std::map<std::string, Words>> other_driver() {
  std::map<std::string, std::map<std::string, Words>> all;
  std::ifstream file(ZRT_SHARED_DIR "/golden/pm4/tinygrad-dispatch.txt");
  std::string target;
  for (std::string line; std::getline(file, line);) {
    const std::string first = line.substr(0, line.find(' '));
    if (first == "#") {
      target = line.substr(2);
    } else if (first == "exec") {
      // How many there are; they stand in the next line.
      std::getline(file, line);
      all[target][first] = hexadecimal(line);
    } else if (first != "prog") {
      all[target][first] = hexadecimal(line.substr(first.size()));
    }
  }
  return all;
}

template <class Write> Words words_of(Write&& write) {
  Words room(128);
  room.resize(write(std::span<std::uint32_t>(room)));
  return room;
}

template <class Target> std::map<std::string, Words> our_streams(const Words& exec) {
  const auto at = [&](std::size_t dword) { return std::uint64_t{exec[dword + 1]} << 32 | exec[dword]; };
  Launch launch;
  launch.program.code = at(10) << 8;
  KernelDescriptor descriptor;
  descriptor.pgm_rsrc1 = exec[14] & ~(Target::sets_priv ? 1u << 20 : 0u);
  descriptor.pgm_rsrc2 = exec[15];
  const auto registers = program_registers<Target>(descriptor, launch.program.code);
  EXPECT_TRUE(registers);
  launch.program = *registers;
  launch.arguments = 0x6000'0010'0000;
  launch.workgroup = {256, 1, 1};
  launch.grid = {2, 1, 1};
  launch.scratch = *scratch_ring<Target>(128, {.compute_units = 96, .shader_engines = 6});
  launch.scratch.base = at(24) << 8;
  std::map<std::string, Words> ours;
  const auto record = [&](const char* name, auto&& write) {
    ours[name] = words_of([&](std::span<std::uint32_t> room) {
      PacketWriter<Target> writer(room);
      write(writer);
      EXPECT_TRUE(writer.finish());
      return writer.size();
    });
  };
  record("exec", [&](auto& writer) { write_dispatch(writer, launch); });
  record("release", [](auto& writer) { write_fence(writer, 0x6000'0030'0000, 0x1234abcd); });
  record("barrier", [](auto& writer) { write_full_barrier(writer); });
  return ours;
}

TEST(Dispatch, AgreesWithAnotherDriverButForWhatIsListed) {
  const auto theirs = other_driver();
  if (theirs.empty()) GTEST_SKIP() << "SKIPPED: no tinygrad-dispatch.txt in " ZRT_SHARED_DIR;
  ASSERT_EQ(theirs.size(), 2u);
  std::size_t differences = 0;
  for (const auto& [target, streams] : theirs) {
    ASSERT_EQ(streams.size(), 3u) << target;
    ASSERT_EQ(streams.at("exec").size(), kDispatchDwords);
    const auto ours =
        target == "gfx1201" ? our_streams<Gfx1201>(streams.at("exec")) : our_streams<Gfx1100>(streams.at("exec"));
    for (const auto& [name, words] : streams) {
      const Words& own = ours.at(name);
      ASSERT_EQ(own.size(), words.size()) << target << ' ' << name;
      for (std::size_t i = 0; i < words.size(); ++i) {
        std::uint32_t expected = words[i];
        for (const Difference& d : kDifferences)
          if (d.target == target && d.stream == name && d.dword == i) {
            EXPECT_EQ(d.theirs, words[i]) << d.reason;
            expected = d.ours;
            ++differences;
          }
        EXPECT_EQ(own[i], expected) << target << ' ' << name << " dword " << i;
      }
      const Generation generation = find_target(target)->generation;
      EXPECT_TRUE(check_stream(words, generation));
      EXPECT_TRUE(check_stream(own, generation));
    }
  }
  EXPECT_EQ(differences, std::size(kDifferences)) << "each listed difference is met once";
}

TEST(Dispatch, IsOnThePageAsItIs) {
  std::array<std::uint32_t, 128> room{};
  PacketWriter<Gfx1201> writer(room);
  write_full_barrier(writer);
  write_dispatch(writer, {.program = {0x6000'0000'1700, 0x600f0040, 0x84, 0},
                          .arguments = 0x6000'0010'0000,
                          .workgroup = {256, 1, 1},
                          .grid = {2, 1, 1}});
  write_fence(writer, 0x6000'0030'0000, 7);
  const auto stream = writer.finish();
  ASSERT_TRUE(stream);
  std::string text;
  PacketReader reader(*stream, Generation::gfx12);
  while (!reader.done()) {
    const auto packet = reader.next();
    ASSERT_TRUE(packet);
    disassemble(*packet, Generation::gfx12, [&](std::string_view piece) { text += piece; });
  }
  std::ifstream file(ZRT_SOURCE_DIR "/docs/pm4.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(page.find("```\n" + text + "```\n"), std::string::npos) << "docs/pm4.md should show\n" << text;
  for (const Difference& d : kDifferences) EXPECT_NE(page.find(d.reason), std::string::npos) << d.reason;
}

/// The values of the registers that a ring sets, and its dispatch.
std::map<std::string, std::uint64_t> state_of(const Words& ring, Generation generation) {
  std::map<std::string, std::uint64_t> state;
  PacketReader reader(ring, generation);
  while (!reader.done()) {
    const auto packet = reader.next();
    if (!packet) return {};
    if (packet->kind == &kSetShReg)
      for (std::size_t i = 0; i < packet->body().size(); ++i) {
        const auto offset = static_cast<std::uint32_t>(packet->get("OFFSET") + i);
        const Register* entry = find_register(offset, generation);
        state[std::string(entry->name) + (entry->count > 1 ? std::to_string(offset - entry->offset) : "")] =
            packet->body()[i];
      }
    if (packet->kind == &kDispatchDirect) state["wave32"] = packet->get("CS_W32_EN");
  }
  return state;
}

template <class Target> void registers_follow(const std::filesystem::path& folder) {
  const auto image = zrt::test::file_bytes(folder / "code.bin");
  auto state = state_of(zrt::test::file_words(folder / "ring.bin"), Target::generation);
  ASSERT_FALSE(state.empty());
  const std::uint64_t code = state["COMPUTE_PGM_HI"] << 40 | state["COMPUTE_PGM_LO"] << 8;
  constexpr std::uint64_t base = 0x6000'0000'0000;
  // The descriptor is where the distance to the code stands.
  std::size_t found = 0;
  for (std::size_t at = 0; at + 64 <= image.size(); at += 64) {
    const KernelDescriptor descriptor = load_descriptor(std::span(image).subspan(at, 64));
    if (descriptor.entry_offset <= 0 || base + at + static_cast<std::uint64_t>(descriptor.entry_offset) != code)
      continue;
    if (!check_descriptor(descriptor, Target::generation)) continue;
    ++found;
    const auto registers = program_registers<Target>(descriptor, base + at);
    ASSERT_TRUE(registers);
    EXPECT_EQ(registers->code, code);
    EXPECT_EQ(registers->rsrc1, state["COMPUTE_PGM_RSRC1"]);
    EXPECT_EQ(registers->rsrc2, state["COMPUTE_PGM_RSRC2"]);
    EXPECT_EQ(registers->rsrc3, state["COMPUTE_PGM_RSRC3"]);
    EXPECT_EQ((descriptor.properties & kWave32) != 0, state["wave32"] != 0);
  }
  EXPECT_EQ(found, 1u);
}

TEST(Dispatch, RegistersFollowFromTheDescriptorsOfTheGoldenCode) {
  const auto cases = zrt::test::golden_cases();
  if (cases.empty()) GTEST_SKIP() << "SKIPPED: no golden PM4 cases in " ZRT_SHARED_DIR;
  for (const auto& folder : cases) {
    SCOPED_TRACE(folder.filename());
    if (zrt::test::generation_of(folder) == Generation::gfx12)
      registers_follow<Gfx1201>(folder);
    else
      registers_follow<Gfx1100>(folder);
  }
}

TEST(KernelDescriptor, RefusesWhatALaunchDoesNotProvide) {
  KernelDescriptor good;
  good.pgm_rsrc1 = 0x600f0040;
  good.pgm_rsrc2 = 0x84;
  good.properties = 0x408;
  ASSERT_TRUE(check_descriptor(good, Generation::gfx12));
  const auto refused = [&](auto&& change, std::string_view field) {
    KernelDescriptor bad = good;
    change(bad);
    const auto checked = check_descriptor(bad, Generation::gfx12);
    ASSERT_FALSE(checked) << field;
    EXPECT_TRUE(checked.error().text().starts_with("the kernel descriptor's " + std::string(field)))
        << checked.error().text();
  };
  refused([](auto& d) { d.reserved_12 = 1; }, "reserved dword at 12 ");
  refused([](auto& d) { d.reserved_24[4] = 1; }, "reserved dword at 24 ");
  refused([](auto& d) { d.reserved_60 = 1; }, "reserved dword at 60 ");
  refused([](auto& d) { d.kernarg_preload = 2; }, "kernarg preload ");
  for (unsigned bit = 0; bit < 16; ++bit)
    if (bit != 10) refused([&](auto& d) { d.properties ^= static_cast<std::uint16_t>(1u << bit); }, "code properties ");
  refused([](auto& d) { d.pgm_rsrc1 |= 1u << 22; }, "RSRC1 ");
  refused([](auto& d) { d.pgm_rsrc1 |= 1u << 20; }, "RSRC1 ");
  refused([](auto& d) { d.pgm_rsrc2 |= 1u << 15; }, "RSRC2 ");
  refused([](auto& d) { d.pgm_rsrc2 &= ~0x3eu; }, "RSRC2 ");
  refused([](auto& d) { d.pgm_rsrc2 |= 1; }, "RSRC2 ");
  refused([](auto& d) { d.scratch_bytes = 4; }, "RSRC2 ");
  refused([](auto& d) { d.pgm_rsrc3 = 1; }, "RSRC3 ");
  good.lds_bytes = 512 * 511 + 1;
  EXPECT_FALSE(program_registers<Gfx1201>(good, 0));
  EXPECT_FALSE(program_registers<Gfx1201>(good, 0x100, ~0u));
  good.lds_bytes = 0;
  EXPECT_FALSE(program_registers<Gfx1201>(good, 0x40));
}

TEST(Preamble, MasksEveryShaderEngine) {
  const auto preamble = []<class Target>(Target, std::size_t engines) {
    Words room(64);
    const Words masks(engines, 0x00ff00ff);
    PacketWriter<Target> writer(room);
    write_preamble(writer, masks);
    if (!writer.finish()) return std::map<std::string, std::uint64_t>();
    room.resize(writer.size());
    return state_of(room, Target::generation);
  };
  const auto small = preamble(Gfx1201{}, 4);
  ASSERT_EQ(small.size(), 9u + 5);
  for (int engine = 0; engine < 9; ++engine)
    EXPECT_EQ(small.at("COMPUTE_STATIC_THREAD_MGMT_SE" + std::to_string(engine)), engine < 4 ? 0x00ff00ffu : 0u);
  EXPECT_EQ(preamble(Gfx1100{}, 6).size(), 8u + 5);
  EXPECT_FALSE(preamble(Gfx1201{}, 9).empty());
  EXPECT_TRUE(preamble(Gfx1100{}, 9).empty());
  EXPECT_TRUE(preamble(Gfx1201{}, 10).empty());
}

TEST(ScratchRing, FitsItsRegisterOrIsRefused) {
  const WaveSlots navi48{.compute_units = 64, .shader_engines = 4};
  EXPECT_EQ(scratch_ring<Gfx1201>(0, navi48)->tmpring_size, 0u);
  // 256 bytes and a word of scratch in a lane: 65 units of 256 bytes.
  EXPECT_EQ(scratch_ring<Gfx1201>(260, navi48)->tmpring_size, 65u << 12 | 512u);
  EXPECT_TRUE(scratch_ring<Gfx1201>(((1u << 18) - 1) * 4, navi48));
  EXPECT_FALSE(scratch_ring<Gfx1201>((1u << 18) * 4, navi48));
  EXPECT_FALSE(scratch_ring<Gfx1100>((1u << 15) * 4, navi48));
  EXPECT_FALSE(scratch_ring<Gfx1201>(4, {}));
  EXPECT_FALSE(scratch_ring<Gfx1201>(4, {.compute_units = 4}));
  EXPECT_EQ(scratch_ring<Gfx1201>(4, {.compute_units = 1u << 20, .shader_engines = 1})->tmpring_size, 1u << 12 | 4095u);
}

}  // namespace
}  // namespace dispatch_test
