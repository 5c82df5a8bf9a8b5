// SPDX-License-Identifier: Apache-2.0
// tests/pm4/isa_programs.cpp: whole workgroups: barriers, LDS, scratch, atomics, threads, and every fault by name.
//
// The programs are tests/data/pm4/programs.txt, written by tests/tools/pm4_programs.py.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <pm4/isa_interpreter.hpp>
#include <string>
#include <support/two_workers.hpp>

namespace isa_programs_test {
namespace {

using namespace zrt;
using namespace zrt::emulator;

constexpr std::uint64_t kCode = 0x100000, kData = 0x200000, kScratch = 0x300000;
constexpr Permission kReadWrite = Permission::read | Permission::write;

/// A program with memory for its data and its scratch.
struct Machine {
  std::vector<std::uint32_t> code;
  std::vector<std::uint32_t> data = std::vector<std::uint32_t>(4096);
  std::vector<std::byte> scratch = std::vector<std::byte>(1 << 20);
  AddressSpace memory;
  Dispatch dispatch;

  Machine(const std::string& name, const std::string& isa) {
    std::ifstream file(ZRT_TEST_DATA_DIR "/pm4/programs.txt");
    for (std::string n, i, words; file >> n >> i >> words;)
      if (n == name && i == isa)
        for (std::size_t at = 0; at < words.size(); at += 8)
          code.push_back(static_cast<std::uint32_t>(std::stoul(words.substr(at, 8), nullptr, 16)));
    EXPECT_FALSE(code.empty()) << name;
    auto map = [&](std::uint64_t address, std::span<std::byte> bytes, Permission permission, const char* what) {
      EXPECT_TRUE(memory.map(address, bytes, permission, what).has_value());
    };
    map(kCode, std::as_writable_bytes(std::span(code)), Permission::read | Permission::execute, "code");
    map(kData, std::as_writable_bytes(std::span(data)), kReadWrite, "data");
    map(kScratch, scratch, kReadWrite, "scratch");
    dispatch.isa = isa == "gfx11" ? Isa::gfx11 : Isa::gfx12;
    dispatch.code = kCode;
    dispatch.threads = {128, 1, 1};
    dispatch.rsrc1 = 0xf0000 | 31;
    dispatch.rsrc2 = 2u << 1 | 1u << 7 | 1u << 15;  // two user SGPRs, the group's number, 512 bytes of LDS
    dispatch.user_data[0] = kData;
    dispatch.instruction_limit = 1 << 18;
  }
  Result<Counters> run(const ThreadHook& threads = {}) { return zrt::test::run_dispatch(dispatch, memory, threads); }
  void use_scratch() {
    dispatch.rsrc2 |= 1;
    dispatch.scratch_base = kScratch;
    dispatch.scratch_bytes = scratch.size();
    dispatch.scratch_wave_bytes = 64 * 64;
  }
};

class IsaPrograms : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, IsaPrograms, testing::Values("gfx11", "gfx12"),
                         [](const auto& target) { return std::string(target.param); });

TEST_P(IsaPrograms, WavesMeetAtTheBarrier) {
  for (const bool wave64 : {false, true}) {
    Machine m("reverse", GetParam());
    m.dispatch.wave64 = wave64;
    m.dispatch.groups = {5, 1, 1};
    const auto counters = m.run();
    ASSERT_TRUE(counters.has_value()) << counters.error().text();
    for (std::uint32_t i = 0; i < 5 * 128; ++i) ASSERT_EQ(m.data[i], 127 - i % 128) << i;
    EXPECT_EQ(counters->waves, wave64 ? 10u : 20u);
    EXPECT_EQ(counters->workgroups, 5u);
    EXPECT_EQ(counters->regions[1].bytes_written, 5u * 512);
    EXPECT_EQ(counters->lds_bytes, 5u * 1024);
  }
}

TEST_P(IsaPrograms, ScratchIsEachLanesOwn) {
  for (const bool wave64 : {false, true}) {
    Machine m("scratch", GetParam());
    m.dispatch.wave64 = wave64;
    m.dispatch.groups = {3, 1, 1};
    m.use_scratch();
    zrt::test::TwoWorkers workers;
    const auto counters = m.run(workers.hook());
    ASSERT_TRUE(counters.has_value()) << counters.error().text();
    for (std::uint32_t i = 0; i < 3 * 128; ++i) ASSERT_EQ(m.data[i], 4 * (i % 128)) << i;
  }
  Machine none("scratch", GetParam());
  none.dispatch.rsrc2 |= 1;
  EXPECT_FALSE(none.run().has_value());
  none.use_scratch();
  none.dispatch.scratch_bytes = 4096;
  EXPECT_FALSE(none.run().has_value());
}

TEST_P(IsaPrograms, AtomicsOfAllThreadsCount) {
  Machine m("count", GetParam());
  m.dispatch.groups = {10, 10, 2};
  m.dispatch.threads = {10, 3, 2};
  zrt::test::TwoWorkers workers;
  const auto counters = m.run(workers.hook());
  ASSERT_TRUE(counters.has_value()) << counters.error().text();
  EXPECT_EQ(m.data[0], 200u * 60);
  EXPECT_EQ(counters->waves, 400u);
}

TEST_P(IsaPrograms, GridsEnd) {
  const auto run = [](std::uint64_t limit, const ThreadHook& threads = {}) {
    Machine m("count", GetParam());
    m.dispatch.groups = {100, 1, 1};
    m.dispatch.grid_limit = limit;
    return m.run(threads);
  };
  const auto whole = run(Dispatch{}.grid_limit);
  ASSERT_TRUE(whole) << whole.error().text();
  const std::uint64_t spent = whole->wave_instructions + whole->waves * 256;
  EXPECT_TRUE(run(spent));
  zrt::test::TwoWorkers workers;
  for (const ThreadHook& threads : {ThreadHook{}, workers.hook()}) {
    const auto cut = run(spent - 1, threads);
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(cut.error().text(), "the grid of 100 x 1 x 1 workgroups has not ended after " +
                                      std::to_string(spent - 1) +
                                      " instructions, 256 for each start of a wave among them");
  }
}

TEST_P(IsaPrograms, ACounterThatIsFullEndsItsOldestOperation) {
  Machine m("oldest_load", GetParam());
  const auto counters = m.run();
  EXPECT_TRUE(counters.has_value()) << counters.error().text();
}

TEST_P(IsaPrograms, CallsReturn) {
  Machine m("call", GetParam());
  m.dispatch.threads = {32, 1, 1};
  const auto counters = m.run();
  ASSERT_TRUE(counters.has_value()) << counters.error().text();
  EXPECT_EQ(m.data[0], 10u);
  EXPECT_EQ(m.data[31], 10u);
}

/// What a faulty program's error says.
struct Fault {
  const char* program;
  Errc code;
  const char* says;
};
constexpr Fault kFaults[] = {
    {"lds_out_of_range", Errc::spec_violation, "reads 4 bytes at 0x200"},
    {"scratch_out_of_range", Errc::spec_violation, "reads 4 bytes at 0x4000"},
    {"misaligned_atomic", Errc::spec_violation, "the address 0x200002 is not aligned to 4, in lane 0"},
    {"misaligned_scalar_load", Errc::spec_violation, "0x200002 is not aligned to 4"},
    {"unknown", Errc::unsupported_opcode,
     "unknown encoding 0xd7ff0000, behind: v_mov_b32_e32 v1, 0, before: v_mov_b32_e32 v2, 1"},
    {"scalar_before_wait", Errc::spec_violation, "s_add"},
    {"lds_before_wait", Errc::spec_violation, "a wait is missing"},
    {"store_before_barrier", Errc::spec_violation, "wrote to local memory may still be on its way"},
    {"branch_before_wait", Errc::spec_violation, "s_cbranch_vccz: touches a register"},
    {"mask_before_wait", Errc::spec_violation, "v_div_fmas_f32: touches a register"},
    {"load_before_wait", Errc::spec_violation, "a wait is missing"},
    {"scalar_after_stores", Errc::spec_violation, "a wait is missing"},
    {"off_the_end", Errc::spec_violation, "leaves the program"},
    {"into_an_instruction", Errc::spec_violation, "middle of an instruction"},
    {"float_mode", Errc::unimplemented, "rounding to nearest"},
};
constexpr Fault kFaults11[] = {
    {"lds_beside_scalar", Errc::spec_violation, "v_add_nc_u32: touches a register"},
};
constexpr Fault kFaults12[] = {
    {"wait_without_signal", Errc::spec_violation, "has not signaled"},
    {"signal_twice", Errc::spec_violation, "before it has waited"},
    {"nobody_comes", Errc::limit_exceeded, "has not ended"},
};

TEST_P(IsaPrograms, FaultsAreNamed) {
  std::vector<Fault> faults(std::begin(kFaults), std::end(kFaults));
  if (GetParam() == std::string("gfx12"))
    faults.insert(faults.end(), std::begin(kFaults12), std::end(kFaults12));
  else
    faults.insert(faults.end(), std::begin(kFaults11), std::end(kFaults11));
  for (const Fault& f : faults) {
    SCOPED_TRACE(f.program);
    Machine m(f.program, GetParam());
    m.use_scratch();
    const auto counters = m.run();
    ASSERT_FALSE(counters.has_value());
    EXPECT_EQ(counters.error().code(), f.code) << counters.error().text();
    const std::string text(counters.error().text());
    EXPECT_NE(text.find(f.says), std::string::npos) << text;
    EXPECT_NE(text.find("wave "), std::string::npos) << text;
  }
}

/// Loads and stores that a card takes by its alignment mode alone: a queue that asks for alignment refuses each, by way
/// of the lanes in a run as by that of each for itself.
TEST_P(IsaPrograms, MisalignedAccessesAreRefusedWhereAlignmentIsAskedFor) {
  const struct {
    const char* program;
    const char* says;
  } programs[] = {
      {"misaligned_run", "the address 0x200002 is not aligned to 4, in lane 0"},
      {"misaligned_lane", "the address 0x200006 is not aligned to 4, in lane 1"},
      {"misaligned_half", "the address 0x200003 is not aligned to 2, in lane 1"},
      {"misaligned_store", "the address 0x200006 is not aligned to 4, in lane 0"},
      {"misaligned_flat", "the address 0x200001 is not aligned to 4, in lane 0"},
      {"misaligned_scratch", "the address 0x2 is not aligned to 4, in lane 0"},
      {"misaligned_lds_run", "the address 0x4 is not aligned to 8, in lane 0"},
      {"misaligned_lds_lane", "the address 0xc is not aligned to 16, in lane 1"},
      {"misaligned_lds_pair", "the address 0x4 is not aligned to 8, in lane 1"},
      {"misaligned_lds_pair_load", "the address 0x4 is not aligned to 8, in lane 1"},
  };
  for (const auto& p : programs) {
    SCOPED_TRACE(p.program);
    for (const bool any : {true, false}) {
      Machine m(p.program, GetParam());
      m.use_scratch();
      m.dispatch.threads = {32, 1, 1};
      m.dispatch.any_address = any;
      const auto counters = m.run();
      ASSERT_EQ(counters.has_value(), any) << (any ? counters.error().text() : "");
      if (any) continue;
      EXPECT_EQ(counters.error().code(), Errc::spec_violation);
      const std::string text(counters.error().text());
      EXPECT_NE(text.find(p.says), std::string::npos) << text;
    }
  }
}

/// The lowest workgroup's error, whoever runs it first.
TEST_P(IsaPrograms, TheSameErrorWithThreads) {
  std::string texts[2];
  for (const bool threads : {false, true}) {
    Machine m("reverse", GetParam());
    // Workgroups from 32 on write past the data.
    m.dispatch.groups = {64, 1, 1};
    zrt::test::TwoWorkers workers;
    const auto counters = threads ? m.run(workers.hook()) : m.run();
    ASSERT_FALSE(counters.has_value());
    texts[threads ? 1 : 0] = counters.error().text();
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0].find("workgroup 32,0,0"), std::string::npos) << texts[0];
}

