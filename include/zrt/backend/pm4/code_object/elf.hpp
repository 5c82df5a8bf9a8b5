// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/code_object/elf.hpp: the sections and symbols of an AMDGPU code object, read from bytes of any origin.
#pragma once

#include <zrt/backend/pm4/fail_at.hpp>
#include <zrt/backend/pm4/field.hpp>
#include <zrt/core/error.hpp>
#include <zrt/core/little_endian.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// A section of an ELF file, with the part of its fields that is needed.
struct ElfSection {
  std::uint32_t name = 0;  ///< in the table of section names
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
};

/// A symbol of an ELF file.
struct ElfSymbol {
  std::string_view name;
  std::uint8_t type = 0;
  std::uint16_t section = 0;
  std::uint64_t value = 0;  ///< address
  std::uint64_t size = 0;
};

namespace elf {
inline constexpr std::uint32_t kProgramBits = 1;
inline constexpr std::uint32_t kSymbolTable = 2;
inline constexpr std::uint32_t kStringTable = 3;
inline constexpr std::uint32_t kRelocationsWithAddend = 4;
inline constexpr std::uint32_t kNote = 7;
inline constexpr std::uint32_t kNoBits = 8;
inline constexpr std::uint32_t kRelocations = 9;
inline constexpr std::uint64_t kAllocated = 2;
inline constexpr std::uint64_t kExecutable = 4;
inline constexpr std::uint8_t kObject = 1;
inline constexpr std::uint8_t kFunction = 2;
}  // namespace elf

/// A code object: ELF, 64 bits, little-endian, for an AMD GPU under HSA. A view: the bytes stay the caller's.
class CodeObject {
 public:
  /// Checks the header, that every section and every symbol lies inside the file, and finds the table of symbols.
  ///
  /// Errors, with the offset of what they name: Errc::truncated_file, invalid_file.
  [[nodiscard]] static Result<CodeObject> open(Span<const std::byte> bytes) noexcept {
    CodeObject object(bytes);
    if (auto r = object.check_header(); !r) return pass(r);
    if (auto r = object.check_sections(); !r) return pass(r);
    if (auto r = object.check_symbols(); !r) return pass(r);
    return object;
  }

  /// The machine number in the flags: TargetFacts::elf_machine.
  [[nodiscard]] std::uint32_t machine() const noexcept { return read<std::uint32_t>(48) & 0xff; }

  [[nodiscard]] std::uint16_t section_count() const noexcept { return sections_; }
  [[nodiscard]] ElfSection section(std::uint16_t index) const noexcept {
    const std::uint64_t at = sections_at_ + std::uint64_t{index} * kSectionBytes;
    return {read<std::uint32_t>(at),      read<std::uint32_t>(at + 4),  read<std::uint64_t>(at + 8),
            read<std::uint64_t>(at + 16), read<std::uint64_t>(at + 24), read<std::uint64_t>(at + 32),
            read<std::uint32_t>(at + 40)};
  }
  [[nodiscard]] std::string_view section_name(const ElfSection& s) const noexcept {
    return text(section(names_), s.name);
  }
  /// The bytes of a section; none where it has no bits.
  [[nodiscard]] Span<const std::byte> contents(const ElfSection& s) const noexcept {
    if (s.type == elf::kNoBits) return {};
    return bytes_.subspan(s.offset, s.size);
  }

  [[nodiscard]] std::uint64_t symbol_count() const noexcept { return section(symbols_).size / kSymbolBytes; }
  [[nodiscard]] ElfSymbol symbol(std::uint64_t index) const noexcept {
    const ElfSection table = section(symbols_);
    const std::uint64_t at = table.offset + index * kSymbolBytes;
    return {text(section(static_cast<std::uint16_t>(table.link)), read<std::uint32_t>(at)),
            static_cast<std::uint8_t>(std::to_integer<unsigned>(bytes_[at + 4]) & 15u), read<std::uint16_t>(at + 6),
            read<std::uint64_t>(at + 8), read<std::uint64_t>(at + 16)};
  }
  /// The bytes from a symbol's address on to the end of its section.
  [[nodiscard]] Result<Span<const std::byte>> from(const ElfSymbol& s) const noexcept {
    if (s.section == 0 || s.section >= sections_)
      return fail(Errc::invalid_file, "symbol ", s.name, " lies in section ", s.section, " of ", sections_);
    const ElfSection home = section(s.section);
    const auto all = contents(home);
    if (s.value < home.address || s.value - home.address > all.size() || s.size > all.size() - (s.value - home.address))
      return fail(Errc::invalid_file, "symbol ", s.name, " at ", std::string_view(Hex(s.value)), " of ", s.size,
                  " bytes lies outside its section");
    return all.subspan(s.value - home.address);
  }

