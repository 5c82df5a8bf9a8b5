// SPDX-License-Identifier: Apache-2.0
// tests/pm4/isa_interpreter.hpp: the interpreter behind functions, so that one source of the suite compiles it.
#pragma once

#include <zrt/core/hooks.hpp>
#include <zrt/emulator/counters.hpp>
#include <zrt/emulator/dispatch.hpp>

#include <string>
#include <vector>

namespace zrt::test {

[[nodiscard]] Result<zrt::emulator::Counters> run_dispatch(const zrt::emulator::Dispatch& dispatch,
                                                           const zrt::emulator::AddressSpace& memory,
                                                           const ThreadHook& threads = {});

/// One instruction, or a few, on one wave whose registers the test sets and reads.
struct Snippet {
  zrt::emulator::Isa isa = zrt::emulator::Isa::gfx12;
  bool wave64 = false;
  bool ieee = false;  ///< IEEE_MODE of GFX11
  std::vector<std::uint32_t> words;
  std::vector<std::uint32_t> vgprs;  ///< [half][register of 64][lane]
  std::vector<std::uint32_t> sgprs;  ///< 128
  bool scc = false;
  std::vector<std::byte> lds;
  std::string name;  ///< of the first instruction, as the list has it
  std::uint64_t executed = 0;
};
inline constexpr std::uint32_t kSnippetVgprs = 64;
/// Where a snippet finds its scratch, if the memory has a region there, and how much that is.
inline constexpr std::uint64_t kSnippetScratch = 0x20000;
inline constexpr std::uint32_t kSnippetScratchBytes = 4096;

/// Runs until the end of the words; the registers afterwards are in the snippet.
[[nodiscard]] Result<void> run_snippet(Snippet& snippet, const zrt::emulator::AddressSpace& memory);

/// The first instruction of `words` as text.
[[nodiscard]] std::string disassembled(const std::vector<std::uint32_t>& words, zrt::emulator::Isa isa);
/// The same, and how many words it has.
[[nodiscard]] std::string disassembled(Span<const std::uint32_t> words, zrt::emulator::Isa isa, unsigned& size);

}  // namespace zrt::test
