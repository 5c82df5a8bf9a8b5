// SPDX-License-Identifier: Apache-2.0
// tests/pm4/isa_instructions.cpp: instructions as LLVM assembles them, with results that Python computed.
//
// The cases are tests/data/pm4/isa_cases.txt, written by tests/tools/pm4_isa_cases.py.
#include <zrt/backend/pm4/kernel_file/reader.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <pm4/isa_interpreter.hpp>
#include <pm4/stream_cases.hpp>
#include <set>
#include <sstream>

namespace isa_instructions_test {
namespace {

using namespace zrt;
using namespace zrt::emulator;
using zrt::test::kSnippetVgprs;
using zrt::test::Snippet;

struct Inputs {
  std::map<unsigned, std::vector<std::uint32_t>> vgprs;
  std::map<unsigned, std::uint32_t> sgprs;
};
struct Case {
  std::string line, isa, inputs;
  int ulp = 0;
  std::vector<std::uint32_t> words;
  std::vector<std::pair<std::string, std::string>> results;
};

std::vector<std::uint32_t> words_of(const std::string& text) {
  std::vector<std::uint32_t> words;
  for (std::size_t i = 0; i + 8 <= text.size(); i += 8)
    words.push_back(static_cast<std::uint32_t>(std::stoul(text.substr(i, 8), nullptr, 16)));
  return words;
}

struct Cases {
  std::map<std::string, Inputs> inputs;
  std::vector<Case> cases;

