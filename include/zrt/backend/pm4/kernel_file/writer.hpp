// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kernel_file/writer.hpp: a .zrt file from its parts.
#pragma once

#include <zrt/backend/pm4/kernel_file/reader.hpp>
#include <zrt/core/vector.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// A dword of the blob that a constant takes the place of.
struct PatchPlace {
  std::string_view constant;
  std::uint32_t code_offset = 0;
};

/// What a .zrt file is made of. Magic, version, sizes and offsets of the header are computed.
struct KernelParts {
  KernelFileHeader header{};
  std::string_view name;
  Span<const std::byte> blob;        ///< from the descriptor to the end of the code
  Span<const PatchPlace> patches{};  ///< by code offset
};

/// Writes the file and reads it back.
///
/// Errors: Errc::out_of_memory, size_overflow, and those of KernelFile::open where the parts do not agree.
[[nodiscard]] inline Result<Vector<std::byte>> write_kernel_file(const KernelParts& parts,
                                                                 const Allocator& allocator) noexcept {
  CheckedSize names = parts.name.size();
  for (const PatchPlace& place : parts.patches) names += place.constant.size();
  const CheckedSize total = CheckedSize(kKernelFileHeaderBytes + 4) + parts.blob.size() +
                            CheckedSize(parts.patches.size()) * kKernelPatchBytes + names;
  if (!total.ok() || total.raw() > 0xffffffffu)
    return fail(Errc::size_overflow, "a kernel of ", parts.blob.size(), " bytes does not fit a .zrt file");
  Vector<std::byte> bytes(allocator);
  if (auto r = bytes.resize(total.raw()); !r) return pass(r);
  const auto number = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
  std::size_t at = kKernelFileHeaderBytes;
  const auto put = [&](Span<const std::byte> part) {
    for (const std::byte b : part) bytes[at++] = b;
  };
  const auto put_text = [&](std::string_view text) { put(as_bytes(Span(text.data(), text.size()))); };
  const auto put_word = [&](std::uint32_t word) {
    write_little(bytes.data() + at, word);
    at += 4;
  };
  put(parts.blob);
  KernelFileHeader header = parts.header;
  header.magic = kKernelFileMagic;
  header.abi_version = kKernelFileVersion;
  header.code_size = number(parts.blob.size());
  header.name_offset = number(at);
  header.name_size = number(parts.name.size());
  store_header(header, bytes.span());
  put_text(parts.name);
  put_word(number(parts.patches.size()));
  std::size_t name_at = at + parts.patches.size() * kKernelPatchBytes;
  for (const PatchPlace& place : parts.patches) {
    if (place.code_offset % 4 != 0 || place.code_offset + std::uint64_t{4} > parts.blob.size())
      return fail(Errc::invalid_argument, "a patch is at ", place.code_offset, " of a blob of ", parts.blob.size(),
                  " bytes");
    put_word(number(name_at));
    put_word(number(place.constant.size()));
    put_word(place.code_offset);
    put_word(read_little<std::uint32_t>(parts.blob.data() + place.code_offset));
    name_at += place.constant.size();
  }
  for (const PatchPlace& place : parts.patches) put_text(place.constant);
  if (const auto read = KernelFile::open(bytes.span()); !read) return pass(read);
  return bytes;
}

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
