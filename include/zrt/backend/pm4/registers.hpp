// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/registers.hpp: the registers of a compute dispatch, their offsets and their fields.
#pragma once

#include <zrt/backend/pm4/field.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// The first register of the SH aperture, and how many it has. SET_SH_REG counts from the first.
inline constexpr std::uint32_t kShBase = 0x2c00;
inline constexpr std::uint32_t kShCount = 0x400;
/// The same of the UCONFIG aperture.
inline constexpr std::uint32_t kUconfigBase = 0xc000;
inline constexpr std::uint32_t kUconfigCount = 0x4000;

/// A register, or a row of alike ones.
struct Register {
  std::string_view name;
  std::uint16_t offset = 0;  ///< dwords from kShBase
  std::uint16_t count = 1;
  Span<const BitField> fields{};  ///< none: any value
  bool written = true;            ///< false where a packet stream leaves it alone
  Generations defined = kEveryGeneration;
};

namespace fields {

inline constexpr auto kOne = std::to_array<NamedValue>({{1, "1"}});
// Without COMPUTE_SHADER_EN nothing starts.
inline constexpr auto kDispatchInitiator = std::to_array<BitField>({
    {.name = "COMPUTE_SHADER_EN", .values = kOne},
    {"PARTIAL_TG_EN", 0, 1, 1},
    {"FORCE_START_AT_000", 0, 2, 1},
    {"ORDERED_APPEND_ENBL", 0, 3, 1},
    {"USE_THREAD_DIMENSIONS", 0, 5, 1},
    {"ORDER_MODE", 0, 6, 1},
    {"SCALAR_L1_INV_VOL", 0, 10, 1},
    {"VECTOR_L1_INV_VOL", 0, 11, 1},
    {.name = "PING_PONG_EN", .low = 12, .defined = kGfx12Only},
    {"TUNNEL_ENABLE", 0, 13, 1},
    {"RESTORE", 0, 14, 1},
    {"CS_W32_EN", 0, 15, 1},
    {"AMP_SHADER_EN", 0, 16, 1},
    {"DISABLE_DISP_PREMPT_EN", 0, 17, 1},
    {.name = "INTERLEAVE_2D_EN", .low = 18, .defined = kGfx12Only},
    {.name = "TRACE_QUEUE", .low = 29, .bits = 3, .defined = kGfx12Only},
});
inline constexpr auto kNumThreadXy = std::to_array<BitField>({
    {.name = "NUM_THREAD_FULL", .bits = 16, .defined = kGfx11Only},
    {.name = "NUM_THREAD_PARTIAL", .low = 16, .bits = 16, .defined = kGfx11Only},
    {.name = "NUM_THREAD_FULL", .bits = 13, .defined = kGfx12Only},
    {.name = "INTERLEAVE_BITS", .low = 13, .bits = 3, .defined = kGfx12Only},
});
inline constexpr auto kNumThreadZ = std::to_array<BitField>({
    {.name = "NUM_THREAD_FULL", .bits = 16, .defined = kGfx11Only},
    {.name = "NUM_THREAD_PARTIAL", .low = 16, .bits = 16, .defined = kGfx11Only},
    {.name = "NUM_THREAD_FULL", .bits = 13, .defined = kGfx12Only},
});
inline constexpr auto kHighAddress = std::to_array<BitField>({{"DATA", 0, 0, 8}});
inline constexpr auto kFlag = std::to_array<BitField>({{"ENABLE", 0, 0, 1}});
inline constexpr auto kPgmRsrc1 = std::to_array<BitField>({
    {"VGPRS", 0, 0, 6},
    {"SGPRS", 0, 6, 4},
    {"PRIORITY", 0, 10, 2},
    {"FLOAT_MODE", 0, 12, 8},
    {"PRIV", 0, 20, 1},
    {.name = "DX10_CLAMP", .low = 21, .defined = kGfx11Only},
    {.name = "WG_RR_EN", .low = 21, .defined = kGfx12Only},
    {.name = "IEEE_MODE", .low = 23, .defined = kGfx11Only},
    {.name = "DISABLE_PERF", .low = 23, .defined = kGfx12Only},
    {"FP16_OVFL", 0, 26, 1},
    {"WGP_MODE", 0, 29, 1},
    {"MEM_ORDERED", 0, 30, 1},
    {"FWD_PROGRESS", 0, 31, 1},
});
inline constexpr auto kPgmRsrc2 = std::to_array<BitField>({
    {"SCRATCH_EN", 0, 0, 1},
    {"USER_SGPR", 0, 1, 5},
    {.name = "TRAP_PRESENT", .low = 6, .defined = kGfx11Only},
    {.name = "DYNAMIC_VGPR", .low = 6, .defined = kGfx12Only},
    {"TGID_X_EN", 0, 7, 1},
    {"TGID_Y_EN", 0, 8, 1},
    {"TGID_Z_EN", 0, 9, 1},
    {"TG_SIZE_EN", 0, 10, 1},
    {"TIDIG_COMP_CNT", 0, 11, 2},
    {"LDS_SIZE", 0, 15, 9},
    {"EXCP_EN", 0, 24, 7},
    {.name = "WGP_TAKEOVER", .low = 31, .defined = kGfx12Only},
});
inline constexpr auto kPgmRsrc3 = std::to_array<BitField>({
    {.name = "SHARED_VGPR_CNT", .bits = 4, .defined = kGfx11Only},
    {.name = "INST_PREF_SIZE", .low = 4, .bits = 6, .defined = kGfx11Only},
    {.name = "TRAP_ON_START", .low = 10, .defined = kGfx11Only},
    {.name = "TRAP_ON_END", .low = 11, .defined = kGfx11Only},
    {.name = "INST_PREF_SIZE", .low = 4, .bits = 8, .defined = kGfx12Only},
    {.name = "GLG_EN", .low = 13, .defined = kGfx12Only},
});
inline constexpr auto kResourceLimits = std::to_array<BitField>({{"WAVES_PER_SH", 0, 0, 10}});
inline constexpr auto kStaticThreadMgmt = std::to_array<BitField>({{"SA0_CU_EN", 0, 0, 16}, {"SA1_CU_EN", 0, 16, 16}});
inline constexpr auto kTmpringSize = std::to_array<BitField>({
    {"WAVES", 0, 0, 12},
    {.name = "WAVESIZE", .low = 12, .bits = 15, .defined = kGfx11Only},
    {.name = "WAVESIZE", .low = 12, .bits = 18, .defined = kGfx12Only},
});

}  // namespace fields