TEST_P(IsaPrograms, ImpossibleDispatchesAreRefused) {
  auto error_of = [](auto change) {
    Machine m("count", GetParam());
    change(m.dispatch);
    const auto counters = m.run();
    return counters ? std::string() : std::string(counters.error().text());
  };
  auto refused = [&](auto change) { return !error_of(change).empty(); };
  EXPECT_TRUE(refused([](Dispatch& d) { d.threads = {1025, 1, 1}; }));
  EXPECT_TRUE(refused([](Dispatch& d) { d.threads = {0, 1, 1}; }));
  EXPECT_TRUE(refused([](Dispatch& d) { d.groups = {~0u, ~0u, 2}; })) << "more than are counted";
  for (const std::size_t axis : {1u, 2u})
    EXPECT_EQ(error_of([&](Dispatch& d) {
                d.groups[axis] = 65537;
                d.rsrc1 = 31;  // what would run is refused too
              }).find("ids of 16 bits") != std::string::npos,
              std::string_view(GetParam()) == "gfx12");
  EXPECT_TRUE(refused([](Dispatch& d) { d.rsrc1 = 31; }));
  EXPECT_TRUE(refused([](Dispatch& d) { d.code = kData; }));
  EXPECT_TRUE(refused([](Dispatch& d) { d.code = 0x4; }));
  EXPECT_TRUE(refused([](Dispatch& d) { d.code = kCode + 2; }));
  EXPECT_TRUE(refused([](Dispatch& d) { d.rsrc2 |= 31u << 1; }));
  EXPECT_TRUE(refused([](Dispatch& d) { d.rsrc2 |= 0x1ffu << 15; }));
}

