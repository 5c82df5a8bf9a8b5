// SPDX-License-Identifier: Apache-2.0
// tests/pm4/isa_golden.cpp: kernels that clang compiled, run by the interpreter, beside another emulator's memory.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <pm4/isa_interpreter.hpp>
#include <support/two_workers.hpp>

namespace isa_golden_test {
namespace {

using namespace zrt;
using namespace zrt::emulator;
namespace fs = std::filesystem;

const fs::path kFolder = fs::path(ZRT_SHARED_DIR) / "golden" / "pm4";

std::vector<std::byte> bytes_of(const fs::path& path, std::size_t size) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(size == 0 ? text.size() : size);
  std::memcpy(bytes.data(), text.data(), std::min(bytes.size(), text.size()));
  return bytes;
}

/// A folder of golden/pm4: its memory before and after, and the dispatch that its ring describes.
struct Case {
  nlohmann::json json;
  std::map<std::string, std::vector<std::byte>> memory, after;
  AddressSpace space;
  Dispatch dispatch;

  explicit Case(const fs::path& folder) {
    std::ifstream(folder / "case.json") >> json;
    for (const auto& region : json["regions"]) {
      const std::string name = region["name"];
      const std::size_t size = region["size"];
      memory[name] = bytes_of(folder / region["file"].get<std::string>(), size);
      after[name] =
          region.contains("after") ? bytes_of(folder / region["after"].get<std::string>(), size) : memory[name];
      const Permission permission = name == "code"      ? Permission::read | Permission::execute
                                    : name == "kernarg" ? Permission::read
                                                        : Permission::read | Permission::write;
      const std::uint64_t address = std::stoull(region["va"].get<std::string>(), nullptr, 16);
      EXPECT_TRUE(space.map(address, memory[name], permission, name).has_value());
    }
    const auto ring = bytes_of(folder / json["ring"]["file"].get<std::string>(), 0);
    std::vector<std::uint32_t> words(ring.size() / 4);
    std::memcpy(words.data(), ring.data(), ring.size());
    read_ring(words);
  }

  /// SET_SH_REG and DISPATCH_DIRECT alone.
  void read_ring(const std::vector<std::uint32_t>& words) {
    std::map<std::uint32_t, std::uint32_t> registers;
    for (std::size_t i = 0; i < words.size();) {
      const std::uint32_t count = (words[i] >> 16 & 0x3fffu) + 1, opcode = words[i] >> 8 & 0xffu;
      if (opcode == 0x76)
        for (std::uint32_t k = 1; k < count; ++k) registers[words[i + 1] + k - 1] = words[i + 1 + k];
      if (opcode == 0x15) {
        dispatch.groups = {words[i + 1], words[i + 2], words[i + 3]};
        dispatch.wave64 = (words[i + 4] >> 15 & 1u) == 0;
      }
      i += count + 1;
    }
    dispatch.isa = json["target"] == "gfx1100" ? Isa::gfx11 : Isa::gfx12;
    dispatch.threads = {registers[0x207], registers[0x208], registers[0x209]};
    dispatch.code = (std::uint64_t{registers[0x20d]} << 32 | registers[0x20c]) << 8;
    dispatch.rsrc1 = registers[0x212];
    dispatch.rsrc2 = registers[0x213];
    dispatch.rsrc3 = registers[0x228];
    for (std::uint32_t i = 0; i < 16; ++i) dispatch.user_data[i] = registers[0x240 + i];
  }
};

std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  if (fs::exists(kFolder))
    for (const auto& entry : fs::directory_iterator(kFolder))
      if (entry.is_directory()) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Kernels that use exp, sin or rsq, which the other emulator rounds otherwise.
bool is_rounded(const std::string& kernel) {
  return kernel == "rmsnorm" || kernel == "softmax" || kernel == "rope" || kernel == "swiglu";
}

TEST(IsaGolden, EveryCaseLeavesTheMemoryOfTheOtherEmulator) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "SKIPPED: no golden data at " << kFolder;
  std::size_t cases = 0;
  for (const fs::path& folder : folders()) {
    SCOPED_TRACE(folder.filename().string());
    Case c(folder);
    const auto counters = zrt::test::run_dispatch(c.dispatch, c.space);
    ASSERT_TRUE(counters.has_value()) << counters.error().text();
    EXPECT_GT(counters->wave_instructions, 0u);
    for (const auto& [name, bytes] : c.memory) {
      // The fence after the dispatch writes it.
      if (name == "signal") continue;
      if (!is_rounded(c.json["kernel"])) {
        EXPECT_TRUE(bytes == c.after[name]) << name;
        continue;
      }
      for (std::size_t at = 0; at < bytes.size(); at += 4) {
        float got = 0, want = 0;
        std::memcpy(&got, &bytes[at], 4);
        std::memcpy(&want, &c.after[name][at], 4);
        if (std::memcmp(&got, &want, 4) != 0) {
          ASSERT_NEAR(got, want, 4e-7f * std::max(0.5f, std::fabs(want))) << name << " + " << at;
        }
      }
    }
    if (c.json.contains("expect_f32") && !c.json["expect_f32"].is_null()) {
      const auto& expect = c.json["expect_f32"];
      const auto& region = c.memory[expect["region"].get<std::string>()];
      for (std::size_t i = 0; i < expect["count"].get<std::size_t>(); ++i) {
        float got = 0;
        std::memcpy(&got, &region[expect["offset"].get<std::size_t>() + i * 4], 4);
        const double want = expect["values"][i];
        EXPECT_NEAR(got, want, expect["tolerance"].get<double>() * std::max(1.0, std::fabs(want))) << i;
      }
    }
    ++cases;
  }
  EXPECT_GE(cases, 15u);
}

