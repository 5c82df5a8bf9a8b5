// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/target.hpp: the processors that zrt writes packets for, one policy each.
#pragma once

#include <zrt/core/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::pm4 {

/// The generation of the graphics core, which decides packet fields and register fields. A bit each, so that a list
/// may say where an entry applies.
enum class Generation : std::uint8_t {
  gfx11 = 1,  ///< RDNA3
  gfx12 = 2,  ///< RDNA4
};

/// A set of generations.
using Generations = std::uint8_t;
inline constexpr Generations kGfx11Only = static_cast<Generations>(Generation::gfx11);
inline constexpr Generations kGfx12Only = static_cast<Generations>(Generation::gfx12);
inline constexpr Generations kEveryGeneration = kGfx11Only | kGfx12Only;

[[nodiscard]] constexpr bool holds(Generations set, Generation generation) noexcept {
  return (set & static_cast<Generations>(generation)) != 0;
}

[[nodiscard]] constexpr std::string_view name(Generation generation) noexcept {
  return generation == Generation::gfx11 ? "gfx11" : "gfx12";
}

/// What differs between the packets of the generations.
struct Gfx11 {
  static constexpr Generation generation = Generation::gfx11;
  /// RSRC1.PRIV is set for every kernel: without it a wave whose context was saved does not come back right.
  static constexpr bool sets_priv = true;
  /// Workgroup ids are in the SGPRs after the user SGPRs.
  static constexpr bool workgroup_ids_in_sgprs = true;
};
struct Gfx12 {
  static constexpr Generation generation = Generation::gfx12;
  static constexpr bool sets_priv = false;
  /// Workgroup ids are in TTMP9 (x) and TTMP7 (y below, z above).
  static constexpr bool workgroup_ids_in_sgprs = false;
};

/// A processor: its generation's facts, its name, its number in a .zrt file, its machine number in the flags of an ELF
/// file, and a number that it shares with the processors whose code it runs.
struct Gfx1201 : Gfx12 {
  static constexpr std::string_view name = "gfx1201";
  static constexpr std::uint16_t file_number = 1;
  static constexpr std::uint32_t elf_machine = 0x4e;
  static constexpr std::uint16_t code_family = 1;
};
struct Gfx1200 : Gfx12 {
  static constexpr std::string_view name = "gfx1200";
  static constexpr std::uint16_t file_number = 2;
  static constexpr std::uint32_t elf_machine = 0x48;
  static constexpr std::uint16_t code_family = 1;
};
struct Gfx1151 : Gfx11 {
  static constexpr std::string_view name = "gfx1151";
  static constexpr std::uint16_t file_number = 3;
  static constexpr std::uint32_t elf_machine = 0x4a;
  static constexpr std::uint16_t code_family = 3;
};
struct Gfx1100 : Gfx11 {
  static constexpr std::string_view name = "gfx1100";
  static constexpr std::uint16_t file_number = 4;
  static constexpr std::uint32_t elf_machine = 0x41;
  static constexpr std::uint16_t code_family = 4;
};

/// A target as a value, for what is chosen when a program runs: made from the policy types alone.
struct TargetFacts {
  std::string_view name;
  std::uint16_t file_number;
  std::uint32_t elf_machine;
  std::uint16_t code_family;
  Generation generation;
  bool sets_priv;
  bool workgroup_ids_in_sgprs;
};
template <class Target>
inline constexpr TargetFacts kTargetFacts{
    Target::name,       Target::file_number, Target::elf_machine,           Target::code_family,
    Target::generation, Target::sets_priv,   Target::workgroup_ids_in_sgprs};

/// Every target.
inline constexpr auto kTargets = std::to_array<TargetFacts>(
    {kTargetFacts<Gfx1201>, kTargetFacts<Gfx1200>, kTargetFacts<Gfx1151>, kTargetFacts<Gfx1100>});

/// The target of that name, or null.
[[nodiscard]] constexpr const TargetFacts* find_target(std::string_view name) noexcept {
  for (const TargetFacts& target : kTargets)
    if (target.name == name) return &target;
  return nullptr;
}
/// The target with that number in a .zrt file, or null.
[[nodiscard]] constexpr const TargetFacts* find_target(std::uint16_t file_number) noexcept {
  for (const TargetFacts& target : kTargets)
    if (target.file_number == file_number) return &target;
  return nullptr;
}
/// The target with that machine number in the flags of an ELF file, or null.
[[nodiscard]] constexpr const TargetFacts* find_elf_target(std::uint32_t elf_machine) noexcept {
  for (const TargetFacts& target : kTargets)
    if (target.elf_machine == elf_machine) return &target;
  return nullptr;
}

/// True where `device` runs code that was compiled for `code`: compilers write the same for gfx1200 and gfx1201.
[[nodiscard]] constexpr bool runs(const TargetFacts& device, const TargetFacts& code) noexcept {
  return device.code_family == code.code_family;
}
static_assert(runs(kTargetFacts<Gfx1200>, kTargetFacts<Gfx1201>));
static_assert(!runs(kTargetFacts<Gfx1100>, kTargetFacts<Gfx1151>));

}  // namespace zrt::inline ZRT_ABI::pm4
