// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kernel_file/header.hpp: the 64 bytes that begin a .zrt file, and the patches that end it.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/core/span.hpp>

#include <array>
#include <type_traits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// The first bytes of a .zrt file: 'Z', 'R', 'T', 0.
inline constexpr std::uint32_t kKernelFileMagic = 0x0054525a;
inline constexpr std::uint16_t kKernelFileVersion = 1;

/// The header of a .zrt file, all fields little-endian.
///
/// The file is: the header; the blob of `code_size` bytes, which begins with the kernel descriptor and has its first
/// instruction at `entry_offset`; the name; a u32 count of patches; the patches; their names; nothing else. Offsets of
/// names count from the start of the file, those of code from the start of the blob.
struct KernelFileHeader {
  std::uint32_t magic = kKernelFileMagic;
  std::uint16_t abi_version = kKernelFileVersion;
  std::uint16_t gpu_target = 0;  ///< TargetFacts::file_number
  std::uint32_t code_size = 0;
  std::uint32_t entry_offset = 0;
  std::uint32_t buffer_count = 0;
  std::uint32_t push_const_bytes = 0;
  std::uint32_t subgroup_size = 0;  ///< lanes of a wave: 32 or 64
  std::uint32_t workgroup_size_x = 0;
  std::uint32_t workgroup_size_y = 0;
  std::uint32_t workgroup_size_z = 0;
  std::uint32_t lds_bytes = 0;
  std::uint32_t vgpr_count = 0;
  std::uint32_t sgpr_count = 0;
  std::uint32_t occupancy_hint = 0;  ///< waves that should fit a SIMD; 0: no wish
  std::uint32_t name_offset = 0;
  std::uint32_t name_size = 0;
  friend constexpr bool operator==(const KernelFileHeader&, const KernelFileHeader&) = default;
};
inline constexpr std::size_t kKernelFileHeaderBytes = 64;
static_assert(sizeof(KernelFileHeader) == kKernelFileHeaderBytes && std::is_trivially_copyable_v<KernelFileHeader>);
static_assert(offsetof(KernelFileHeader, magic) == 0 && offsetof(KernelFileHeader, abi_version) == 4);
static_assert(offsetof(KernelFileHeader, gpu_target) == 6 && offsetof(KernelFileHeader, code_size) == 8);
static_assert(offsetof(KernelFileHeader, entry_offset) == 12 && offsetof(KernelFileHeader, buffer_count) == 16);
static_assert(offsetof(KernelFileHeader, push_const_bytes) == 20 && offsetof(KernelFileHeader, subgroup_size) == 24);
static_assert(offsetof(KernelFileHeader, workgroup_size_x) == 28 && offsetof(KernelFileHeader, workgroup_size_y) == 32);
static_assert(offsetof(KernelFileHeader, workgroup_size_z) == 36 && offsetof(KernelFileHeader, lds_bytes) == 40);
static_assert(offsetof(KernelFileHeader, vgpr_count) == 44 && offsetof(KernelFileHeader, sgpr_count) == 48);
static_assert(offsetof(KernelFileHeader, occupancy_hint) == 52 && offsetof(KernelFileHeader, name_offset) == 56);
static_assert(offsetof(KernelFileHeader, name_size) == 60);

/// A dword of the code that is replaced before the kernel is uploaded.
struct KernelPatch {
  std::uint32_t name_offset = 0;
  std::uint32_t name_size = 0;
  std::uint32_t code_offset = 0;  ///< in the blob, a multiple of 4, at or behind the first instruction
  std::uint32_t placeholder = 0;  ///< what stands there in the file
  friend constexpr bool operator==(const KernelPatch&, const KernelPatch&) = default;
};
inline constexpr std::size_t kKernelPatchBytes = 16;
static_assert(sizeof(KernelPatch) == kKernelPatchBytes);

/// The longest name of a kernel or of a constant.
inline constexpr std::uint32_t kMostKernelName = 255;

namespace detail {

/// Calls `visit(offset, field)` for each field of a header.
template <class Header, class Visit> constexpr void for_each_header_field(Header& h, Visit&& visit) noexcept {
  visit(std::size_t{0}, h.magic);
  visit(std::size_t{4}, h.abi_version);
  visit(std::size_t{6}, h.gpu_target);
  visit(std::size_t{8}, h.code_size);
  visit(std::size_t{12}, h.entry_offset);
  visit(std::size_t{16}, h.buffer_count);
  visit(std::size_t{20}, h.push_const_bytes);
  visit(std::size_t{24}, h.subgroup_size);
  visit(std::size_t{28}, h.workgroup_size_x);
  visit(std::size_t{32}, h.workgroup_size_y);
  visit(std::size_t{36}, h.workgroup_size_z);
  visit(std::size_t{40}, h.lds_bytes);
  visit(std::size_t{44}, h.vgpr_count);
  visit(std::size_t{48}, h.sgpr_count);
  visit(std::size_t{52}, h.occupancy_hint);
  visit(std::size_t{56}, h.name_offset);
  visit(std::size_t{60}, h.name_size);
}

}  // namespace detail

/// Reads a header. `bytes` has at least 64.
[[nodiscard]] constexpr KernelFileHeader load_header(Span<const std::byte> bytes) noexcept {
  KernelFileHeader header;
  detail::for_each_header_field(header,
                                [&]<class T>(std::size_t at, T& field) { field = read_little<T>(bytes.data() + at); });
  return header;
}
/// Writes a header. `bytes` has at least 64.
constexpr void store_header(const KernelFileHeader& header, Span<std::byte> bytes) noexcept {
  detail::for_each_header_field(
      header, [&]<class T>(std::size_t at, const T& field) { write_little<T>(bytes.data() + at, field); });
}
static_assert(
    [] {
      const KernelFileHeader header{.gpu_target = 4, .code_size = 5, .lds_bytes = 6, .name_size = 7};
      std::array<std::byte, kKernelFileHeaderBytes> bytes{};
      store_header(header, bytes);
      return load_header(bytes) == header && bytes[0] == std::byte{'Z'} && bytes[3] == std::byte{0};
    }(),
    "a header is read as it was written");

/// Reads a patch. `bytes` has at least 16.
[[nodiscard]] constexpr KernelPatch load_patch(Span<const std::byte> bytes) noexcept {
  const auto word = [&](std::size_t at) { return read_little<std::uint32_t>(bytes.data() + at); };
  return {word(0), word(4), word(8), word(12)};
}

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