TEST(IsaDispatch, TakesIeeeModeOfGfx11Alone) {
  const auto mode = [](Isa isa, std::uint32_t rsrc1) {
    return DispatchShape::of({.isa = isa, .threads = {32, 1, 1}, .rsrc1 = rsrc1}).value().mode;
  };
  // RSRC1 of clang for gfx1100; on GFX12 bit 23 disables performance counters.
  EXPECT_EQ(mode(Isa::gfx11, 0x60af0080), kNearestWithDenormals | kIeeeMode);
  EXPECT_EQ(mode(Isa::gfx11, 0x602f0080), kNearestWithDenormals);
  EXPECT_EQ(mode(Isa::gfx12, 0x60af0080), kNearestWithDenormals);
}

TEST(IsaMemory, RegionsNeverOverlap) {
  AddressSpace memory;
  std::vector<std::byte> a(256), b(256);
  EXPECT_TRUE(memory.map(0x1000, a, kReadWrite, "a").has_value());
  EXPECT_FALSE(memory.map(0x10ff, b, kReadWrite, "b").has_value());
  EXPECT_FALSE(memory.map(0xf01, b, kReadWrite, "b").has_value());
  EXPECT_TRUE(memory.map(0x1100, b, Permission::read, "b").has_value());
  EXPECT_FALSE(memory.map(~std::uint64_t{0} - 10, b, kReadWrite, "b").has_value());
  EXPECT_FALSE(memory.map(0x5000, {}, kReadWrite, "empty").has_value());
  // No access crosses from one region into its neighbour.
  EXPECT_EQ(memory.find(0x10fe, 4), nullptr);
  EXPECT_TRUE(memory.at(0x10fc, 4, kReadWrite).has_value());
  EXPECT_FALSE(memory.at(0x1100, 4, Permission::write).has_value());
  EXPECT_FALSE(memory.at(0x1200, 1, Permission::read).has_value());
  EXPECT_TRUE(memory.unmap(0x1000).has_value());
  EXPECT_FALSE(memory.unmap(0x1000).has_value());
  EXPECT_EQ(memory.find(0x1000, 1), nullptr);
}

}  // namespace
}  // namespace isa_programs_test