  Cases() {
    std::ifstream file(ZRT_TEST_DATA_DIR "/pm4/isa_cases.txt");
    Inputs* current = nullptr;
    for (std::string line; std::getline(file, line);) {
      std::istringstream in(line);
      std::string kind, number, text;
      in >> kind;
      if (kind == "inputs") {
        in >> text;
        current = &inputs[text];
      } else if (kind == "v") {
        in >> number >> text;
        current->vgprs[static_cast<unsigned>(std::stoul(number))] = words_of(text);
      } else if (kind == "s") {
        in >> number >> text;
        current->sgprs[static_cast<unsigned>(std::stoul(number))] = words_of(text)[0];
      } else if (kind == "case") {
        Case c;
        c.line = line.substr(0, line.find('|'));
        in >> c.isa >> c.inputs >> c.ulp >> text;
        c.words = words_of(text);
        in >> text;  // the bar
        while (in >> text) c.results.emplace_back(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
        cases.push_back(c);
      }
    }
  }
};

std::vector<std::byte> pattern() {
  std::vector<std::byte> bytes(4096);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  return bytes;
}

std::uint64_t fnv(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
  return hash;
}

/// A wave with the case's inputs; the other half of a wave64 has the same.
Snippet start(const Case& c, const Inputs& inputs, bool wave64) {
  Snippet s;
  s.isa = c.isa == "gfx11" ? Isa::gfx11 : Isa::gfx12;
  s.wave64 = wave64;
  s.words = c.words;
  s.vgprs.resize(std::size_t{kSnippetVgprs} * kLanes * (wave64 ? 2 : 1));
  s.sgprs.resize(128);
  for (const auto& [index, lanes] : inputs.vgprs)
    for (std::size_t half = 0; half < (wave64 ? 2u : 1u); ++half)
      std::memcpy(&s.vgprs[(half * kSnippetVgprs + index) * kLanes], lanes.data(), kLanes * 4);
  for (const auto& [index, value] : inputs.sgprs) s.sgprs[index] = value;
  s.scc = true;
  s.lds = pattern();
  return s;
}

/// How far two results are apart, as f32 (or as f16 in the lower half): 0 equal, 1 neighbours.
std::int64_t distance(std::uint32_t a, std::uint32_t b, int ulp) {
  if (a == b) return 0;
  const std::uint32_t magnitude_a = a & 0x7fffffffu, magnitude_b = b & 0x7fffffffu;
  if (magnitude_a > 0x7f800000u && magnitude_b > 0x7f800000u) return 0;  // NaNs
  const std::uint32_t half_a = a & 0x7fffu, half_b = b & 0x7fffu;
  if (a >> 16 == b >> 16 && half_a > 0x7c00 && half_b > 0x7c00) return 0;
  if (ulp == 0) return 1;
  if ((a ^ b) >> 31 != 0) return magnitude_a == 0 && magnitude_b == 0 ? 0 : 1000;
  return std::abs(static_cast<std::int64_t>(a) - static_cast<std::int64_t>(b));
}

std::set<std::string>& executed() {
  static std::set<std::string> names;
  return names;
}

void check(const Case& c, const Snippet& s, const std::vector<std::byte>& memory) {
  for (const auto& [name, text] : c.results) {
    if (name == "scc") {
      EXPECT_EQ(s.scc, text == "1") << c.line;
    } else if (name == "mem" || name == "lds") {
      EXPECT_EQ(fnv(name == "mem" ? memory : s.lds), std::stoull(text, nullptr, 16)) << s.name << "  " << c.line;
    } else if (name[0] == 's') {
      const auto index = std::stoul(name.substr(1));
      const auto want = static_cast<std::uint32_t>(std::stoul(text, nullptr, 16));
      EXPECT_LE(distance(s.sgprs[index], want, c.ulp), c.ulp)
          << s.name << " s" << index << std::hex << " is " << s.sgprs[index] << ", expected " << want << "  " << c.line;
    } else {
      const auto index = std::stoul(name.substr(1));
      const auto want = words_of(text);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t got = s.vgprs[index * kLanes + lane];
        if (distance(got, want[lane], c.ulp) <= c.ulp) continue;
        ADD_FAILURE() << s.name << " " << name << " lane " << lane << std::hex << " is " << got << ", expected "
                      << want[lane] << "  " << c.line;
        break;
      }
    }
  }
}

TEST(IsaInstructions, EveryCaseHasPythonsResult) {
  const Cases all;
  ASSERT_GT(all.cases.size(), 1000u);
  for (const Case& c : all.cases) {
    Snippet s = start(c, all.inputs.at(c.inputs), false);
    std::vector<std::byte> memory = pattern();
    AddressSpace space;
    ASSERT_TRUE(space.map(0x10000, memory, Permission::read | Permission::write, "memory").has_value());
    std::vector<std::byte> scratch(zrt::test::kSnippetScratchBytes);
    ASSERT_TRUE(
        space.map(zrt::test::kSnippetScratch, scratch, Permission::read | Permission::write, "scratch").has_value());
    const auto ran = zrt::test::run_snippet(s, space);
    if (!ran) {
      ADD_FAILURE() << ran.error().text() << "  " << c.line;
      continue;
    }
    EXPECT_GE(s.executed, 2u) << c.line;
    executed().insert(s.name);
    check(c, s, memory);
  }
  std::cout << "distinct instructions executed: " << executed().size() << " in " << all.cases.size() << " cases\n";
  EXPECT_GE(executed().size(), 900u);
}

/// A wave64 does to both its halves what a wave32 does to its one, for instructions that stay within a lane.
TEST(IsaInstructions, BothHalvesOfAWave64HaveTheResult) {
  const Cases all;
  std::size_t checked = 0;
  for (const Case& c : all.cases) {
    bool vectors_alone = c.words.size() < 5;
    for (const char* tiles : {"tile", "halves", "brains"})
      vectors_alone = vectors_alone && !c.inputs.starts_with(tiles);
    for (const auto& result : c.results) vectors_alone = vectors_alone && result.first[0] == 'v';
    const std::string text = zrt::test::disassembled(c.words, c.isa == "gfx11" ? Isa::gfx11 : Isa::gfx12);
    for (const char* not_these :
         {"dual", "lane", "permute", "atomic", "mbcnt", "vcc", "load", "store", "swizzle", "row_"})
      vectors_alone = vectors_alone && text.find(not_these) == std::string::npos;
    if (!vectors_alone) continue;
    Snippet s = start(c, all.inputs.at(c.inputs), true);
    s.sgprs[127] = ~0u;
    AddressSpace space;
    const auto ran = zrt::test::run_snippet(s, space);
    ASSERT_TRUE(ran.has_value()) << ran.error().text() << "  " << c.line;
    check(c, s, {});
    const std::size_t half = s.vgprs.size() / 2;
    s.vgprs.erase(s.vgprs.begin(), s.vgprs.begin() + static_cast<std::ptrdiff_t>(half));
    check(c, s, {});
    ++checked;
  }
  EXPECT_GT(checked, 400u);
}

/// The lower lanes are not active: the upper ones, which read them, have 0, as have those that nobody sends to.
TEST(IsaInstructions, PermutesTakeNothingFromInactiveLanes) {
  for (const std::uint32_t opcode : {0xdac80000u, 0xdacc0000u}) {  // ds_permute_b32, ds_bpermute_b32
    Snippet s;
    s.words = {opcode, 0x0a000204};  // v10, v4, v2
    s.vgprs.resize(std::size_t{kSnippetVgprs} * kLanes);
    s.sgprs.resize(128);
    s.sgprs[126] = 0xffff0000u;
    for (unsigned i = 0; i < kLanes; ++i) {
      s.vgprs[4 * kLanes + i] = 4 * (i ^ 16);
      s.vgprs[2 * kLanes + i] = 100 + i;
      s.vgprs[10 * kLanes + i] = 7;
    }
    AddressSpace space;
    const auto ran = zrt::test::run_snippet(s, space);
    ASSERT_TRUE(ran.has_value()) << ran.error().text();
    for (unsigned i = 0; i < kLanes; ++i)
      EXPECT_EQ(s.vgprs[10 * kLanes + i], i < 16 ? 7 : 0) << s.name << ", lane " << i;
  }
}

/// Lane `i` of a wave64 addresses the lane of the same number in the other half: GFX11 stays within a half, GFX12 does not.
TEST(IsaInstructions, PermutesOfAWave64StayWithinAHalfOnGfx11Alone) {
  for (const Isa isa : {Isa::gfx11, Isa::gfx12})
    for (const std::uint32_t opcode : {0xdac80000u, 0xdacc0000u}) {  // ds_permute_b32, ds_bpermute_b32
      Snippet s;
      s.isa = isa;
      s.wave64 = true;
      s.words = {opcode, 0x0a000204};  // v10, v4, v2
      s.vgprs.resize(std::size_t{2} * kSnippetVgprs * kLanes);
      s.sgprs.resize(128);
      s.sgprs[126] = s.sgprs[127] = ~0u;
      const auto lane = [&](unsigned i, unsigned index) -> std::uint32_t& {
        return s.vgprs[(std::size_t{i / kLanes} * kSnippetVgprs + index) * kLanes + i % kLanes];
      };
      for (unsigned i = 0; i < 2 * kLanes; ++i) {
        lane(i, 4) = 4 * (i ^ 32);
        lane(i, 2) = 100 + i;
      }
      AddressSpace space;
      const auto ran = zrt::test::run_snippet(s, space);
      ASSERT_TRUE(ran.has_value()) << ran.error().text();
      for (unsigned i = 0; i < 2 * kLanes; ++i)
        EXPECT_EQ(lane(i, 10), 100 + (isa == Isa::gfx11 ? i : i ^ 32)) << s.name << ", lane " << i;
    }
}

/// A factor whose rows are not in both halves of the wave makes a card of GFX11 multiply something else.
TEST(IsaInstructions, MatricesOfGfx11WantEveryRowInBothHalves) {
  const Cases all;
  std::size_t checked = 0;
  for (const Case& c : all.cases) {
    if (!c.inputs.ends_with("_repeated")) continue;
    for (const unsigned first : {2u, 18u}) {  // registers of A and of B
      Snippet s = start(c, all.inputs.at(c.inputs), false);
      s.vgprs[first * kLanes + 21] ^= 1u << 7;
      AddressSpace space;
      const auto ran = zrt::test::run_snippet(s, space);
      ASSERT_FALSE(ran.has_value()) << c.line;
      const std::string wanted = "lane 21 of source " + std::to_string(first / 18) + " differs from lane 5";
      EXPECT_NE(ran.error().text().find(wanted), std::string_view::npos) << ran.error().text();
    }
    ++checked;
  }
  EXPECT_EQ(checked, 6u);
}

/// The kernels of a target, each to its last instruction, behind which padding alone stands: how many instructions they
/// name, of which docs/rdna-interpreter.md tells.
void decode_kernels(const std::string& target, Isa isa, std::size_t least) {
  std::set<std::string> names;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ZRT_SOURCE_DIR "/kernels/" + target)) {
    if (entry.path().extension() != ".zrt") continue;
    const std::string name = entry.path().filename().string();
    const auto bytes = zrt::test::file_bytes(entry.path().string());
    const auto kernel = zrt::pm4::KernelFile::open(bytes);
    ASSERT_TRUE(kernel) << name;
    std::vector<std::uint32_t> words(kernel->code().size() / 4);
    std::memcpy(words.data(), kernel->code().data(), words.size() * 4);
    for (std::size_t at = 0; at < words.size();) {
      unsigned size = 0;
      const std::string text = zrt::test::disassembled(std::span(words).subspan(at), isa, size);
      ASSERT_FALSE(text.starts_with(".long")) << target << '/' << name << ", word " << at << ": " << text;
      at += size;
      // Both halves of a dual instruction.
      for (std::size_t half = 0; half != std::string::npos && half < text.size();) {
        names.insert(text.substr(half, text.find(' ', half) - half));
        half = text.find(":: ", half);
        if (half != std::string::npos) half += 3;
      }
    }
    ++files;
  }
  EXPECT_GE(files, 30u) << target;
  EXPECT_GE(names.size(), least) << target;
}

