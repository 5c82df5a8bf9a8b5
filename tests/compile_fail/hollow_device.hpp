// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/hollow_device.hpp: a recorded device that is declared and does nothing, to break in one place each.
#pragma once

#include <zrt/device/recorded_device.hpp>

namespace compile_fail {

struct HollowMemory {
  [[nodiscard]] std::uint64_t address() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] zrt::Span<std::byte> span() const noexcept;
};

struct HollowCommands {
  explicit HollowCommands(const zrt::Allocator&) noexcept {}
  [[nodiscard]] std::size_t pieces() const noexcept;
};

struct HollowDevice {
  static constexpr std::string_view kName = "hollow";
  using Memory = HollowMemory;
  using Commands = HollowCommands;

  zrt::Result<Memory> allocate_for(zrt::device::MemoryRole, std::uint64_t) noexcept;
  std::byte* host_view(std::uint64_t) noexcept;
  zrt::Result<void> copy_in(std::uint64_t, zrt::Span<const std::byte>) noexcept;
  zrt::Result<void> copy_out(std::uint64_t, zrt::Span<std::byte>) noexcept;
  static constexpr zrt::Span<const zrt::device::UploadFunctions> weight_types() noexcept {
    return zrt::device::kUploads;
  }
  zrt::Span<const zrt::device::KernelSignature> signatures() const noexcept;
  static zrt::CheckedSize command_bytes(const zrt::device::StepRecord&) noexcept;
  zrt::Result<void> make_commands(const zrt::device::PlacedStep<Memory>&, Commands&) noexcept;
  zrt::Result<std::uint64_t> submit(const Commands&, std::size_t) noexcept;
  zrt::Result<void> wait(std::uint64_t) noexcept;
  std::uint32_t whole_step_tokens() const noexcept;
  zrt::Result<std::uint32_t> clock_rate() noexcept;
  const zrt::Allocator& allocator() const noexcept;
};

}  // namespace compile_fail
