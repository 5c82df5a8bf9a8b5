// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/code_object/metadata.hpp: what the note of a code object says of its kernels and their arguments.
#pragma once

#include <zrt/backend/pm4/code_object/elf.hpp>
#include <zrt/backend/pm4/code_object/message_pack.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// A kernel as the compiler describes it; texts lie in the code object.
struct KernelMetadata {
  std::string_view name;
  std::string_view symbol;  ///< of the descriptor
  std::uint32_t buffer_count = 0;
  std::uint32_t argument_bytes = 0;
  std::uint32_t lds_bytes = 0;
  std::uint32_t vgpr_count = 0;
  std::uint32_t sgpr_count = 0;
  std::uint32_t wave_size = 0;
  /// What reqd_work_group_size demands; zeros where it does not stand.
  std::array<std::uint32_t, 3> workgroup{};
  /// Errc::invalid_file, naming the kernel, where its arguments are anything but buffers and then values.
  Result<void> arguments{};
};

namespace detail {

using PackValue = MessagePackReader::Value;
using PackKind = MessagePackReader::Kind;

inline Result<PackValue> next_of_kind(MessagePackReader& in, PackKind kind, std::string_view what) noexcept {
  const std::size_t at = in.offset();
  auto value = in.next();
  if (!value) return value;
  if (value->kind != kind) {
    Error error = Error::of(Errc::invalid_file, "the metadata's ", what, " is of another kind than expected");
    return std::unexpected<Error>(error.at_offset(at));
  }
  return value;
}

/// Calls `take(key)` for each pair of the map that comes next; `take` reads the pair's value from `in`.
template <class Take> Result<void> for_each_pair(MessagePackReader& in, std::string_view what, Take&& take) noexcept {
  const auto map = next_of_kind(in, PackKind::map, what);
  if (!map) return pass(map);
  for (std::uint64_t i = 0; i < map->number; ++i) {
    const auto key = next_of_kind(in, PackKind::text, what);
    if (!key) return pass(key);
    if (Result<void> r = take(key->text); !r) return r;
  }
  return {};
}

inline Result<void> read_number(MessagePackReader& in, std::string_view what, std::uint32_t& to) noexcept {
  const auto value = next_of_kind(in, PackKind::unsigned_integer, what);
  if (!value) return pass(value);
  if (value->number > 0xffffffffu)
    return fail(Errc::invalid_file, "the metadata's ", what, " is ", value->number, ", more than 32 bits");
  to = static_cast<std::uint32_t>(value->number);
  return {};
}

struct KernelArgument {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::string_view kind;
};

inline Result<KernelArgument> read_argument(MessagePackReader& in) noexcept {
  KernelArgument argument;
  auto read = for_each_pair(in, ".args", [&](std::string_view key) -> Result<void> {
    if (key == ".offset") return read_number(in, key, argument.offset);
    if (key == ".size") return read_number(in, key, argument.size);
    if (key != ".value_kind") return in.skip();
    const auto value = next_of_kind(in, PackKind::text, key);
    if (!value) return pass(value);
    argument.kind = value->text;
    return {};
  });
  if (!read) return pass(read);
  return argument;
}

/// Takes the argument behind `end` bytes of others: buffers come first, each 8 bytes after the other, then values.
inline Result<void> place_argument(const KernelArgument& argument, std::uint32_t& buffers,
                                   std::uint32_t& end) noexcept {
  const auto [offset, size, kind] = argument;
  if (kind != "global_buffer" && kind != "by_value")
    return fail(Errc::invalid_file, "an argument is of kind ", kind, ", global_buffer or by_value expected");
  const bool is_buffer = kind == "global_buffer";
  if (is_buffer && (offset != end || offset != buffers * std::uint64_t{8} || size != 8))
    return fail(Errc::invalid_file, "a buffer of ", size, " bytes stands at ", offset, " behind ", buffers,
                " buffers and ", end, " bytes of arguments, buffers in order and before values expected");
  if (offset < end || size > 0xffffffffu - offset)
    return fail(Errc::invalid_file, "an argument of ", size, " bytes stands at ", offset, " behind ", end,
                " bytes of arguments");
  buffers += is_buffer ? 1 : 0;
  end = offset + size;
  return {};
}

inline Result<KernelMetadata> read_kernel(MessagePackReader& in) noexcept {
  KernelMetadata kernel;
  std::uint32_t end = 0;
  Result<void> placed{};
  auto read = for_each_pair(in, "kernel", [&](std::string_view key) -> Result<void> {
    if (key == ".name" || key == ".symbol") {
      const auto value = next_of_kind(in, PackKind::text, key);
      if (!value) return pass(value);
      (key == ".name" ? kernel.name : kernel.symbol) = value->text;
      return {};
    }
    if (key == ".kernarg_segment_size") return read_number(in, key, kernel.argument_bytes);
    if (key == ".group_segment_fixed_size") return read_number(in, key, kernel.lds_bytes);
    if (key == ".vgpr_count") return read_number(in, key, kernel.vgpr_count);
    if (key == ".sgpr_count") return read_number(in, key, kernel.sgpr_count);
    if (key == ".wavefront_size") return read_number(in, key, kernel.wave_size);
    if (key != ".args" && key != ".reqd_workgroup_size") return in.skip();
    const auto list = next_of_kind(in, PackKind::array, key);
    if (!list) return pass(list);
    if (key == ".reqd_workgroup_size" && list->number != 3)
      return fail(Errc::invalid_file, "a workgroup has ", list->number, " extents, 3 expected");
    for (std::uint64_t i = 0; i < list->number; ++i) {
      if (key == ".reqd_workgroup_size") {
        if (auto r = read_number(in, key, kernel.workgroup[i]); !r) return r;
        continue;
      }
      const auto argument = read_argument(in);
      if (!argument) return pass(argument);
      if (placed) placed = place_argument(*argument, kernel.buffer_count, end);
    }
    return {};
  });
  if (!read) return pass(read);
  if (placed && end > kernel.argument_bytes)
    placed = fail(Errc::invalid_file, end, " bytes of arguments are in a block of ", kernel.argument_bytes);
  if (!placed) kernel.arguments = fail(Errc::invalid_file, "kernel ", kernel.name, ": ", placed.error().text());
  return kernel;
}

/// The MessagePack of the note of that section, or nothing.
inline Result<Span<const std::byte>> find_note(Span<const std::byte> notes) noexcept {
  constexpr std::uint32_t metadata = 32;
  while (notes.size() >= 12) {
    const auto name_size = read_little<std::uint32_t>(notes.data());
    const auto size = read_little<std::uint32_t>(notes.data() + 4);
    const auto type = read_little<std::uint32_t>(notes.data() + 8);
    const std::uint64_t name_end = 12 + (std::uint64_t{name_size} + 3) / 4 * 4;
    const std::uint64_t end = name_end + (std::uint64_t{size} + 3) / 4 * 4;
    if (name_end > notes.size() || size > notes.size() - name_end)
      return fail(Errc::invalid_file, "a note of ", size, " bytes ends outside its section");
    const std::string_view name(reinterpret_cast<const char*>(notes.data()) + 12, name_size);
    if (type == metadata && name == std::string_view("AMDGPU\0", 7)) return notes.subspan(name_end, size);
    notes = notes.subspan(end < notes.size() ? end : notes.size());
  }
  return Span<const std::byte>();
}

}  // namespace detail

