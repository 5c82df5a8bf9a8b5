// SPDX-License-Identifier: Apache-2.0
// zrt/plan/plan_file.hpp: a compiled plan as a flat, versioned, little-endian file, written and read.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/plan/compile.hpp>

#include <array>
#include <concepts>
#include <type_traits>

namespace zrt::inline ZRT_ABI::plan {

/// The file format. All integers are little-endian; nothing is a dump of a struct.
///
///     0  u8[8]  magic "ZRTPLAN\0"
///     8  u32    version
///    12  u32    number of sections
///    16  u64    bytes of the file
///    24         section table: per section u32 kind, u32 alignment, u64 offset, u64 count, u64 bytes
///
/// Sections follow the table in order of their kind, each at the next multiple of its alignment;
/// bytes between them and reserved bytes are zero, so that a plan has exactly one file. Liveness,
/// peak and never_read remarks are not stored: they are computed anew from the instructions.
namespace file {

inline constexpr std::array<char, 8> kMagic{'Z', 'R', 'T', 'P', 'L', 'A', 'N', '\0'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kEntryBytes = 32;

/// The numbers stand in files and never change.
enum class Section : std::uint32_t {
  instructions = 0,
  register_refs,
  weight_refs,
  registers,
  states,
  weights,
  params,
  param_bytes,
  constants,
  inputs,
  outputs,
  symbols,
  diagnostics,
};
inline constexpr std::size_t kSections = 13;

// Numbers of enums from elsewhere that stand in files. DType, Opcode and the numbers within parameter
// blocks are fixed where they are declared.
static_assert(static_cast<int>(StateLifecycle::none) == 0 && static_cast<int>(StateLifecycle::kv_paged) == 1 &&
              static_cast<int>(StateLifecycle::recurrent) == 2);
static_assert(static_cast<int>(DiagnosticLevel::info) == 0 && static_cast<int>(DiagnosticLevel::warn) == 1);
static_assert(static_cast<int>(DiagnosticKind::expanded) == 0 && static_cast<int>(DiagnosticKind::never_read) == 1 &&
              static_cast<int>(DiagnosticKind::rounding) == 2);

}  // namespace file

namespace detail {

/// Appends integers to a file; keeps the first error.
class PlanWriter {
 public:
  static constexpr bool kReads = false;
  explicit PlanWriter(Allocator allocator) noexcept : bytes_(allocator) {}

  template <std::unsigned_integral T> void number(const T& value) noexcept {
    for (std::size_t i = 0; i < sizeof(T); ++i) put(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i));
  }
  void zeros(std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) put(std::byte{0});
  }
  void raw(std::span<const std::byte> bytes) noexcept {
    if (result_) result_ = bytes_.append(bytes);
  }
  void align(std::size_t alignment) noexcept { zeros(align_up(bytes_.size(), alignment) - bytes_.size()); }
  /// Overwrites an integer that was written before.
  template <std::unsigned_integral T> void patch(std::size_t at, T value) noexcept {
    if (!result_) return;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);
  }
  void refuse(std::string_view) noexcept {}

  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] Result<Vector<std::byte>> finish() noexcept {
    if (!result_) return pass(result_);
    return std::move(bytes_);
  }

 private:
  void put(std::byte byte) noexcept {
    if (result_) result_ = bytes_.push_back(byte);
  }
  Vector<std::byte> bytes_;
  Result<void> result_{};
};