TEST(IsaGolden, ThreadsChangeNeitherMemoryNorCounts) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "SKIPPED: no golden data at " << kFolder;
  zrt::test::TwoWorkers workers;
  for (const fs::path& folder : folders()) {
    SCOPED_TRACE(folder.filename().string());
    Case one(folder), two(folder);
    const auto alone = zrt::test::run_dispatch(one.dispatch, one.space);
    const auto both = zrt::test::run_dispatch(two.dispatch, two.space, workers.hook());
    ASSERT_TRUE(alone.has_value() && both.has_value());
    EXPECT_EQ(one.memory, two.memory);
    EXPECT_EQ(alone->wave_instructions, both->wave_instructions);
    EXPECT_EQ(alone->waves, both->waves);
    for (std::size_t i = 0; i < alone->regions.size(); ++i) {
      EXPECT_EQ(alone->regions[i].bytes_read, both->regions[i].bytes_read);
      EXPECT_EQ(alone->regions[i].bytes_written, both->regions[i].bytes_written);
    }
  }
}

/// 300 sums of f32: each byte is read once, 128 in a row by a full wave.
TEST(IsaGolden, TrafficIsCounted) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "SKIPPED: no golden data at " << kFolder;
  for (const char* name : {"gfx1201-vadd", "gfx1100-vadd"}) {
    SCOPED_TRACE(name);
    Case c(kFolder / name);
    const auto counters = zrt::test::run_dispatch(c.dispatch, c.space);
    ASSERT_TRUE(counters.has_value()) << counters.error().text();
    const RegionTraffic& buffer = counters->regions[2];
    EXPECT_EQ(buffer.bytes_read, 2u * 300 * 4);
    EXPECT_EQ(buffer.bytes_written, 300u * 4);
    EXPECT_EQ(buffer.loads, 2u * 10);
    EXPECT_EQ(buffer.load_runs, 2u * 10);
    EXPECT_EQ(buffer.contiguous_bytes(), 120u);
    EXPECT_EQ(counters->waves, 16u);
  }
}

/// A kernel that loads and adds without the waits between: the card would add what was in the registers before.
TEST(IsaGolden, AMissingWaitIsNamed) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "SKIPPED: no golden data at " << kFolder;
  for (const char* name : {"gfx1201-vadd", "gfx1100-vadd"}) {
    SCOPED_TRACE(name);
    Case c(kFolder / name);
    std::vector<std::byte>& code = c.memory["code"];
    for (std::size_t at = c.dispatch.code - 0x600000000000; at + 4 <= code.size(); at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, &code[at], 4);
      const bool waits = word >> 16 == 0xbfc0 || word >> 16 == 0xbfc7 || word >> 16 == 0xbf89;
      const std::uint32_t nop = 0xbf800000;
      if (waits) std::memcpy(&code[at], &nop, 4);
      if (word == 0xbfb00000) break;
    }
    const auto counters = zrt::test::run_dispatch(c.dispatch, c.space);
    ASSERT_FALSE(counters.has_value());
    EXPECT_EQ(counters.error().code(), Errc::spec_violation);
    EXPECT_NE(counters.error().text().find("a wait is missing"), std::string_view::npos) << counters.error().text();
  }
}

TEST(IsaGolden, FaultsNameWaveAndAddress) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << "SKIPPED: no golden data at " << kFolder;
  Case c(kFolder / "gfx1201-vadd");
  ASSERT_TRUE(c.space.unmap(0x600000200000).has_value());
  auto counters = zrt::test::run_dispatch(c.dispatch, c.space);
  ASSERT_FALSE(counters.has_value());
  const std::string text(counters.error().text());
  for (const char* part : {"workgroup 0,0,0", "wave ", "0x60000000", "global_load_b32", "not mapped"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;

  Case read_only(kFolder / "gfx1201-vadd");
  ASSERT_TRUE(read_only.space.unmap(0x600000200000).has_value());
  ASSERT_TRUE(read_only.space.map(0x600000200000, read_only.memory["buffer"], Permission::read, "buffer").has_value());
  counters = zrt::test::run_dispatch(read_only.dispatch, read_only.space);
  ASSERT_FALSE(counters.has_value());
  EXPECT_NE(counters.error().text().find("forbids"), std::string_view::npos) << counters.error().text();

  Case endless(kFolder / "gfx1201-vadd");
  const std::uint32_t self = 0xbfa0ffff;  // s_branch to itself
  std::memcpy(&endless.memory["code"][endless.dispatch.code - 0x600000000000], &self, 4);
  endless.dispatch.instruction_limit = 100000;
  counters = zrt::test::run_dispatch(endless.dispatch, endless.space);
  ASSERT_FALSE(counters.has_value());
  EXPECT_EQ(counters.error().code(), Errc::limit_exceeded);

  Case registers(kFolder / "gfx1201-softmax");
  registers.dispatch.rsrc1 &= ~63u;
  counters = zrt::test::run_dispatch(registers.dispatch, registers.space);
  ASSERT_FALSE(counters.has_value());
  EXPECT_NE(counters.error().text().find("vector registers"), std::string_view::npos);
}

}  // namespace
}  // namespace isa_golden_test