/// Registers of a dispatch by their offset. The offsets are those of gc_11_0 and gc_12_0, which agree but for
/// STATIC_THREAD_MGMT_SE8.
inline constexpr auto kRegisters = std::to_array<Register>({
    {.name = "COMPUTE_DISPATCH_INITIATOR", .offset = 0x200, .fields = fields::kDispatchInitiator, .written = false},
    {.name = "COMPUTE_START_X", .offset = 0x204},
    {.name = "COMPUTE_START_Y", .offset = 0x205},
    {.name = "COMPUTE_START_Z", .offset = 0x206},
    {.name = "COMPUTE_NUM_THREAD_X", .offset = 0x207, .fields = fields::kNumThreadXy},
    {.name = "COMPUTE_NUM_THREAD_Y", .offset = 0x208, .fields = fields::kNumThreadXy},
    {.name = "COMPUTE_NUM_THREAD_Z", .offset = 0x209, .fields = fields::kNumThreadZ},
    {.name = "COMPUTE_PIPELINESTAT_ENABLE", .offset = 0x20a, .fields = fields::kFlag},
    {.name = "COMPUTE_PERFCOUNT_ENABLE", .offset = 0x20b, .fields = fields::kFlag},
    {.name = "COMPUTE_PGM_LO", .offset = 0x20c},
    {.name = "COMPUTE_PGM_HI", .offset = 0x20d, .fields = fields::kHighAddress},
    {.name = "COMPUTE_DISPATCH_PKT_ADDR_LO", .offset = 0x20e},
    {.name = "COMPUTE_DISPATCH_PKT_ADDR_HI", .offset = 0x20f, .fields = fields::kHighAddress},
    {.name = "COMPUTE_DISPATCH_SCRATCH_BASE_LO", .offset = 0x210},
    {.name = "COMPUTE_DISPATCH_SCRATCH_BASE_HI", .offset = 0x211, .fields = fields::kHighAddress},
    {.name = "COMPUTE_PGM_RSRC1", .offset = 0x212, .fields = fields::kPgmRsrc1},
    {.name = "COMPUTE_PGM_RSRC2", .offset = 0x213, .fields = fields::kPgmRsrc2},
    {.name = "COMPUTE_VMID", .offset = 0x214, .written = false},
    {.name = "COMPUTE_RESOURCE_LIMITS", .offset = 0x215, .fields = fields::kResourceLimits},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE0", .offset = 0x216, .fields = fields::kStaticThreadMgmt},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE1", .offset = 0x217, .fields = fields::kStaticThreadMgmt},
    {.name = "COMPUTE_TMPRING_SIZE", .offset = 0x218, .fields = fields::kTmpringSize},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE2", .offset = 0x219, .fields = fields::kStaticThreadMgmt},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE3", .offset = 0x21a, .fields = fields::kStaticThreadMgmt},
    {.name = "COMPUTE_RESTART_X", .offset = 0x21b},
    {.name = "COMPUTE_RESTART_Y", .offset = 0x21c},
    {.name = "COMPUTE_RESTART_Z", .offset = 0x21d},
    {.name = "COMPUTE_THREAD_TRACE_ENABLE", .offset = 0x21e, .fields = fields::kFlag},
    {.name = "COMPUTE_DISPATCH_ID", .offset = 0x220},
    {.name = "COMPUTE_REQ_CTRL", .offset = 0x222},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE8",
     .offset = 0x223,
     .fields = fields::kStaticThreadMgmt,
     .defined = kGfx12Only},
    {.name = "COMPUTE_USER_ACCUM_", .offset = 0x224, .count = 4},
    {.name = "COMPUTE_PGM_RSRC3", .offset = 0x228, .fields = fields::kPgmRsrc3},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE4", .offset = 0x22b, .fields = fields::kStaticThreadMgmt},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE5", .offset = 0x22c, .fields = fields::kStaticThreadMgmt},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE6", .offset = 0x22d, .fields = fields::kStaticThreadMgmt},
    {.name = "COMPUTE_STATIC_THREAD_MGMT_SE7", .offset = 0x22e, .fields = fields::kStaticThreadMgmt},
    {.name = "COMPUTE_DISPATCH_INTERLEAVE", .offset = 0x22f},
    {.name = "COMPUTE_USER_DATA_", .offset = 0x240, .count = 16},
    {.name = "COMPUTE_DISPATCH_TUNNEL", .offset = 0x27d},
});