/// Takes integers from a file; keeps the first error with its offset, and reads zeros after it.
class PlanReader {
 public:
  static constexpr bool kReads = true;
  explicit PlanReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <std::unsigned_integral T> void number(T& value) noexcept {
    value = 0;
    if (!has(sizeof(T))) return;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) sum |= std::to_integer<std::uint64_t>(bytes_[at_ + i]) << 8 * i;
    value = static_cast<T>(sum);
    at_ += sizeof(T);
  }
  void zeros(std::size_t count) noexcept {
    if (!has(count)) return;
    for (std::size_t i = 0; i < count; ++i, ++at_) {
      if (bytes_[at_] == std::byte{0}) continue;
      refuse("a reserved byte is not zero");
      return;
    }
  }
  void align(std::size_t alignment) noexcept { zeros(align_up(at_, alignment) - at_); }
  /// Reports a value just read that the format does not allow.
  void refuse(std::string_view what) noexcept { stop(Error::of(Errc::invalid_file, "plan file: ", what)); }
  void stop(Error error) noexcept {
    if (ok_) error_ = error.at_offset(at_);
    ok_ = false;
  }
  [[nodiscard]] bool has(std::uint64_t count) noexcept {
    if (ok_ && count > bytes_.size() - at_)
      stop(
          Error::of(Errc::truncated_file, "plan file: ", count, " bytes expected, ", bytes_.size() - at_, " are left"));
    return ok_;
  }
  /// The next `count` bytes, which are there.
  [[nodiscard]] std::span<const std::byte> take(std::size_t count) noexcept {
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::unexpected<Error> error() const noexcept { return std::unexpected<Error>(error_); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
  Error error_{};
};

// One description per record, walked by the writer and by the reader.

/// An enum by its number; `count` is the number of its enumerators.
template <class A, class E> void walk_enum(A& a, E& value, std::size_t count, std::string_view what) noexcept {
  auto n = static_cast<std::underlying_type_t<E>>(value);
  a.number(n);
  if constexpr (A::kReads) {
    if (n >= count)
      a.refuse(what);
    else
      value = static_cast<E>(n);
  }
}

template <class A> void walk_dtype(A& a, DType& dtype) noexcept {
  auto n = static_cast<std::uint8_t>(dtype);
  a.number(n);
  if constexpr (A::kReads) {
    if (!is_dtype(n))
      a.refuse("an element type is not known");
    else
      dtype = static_cast<DType>(n);
  }
}

/// One byte of length, then Name::kCapacity characters of which those past the length are zero.
template <class A> void walk_name(A& a, Name& name) noexcept {
  auto length = static_cast<std::uint8_t>(name.view().size());
  a.number(length);
  std::array<char, Name::kCapacity> text{};
  if (length > Name::kCapacity) return a.refuse("a name is longer than its room");
  for (std::size_t i = 0; i < length; ++i) {
    std::uint8_t c = 0;
    if constexpr (!A::kReads) c = static_cast<std::uint8_t>(name.view()[i]);
    a.number(c);
    text[i] = static_cast<char>(c);
  }
  a.zeros(Name::kCapacity - length);
  if constexpr (A::kReads) name = Name(std::string_view(text.data(), length));
}

template <class A> void walk(A& a, TensorType& type) noexcept {
  walk_dtype(a, type.dtype);
  a.number(type.shape.rank);
  if (type.shape.rank > kMaxRank) return a.refuse("a rank is above 8");
  a.zeros(2);
  for (Dim& dim : type.shape.dims) a.number(dim.extent);
  for (Dim& dim : type.shape.dims) a.number(dim.symbol);
}
inline constexpr std::size_t kTypeBytes = 4 + 5 * kMaxRank;

template <class A> void walk(A& a, InstructionRecord& r) noexcept {
  auto opcode = zrt::number(r.opcode);
  a.number(opcode);
  r.opcode = Opcode{opcode};
  a.number(r.inputs);
  a.number(r.outputs);
  a.number(r.weights);
  a.number(r.state_block_id);
  a.zeros(1);
  a.number(r.param_block_id);
  a.number(r.first_register);
  a.number(r.first_weight);
}

template <class A> void walk(A& a, RegisterRef& r) noexcept {
  std::uint16_t n = index(r);
  a.number(n);
  r = RegisterRef{n};
}

template <class A> void walk(A& a, WeightRef& w) noexcept {
  std::uint32_t n = index(w);
  a.number(n);
  w = WeightRef{n};
}

template <class A> void walk(A& a, StateDescriptor& s) noexcept {
  a.number(s.id);
  walk_enum(a, s.lifecycle, kStateLifecycles, "a state's class is not known");
  auto zero_init = static_cast<std::uint8_t>(s.zero_init ? 1 : 0);
  a.number(zero_init);
  if (zero_init > 1) return a.refuse("a truth value is neither 0 nor 1");
  s.zero_init = zero_init != 0;
  walk_dtype(a, s.info.dtype);
  a.number(s.info.group);
  a.zeros(1);
  a.number(s.align_bytes);
  if (s.align_bytes == 0 || s.align_bytes > 64 || (s.align_bytes & (s.align_bytes - 1)) != 0)
    return a.refuse("a state's alignment is not a power of two up to 64");
  a.number(s.size_bytes);
  for (std::uint32_t& extent : s.info.extents) a.number(extent);
  s.info.lifecycle = s.lifecycle;
}

template <class A> void walk(A& a, PlanWeight& w) noexcept {
  walk_name(a, w.name);
  a.zeros(1);
  TensorType type{w.dtype, w.shape};
  walk(a, type);
  w.dtype = type.dtype;
  w.shape = type.shape;
  a.number(w.data_offset);
  a.number(w.data_bytes);
}

template <class A> void walk(A& a, ParamRecord& p) noexcept {
  a.number(p.offset);
  a.number(p.bytes);
  auto opcode = zrt::number(p.opcode);
  a.number(opcode);
  p.opcode = Opcode{opcode};
  a.number(p.version);
}

template <class A> void walk(A& a, PlanPort& port) noexcept {
  walk_name(a, port.name);
  a.zeros(1);
  walk(a, port.reg);
}

template <class A> void walk(A& a, PlanSymbol& symbol) noexcept {
  walk_name(a, symbol.name);
  a.zeros(1);
  a.number(symbol.bound);
}

template <class A> void walk(A& a, PlanDiagnostic& d) noexcept {
  walk_enum(a, d.level, 2, "a remark's level is not known");
  walk_enum(a, d.kind, 3, "a remark's kind is not known");
  auto opcode = zrt::number(d.opcode);
  a.number(opcode);
  d.opcode = Opcode{opcode};
  a.zeros(1);
  a.number(d.instruction);
  a.number(d.count);
  walk(a, d.reg);
  a.zeros(2);
}

/// Bytes of one element of a section's list in the file.
template <class T> inline constexpr std::size_t kRecordBytes = 0;
template <> inline constexpr std::size_t kRecordBytes<InstructionRecord> = 16;
template <> inline constexpr std::size_t kRecordBytes<RegisterRef> = 2;
template <> inline constexpr std::size_t kRecordBytes<WeightRef> = 4;
template <> inline constexpr std::size_t kRecordBytes<TensorType> = kTypeBytes;
template <> inline constexpr std::size_t kRecordBytes<StateDescriptor> = 32;
template <> inline constexpr std::size_t kRecordBytes<PlanWeight> = Name::kCapacity + 2 + kTypeBytes + 16;
template <> inline constexpr std::size_t kRecordBytes<ParamRecord> = 8;
template <> inline constexpr std::size_t kRecordBytes<std::byte> = 1;
template <> inline constexpr std::size_t kRecordBytes<PlanPort> = Name::kCapacity + 4;
template <> inline constexpr std::size_t kRecordBytes<PlanSymbol> = Name::kCapacity + 6;
template <> inline constexpr std::size_t kRecordBytes<PlanDiagnostic> = 16;

/// Raw bytes lie as they will be used, everything else on 8.
template <class T> inline constexpr std::uint32_t kSectionAlignment = std::is_same_v<T, std::byte> ? 64 : 8;

/// Calls `visit(section, list)` for every list of a plan, in file order.
template <class Compiled, class Visit> void each_section(Compiled& compiled, Visit&& visit) noexcept {
  auto& p = compiled.plan;
  visit(file::Section::instructions, p.instructions);
  visit(file::Section::register_refs, p.register_refs);
  visit(file::Section::weight_refs, p.weight_refs);
  visit(file::Section::registers, p.registers);
  visit(file::Section::states, p.states);
  visit(file::Section::weights, p.weights);
  visit(file::Section::params, p.params);
  visit(file::Section::param_bytes, p.param_bytes);
  visit(file::Section::constants, p.constants);
  visit(file::Section::inputs, p.inputs);
  visit(file::Section::outputs, p.outputs);
  visit(file::Section::symbols, p.symbols);
  visit(file::Section::diagnostics, compiled.diagnostics);
}

template <class T> void write_section(PlanWriter& w, file::Section section, const Vector<T>& list) noexcept {
  w.align(kSectionAlignment<T>);
  const std::size_t begin = w.size();
  std::uint64_t count = list.size();
  if constexpr (std::is_same_v<T, std::byte>) {
    w.raw(list.span());
  } else {
    for (T item : list) {
      // What `analyse` finds is found again when the file is read.
      if constexpr (std::is_same_v<T, PlanDiagnostic>) {
        if (item.kind == DiagnosticKind::never_read) {
          --count;
          continue;
        }
      }
      walk(w, item);
    }
  }
  const std::size_t entry = file::kHeaderBytes + static_cast<std::size_t>(section) * file::kEntryBytes;
  w.patch(entry, static_cast<std::uint32_t>(section));
  w.patch(entry + 4, kSectionAlignment<T>);
  w.patch(entry + 8, static_cast<std::uint64_t>(begin));
  w.patch(entry + 16, count);
  w.patch(entry + 24, static_cast<std::uint64_t>(w.size() - begin));
}

struct SectionEntry {
  std::uint32_t kind = 0;
  std::uint32_t alignment = 0;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

/// Reads one list. The file's size has been compared with the section's, so `count` costs no more
/// memory than a small multiple of the file.
template <class T>
[[nodiscard]] Result<void> read_section(PlanReader& r, file::Section section, const SectionEntry& entry,
                                        Vector<T>& list) noexcept {
  r.align(kSectionAlignment<T>);
  if (!r.ok()) return r.error();
  const CheckedSize bytes = CheckedSize(entry.count) * kRecordBytes<T>;
  if (entry.kind != static_cast<std::uint32_t>(section) || entry.alignment != kSectionAlignment<T> ||
      entry.offset != r.at() || !bytes.ok() || bytes.raw() != entry.bytes) {
    Error error = Error::of(Errc::invalid_file, "plan file: section ", static_cast<std::uint32_t>(section),
                            " has another kind, alignment, place or size than the format gives it");
    return std::unexpected<Error>(
        error.at_offset(file::kHeaderBytes + static_cast<std::size_t>(section) * file::kEntryBytes));
  }
  if (!r.has(entry.bytes)) return r.error();
  if constexpr (std::is_same_v<T, std::byte>) {
    return list.append(r.take(static_cast<std::size_t>(entry.bytes)));
  } else {
    if (auto done = list.reserve(static_cast<std::size_t>(entry.count)); !done) return done;
    for (std::uint64_t i = 0; i < entry.count; ++i) {
      T item{};
      walk(r, item);
      if (!r.ok()) return r.error();
      if (auto done = list.push_back(item); !done) return done;
    }
    return {};
  }
}

}  // namespace detail

/// Writes a compiled plan as a file; its memory comes from the plan's allocator.
[[nodiscard]] inline Result<Vector<std::byte>> write_plan(const CompiledPlan& compiled) noexcept {
  detail::PlanWriter w(compiled.plan.allocator);
  for (char c : file::kMagic) w.number(static_cast<std::uint8_t>(c));
  w.number(file::kVersion);
  w.number(static_cast<std::uint32_t>(file::kSections));
  w.number(std::uint64_t{0});
  w.zeros(file::kSections * file::kEntryBytes);
  detail::each_section(compiled,
                       [&](file::Section section, const auto& list) { detail::write_section(w, section, list); });
  w.patch(16, static_cast<std::uint64_t>(w.size()));
  return w.finish();
}

/// Reads a plan from a file or a mapping of one; everything is copied, so `bytes` may go afterwards.
///
/// A plan file is judged like any other input: its form while it is read, then references, types,
/// parameters and order of reads and writes by `validate`, and its liveness is computed anew.
/// Errors: truncated_file, invalid_file, unsupported_version, out_of_memory and those of `validate`,
/// each with the offset where the fault was seen.
[[nodiscard]] inline Result<CompiledPlan> read_plan(std::span<const std::byte> bytes, const OpTable& table,
                                                    Allocator allocator = system_allocator()) noexcept {
  detail::PlanReader r(bytes);
  for (char c : file::kMagic) {
    std::uint8_t found = 0;
    r.number(found);
    if (r.ok() && found != static_cast<std::uint8_t>(c)) r.refuse("the magic is not ZRTPLAN");
  }
  std::uint32_t version = 0;
  std::uint32_t sections = 0;
  std::uint64_t size = 0;
  r.number(version);
  if (r.ok() && version != file::kVersion)
    r.stop(Error::of(Errc::unsupported_version, "plan file: version ", version, ", expected ", file::kVersion));
  r.number(sections);
  if (r.ok() && sections != file::kSections) r.refuse("the number of sections is not that of the version");
  r.number(size);
  if (r.ok() && size > bytes.size())
    r.stop(Error::of(Errc::truncated_file, "plan file: ", size, " bytes announced, ", bytes.size(), " found"));
  if (r.ok() && size != bytes.size()) r.refuse("there are bytes after the end");
  std::array<detail::SectionEntry, file::kSections> entries{};
  for (detail::SectionEntry& entry : entries) {
    r.number(entry.kind);
    r.number(entry.alignment);
    r.number(entry.offset);
    r.number(entry.count);
    r.number(entry.bytes);
  }
  if (!r.ok()) return r.error();

  CompiledPlan compiled(allocator);
  Result<void> result{};
  detail::each_section(compiled, [&](file::Section section, auto& list) {
    if (result) result = detail::read_section(r, section, entries[static_cast<std::size_t>(section)], list);
  });
  if (!result) return pass(result);
  if (r.at() != bytes.size()) {
    r.refuse("there are bytes after the last section");
    return r.error();
  }
  for (const PlanDiagnostic& d : compiled.diagnostics)
    if (d.kind == DiagnosticKind::never_read) {
      Error error = Error::of(Errc::invalid_file, "plan file: a never_read remark is stored");
      return std::unexpected<Error>(error.at_offset(entries.back().offset));
    }
  if (result = validate(compiled.plan, table, Validation::normal); !result) {
    Error error = result.error();
    const std::uint64_t record = error.instruction() == Error::kNoIndex
                                     ? 0
                                     : std::uint64_t{error.instruction()} * detail::kRecordBytes<InstructionRecord>;
    return std::unexpected<Error>(error.at_offset(entries[0].offset + record));
  }
  if (result = analyse(compiled); !result) return pass(result);
  return compiled;
}

}  // namespace zrt::inline ZRT_ABI::plan