 private:
  static constexpr std::uint64_t kHeaderBytes = 64;
  static constexpr std::uint64_t kSectionBytes = 64;
  static constexpr std::uint64_t kSymbolBytes = 24;

  explicit CodeObject(Span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <class T> [[nodiscard]] T read(std::uint64_t at) const noexcept {
    return read_little<T>(bytes_.data() + at);
  }

  [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t size) const noexcept {
    return size <= bytes_.size() && offset <= bytes_.size() - size;
  }

  /// The text that begins at `at` of a table of strings and ends with a zero; empty where there is none.
  [[nodiscard]] std::string_view text(const ElfSection& table, std::uint64_t at) const noexcept {
    const auto all = contents(table);
    std::uint64_t end = at;
    while (end < all.size() && all[end] != std::byte{0}) ++end;
    if (end >= all.size()) return {};
    return {reinterpret_cast<const char*>(all.data()) + at, end - at};
  }

  Result<void> check_header() const noexcept {
    if (!inside(0, kHeaderBytes))
      return fail_at(bytes_.size(), Errc::truncated_file, "an ELF header has 64 bytes, the file ", bytes_.size());
    if (read<std::uint32_t>(0) != 0x464c457fu)
      return fail_at(0, Errc::invalid_file, "magic ", Hex(read<std::uint32_t>(0)), ", ELF's 0x464c457f expected");
    if (read<std::uint16_t>(4) != 0x0102)
      return fail_at(4, Errc::invalid_file, "class and order ", Hex(read<std::uint16_t>(4)),
                     ", 64 bits little-endian expected");
    if (bytes_[7] != std::byte{64})
      return fail_at(7, Errc::invalid_file, "OS ABI ", std::to_integer<unsigned>(bytes_[7]), ", 64 (HSA) expected");
    if (read<std::uint16_t>(16) != 3)
      return fail_at(16, Errc::invalid_file, "type ", read<std::uint16_t>(16), ", 3 (linked) expected");
    if (read<std::uint16_t>(18) != 0xe0)
      return fail_at(18, Errc::invalid_file, "machine ", Hex(read<std::uint16_t>(18)), ", 0xe0 (AMD GPU) expected");
    if (read<std::uint16_t>(58) != kSectionBytes)
      return fail_at(58, Errc::invalid_file, "sections have headers of ", read<std::uint16_t>(58), " bytes, ",
                     kSectionBytes, " expected");
    return {};
  }

  Result<void> check_sections() noexcept {
    sections_at_ = read<std::uint64_t>(40);
    sections_ = read<std::uint16_t>(60);
    names_ = read<std::uint16_t>(62);
    if (sections_ == 0 || !inside(sections_at_, std::uint64_t{sections_} * kSectionBytes))
      return fail_at(40, Errc::truncated_file, sections_, " sections at byte ", sections_at_, " of ", bytes_.size());
    for (std::uint16_t i = 0; i < sections_; ++i) {
      const ElfSection s = section(i);
      if (s.type != elf::kNoBits && !inside(s.offset, s.size))
        return fail_at(sections_at_ + i * kSectionBytes, Errc::truncated_file, "section ", i, " has ", s.size,
                       " bytes at ", s.offset, " of ", bytes_.size());
    }
    if (names_ >= sections_ || section(names_).type != elf::kStringTable)
      return fail_at(62, Errc::invalid_file, "section ", names_, " holds no names");
    return {};
  }

  Result<void> check_symbols() noexcept {
    for (std::uint16_t i = 0; i < sections_; ++i)
      if (section(i).type == elf::kSymbolTable) symbols_ = i;
    const std::uint64_t at = sections_at_ + symbols_ * kSectionBytes;
    if (symbols_ == 0) return fail_at(sections_at_, Errc::invalid_file, "no table of symbols: the file was stripped");
    const ElfSection table = section(symbols_);
    if (table.size % kSymbolBytes != 0 || table.link >= sections_ ||
        section(static_cast<std::uint16_t>(table.link)).type != elf::kStringTable)
      return fail_at(at, Errc::invalid_file, "the table of symbols has ", table.size, " bytes and names in section ",
                     table.link);
    return {};
  }

  Span<const std::byte> bytes_;
  std::uint64_t sections_at_ = 0;
  std::uint16_t sections_ = 0;
  std::uint16_t names_ = 0;
  std::uint16_t symbols_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
