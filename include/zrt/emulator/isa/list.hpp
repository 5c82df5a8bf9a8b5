// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/list.hpp: the one list of instructions, and the opcode tables made from it.
#pragma once

#include <zrt/emulator/isa/compare_list.hpp>
#include <zrt/emulator/isa/dual_list.hpp>
#include <zrt/emulator/isa/memory_list.hpp>
#include <zrt/emulator/isa/scalar_list.hpp>
#include <zrt/emulator/isa/vop3_list.hpp>
#include <zrt/emulator/isa/vop3p_list.hpp>

namespace zrt::inline ZRT_ABI::emulator {

namespace detail {

template <std::size_t... N>
[[nodiscard]] consteval auto join_lists(const std::array<Instruction, N>&... lists) noexcept {
  std::array<Instruction, (N + ...)> all{};
  std::size_t at = 0;
  auto append = [&](const auto& list) {
    for (const Instruction& i : list) all[at++] = i;
  };
  (append(lists), ...);
  return all;
}

}  // namespace detail

/// Every instruction of both instruction sets that the interpreter knows. Decoder, disassembler and execution come
/// from it.
inline constexpr auto kInstructions =
    detail::join_lists(kScalarInstructions, kVectorInstructions, kCompareInstructions, kVop3Instructions,
                       kVop3pInstructions, kDualInstructions, kMemoryInstructions);

inline constexpr std::size_t kEncodings = 17;
inline constexpr std::size_t kOpcodes = 1024;

namespace detail {

/// By instruction set, format and opcode: the place in kInstructions plus one, or 0.
struct OpcodeTable {
  std::array<std::array<std::array<u16, kOpcodes>, kEncodings>, 2> place{};
};

[[nodiscard]] consteval OpcodeTable make_opcode_table() noexcept {
  OpcodeTable t;
  for (std::size_t i = 0; i < kInstructions.size(); ++i)
    for (const Isa isa : {Isa::gfx11, Isa::gfx12})
      if (const u16 opcode = kInstructions[i].opcode(isa); opcode != kAbsent)
        t.place[static_cast<std::size_t>(isa)][static_cast<std::size_t>(kInstructions[i].encoding)][opcode] =
            static_cast<u16>(i + 1);
  return t;
}
inline constexpr OpcodeTable kOpcodeTable = make_opcode_table();

}  // namespace detail

/// The instruction with that opcode in that format, or null.
[[nodiscard]] constexpr const Instruction* find_instruction(Isa isa, Encoding encoding, u32 opcode) noexcept {
  if (opcode >= kOpcodes) return nullptr;
  const u16 place =
      detail::kOpcodeTable.place[static_cast<std::size_t>(isa)][static_cast<std::size_t>(encoding)][opcode];
  return place == 0 ? nullptr : &kInstructions[place - 1u];
}

/// The instruction with that opcode in VOP3, which repeats VOPC, VOP2 and VOP1.
[[nodiscard]] constexpr const Instruction* find_vop3(Isa isa, u32 opcode) noexcept {
  if (opcode < 0x100) return find_instruction(isa, Encoding::vopc, opcode);
  if (opcode < 0x180) return find_instruction(isa, Encoding::vop2, opcode - 0x100);
  if (opcode < 0x200) return find_instruction(isa, Encoding::vop1, opcode - 0x180);
  return find_instruction(isa, Encoding::vop3, opcode);
}

}  // namespace zrt::inline ZRT_ABI::emulator
