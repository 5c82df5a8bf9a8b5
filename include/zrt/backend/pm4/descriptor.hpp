// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/descriptor.hpp: the AMDHSA kernel descriptor, and the registers that follow from it.
#pragma once

#include <zrt/backend/pm4/registers.hpp>
#include <zrt/core/error.hpp>
#include <zrt/core/little_endian.hpp>

#include <type_traits>

namespace zrt::inline ZRT_ABI::pm4 {

/// What a compiler says of a kernel: the 64 bytes at the symbol NAME.kd of a code object.
struct KernelDescriptor {
  std::uint32_t lds_bytes = 0;
  std::uint32_t scratch_bytes = 0;  ///< of one lane
  std::uint32_t kernarg_bytes = 0;
  std::uint32_t reserved_12 = 0;
  std::int64_t entry_offset = 0;  ///< of the first instruction, from the descriptor
  std::uint32_t reserved_24[5]{};
  std::uint32_t pgm_rsrc3 = 0;
  std::uint32_t pgm_rsrc1 = 0;
  std::uint32_t pgm_rsrc2 = 0;
  std::uint16_t properties = 0;
  std::uint16_t kernarg_preload = 0;
  std::uint32_t reserved_60 = 0;
};
static_assert(sizeof(KernelDescriptor) == 64 && std::is_trivially_copyable_v<KernelDescriptor>);
static_assert(offsetof(KernelDescriptor, lds_bytes) == 0 && offsetof(KernelDescriptor, scratch_bytes) == 4);
static_assert(offsetof(KernelDescriptor, kernarg_bytes) == 8 && offsetof(KernelDescriptor, entry_offset) == 16);
static_assert(offsetof(KernelDescriptor, pgm_rsrc3) == 44 && offsetof(KernelDescriptor, pgm_rsrc1) == 48);
static_assert(offsetof(KernelDescriptor, pgm_rsrc2) == 52 && offsetof(KernelDescriptor, properties) == 56);
static_assert(offsetof(KernelDescriptor, kernarg_preload) == 58 && offsetof(KernelDescriptor, reserved_60) == 60);

/// The code properties of a descriptor. All but the last two are values that the kernel wants in its first SGPRs.
inline constexpr auto kCodeProperties = std::to_array<BitField>({
    {"PRIVATE_SEGMENT_BUFFER", 0, 0, 1},
    {"DISPATCH_PTR", 0, 1, 1},
    {"QUEUE_PTR", 0, 2, 1},
    {"KERNARG_SEGMENT_PTR", 0, 3, 1},
    {"DISPATCH_ID", 0, 4, 1},
    {"FLAT_SCRATCH_INIT", 0, 5, 1},
    {"PRIVATE_SEGMENT_SIZE", 0, 6, 1},
    {"WAVEFRONT_SIZE32", 0, 10, 1},
    {"DYNAMIC_STACK", 0, 11, 1},
});
static_assert(well_formed(kCodeProperties));
inline constexpr std::uint32_t kKernargPointer = 1u << 3;
inline constexpr std::uint32_t kWave32 = 1u << 10;

/// LDS is given to a workgroup in blocks of this many bytes, as RSRC2 counts them.
inline constexpr std::uint32_t kLdsBlock = 512;
/// Code begins at a multiple of this.
inline constexpr std::uint64_t kCodeAlignment = 256;

/// Reads a descriptor. `bytes` has at least 64.
[[nodiscard]] constexpr KernelDescriptor load_descriptor(Span<const std::byte> bytes) noexcept {
  const auto word = [&](std::size_t at) { return read_little<std::uint32_t>(bytes.data() + at); };
  KernelDescriptor d{};
  d.lds_bytes = word(0);
  d.scratch_bytes = word(4);
  d.kernarg_bytes = word(8);
  d.reserved_12 = word(12);
  d.entry_offset = static_cast<std::int64_t>(read_little<std::uint64_t>(bytes.data() + 16));
  for (std::size_t i = 0; i < 5; ++i) d.reserved_24[i] = word(24 + 4 * i);
  d.pgm_rsrc3 = word(44);
  d.pgm_rsrc1 = word(48);
  d.pgm_rsrc2 = word(52);
  d.properties = read_little<std::uint16_t>(bytes.data() + 56);
  d.kernarg_preload = read_little<std::uint16_t>(bytes.data() + 58);
  d.reserved_60 = word(60);
  return d;
}

/// Checks that a kernel can be launched as zrt does: its only input in SGPRs is the address of its arguments, in
/// s[0:1], and its registers have no bit set that the generation reserves.
///
/// Errors: Errc::invalid_file naming the field, its value and what was expected.
[[nodiscard]] constexpr Result<void> check_descriptor(const KernelDescriptor& d, Generation generation) noexcept {
  const auto refuse = [](std::string_view field, std::uint64_t found, std::string_view expected) {
    return fail(Errc::invalid_file, "the kernel descriptor's ", field, " is ", std::string_view(Hex(found)), ", ",
                expected, " expected");
  };
  if (d.reserved_12 != 0) return refuse("reserved dword at 12", d.reserved_12, "0");
  for (const std::uint32_t word : d.reserved_24)
    if (word != 0) return refuse("reserved dword at 24", word, "0");
  if (d.reserved_60 != 0) return refuse("reserved dword at 60", d.reserved_60, "0");
  if (d.kernarg_preload != 0) return refuse("kernarg preload", d.kernarg_preload, "0");
  if ((d.properties & ~kWave32) != kKernargPointer)
    return refuse("code properties", d.properties, "KERNARG_SEGMENT_PTR, and WAVEFRONT_SIZE32 or not");
  const struct {
    std::string_view name;
    std::uint32_t value;
    Span<const BitField> fields;
  } registers[] = {{"RSRC1", d.pgm_rsrc1, fields::kPgmRsrc1},
                   {"RSRC2", d.pgm_rsrc2, fields::kPgmRsrc2},
                   {"RSRC3", d.pgm_rsrc3, fields::kPgmRsrc3}};
  for (const auto& entry : registers)
    if ((entry.value & reserved_bits(entry.fields, 0, generation)) != 0)
      return refuse(entry.name, entry.value, "no reserved bit");
  if (named_field(fields::kPgmRsrc1, "PRIV", Generation::gfx11).get(Span(&d.pgm_rsrc1, 1), 0) != 0)
    return refuse("RSRC1", d.pgm_rsrc1, "no privileged mode");
  if (named_field(fields::kPgmRsrc2, "LDS_SIZE", Generation::gfx11).get(Span(&d.pgm_rsrc2, 1), 0) != 0)
    return refuse("RSRC2", d.pgm_rsrc2, "no LDS size, which the launch sets");
  if (named_field(fields::kPgmRsrc2, "USER_SGPR", Generation::gfx11).get(Span(&d.pgm_rsrc2, 1), 0) < 2)
    return refuse("RSRC2", d.pgm_rsrc2, "at least 2 user SGPRs");
  if ((d.pgm_rsrc2 & 1) != (d.scratch_bytes != 0 ? 1u : 0u))
    return refuse("RSRC2", d.pgm_rsrc2, d.scratch_bytes != 0 ? "SCRATCH_EN" : "no SCRATCH_EN");
  return {};
}

/// What the registers of a launch are set to.
struct ProgramRegisters {
  std::uint64_t code = 0;  ///< address of the first instruction
  std::uint32_t rsrc1 = 0;
  std::uint32_t rsrc2 = 0;
  std::uint32_t rsrc3 = 0;
  friend constexpr bool operator==(const ProgramRegisters&, const ProgramRegisters&) = default;
};

/// The registers of a kernel whose descriptor lies at `address`. `more_lds` bytes come on top of those that the
/// descriptor names.
///
/// Errors: Errc::invalid_argument where the code is not 256-aligned or the LDS does not fit RSRC2.
template <class Target>
[[nodiscard]] constexpr Result<ProgramRegisters> program_registers(const KernelDescriptor& d, std::uint64_t address,
                                                                   std::uint32_t more_lds = 0) noexcept {
  constexpr BitField priv = named_field(fields::kPgmRsrc1, "PRIV", Target::generation);
  constexpr BitField lds_size = named_field(fields::kPgmRsrc2, "LDS_SIZE", Target::generation);
  ProgramRegisters registers{.code = address + static_cast<std::uint64_t>(d.entry_offset),
                             .rsrc1 = d.pgm_rsrc1,
                             .rsrc2 = d.pgm_rsrc2,
                             .rsrc3 = d.pgm_rsrc3};
  if (registers.code % kCodeAlignment != 0 || registers.code >> 48 != 0)
    return fail(Errc::invalid_argument, "the code of a kernel is at ", std::string_view(Hex(registers.code)),
                ", a multiple of ", kCodeAlignment, " below 2^48 expected");
  const std::uint64_t blocks = (std::uint64_t{d.lds_bytes} + more_lds + kLdsBlock - 1) / kLdsBlock;
  if (blocks > lds_size.most())
    return fail(Errc::invalid_argument, "a workgroup wants ", std::uint64_t{d.lds_bytes} + more_lds,
                " bytes of LDS, at most ", lds_size.most() * kLdsBlock, " can be named");
  if (Target::sets_priv) priv.set(Span(&registers.rsrc1, 1), 0, 1);
  lds_size.set(Span(&registers.rsrc2, 1), 0, blocks);
  return registers;
}

namespace detail {
inline constexpr KernelDescriptor kSeen1201{.entry_offset = 0x1000, .pgm_rsrc1 = 0x600f0040, .pgm_rsrc2 = 0x84};
inline constexpr KernelDescriptor kSeen1100{
    .lds_bytes = 1025, .entry_offset = -0x100, .pgm_rsrc1 = 0x60af0080, .pgm_rsrc2 = 0x9e};
}  // namespace detail
static_assert(program_registers<Gfx1201>(detail::kSeen1201, 0x1000) == ProgramRegisters{0x2000, 0x600f0040, 0x84, 0});
static_assert(program_registers<Gfx1100>(detail::kSeen1100, 0x1000) ==
              ProgramRegisters{0xf00, 0x60bf0080, 0x9e | 3u << 15, 0});

}  // namespace zrt::inline ZRT_ABI::pm4
