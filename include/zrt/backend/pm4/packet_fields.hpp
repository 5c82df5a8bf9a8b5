// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/packet_fields.hpp: the fields of every packet, and the values that have names. Sources: the kernel's
// nvd.h, Mesa's sid.h.
#pragma once

#include <zrt/backend/pm4/registers.hpp>

namespace zrt::inline ZRT_ABI::pm4::fields {

// A virtual address of the GPU has 48 bits.
constexpr std::uint8_t kAddressBits = 48;

inline constexpr auto kEngine = std::to_array<NamedValue>({{0, "ME"}});
inline constexpr auto kZero = std::to_array<NamedValue>({{0, "0"}});
inline constexpr auto kCompare = std::to_array<NamedValue>({{0, "ALWAYS"},
                                                            {1, "LESS"},
                                                            {2, "LESS_EQUAL"},
                                                            {3, "EQUAL"},
                                                            {4, "NOT_EQUAL"},
                                                            {5, "GREATER_EQUAL"},
                                                            {6, "GREATER"}});
inline constexpr auto kSpace = std::to_array<NamedValue>({{0, "REGISTER"}, {1, "MEMORY"}});
inline constexpr auto kWaitOperation =
    std::to_array<NamedValue>({{0, "WAIT"}, {1, "WRITE_WAIT_WRITE"}, {3, "WAIT_PREEMPTABLE"}});
inline constexpr auto kEventType = std::to_array<NamedValue>({{0x07, "CS_PARTIAL_FLUSH"},
                                                              {0x14, "CACHE_FLUSH_AND_INV_TS_EVENT"},
                                                              {0x28, "BOTTOM_OF_PIPE_TS"},
                                                              {0x2f, "CS_DONE"}});
inline constexpr auto kSequence = std::to_array<NamedValue>({{0, "PARALLEL"}, {1, "FORWARD"}, {2, "REVERSE"}});
inline constexpr auto kReleaseTo = std::to_array<NamedValue>({{0, "MEMORY_CONTROLLER"}, {1, "L2"}});
inline constexpr auto kInterrupt = std::to_array<NamedValue>({{0, "NONE"},
                                                              {1, "INTERRUPT"},
                                                              {2, "INTERRUPT_AFTER_WRITE"},
                                                              {3, "DATA_AFTER_WRITE"},
                                                              {4, "CTXID_4"},
                                                              {5, "CTXID_5"},
                                                              {6, "CTXID_6"}});
inline constexpr auto kReleaseData =
    std::to_array<NamedValue>({{0, "NONE"}, {1, "LOW_32_BITS"}, {2, "64_BITS"}, {3, "GPU_CLOCK"}, {4, "CP_COUNTER"}});
inline constexpr auto kWriteTo = std::to_array<NamedValue>({{0, "REGISTER"}, {2, "L2"}, {5, "MEMORY"}});
inline constexpr auto kCopyFrom = std::to_array<NamedValue>(
    {{0, "REGISTER"}, {1, "MEMORY"}, {2, "L2"}, {4, "PERF_COUNTER"}, {5, "IMMEDIATE"}, {9, "GPU_CLOCK"}});

/// The fields of a packet, then those of a register that one of its dwords holds.
template <std::size_t N, std::size_t M>
[[nodiscard]] consteval std::array<BitField, N + M> with_register(const std::array<BitField, N>& packet,
                                                                  const std::array<BitField, M>& entry,
                                                                  std::uint8_t dword) noexcept {
  std::array<BitField, N + M> all{};
  for (std::size_t i = 0; i < N; ++i) all[i] = packet[i];
  for (std::size_t i = 0; i < M; ++i) {
    all[N + i] = entry[i];
    all[N + i].dword = dword;
  }
  return all;
}

inline constexpr auto kDispatchDirect = with_register(
    std::to_array<BitField>({{"DIM_X", 1, 0, 32}, {"DIM_Y", 2, 0, 32}, {"DIM_Z", 3, 0, 32}}), kDispatchInitiator, 4);
inline constexpr auto kDispatchIndirect =
    with_register(std::to_array<BitField>({{.name = "ADDRESS", .dword = 1, .bits = kAddressBits, .alignment = 4}}),
                  kDispatchInitiator, 3);
inline constexpr auto kPredExec = std::to_array<BitField>({{"EXEC_COUNT", 1, 0, 14}, {"VIRTUAL_XCC_MASK", 1, 24, 8}});
inline constexpr auto kWriteData = std::to_array<BitField>({
    {.name = "DST_SEL", .dword = 1, .low = 8, .bits = 4, .values = kWriteTo},
    {"ADDR_INCR", 1, 16, 1},
    {"WR_CONFIRM", 1, 20, 1},
    {"CACHE_POLICY", 1, 25, 2},
    {.name = "ENGINE_SEL", .dword = 1, .low = 30, .bits = 2, .values = kEngine},
    {.name = "ADDRESS", .dword = 2, .bits = kAddressBits, .alignment = 4},
});
inline constexpr auto kWaitRegMem = std::to_array<BitField>({
    {.name = "FUNCTION", .dword = 1, .low = 0, .bits = 3, .values = kCompare},
    {.name = "MEM_SPACE", .dword = 1, .low = 4, .bits = 2, .values = kSpace},
    {.name = "OPERATION", .dword = 1, .low = 6, .bits = 2, .values = kWaitOperation},
    {.name = "ENGINE_SEL", .dword = 1, .low = 8, .bits = 1, .values = kEngine},
    {"CACHE_POLICY", 1, 25, 2},
    {"ADDRESS_LO", 2, 0, 32},
    {"ADDRESS_HI", 3, 0, 32},
    {"REFERENCE", 4, 0, 32},
    {"MASK", 5, 0, 32},
    {"POLL_INTERVAL", 6, 0, 16},
    {"OFFLOAD_POLLING", 6, 31, 1},
});
inline constexpr auto kWaitRegMem64 = std::to_array<BitField>({
    {.name = "FUNCTION", .dword = 1, .low = 0, .bits = 3, .values = kCompare},
    {.name = "MEM_SPACE", .dword = 1, .low = 4, .bits = 2, .values = kSpace},
    {.name = "OPERATION", .dword = 1, .low = 6, .bits = 2, .values = kWaitOperation},
    {.name = "ENGINE_SEL", .dword = 1, .low = 8, .bits = 1, .values = kEngine},
    {"CACHE_POLICY", 1, 25, 2},
    {"ADDRESS_LO", 2, 0, 32},
    {"ADDRESS_HI", 3, 0, 32},
    {"REFERENCE", 4, 0, 64},
    {"MASK", 6, 0, 64},
    {"POLL_INTERVAL", 8, 0, 16},
    {"OFFLOAD_POLLING", 8, 31, 1},
});
inline constexpr auto kIndirectBuffer = std::to_array<BitField>({
    {.name = "ADDRESS", .dword = 1, .bits = kAddressBits, .alignment = 4},
    {"SIZE", 3, 0, 20},
    {"CHAIN", 3, 20, 1},
    {"OFFLOAD_POLLING", 3, 21, 1},
    {.name = "VALID", .dword = 3, .low = 23, .bits = 1, .values = kOne},
    {.name = "VMID", .dword = 3, .low = 24, .bits = 4, .values = kZero},
    {.name = "CACHE_POLICY", .dword = 3, .low = 28, .bits = 2, .defined = kGfx11Only},
    {.name = "TEMPORAL_HINT", .dword = 3, .low = 28, .bits = 2, .defined = kGfx12Only},
    {"INHERIT_VMID_MQD", 3, 30, 1},
    {.name = "PRIV", .dword = 3, .low = 31, .bits = 1, .values = kZero},
});
inline constexpr auto kCopyData = std::to_array<BitField>({
    {.name = "SRC_SEL", .dword = 1, .low = 0, .bits = 4, .values = kCopyFrom},
    {.name = "DST_SEL", .dword = 1, .low = 8, .bits = 4, .values = kWriteTo},
    {"SRC_CACHE_POLICY", 1, 13, 2},
    {"COUNT_SEL", 1, 16, 1},
    {"WR_CONFIRM", 1, 20, 1},
    {"DST_CACHE_POLICY", 1, 25, 2},
    {"SRC", 2, 0, 64},
    {.name = "DST", .dword = 4, .bits = kAddressBits},
});
inline constexpr auto kEventWrite = std::to_array<BitField>({
    {.name = "EVENT_TYPE", .dword = 1, .low = 0, .bits = 6, .values = kEventType},
    {"EVENT_INDEX", 1, 8, 4},
});
// GLM and GL1 are gone from GFX12, and Mesa clears their bits there; a stream that sets them is taken nevertheless.
inline constexpr auto kReleaseMem = std::to_array<BitField>({
    {.name = "EVENT_TYPE", .dword = 1, .low = 0, .bits = 6, .values = kEventType},
    {"EVENT_INDEX", 1, 8, 4},
    {.name = "GLM_WB", .dword = 1, .low = 12, .acts = kGfx11Only},
    {.name = "GLM_INV", .dword = 1, .low = 13, .acts = kGfx11Only},
    {"GLV_INV", 1, 14, 1},
    {.name = "GL1_INV", .dword = 1, .low = 15, .acts = kGfx11Only},
    {"GL2_US", 1, 16, 1},
    {"GL2_RANGE", 1, 17, 2},
    {"GL2_DISCARD", 1, 19, 1},
    {"GL2_INV", 1, 20, 1},
    {"GL2_WB", 1, 21, 1},
    {"SEQ", 1, 22, 1},
    {.name = "CACHE_POLICY", .dword = 1, .low = 25, .bits = 2, .defined = kGfx11Only},
    {.name = "TEMPORAL_HINT", .dword = 1, .low = 25, .bits = 2, .defined = kGfx12Only},
    {"EXECUTE", 1, 28, 1},
    {.name = "DST_SEL", .dword = 2, .low = 16, .bits = 2, .values = kReleaseTo},
    {.name = "INT_SEL", .dword = 2, .low = 24, .bits = 3, .values = kInterrupt},
    {.name = "DATA_SEL", .dword = 2, .low = 29, .bits = 3, .values = kReleaseData},
    {.name = "ADDRESS", .dword = 3, .bits = kAddressBits, .alignment = 4},
    {"DATA", 5, 0, 64},
    {"INT_CTXID", 7, 0, 32},
});
// The high half of the size has 8 bits; what stands for all of memory is written wider by every driver.
inline constexpr auto kAcquireMem = std::to_array<BitField>({
    {.name = "ENGINE_SEL", .dword = 1, .low = 31, .bits = 1, .values = kZero},
    {"COHER_SIZE", 2, 0, 64},
    {"COHER_BASE", 4, 0, 56},
    {"POLL_INTERVAL", 6, 0, 16},
    {"GLI_INV", 7, 0, 2},
    {"GL1_RANGE", 7, 2, 2},
    {"GLM_WB", 7, 4, 1},
    {"GLM_INV", 7, 5, 1},
    {"GLK_WB", 7, 6, 1},
    {"GLK_INV", 7, 7, 1},
    {"GLV_INV", 7, 8, 1},
    {"GL1_INV", 7, 9, 1},
    {"GL2_US", 7, 10, 1},
    {"GL2_RANGE", 7, 11, 2},
    {"GL2_DISCARD", 7, 13, 1},
    {"GL2_INV", 7, 14, 1},
    {"GL2_WB", 7, 15, 1},
    {.name = "SEQ", .dword = 7, .low = 16, .bits = 2, .values = kSequence},
    {"RANGE_IS_PA", 7, 18, 1},
});
inline constexpr auto kSetShReg = std::to_array<BitField>({
    {"OFFSET", 1, 0, 16},
    {.name = "VMID_SHIFT", .dword = 1, .low = 23, .bits = 5, .values = kZero},  // it acts with INDEX 1
    {.name = "INDEX", .dword = 1, .low = 28, .bits = 4, .values = kZero},
});
inline constexpr auto kSetUconfigReg = std::to_array<BitField>({{"OFFSET", 1, 0, 16}});
inline constexpr auto kProtectedFenceSignal =
    std::to_array<BitField>({{.name = "RESERVED", .dword = 1, .bits = 32, .values = kZero}});

}  // namespace zrt::inline ZRT_ABI::pm4::fields