TEST(IsaKernels, AreDecodedToTheirEnd) {
  decode_kernels("gfx1201", Isa::gfx12, 180);
  decode_kernels("gfx1100", Isa::gfx11, 180);
  decode_kernels("gfx1151", Isa::gfx11, 180);
}

/// Minima and maxima of GFX11 take a signaling NaN as AMD's pseudocode of V_MIN_F32 and its like does, by IEEE_MODE: the
/// first one is the result, quiet, or numbers win. Encodings are LLVM's, of v20 (and v21), v10, v12 and v14.
TEST(IsaInstructions, SignalingNanFollowsIeeeMode) {
  using Words = std::vector<std::uint32_t>;
  const Words min{0x1e28190a}, max{0x2028190a}, min3{0xd6190014, 0x043a190a}, max3{0xd61c0014, 0x043a190a},
      med3{0xd61f0014, 0x043a190a}, maxmin{0xd65e0014, 0x043a190a}, minmax{0xd65f0014, 0x043a190a}, min16{0x7428190a},
      max16{0x7228190a}, min3_16{0xd6490014, 0x043a190a}, max3_16{0xd64c0014, 0x043a190a},
      med3_16{0xd64f0014, 0x043a190a}, maxmin16{0xd6600014, 0x043a190a}, minmax16{0xd6610014, 0x043a190a},
      packed_min{0xcc114014, 0x1802190a}, packed_max{0xcc124014, 0x1802190a}, min64{0xd7290014, 0x0002190a},
      max64{0xd72a0014, 0x0002190a}, dual{0xca961b0a, 0x1414190b};
  constexpr std::uint32_t one = 0x3f800000, two = 0x40000000, three = 0x40400000, quiet = 0x7fc00007,
                          signaling = 0xffa00001, quieted = 0xffe00001, other = 0x7f800001, other_quieted = 0x7fc00001;
  constexpr std::uint32_t one16 = 0x3c00, two16 = 0x4000, quiet16 = 0x7e01, signaling16 = 0x7d01, quieted16 = 0x7f01;
  const struct {
    Words words;
    std::array<std::uint32_t, 6> v;  ///< v10 to v15
    std::array<std::uint32_t, 2> off, on;
  } cases[] = {
      {min, {signaling, 0, one}, {one}, {quieted}},
      {min, {one, 0, signaling}, {one}, {quieted}},
      {max, {signaling, 0, other}, {signaling}, {quieted}},
      {max, {quiet, 0, one}, {one}, {one}},
      {max, {one, 0, quiet}, {one}, {one}},
      {max, {quiet, 0, other}, {quiet}, {other_quieted}},
      {max, {0x80000000, 0, 0}, {0}, {0}},
      // Quiet behind the first pair, it gives way to the third number.
      {min3, {signaling, 0, one, 0, two}, {one}, {two}},
      {min3, {one, 0, two, 0, signaling}, {one}, {quieted}},
      {max3, {one, 0, two, 0, signaling}, {two}, {quieted}},
      {max3, {three, 0, signaling, 0, two}, {three}, {two}},
      {med3, {one, 0, two, 0, three}, {two}, {two}},
      {med3, {three, 0, two, 0, signaling}, {two}, {quieted}},
      {maxmin, {one, 0, signaling, 0, two}, {one}, {two}},
      {minmax, {one, 0, two, 0, signaling}, {one}, {quieted}},
      {min16, {signaling16, 0, one16}, {one16}, {quieted16}},
      {max16, {one16, 0, signaling16}, {one16}, {quieted16}},
      {max16, {quiet16, 0, one16}, {one16}, {one16}},
      {min3_16, {one16, 0, two16, 0, signaling16}, {one16}, {quieted16}},
      {max3_16, {signaling16, 0, two16, 0, one16}, {two16}, {one16}},
      {med3_16, {two16, 0, one16, 0, signaling16}, {one16}, {quieted16}},
      {maxmin16, {signaling16, 0, two16, 0, one16}, {one16}, {one16}},
      {minmax16, {one16, 0, two16, 0, signaling16}, {one16}, {quieted16}},
      {packed_min,
       {signaling16 | one16 << 16, 0, one16 | two16 << 16},
       {one16 | one16 << 16},
       {quieted16 | one16 << 16}},
      {packed_max,
       {one16 | two16 << 16, 0, two16 | signaling16 << 16},
       {two16 | two16 << 16},
       {two16 | quieted16 << 16}},
      {min64, {5, 0x7ff00000, 0, 0x3ff00000}, {0, 0x3ff00000}, {5, 0x7ff80000}},
      {max64, {0, 0x3ff00000, 5, 0xfff00000}, {0, 0x3ff00000}, {5, 0xfff80000}},
      {max64, {5, 0x7ff80000, 0, 0x3ff00000}, {0, 0x3ff00000}, {0, 0x3ff00000}},
      {dual, {signaling, one, two, one}, {one, one}, {quieted, one}},
  };
  for (const bool ieee : {false, true})
    for (const auto& c : cases) {
      Snippet s;
      s.isa = Isa::gfx11;
      s.ieee = ieee;
      s.words = c.words;
      s.vgprs.resize(std::size_t{kSnippetVgprs} * 32);
      s.sgprs.resize(128, ~0u);
      for (std::size_t i = 0; i < c.v.size(); ++i)
        for (std::size_t lane = 0; lane < 32; ++lane) s.vgprs[(10 + i) * 32 + lane] = c.v[i];
      const auto ran = zrt::test::run_snippet(s, AddressSpace());
      ASSERT_TRUE(ran) << ran.error().text();
      const auto& expected = ieee ? c.on : c.off;
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(s.vgprs[(20 + i) * 32 + 31], expected[i]) << std::hex << zrt::test::disassembled(c.words, Isa::gfx11)
                                                            << ' ' << c.v[0] << ' ' << c.v[2] << ' ' << ieee;
    }
}