static_assert(
    [] {
      for (std::size_t i = 0; i < kRegisters.size(); ++i) {
        const Register& entry = kRegisters[i];
        if (!well_formed(entry.fields)) return false;
        if (i > 0 && kRegisters[i - 1].offset + kRegisters[i - 1].count > entry.offset) return false;
      }
      return kRegisters.back().offset + kRegisters.back().count <= kShCount;
    }(),
    "registers stand in the order of their offsets, and their fields part the dword");

/// The register at that offset of the SH aperture, or null.
[[nodiscard]] constexpr const Register* find_register(std::uint32_t offset, Generation generation) noexcept {
  for (const Register& entry : kRegisters)
    if (offset >= entry.offset && offset - entry.offset < entry.count && holds(entry.defined, generation))
      return &entry;
  return nullptr;
}

namespace detail {
/// Not constexpr: a constant expression that gets here does not compile.
inline void no_register_of_this_name() noexcept {}
}  // namespace detail

/// The offset of the register of that name; a name that the list lacks does not compile.
[[nodiscard]] consteval std::uint16_t register_offset(std::string_view name) noexcept {
  for (const Register& entry : kRegisters)
    if (entry.name == name) return entry.offset;
  detail::no_register_of_this_name();
  return 0;
}

}  // namespace zrt::inline ZRT_ABI::pm4
