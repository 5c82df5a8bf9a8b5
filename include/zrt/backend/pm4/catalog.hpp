// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/catalog.hpp: every packet that a compute queue meets, its opcode and its lengths. Sources: the kernel's
// nvd.h, Mesa's sid.h.
#pragma once

#include <zrt/backend/pm4/packet_rules.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

inline constexpr Packet kNop{.name = "NOP", .opcode = 0x10, .most = kMostPayload, .body = Body::data};
inline constexpr Packet kDispatchDirect{
    .name = "DISPATCH_DIRECT", .opcode = 0x15, .least = 4, .most = 4, .fields = fields::kDispatchDirect};
inline constexpr Packet kDispatchIndirect{
    .name = "DISPATCH_INDIRECT", .opcode = 0x16, .least = 3, .most = 3, .fields = fields::kDispatchIndirect};
inline constexpr Packet kPredExec{
    .name = "PRED_EXEC", .opcode = 0x23, .fields = fields::kPredExec, .use = Use::indirect_only};
inline constexpr Packet kWriteData{.name = "WRITE_DATA",
                                   .opcode = 0x37,
                                   .least = 4,
                                   .most = kMostPayload,
                                   .fields = fields::kWriteData,
                                   .body = Body::data};
inline constexpr Packet kWaitRegMem{.name = "WAIT_REG_MEM",
                                    .opcode = 0x3c,
                                    .least = 6,
                                    .most = 6,
                                    .fields = fields::kWaitRegMem,
                                    .rule = &rules::wait_reg_mem};
inline constexpr Packet kIndirectBuffer{.name = "INDIRECT_BUFFER",
                                        .opcode = 0x3f,
                                        .least = 3,
                                        .most = 3,
                                        .fields = fields::kIndirectBuffer,
                                        .rule = &rules::indirect_buffer};
inline constexpr Packet kCopyData{
    .name = "COPY_DATA", .opcode = 0x40, .least = 5, .most = 5, .fields = fields::kCopyData, .rule = &rules::copy_data};
inline constexpr Packet kEventWrite{
    .name = "EVENT_WRITE", .opcode = 0x46, .fields = fields::kEventWrite, .rule = &rules::event_write};
inline constexpr Packet kReleaseMem{.name = "RELEASE_MEM",
                                    .opcode = 0x49,
                                    .least = 7,
                                    .most = 7,
                                    .fields = fields::kReleaseMem,
                                    .rule = &rules::release_mem};
inline constexpr Packet kAcquireMem{.name = "ACQUIRE_MEM",
                                    .opcode = 0x58,
                                    .least = 7,
                                    .most = 7,
                                    .fields = fields::kAcquireMem,
                                    .rule = &rules::acquire_mem};
inline constexpr Packet kSetContextReg{.name = "SET_CONTEXT_REG",
                                       .opcode = 0x69,
                                       .least = 2,
                                       .most = kMostPayload,
                                       .body = Body::data,
                                       .use = Use::graphics_only};
inline constexpr Packet kSetShReg{.name = "SET_SH_REG",
                                  .opcode = 0x76,
                                  .least = 2,
                                  .most = kShCount + 1,
                                  .fields = fields::kSetShReg,
                                  .body = Body::sh_registers};
inline constexpr Packet kSetUconfigReg{.name = "SET_UCONFIG_REG",
                                       .opcode = 0x79,
                                       .least = 2,
                                       .most = kMostPayload,
                                       .fields = fields::kSetUconfigReg,
                                       .body = Body::uconfig_registers};
inline constexpr Packet kWaitRegMem64{.name = "WAIT_REG_MEM64",
                                      .opcode = 0x93,
                                      .least = 8,
                                      .most = 8,
                                      .fields = fields::kWaitRegMem64,
                                      .rule = &rules::wait_reg_mem64};
inline constexpr Packet kProtectedFenceSignal{
    .name = "PROTECTED_FENCE_SIGNAL", .opcode = 0xd0, .fields = fields::kProtectedFenceSignal};

// Known by name alone.
inline constexpr Packet kHdpFlush{.name = "HDP_FLUSH", .opcode = 0x95, .use = Use::fields_unstated};
inline constexpr Packet kSetShRegIndex{.name = "SET_SH_REG_INDEX", .opcode = 0x9b, .use = Use::fields_unstated};
inline constexpr Packet kFenceWaitMulti{.name = "FENCE_WAIT_MULTI", .opcode = 0xd1, .use = Use::fields_unstated};

/// Every packet, by opcode.
inline constexpr auto kPackets = std::to_array<const Packet*>(
    {&kNop, &kDispatchDirect, &kDispatchIndirect, &kPredExec, &kWriteData, &kWaitRegMem, &kIndirectBuffer, &kCopyData,
     &kEventWrite, &kReleaseMem, &kAcquireMem, &kSetContextReg, &kSetShReg, &kSetUconfigReg, &kWaitRegMem64, &kHdpFlush,
     &kSetShRegIndex, &kProtectedFenceSignal, &kFenceWaitMulti});

static_assert(
    [] {
      for (std::size_t i = 0; i < kPackets.size(); ++i) {
        const Packet& packet = *kPackets[i];
        if (packet.least == 0 || packet.least > packet.most || packet.most > kMostPayload) return false;
        if (packet.body == Body::none && packet.least != packet.most) return false;
        if (i > 0 && kPackets[i - 1]->opcode >= packet.opcode) return false;
        if (!well_formed(packet.fields)) return false;
        for (const BitField& field : packet.fields)
          if (field.dword == 0 || field.dword + field.dwords() > packet.fixed() + 1) return false;
      }
      return true;
    }(),
    "packets stand in the order of their opcodes, and their fields part the dwords before the body");

/// The packet of that opcode, or null.
[[nodiscard]] constexpr const Packet* find_packet(std::uint8_t opcode) noexcept {
  for (const Packet* packet : kPackets)
    if (packet->opcode == opcode) return packet;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::pm4