/// v_add_nc_i32, v_mad_i32_i24 and v_pk_add_u16: saturation of integers is not modelled, and never left out in silence.
TEST(IsaInstructions, ClampedIntegersAreRefused) {
  for (const std::vector<std::uint32_t>& words : std::vector<std::vector<std::uint32_t>>{
           {0xd7268001, 0x00020702}, {0xd60a8001, 0x04120702}, {0xcc0ac001, 0x18020702}}) {
    for (const std::uint32_t clamp : {0x8000u, 0u}) {
      Snippet s;
      s.words = {(words[0] & ~0x8000u) | clamp, words[1]};
      s.vgprs.resize(std::size_t{zrt::test::kSnippetVgprs} * 32);
      s.sgprs.resize(128, ~0u);
      const auto ran = zrt::test::run_snippet(s, AddressSpace());
      EXPECT_EQ(ran.has_value(), clamp == 0) << std::hex << words[0];
      EXPECT_TRUE(ran || ran.error().code() == zrt::Errc::unsupported_opcode);
    }
  }
}

/// tests/data/pm4/disassembly.txt, written by tests/tools/pm4_disassembly.py.
TEST(IsaDisassembly, ReadsAsLlvmPrintsIt) {
  std::ifstream file(ZRT_TEST_DATA_DIR "/pm4/disassembly.txt");
  std::size_t lines = 0;
  for (std::string isa, words, text; file >> isa >> words && std::getline(file, text); ++lines)
    EXPECT_EQ(zrt::test::disassembled(words_of(words), isa == "gfx11" ? Isa::gfx11 : Isa::gfx12), text.substr(1));
  EXPECT_GT(lines, 500u);
}

