// SPDX-License-Identifier: Apache-2.0
// tests/pm4/isa_interpreter.cpp: compiles the interpreter once for the suite.
// test-set: smoke
#include <zrt/emulator/disassemble.hpp>
#include <zrt/emulator/run_dispatch.hpp>

#include <gtest/gtest.h>

#include <pm4/isa_interpreter.hpp>

namespace zrt::test {

using namespace zrt::emulator;

Result<Counters> run_dispatch(const Dispatch& dispatch, const AddressSpace& memory, const ThreadHook& threads) {
  return run(dispatch, memory, threads);
}

Result<void> run_snippet(Snippet& s, const AddressSpace& memory) {
  constexpr u64 kCode = 0x100000;
  AddressSpace code;
  std::vector<u32> words = s.words;
  words.push_back(0xbfb00000);  // s_endpgm
  if (auto r =
          code.map(kCode, std::as_writable_bytes(std::span(words)), Permission::read | Permission::execute, "code");
      !r)
    return r;
  const auto program = Program::decode(code, kCode, {s.isa, s.wave64});
  if (!program) return pass(program);
  if (program->slots()[0].instruction != nullptr) s.name = program->slots()[0].instruction->name;
  Counters counters;
  if (auto r = counters.regions.resize(memory.ids()); !r) return r;
  Workgroup g;
  g.lds = s.lds;
  g.memory = &memory;
  g.counters = &counters;
  g.kernels = lane_kernels();
  g.isa = s.isa;
  g.waves = 1;
  Wave w;
  w.vgpr_count = kSnippetVgprs;
  w.vgprs = s.vgprs.data();
  w.halves = s.wave64 ? 2 : 1;
  w.waits = Waits(s.isa);
  w.mode = kNearestWithDenormals | (s.ieee ? kIeeeMode : 0);
  w.group = &g;
  w.code_address = kCode;
  w.scc = s.scc;
  w.scratch = kSnippetScratch;
  w.scratch_per_lane = kSnippetScratchBytes / w.lanes();
  for (std::size_t i = 0; i < sgpr::kCount; ++i) w.sgpr[i] = s.sgprs[i];
  if (program->vgprs() > kSnippetVgprs) return fail(Errc::invalid_argument, "a snippet has 64 vector registers");
  const RoundingMode nearest;
  const Flow flow = zrt::emulator::detail::run_wave(w, program->slots(), 1000, 1000);
  if (flow == Flow::fault) return std::unexpected<Error>(w.error);
  for (std::size_t i = 0; i < sgpr::kCount; ++i) s.sgprs[i] = w.sgpr[i];
  s.scc = w.scc;
  s.executed = w.instructions;
  return {};
}

std::string disassembled(const std::vector<std::uint32_t>& words, Isa isa) {
  unsigned size = 0;
  return disassembled(words, isa, size);
}
std::string disassembled(Span<const std::uint32_t> words, Isa isa, unsigned& size) {
  return std::string(disassemble(words, {isa, false}, size).view());
}

TEST(IsaMemory, LanesThatMeetLeaveGaps) {
  u64 lanes[kLanes];
  const auto fills = [&](u32 active, u64 span, auto address) {
    for (unsigned i = 0; i < kLanes; ++i) lanes[i] = 0x1000 + address(i);
    return fills_span(lanes, active, 0x1000, span, 4);
  };
  EXPECT_TRUE(fills(~0u, 128, [](unsigned i) { return i * 4; }));
  EXPECT_TRUE(fills(~0u, 128, [](unsigned i) { return (i ^ 5) * 4; }));
  EXPECT_TRUE(fills(0xf0, 16, [](unsigned i) { return i * 4 - 16; }));
  // Half of the lanes at either end.
  EXPECT_FALSE(fills(~0u, 128, [](unsigned i) { return (i & 1) * 124; }));
  EXPECT_FALSE(fills(0xf, 16, [](unsigned i) { return i == 3 ? 12 : i == 2 ? 6 : i * 4; }));
  EXPECT_FALSE(fills(~0u, 256, [](unsigned i) { return i * 8; }));
}

}  // namespace zrt::test
