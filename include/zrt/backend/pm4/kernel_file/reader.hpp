// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kernel_file/reader.hpp: a .zrt file as a view of bytes that are checked once.
#pragma once

#include <zrt/backend/pm4/descriptor.hpp>
#include <zrt/backend/pm4/fail_at.hpp>
#include <zrt/backend/pm4/kernel_file/header.hpp>
#include <zrt/core/checked.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// A kernel for one target. A view: the bytes stay the caller's, and should they change after they were checked, what is
/// read is wrong but lies inside them.
class KernelFile {
 public:
  /// Checks every byte of the file that means something and that the parts agree. Reads nothing outside `bytes`.
  ///
  /// Errors, each with the offset of what it names: Errc::truncated_file, unsupported_version, unsupported_device (a
  /// target that zrt writes no packets for), invalid_file.
  [[nodiscard]] static Result<KernelFile> open(Span<const std::byte> bytes) noexcept {
    KernelFile file(bytes);
    if (auto r = file.check(); !r) return pass(r);
    return file;
  }

  [[nodiscard]] constexpr const KernelFileHeader& header() const noexcept { return header_; }
  [[nodiscard]] constexpr const TargetFacts& target() const noexcept { return *target_; }
  [[nodiscard]] constexpr const KernelDescriptor& descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] std::string_view name() const noexcept { return text_at(header_.name_offset, header_.name_size); }
  /// Descriptor and code as they are uploaded, placeholders unpatched. Its address is a multiple of 256.
  [[nodiscard]] constexpr Span<const std::byte> blob() const noexcept {
    return bytes_.subspan(kKernelFileHeaderBytes, header_.code_size);
  }
  [[nodiscard]] constexpr Span<const std::byte> code() const noexcept { return blob().subspan(header_.entry_offset); }
  /// Bytes of the block that s[0:1] points to: the addresses of the buffers, then the push constants.
  [[nodiscard]] constexpr std::uint32_t argument_bytes() const noexcept { return descriptor_.kernarg_bytes; }

  [[nodiscard]] constexpr std::uint32_t patch_count() const noexcept { return patch_count_; }
  [[nodiscard]] constexpr KernelPatch patch(std::uint32_t index) const noexcept {
    return load_patch(bytes_.subspan(patches_at_ + index * kKernelPatchBytes, kKernelPatchBytes));
  }
  [[nodiscard]] std::string_view patch_name(std::uint32_t index) const noexcept {
    const KernelPatch p = patch(index);
    return text_at(p.name_offset, p.name_size);
  }

 private:
  explicit KernelFile(Span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <class... Pieces>
  [[nodiscard]] static std::unexpected<Error> invalid(std::uint64_t offset, const Pieces&... pieces) noexcept {
    return fail_at(offset, Errc::invalid_file, pieces...);
  }
  /// That `end` does not lie behind the file.
  [[nodiscard]] Result<void> reaches(std::uint64_t end, std::string_view what) const noexcept {
    if (end <= bytes_.size()) return {};
    return fail_at(bytes_.size(), Errc::truncated_file, what, " ends at byte ", end, ", the file has ", bytes_.size());
  }

  std::string_view text_at(std::uint32_t offset, std::uint32_t size) const noexcept {
    // Again, for bytes that changed since they were checked.
    if (size > bytes_.size() || offset > bytes_.size() - size) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }

  Result<void> check() noexcept {
    if (auto r = reaches(kKernelFileHeaderBytes, "the header"); !r) return r;
    header_ = load_header(bytes_);
    if (auto r = check_header(); !r) return r;
    if (auto r = check_blob(); !r) return r;
    return check_names();
  }

  Result<void> check_header() noexcept {
    const KernelFileHeader& h = header_;
    if (h.magic != kKernelFileMagic)
      return invalid(0, "magic ", Hex(h.magic), ", ", Hex(kKernelFileMagic), " expected");
    if (h.abi_version != kKernelFileVersion)
      return fail_at(4, Errc::unsupported_version, "abi_version ", h.abi_version, ", ", kKernelFileVersion,
                     " expected");
    target_ = find_target(h.gpu_target);
    if (target_ == nullptr)
      return fail_at(6, Errc::unsupported_device, "gpu_target ", h.gpu_target, " is none of RDNA3 and RDNA4");
    if (h.code_size % 4 != 0) return invalid(8, "code_size ", h.code_size, ", a multiple of 4 expected");
    if (h.entry_offset % kCodeAlignment != 0 || h.entry_offset < sizeof(KernelDescriptor) ||
        h.entry_offset >= h.code_size)
      return invalid(12, "entry_offset ", h.entry_offset, ", a multiple of ", kCodeAlignment, " inside the ",
                     h.code_size, " bytes of the blob expected");
    if (h.subgroup_size != 32 && h.subgroup_size != 64)
      return invalid(24, "subgroup_size ", h.subgroup_size, ", 32 or 64 expected");
    const CheckedSize lanes = CheckedSize(h.workgroup_size_x) * h.workgroup_size_y * h.workgroup_size_z;
    if (!lanes.ok() || lanes.raw() == 0 || lanes.raw() > kMostLanes)
      return invalid(28, "a workgroup of ", h.workgroup_size_x, " x ", h.workgroup_size_y, " x ", h.workgroup_size_z,
                     ", 1 to ", kMostLanes, " lanes expected");
    if (h.lds_bytes > kMostLds) return invalid(40, "lds_bytes ", h.lds_bytes, ", at most ", kMostLds, " expected");
    if (h.vgpr_count > kMostVgprs)
      return invalid(44, "vgpr_count ", h.vgpr_count, ", at most ", kMostVgprs, " expected");
    if (h.sgpr_count > kMostSgprs)
      return invalid(48, "sgpr_count ", h.sgpr_count, ", at most ", kMostSgprs, " expected");
    if (h.occupancy_hint > kMostWaves)
      return invalid(52, "occupancy_hint ", h.occupancy_hint, ", at most ", kMostWaves, " expected");
    return reaches(kKernelFileHeaderBytes + std::uint64_t{h.code_size}, "the blob");
  }

  Result<void> check_blob() noexcept {
    const KernelFileHeader& h = header_;
    constexpr std::uint64_t at = kKernelFileHeaderBytes;
    descriptor_ = load_descriptor(blob());
    if (auto r = check_descriptor(descriptor_, target_->generation); !r) {
      Error error = r.error();
      return std::unexpected<Error>(error.at_offset(at));
    }
    if (descriptor_.entry_offset != static_cast<std::int64_t>(h.entry_offset))
      return invalid(at + 16, "the descriptor's entry offset is ", descriptor_.entry_offset, ", entry_offset is ",
                     h.entry_offset);
    if (descriptor_.lds_bytes != h.lds_bytes)
      return invalid(at, "the descriptor has ", descriptor_.lds_bytes, " bytes of LDS, lds_bytes is ", h.lds_bytes);
    const std::uint64_t arguments = std::uint64_t{h.buffer_count} * 8 + h.push_const_bytes;
    if (descriptor_.kernarg_bytes != arguments)
      return invalid(at + 8, "the descriptor has ", descriptor_.kernarg_bytes, " bytes of arguments, ", h.buffer_count,
                     " buffers and ", h.push_const_bytes, " bytes of push constants have ", arguments);
    const std::uint32_t lanes = (descriptor_.properties & kWave32) != 0 ? 32 : 64;
    if (lanes != h.subgroup_size)
      return invalid(at + 56, "the descriptor wants waves of ", lanes, " lanes, subgroup_size is ", h.subgroup_size);
    const std::uint64_t granule = lanes == 32 ? 8 : 4;
    const std::uint64_t vgprs =
        (named_field(fields::kPgmRsrc1, "VGPRS", Generation::gfx11).get(Span(&descriptor_.pgm_rsrc1, 1), 0) + 1) *
        granule;
    if (h.vgpr_count > vgprs)
      return invalid(at + 48, "RSRC1 gives a lane ", vgprs, " VGPRs, vgpr_count is ", h.vgpr_count);
    for (std::size_t i = sizeof(KernelDescriptor); i < h.entry_offset; ++i)
      if (blob()[i] != std::byte{0}) return invalid(at + i, "bytes between descriptor and code that are not 0");
    return {};
  }

  Result<void> check_names() noexcept {
    std::uint64_t at = kKernelFileHeaderBytes + std::uint64_t{header_.code_size};
    if (header_.name_offset != at) return invalid(56, "name_offset ", header_.name_offset, ", ", at, " expected");
    if (auto r = check_name(at, header_.name_size, 60, "the kernel's name"); !r) return r;
    at += header_.name_size;
    if (auto r = reaches(at + 4, "the count of patches"); !r) return r;
    patch_count_ = read_little<std::uint32_t>(bytes_.data() + at);
    patches_at_ = at + 4;
    at = patches_at_ + std::uint64_t{patch_count_} * kKernelPatchBytes;
    if (auto r = reaches(at, "the list of patches"); !r) return r;
    std::uint64_t least = header_.entry_offset;
    for (std::uint32_t i = 0; i < patch_count_; ++i) {
      const std::uint64_t here = patches_at_ + std::uint64_t{i} * kKernelPatchBytes;
      const KernelPatch p = patch(i);
      if (p.name_offset != at)
        return invalid(here, "the name of patch ", i, " is at ", p.name_offset, ", ", at, " expected");
      if (auto r = check_name(at, p.name_size, here + 4, "a constant's name"); !r) return r;
      at += p.name_size;
      if (p.code_offset % 4 != 0 || p.code_offset < least || p.code_offset >= header_.code_size)
        return invalid(here + 8, "patch ", i, " is at ", p.code_offset, " of the blob, a multiple of 4 from ", least,
                       " below ", header_.code_size, " expected");
      const auto found = read_little<std::uint32_t>(blob().data() + p.code_offset);
      if (found != p.placeholder)
        return invalid(kKernelFileHeaderBytes + std::uint64_t{p.code_offset}, "patch ", i, " finds ", Hex(found),
                       ", its placeholder is ", Hex(p.placeholder));
      least = std::uint64_t{p.code_offset} + 4;
    }
    if (at != bytes_.size()) return invalid(at, "the file ends here, ", bytes_.size() - at, " bytes follow");
    return {};
  }

  /// A name of 1 to 255 printable characters of ASCII at `at`, whose size stands at `size_at`.
  Result<void> check_name(std::uint64_t at, std::uint32_t size, std::uint64_t size_at,
                          std::string_view what) const noexcept {
    if (size == 0 || size > kMostKernelName)
      return invalid(size_at, what, " has ", size, " characters, 1 to ", kMostKernelName, " expected");
    if (auto r = reaches(at + size, what); !r) return r;
    for (std::uint64_t i = at; i < at + size; ++i)
      if (bytes_[i] <= std::byte{' '} || bytes_[i] > std::byte{'~'})
        return invalid(i, what, " has byte ", std::to_integer<unsigned>(bytes_[i]), ", a printable one expected");
    return {};
  }

  static constexpr std::uint32_t kMostLanes = 1024;
  static constexpr std::uint32_t kMostLds = 65536;
  static constexpr std::uint32_t kMostVgprs = 256;
  static constexpr std::uint32_t kMostSgprs = 128;
  static constexpr std::uint32_t kMostWaves = 16;

  Span<const std::byte> bytes_;
  KernelFileHeader header_{};
  KernelDescriptor descriptor_{};
  const TargetFacts* target_ = nullptr;
  std::uint64_t patches_at_ = 0;
  std::uint32_t patch_count_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