/// tests/data/pm4/encodings.txt, written by tests/tools/pm4_encodings.py: registers above v127, literals, DPP and random
/// bits. What LLVM refuses is refused, what it takes reads as it prints it.
TEST(IsaDisassembly, TakesWhatLlvmTakes) {
  std::ifstream file(ZRT_TEST_DATA_DIR "/pm4/encodings.txt");
  std::map<std::string, std::size_t> lines;
  for (std::string isa, words, says; file >> isa >> words && std::getline(file, says);) {
    says.erase(0, 1);
    const std::string text = zrt::test::disassembled(words_of(words), isa == "gfx11" ? Isa::gfx11 : Isa::gfx12);
    const bool refused = text.starts_with(".long");
    if (says == "invalid" || says == "unmodelled")
      EXPECT_TRUE(refused) << says << ": " << isa << " " << words << " " << text;
    else if (says == "valid")
      EXPECT_FALSE(refused) << isa << " " << words;
    else
      EXPECT_EQ(text, says) << isa << " " << words;
    ++lines[says == "invalid" || says == "valid" || says == "unmodelled" ? says : "read"];
  }
  EXPECT_GT(lines["invalid"], 500u);
  EXPECT_GT(lines["read"], 2000u);
}

/// v_max_num_f32 with mul:2. AMD's ISA documents: "if output denormals are enabled, then output modifiers are ignored".
TEST(IsaInstructions, OutputModifiersAreRefused) {
  Snippet s;
  s.words = {0xd5160001, 0x08020702};
  s.vgprs.resize(std::size_t{zrt::test::kSnippetVgprs} * 32);
  s.sgprs.resize(128, ~0u);
  const auto ran = zrt::test::run_snippet(s, AddressSpace());
  ASSERT_FALSE(ran.has_value());
  EXPECT_EQ(ran.error().code(), zrt::Errc::unimplemented);
  EXPECT_NE(ran.error().text().find("output modifiers"), std::string_view::npos) << ran.error().text();
}

}  // namespace
}  // namespace isa_instructions_test
