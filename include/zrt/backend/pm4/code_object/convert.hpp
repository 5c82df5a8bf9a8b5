// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/code_object/convert.hpp: a kernel of a code object as a .zrt file.
#pragma once

#include <zrt/backend/pm4/code_object/metadata.hpp>
#include <zrt/backend/pm4/kernel_file/writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// A constant and the dword that stands for it in the code.
struct Placeholder {
  std::string_view constant;
  std::uint32_t value = 0;
};

namespace detail {

/// Refuses a code object whose code may refer to anything but its arguments: relocations, data, functions that are
/// called. What is left of it, descriptor and code, can lie anywhere.
inline Result<void> check_self_contained(const CodeObject& object) noexcept {
  std::uint64_t kernels = 0, functions = 0;
  bool has_abi_version = false;
  for (std::uint64_t i = 0; i < object.symbol_count(); ++i) {
    const ElfSymbol symbol = object.symbol(i);
    if (symbol.type == elf::kFunction) ++functions;
    if (symbol.type != elf::kObject) continue;
    if (symbol.name.ends_with(".kd"))
      ++kernels;
    else if (symbol.name == "__oclc_ABI_version" && symbol.size == 4)
      has_abi_version = true;
    else
      return fail(Errc::invalid_file, "the code object has data, ", symbol.name, ": pass it in a buffer");
  }
  if (functions > kernels)
    return fail(Errc::invalid_file, "the code object has ", functions, " functions and ", kernels,
                " kernels: functions that kernels call must be inlined");
  for (std::uint16_t i = 0; i < object.section_count(); ++i) {
    const ElfSection section = object.section(i);
    const std::string_view name = object.section_name(section);
    if ((section.type == elf::kRelocations || section.type == elf::kRelocationsWithAddend) && section.size != 0)
      return fail(Errc::invalid_file, "section ", name, " has relocations");
    if ((section.flags & elf::kAllocated) == 0 || section.size == 0) continue;
    if (section.type == elf::kNoBits && name != ".relro_padding")
      return fail(Errc::invalid_file, "section ", name, " has variables");
    if (section.type != elf::kProgramBits || (section.flags & elf::kExecutable) != 0) continue;
    // Constants of the compiler have no symbol; descriptors fill the section without them.
    const std::uint64_t known = kernels * sizeof(KernelDescriptor);
    if (name != ".rodata" || (section.size != known && !(has_abi_version && section.size == known + 4)))
      return fail(Errc::invalid_file, "section ", name, " of ", section.size,
                  " bytes has more than the descriptors of ", kernels, " kernels: pass constants in a buffer");
  }
  return {};
}

inline Result<ElfSymbol> find_symbol(const CodeObject& object, std::string_view name, std::uint8_t type) noexcept {
  for (std::uint64_t i = 0; i < object.symbol_count(); ++i) {
    const ElfSymbol symbol = object.symbol(i);
    if (symbol.type == type && symbol.name == name) return symbol;
  }
  return fail(Errc::not_found, "the code object has no symbol ", name);
}

/// The code from `entry` to the next kernel or the end of the section: what the compiler put after the last
/// instruction, for the prefetcher, comes with it.
inline Result<Span<const std::byte>> code_from(const CodeObject& object, const ElfSymbol& entry) noexcept {
  auto code = object.from(entry);
  if (!code) return code;
  for (std::uint64_t i = 0; i < object.symbol_count(); ++i) {
    const ElfSymbol other = object.symbol(i);
    if (other.type != elf::kFunction || other.section != entry.section || other.value <= entry.value) continue;
    if (other.value - entry.value < code->size()) code = code->first(other.value - entry.value);
  }
  return code->first(code->size() / 4 * 4);
}

inline Result<Vector<PatchPlace>> find_places(Span<const std::byte> blob, std::size_t entry, std::size_t end,
                                              Span<const Placeholder> placeholders,
                                              const Allocator& allocator) noexcept {
  Vector<PatchPlace> places(allocator);
  for (std::size_t i = 0; i < placeholders.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (placeholders[i].value == placeholders[j].value)
        return fail(Errc::invalid_argument, "constants ", placeholders[j].constant, " and ", placeholders[i].constant,
                    " have the placeholder ", std::string_view(Hex(placeholders[i].value)));
  for (std::size_t at = entry; at + 4 <= end; at += 4)
    for (const Placeholder& p : placeholders)
      if (read_little<std::uint32_t>(blob.data() + at) == p.value)
        if (auto r = places.push_back({p.constant, static_cast<std::uint32_t>(at)}); !r) return pass(r);
  for (const Placeholder& p : placeholders) {
    bool found = false;
    for (const PatchPlace& place : places) found = found || place.constant == p.constant;
    if (!found)
      return fail(Errc::not_found, "placeholder ", std::string_view(Hex(p.value)), " of constant ", p.constant,
                  " is not in the code");
  }
  return places;
}

}  // namespace detail

/// Makes a .zrt file of the kernel that `metadata` describes. `placeholders` are the dwords of its code that constants
/// take the place of before it is uploaded.
///
/// Errors: Errc::unsupported_device for another processor; not_found for a symbol or placeholder that is not there;
/// invalid_argument for a kernel without reqd_work_group_size or placeholders that are alike; invalid_file for code
/// that refers to anything but its arguments, for arguments that are not buffers and then values, and as
/// KernelFile::open; out_of_memory.
[[nodiscard]] inline Result<Vector<std::byte>> convert_kernel(const CodeObject& object, const KernelMetadata& metadata,
                                                              Span<const Placeholder> placeholders,
                                                              const Allocator& allocator) noexcept {
  const TargetFacts* target = find_elf_target(object.machine());
  if (target == nullptr)
    return fail(Errc::unsupported_device, "the code object is for machine ", std::string_view(Hex(object.machine())),
                ", none of RDNA3 and RDNA4");
  if (auto r = detail::check_self_contained(object); !r) return pass(r);
  if (!metadata.arguments) return pass(metadata.arguments);
  if (metadata.workgroup[0] == 0)
    return fail(Errc::invalid_argument, "kernel ", metadata.name, " has no reqd_work_group_size");
  const auto described = detail::find_symbol(object, metadata.symbol, elf::kObject);
  if (!described) return pass(described);
  const auto entry = detail::find_symbol(object, metadata.name, elf::kFunction);
  if (!entry) return pass(entry);
  const auto descriptor_bytes = object.from(*described);
  if (!descriptor_bytes) return pass(descriptor_bytes);
  const auto code = detail::code_from(object, *entry);
  if (!code) return pass(code);
  if (descriptor_bytes->size() < sizeof(KernelDescriptor))
    return fail(Errc::invalid_file, "symbol ", metadata.symbol, " has less than the 64 bytes of a descriptor");
  const KernelDescriptor descriptor = load_descriptor(*descriptor_bytes);
  if (described->value + static_cast<std::uint64_t>(descriptor.entry_offset) != entry->value)
    return fail(Errc::invalid_file, "the descriptor of ", metadata.name, " does not point to its code");
  if (code->size() > 0x40000000u)
    return fail(Errc::size_overflow, "kernel ", metadata.name, " has ", code->size(), " bytes of code");

  Vector<std::byte> blob(allocator);
  if (auto r = blob.resize(kCodeAlignment + code->size()); !r) return pass(r);
  for (std::size_t i = 0; i < sizeof(KernelDescriptor); ++i) blob[i] = (*descriptor_bytes)[i];
  write_little(blob.data() + offsetof(KernelDescriptor, entry_offset), std::uint64_t{kCodeAlignment});
  for (std::size_t i = 0; i < code->size(); ++i) blob[kCodeAlignment + i] = (*code)[i];
  const std::uint64_t own = entry->size < code->size() ? entry->size : code->size();
  const auto places = detail::find_places(blob.span(), kCodeAlignment, kCodeAlignment + own, placeholders, allocator);
  if (!places) return pass(places);

  KernelParts parts{.name = metadata.name, .blob = blob.span(), .patches = places->span()};
  parts.header.gpu_target = target->file_number;
  parts.header.entry_offset = static_cast<std::uint32_t>(kCodeAlignment);
  parts.header.buffer_count = metadata.buffer_count;
  // read_kernel holds the buffers to the block of arguments.
  parts.header.push_const_bytes = metadata.argument_bytes - metadata.buffer_count * 8;
  parts.header.subgroup_size = metadata.wave_size;
  parts.header.workgroup_size_x = metadata.workgroup[0];
  parts.header.workgroup_size_y = metadata.workgroup[1];
  parts.header.workgroup_size_z = metadata.workgroup[2];
  parts.header.lds_bytes = metadata.lds_bytes;
  parts.header.vgpr_count = metadata.vgpr_count;
  parts.header.sgpr_count = metadata.sgpr_count;
  return write_kernel_file(parts, allocator);
}

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
