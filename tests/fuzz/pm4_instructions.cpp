// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/pm4_instructions.cpp: any words as machine code: decoded and printed; or all of them, and run for a while.
// covers: zrt/emulator/decode.hpp 90
// covers: zrt/emulator/program.hpp 80
// covers: zrt/emulator/disassemble.hpp 90
// max-len: 256
//
// Byte 0: bit 0 the instruction set, bit 1 wave64, bit 2 scratch; where it is 8 or more, or ZRT_FUZZ_DECODE_ONLY is set,
// the first instruction is decoded and no more, which costs a hundredth of a dispatch. Words follow.
#include <zrt/emulator/run_dispatch.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace zrt;
using namespace zrt::emulator;

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

/// What is decoded names only registers that exist, and prints.
void decode_first(std::span<const u32> words, DecodeTarget target) {
  Decoded first, second;
  const bool known = decode(words, target, first, second);
  unsigned size = 0;
  const InstructionText text = disassemble(words, target, size);
  demand(!text.view().empty() && size >= 1);
  if (!known) return;
  demand(size == first.size && size <= words.size() && first.run != nullptr);
  for (const Operand& o : first.src) demand(o.kind != Operand::Kind::vgpr || o.index < 256);
  demand((first.paired == nullptr) == (first.instruction->encoding != Encoding::vopd));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 5) return 0;
  std::vector<u32> words((size - 1) / 4);
  std::memcpy(words.data(), data + 1, words.size() * 4);
  Dispatch d;
  d.isa = (data[0] & 1) != 0 ? Isa::gfx11 : Isa::gfx12;
  d.wave64 = (data[0] & 2) != 0;
  decode_first(words, {d.isa, d.wave64});
  static const bool decode_only = std::getenv("ZRT_FUZZ_DECODE_ONLY") != nullptr;
  if (decode_only || data[0] >= 8) return 0;
  for (std::size_t at = 1; at < words.size(); ++at) decode_first(std::span(words).subspan(at), {d.isa, d.wave64});

  static std::array<std::byte, 4096> memory;
  AddressSpace space;
  demand(space.map(0x1000, std::as_writable_bytes(std::span(words)), Permission::read | Permission::execute, "code")
             .has_value());
  demand(space.map(0x10000, memory, Permission::read | Permission::write, "data").has_value());
  d.code = 0x1000;
  d.threads = {70, 1, 1};
  d.rsrc1 = 0xf0000 | 63;
  d.rsrc2 = 2u << 1 | 1u << 7 | 1u << 15 | ((data[0] & 4) != 0 ? 1u : 0u);
  d.user_data[0] = 0x10000;
  d.scratch_base = 0x10000;
  d.scratch_bytes = memory.size();
  d.scratch_wave_bytes = 1024;
  d.instruction_limit = 1;
  const auto counters = run(d, space);
  demand(counters.has_value() || !counters.error().text().empty());
  return 0;
}
