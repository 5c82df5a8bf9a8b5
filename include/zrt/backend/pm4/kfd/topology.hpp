// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/topology.hpp: the GPUs that the kernel lists below /sys/devices/virtual/kfd.
#pragma once

#include <zrt/backend/pm4/kfd/queue_sizes.hpp>
#include <zrt/backend/pm4/os_handles.hpp>
#include <zrt/backend/pm4/target.hpp>
#include <zrt/core/name.hpp>
#include <zrt/core/slice.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

inline constexpr std::string_view kTopologyNodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";

/// A GPU, in the kernel's words; what a kernel does not say is 0.
struct GpuNode {
  std::uint32_t index = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t simd_count = 0;
  std::uint32_t simd_per_cu = 0;
  std::uint32_t array_count = 0;
  std::uint32_t simd_arrays_per_engine = 0;
  std::uint32_t max_slots_scratch_cu = 0;
  std::uint32_t num_xcc = 0;
  std::uint32_t gfx_target_version = 0;
  std::uint32_t drm_render_minor = 0;
  std::uint32_t cwsr_size = 0;       ///< of newer kernels
  std::uint32_t ctl_stack_size = 0;  ///< of newer kernels

  [[nodiscard]] constexpr QueueTopology queue() const noexcept {
    return {simd_count, simd_per_cu, num_xcc == 0 ? 1 : num_xcc, gfx_target_version, cwsr_size, ctl_stack_size};
  }
};

namespace detail {

struct NodeProperty {
  std::string_view name;
  std::uint32_t GpuNode::* member;
};
inline constexpr auto kNodeProperties = std::to_array<NodeProperty>({
    {"simd_count", &GpuNode::simd_count},
    {"simd_per_cu", &GpuNode::simd_per_cu},
    {"array_count", &GpuNode::array_count},
    {"simd_arrays_per_engine", &GpuNode::simd_arrays_per_engine},
    {"max_slots_scratch_cu", &GpuNode::max_slots_scratch_cu},
    {"num_xcc", &GpuNode::num_xcc},
    {"gfx_target_version", &GpuNode::gfx_target_version},
    {"drm_render_minor", &GpuNode::drm_render_minor},
    {"cwsr_size", &GpuNode::cwsr_size},
    {"ctl_stack_size", &GpuNode::ctl_stack_size},
});

/// The decimal number that is all of `text`, if it fits 32 bits.
[[nodiscard]] constexpr Result<std::uint32_t> parse_number(std::string_view text, std::string_view what) noexcept {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > 0xffffffffu)
      return fail(Errc::invalid_metadata, what, " of the topology is no number");
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (text.empty() || value > 0xffffffffu)
    return fail(Errc::invalid_metadata, what, " of the topology is no number of 32 bits");
  return static_cast<std::uint32_t>(value);
}

}  // namespace detail

/// Takes the properties that a node needs from the text of a `properties` file, a name and a number in a line.
///
/// Errors: Errc::invalid_metadata for a line without a number, or one that does not fit.
[[nodiscard]] constexpr Result<void> parse_properties(std::string_view text, GpuNode& node) noexcept {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = slice(text, 0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    std::string_view number = line;
    number.remove_prefix(space == line.npos ? line.size() : space + 1);
    for (const detail::NodeProperty& property : detail::kNodeProperties) {
      if (property.name != slice(line, 0, space)) continue;
      const auto value = detail::parse_number(number, property.name);
      if (!value) return pass(value);
      node.*property.member = *value;
    }
  }
  return {};
}

/// gfx_target_version of a target: 120001 for gfx1201. Its name has two digits of the major version, then one each.
[[nodiscard]] constexpr std::uint32_t target_version(const TargetFacts& target) noexcept {
  const auto digit = [&](std::size_t at) { return static_cast<std::uint32_t>(target.name[at] - '0'); };
  return (digit(3) * 10 + digit(4)) * 10000 + digit(5) * 100 + digit(6);
}
static_assert(target_version(kTargetFacts<Gfx1201>) == 120001 && target_version(kTargetFacts<Gfx1151>) == 110501);

/// The target with that gfx_target_version, or null.
[[nodiscard]] constexpr const TargetFacts* find_target_version(std::uint32_t version) noexcept {
  for (const TargetFacts& target : kTargets)
    if (target_version(target) == version) return &target;
  return nullptr;
}

/// The text of a small file, in `room`. Errors as system_failure(); size_overflow for a file that does not fit.
template <OperatingSystem Os>
[[nodiscard]] Result<std::string_view> read_text(Os& os, const Result<File<Os>>& file, std::string_view path,
                                                 Span<char> room) noexcept {
  if (!file) return pass(file);
  std::size_t size = 0;
  for (;;) {
    const SystemValue got = os.read(file->number(), as_writable_bytes(room.subspan(size)));
    if (got == -EINTR) continue;
    if (got < 0) return system_failure(got, "reading", path);
    if (got == 0) return std::string_view(room.data(), size);
    size += static_cast<std::size_t>(got);
    if (size >= room.size()) return fail(Errc::size_overflow, path, " has more than ", room.size(), " bytes");
  }
}

/// The first GPU of the topology that zrt writes packets for. One whose number may not be read is passed over: so a device
/// cgroup closes it.
///
/// Errors: where there is none, that of the first GPU that may not be read; else Errc::unsupported_device with the first
/// GPU that is another; those of the files.
template <OperatingSystem Os> [[nodiscard]] Result<GpuNode> find_node(Os& os) noexcept {
  std::uint32_t other = 0;
  Result<void> closed;
  std::array<char, 8192> room{};
  for (std::uint32_t index = 0;; ++index) {
    const Name id_path = Name::of(kTopologyNodes, index, "/gpu_id");
    const auto id_file =
        index == 0 ? File<Os>::open(os, id_path.view(), false) : File<Os>::open_if_there(os, id_path.view(), false);
    if (id_file && !id_file->is_open()) break;  // nodes are numbered without gaps
    if (!id_file) return pass(id_file);
    const auto id = read_text(os, id_file, id_path.view(), room);
    if (!id) {
      if (closed) closed = pass(id);
      continue;
    }
    GpuNode node{.index = index};
    const auto gpu_id = detail::parse_number(id->substr(0, id->find('\n')), "gpu_id");
    if (!gpu_id) return pass(gpu_id);
    node.gpu_id = *gpu_id;
    if (node.gpu_id == 0) continue;  // a processor
    const Name path = Name::of(kTopologyNodes, index, "/properties");
    const auto properties = read_text(os, File<Os>::open(os, path.view(), false), path.view(), room);
    if (!properties) return pass(properties);
    if (auto r = parse_properties(*properties, node); !r) return pass(r);
    if (find_target_version(node.gfx_target_version) != nullptr) return node;
    if (other == 0) other = node.gfx_target_version;
  }
  if (!closed) return pass(closed);
  if (other != 0)
    return fail(Errc::unsupported_device,
                "no GPU of RDNA3 or RDNA4 in the topology; there is one with "
                "gfx_target_version ",
                other);
  return fail(Errc::unsupported_device, "the topology has no GPU");
}

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
