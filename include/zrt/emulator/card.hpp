// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/card.hpp: the card and the kernel that the device model stands for.
#pragma once

#include <zrt/backend/pm4/kfd/topology.hpp>
#include <zrt/core/string.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// A kernel, by what differs in its calls.
struct KernelVersion {
  std::string_view name;
  std::uint32_t minor = 0;        ///< of GET_VERSION
  bool compares_sizes = false;    ///< of a queue's buffers, exactly
  bool tells_save_sizes = false;  ///< cwsr_size and ctl_stack_size in the topology
  std::uint32_t least_ring = 0;   ///< smaller rings are enlarged
  std::uint32_t drm_minor = 0;    ///< of the amdgpu driver, 3.N
  bool user_queues = false;       ///< USERQ, and the long form of GEM_VA
  bool tells_eop_size = false;    ///< UQ_FW_AREAS for compute
  bool large_gfx1151 = false;     ///< its save area has room for larger register files
};
inline constexpr KernelVersion kLinux6_8{"6.8", 14, false, false, 0, 56, false};
inline constexpr KernelVersion kLinux6_12{"6.12", 17, true, false, 0, 59, false};
inline constexpr KernelVersion kLinux6_16{"6.16", 17, true, true, 1024, 64, true};
/// As distributions have it: of the sizes of save areas it tells nothing.
inline constexpr KernelVersion kLinux6_17{"6.17", 17, true, false, 1024, 64, true, false, true};
inline constexpr auto kKernels = std::to_array<KernelVersion>({kLinux6_8, kLinux6_12, kLinux6_16, kLinux6_17});

/// The save area of a queue, as a kernel compares it. Worked out by hand from kfd_queue.c, the mapping with the
/// debugger's part: what a transport computes is held against other numbers than its own.
struct SaveArea {
  std::uint32_t gfx_target_version = 0;
  std::uint32_t compute_units = 0;
  std::uint32_t ctl_stack_bytes = 0;
  std::uint32_t save_bytes = 0;
  std::uint64_t mapping_bytes = 0;
  bool large_gfx1151 = false;  ///< of such kernels
};
inline constexpr auto kSaveAreas = std::to_array<SaveArea>({
    {120001, 4, 0x1000, 0x1d5000, 0x1d6000},
    {120000, 4, 0x1000, 0x1d5000, 0x1d6000},
    {110501, 4, 0x1000, 0x155000, 0x156000},
    {110000, 4, 0x1000, 0x1d5000, 0x1d6000},
    {120001, 64, 0x7000, 0x1d47000, 0x1d57000},  // RX 9070 XT
    {120000, 32, 0x4000, 0xea4000, 0xeac000},    // RX 9060 XT
    {110501, 40, 0x4000, 0xd4c000, 0xd56000},
    {110501, 4, 0x1000, 0x1d5000, 0x1d6000, true},
    {110501, 40, 0x4000, 0x124c000, 0x1256000, true},
    {110000, 96, 0xa000, 0x2bea000, 0x2c02000},  // RX 7900 XTX
});

/// A card. The usual one is small, so that its save area is.
struct Card {
  const pm4::TargetFacts* target = &pm4::kTargetFacts<pm4::Gfx1201>;
  std::uint32_t gpu_id = 0x4f2a;
  std::uint32_t compute_units = 4;
  std::uint32_t shader_engines = 1;
  std::uint32_t render_minor = 128;
  std::uint64_t video_bytes = std::uint64_t{1} << 30;
  bool large_bar = true;
  bool beside_closed = false;  ///< node 1 of the topology is a GPU that the process may not use, and node 2 is the card
  bool has_kfd = true;         ///< the kernel has /dev/kfd and its topology
  bool user_queues = true;     ///< the driver's parameter user_queue allows them, where the kernel has them
  KernelVersion kernel = kLinux6_12;
  std::uint32_t clock_rate = 100'000;  ///< ticks of its clock in a millisecond, as the driver tells them
  std::uint32_t eop_bytes = 4096;      ///< that the firmware wants of a user queue's EOP buffer
  bool follows_workgroups = false;     ///< workgroups of one dispatch that race are an error, at a price: see Coherence
  bool runs_at_doorbell = false;       ///< queues execute once a doorbell rings, not when the process next waits
  SaveArea other_save_area{};          ///< in place of that of kSaveAreas

  /// What the kernel compares; nothing for a card that kSaveAreas lacks.
  [[nodiscard]] constexpr SaveArea save_area() const noexcept {
    if (other_save_area.save_bytes != 0) return other_save_area;
    const std::uint32_t version = pm4::kfd::target_version(*target);
    const bool large = kernel.large_gfx1151 && version == 110501;
    for (const SaveArea& area : kSaveAreas)
      if (area.gfx_target_version == version && area.compute_units == compute_units && area.large_gfx1151 == large)
        return area;
    return {};
  }
  [[nodiscard]] constexpr pm4::kfd::GpuNode node() const noexcept {
    pm4::kfd::GpuNode node{.index = beside_closed ? 2u : 1u,
                           .gpu_id = gpu_id,
                           .simd_count = compute_units * 2,
                           .simd_per_cu = 2,
                           .array_count = shader_engines * 2,
                           .simd_arrays_per_engine = 2,
                           .max_slots_scratch_cu = 32,
                           .num_xcc = 1,
                           .gfx_target_version = pm4::kfd::target_version(*target),
                           .drm_render_minor = render_minor};
    if (kernel.tells_save_sizes) {
      node.cwsr_size = save_area().save_bytes;
      node.ctl_stack_size = save_area().ctl_stack_bytes;
    }
    return node;
  }
};

/// The file of a GPU in the topology that the process may open and not read.
[[nodiscard]] constexpr bool is_closed_file(const Card& card, std::string_view name) noexcept {
  return card.beside_closed && name == "1/gpu_id";
}

/// Writes the file of that name in a node's folder: node 0 is the processor, the card is Card::node(). False where there
/// is no such file.
[[nodiscard]] inline Result<bool> write_topology_file(const Card& card, std::string_view name, String& to) noexcept {
  const auto add = [&](const auto&... pieces) { return to.append(Name::of(pieces...).view()); };
  if (name == "0/gpu_id") {
    if (auto r = add("0\n"); !r) return pass(r);
    return true;
  }
  const pm4::kfd::GpuNode node = card.node();
  const Name folder = Name::of(node.index, "/");
  const bool of_card = name.starts_with(folder.view());
  if (of_card) name.remove_prefix(folder.view().size());
  if (of_card && name == "gpu_id") {
    if (auto r = add(card.gpu_id, "\n"); !r) return pass(r);
    return true;
  }
  if (name == "0/properties") {
    if (auto r = add("cpu_cores_count 16\nsimd_count 0\nmem_banks_count 1\n"); !r) return pass(r);
    return true;
  }
  if (!of_card || name != "properties") return false;
  if (auto r = add("cpu_cores_count 0\nmem_banks_count 1\nwave_front_size 32\nlds_size_in_kb 64\n"); !r) return pass(r);
  for (const auto& property : pm4::kfd::detail::kNodeProperties) {
    const bool told = property.name != "cwsr_size" && property.name != "ctl_stack_size";
    if (!told && !card.kernel.tells_save_sizes) continue;
    if (auto r = add(property.name, " ", node.*property.member, "\n"); !r) return pass(r);
  }
  return true;
}

}  // namespace zrt::inline ZRT_ABI::emulator
