// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/queue_sizes.hpp: the sizes of a queue's buffers, which kernels since 6.12 compare exactly. Source:
// kfd_queue.c.
#pragma once

#include <zrt/backend/pm4/heap.hpp>
#include <zrt/core/checked.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

/// The buffer that fences at the end of the pipe go through.
inline constexpr std::uint64_t kEopBytes = 4096;

/// What /sys/devices/virtual/kfd says of a node, as far as the sizes need it.
struct QueueTopology {
  std::uint32_t simd_count = 0;
  std::uint32_t simd_per_cu = 0;
  std::uint32_t num_xcc = 1;
  std::uint32_t gfx_target_version = 0;  ///< 120001 is gfx1201
  std::uint32_t cwsr_size = 0;           ///< what the kernel says of the save area; 0: it says nothing
  std::uint32_t ctl_stack_size = 0;      ///< what it says of the stack in it
};

/// The area where waves are saved when a queue leaves the chip.
struct ContextSave {
  std::uint32_t ctl_stack_bytes = 0;  ///< passed as ctl_stack_size
  std::uint32_t save_bytes = 0;       ///< passed as ctx_save_restore_size
  std::uint64_t mapping_bytes = 0;    ///< what must be mapped at its address, exactly
};

/// Which registers of vectors a kernel counts for a chip whose save area has changed.
enum class VectorRegisters : std::uint8_t { first, larger };

/// Whether kernels differ in the save area of a node, and this one does not say which is its own. Of gfx1151 they take the
/// registers of other small parts, and since 6.17 half as many again ("drm/amdkfd: bump minimum vgpr size for gfx1151").
[[nodiscard]] constexpr bool has_two_save_areas(const QueueTopology& node) noexcept {
  return node.gfx_target_version == 110501 && node.cwsr_size == 0;
}

/// As the kernel says, and where it says nothing as it computes. What it says leaves the debugger's part out, which is
/// computed always.
///
/// Errors: Errc::unsupported_device for a node without compute units or of another generation than RDNA3 and RDNA4;
/// size_overflow where the area does not fit 32 bits.
[[nodiscard]] constexpr Result<ContextSave> context_save(const QueueTopology& node,
                                                         VectorRegisters registers = VectorRegisters::first) noexcept {
  if (node.simd_count == 0 || node.simd_per_cu == 0 || node.num_xcc == 0)
    return fail(Errc::unsupported_device, "a node of ", node.simd_count, " SIMDs, ", node.simd_per_cu,
                " in a compute unit, on ", node.num_xcc, " dies has no queue of packets");
  const std::uint32_t version = node.gfx_target_version;
  if (version < 110000 || version >= 130000)
    return fail(Errc::unsupported_device, "gfx_target_version ", version, " is none of RDNA3 and RDNA4");
  const bool large_vgprs = version == 110000 || version == 110001 || version == 120000 || version == 120001 ||
                           registers == VectorRegisters::larger;
  const std::uint64_t vgpr_bytes = large_vgprs ? 0x60000 : 0x40000;
  constexpr std::uint64_t sgpr_bytes = 0x4000, lds_bytes = 0x10000, hardware_bytes = 0x1000;
  constexpr std::uint64_t waves_per_cu = 32, wave_record = 12, stack_header = 8 + 40, debug_record = 32;
  const std::uint64_t units = node.simd_count / node.simd_per_cu / node.num_xcc;
  if (units == 0)
    return fail(Errc::unsupported_device, "a node of ", node.simd_count, " SIMDs has no compute unit per die");
  const std::uint64_t waves = units * waves_per_cu;
  const std::uint64_t work = align_up(units * (vgpr_bytes + sgpr_bytes + lds_bytes + hardware_bytes), kPageBytes);
  const std::uint64_t stack =
      node.ctl_stack_size != 0 ? node.ctl_stack_size : align_up(waves * wave_record + stack_header, kPageBytes);
  const std::uint64_t save = node.cwsr_size != 0 ? node.cwsr_size : work + stack;
  const std::uint64_t debug = align_up(waves * debug_record, 64);
  if (save > 0xffffffffu)
    return fail(Errc::size_overflow, "the save area of ", units, " compute units does not fit 32 bits");
  return ContextSave{.ctl_stack_bytes = static_cast<std::uint32_t>(stack),
                     .save_bytes = static_cast<std::uint32_t>(save),
                     .mapping_bytes = align_up((save + debug) * node.num_xcc, kPageBytes)};
}
// RX 9070 XT, RX 9060 XT and RX 7900 XTX.
static_assert(context_save({.simd_count = 128, .simd_per_cu = 2, .gfx_target_version = 120001})->mapping_bytes ==
              0x1d57000);
static_assert(context_save({.simd_count = 128, .simd_per_cu = 2, .gfx_target_version = 120001})->save_bytes ==
              0x1d47000);
static_assert(context_save({.simd_count = 64, .simd_per_cu = 2, .gfx_target_version = 120000})->mapping_bytes ==
              0xeac000);
static_assert(context_save({.simd_count = 192, .simd_per_cu = 2, .gfx_target_version = 110000})->ctl_stack_bytes ==
              0xa000);
static_assert(context_save({.simd_count = 192, .simd_per_cu = 2, .gfx_target_version = 110000})->mapping_bytes ==
              0x2c02000);

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