/// Calls `visit(KernelMetadata)`, which gives a Result<void>, for each kernel that the code object describes.
///
/// A kernel that zrt cannot launch is visited too, and says so itself. Errors: Errc::invalid_file where the note is
/// absent or broken; those of `visit`.
template <class Visit> [[nodiscard]] Result<void> for_each_kernel(const CodeObject& object, Visit&& visit) noexcept {
  Span<const std::byte> packed;
  for (std::uint16_t i = 0; i < object.section_count() && packed.empty(); ++i) {
    const ElfSection section = object.section(i);
    if (section.type != elf::kNote) continue;
    const auto note = detail::find_note(object.contents(section));
    if (!note) return pass(note);
    packed = *note;
  }
  if (packed.empty()) return fail(Errc::invalid_file, "the code object has no metadata");
  MessagePackReader in(packed);
  bool listed = false;
  auto read = detail::for_each_pair(in, "root", [&](std::string_view key) -> Result<void> {
    if (key != "amdhsa.kernels") return in.skip();
    listed = true;
    const auto list = detail::next_of_kind(in, detail::PackKind::array, key);
    if (!list) return pass(list);
    for (std::uint64_t i = 0; i < list->number; ++i) {
      const auto kernel = detail::read_kernel(in);
      if (!kernel) return pass(kernel);
      if (Result<void> r = visit(*kernel); !r) return r;
    }
    return {};
  });
  if (read && !listed) return fail(Errc::invalid_file, "the metadata of the code object lists no kernels");
  return read;
}

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
