// SPDX-License-Identifier: Apache-2.0
// zrt/plan/plan_format.hpp: the file form of a compiled plan: flat, versioned, little-endian; its sections and records.
#pragma once

#include <zrt/plan/compiled_plan.hpp>

#include <array>
#include <type_traits>

ZRT_LOAD_TIME_BEGIN

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
inline constexpr std::uint32_t kVersion = 3;
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
  regions,  ///< one after the other, each a plan file of its own, the next at a multiple of 64
};
inline constexpr std::size_t kSections = 14;

// Numbers of enums from elsewhere that stand in files. DType, Opcode and the numbers within parameter
// blocks are fixed where they are declared.
static_assert(static_cast<int>(StateLifecycle::none) == 0 && static_cast<int>(StateLifecycle::kv_paged) == 1 &&
              static_cast<int>(StateLifecycle::recurrent) == 2);
static_assert(static_cast<int>(Severity::info) == 0 && static_cast<int>(Severity::warning) == 1);
static_assert(static_cast<int>(Layout::contiguous) == 0 && static_cast<int>(Layout::strided) == 1 &&
              static_cast<int>(Layout::backend_native) == 2);
static_assert(static_cast<int>(DiagnosticKind::expanded) == 0 && static_cast<int>(DiagnosticKind::never_read) == 1 &&
              static_cast<int>(DiagnosticKind::rounding) == 2);

}  // namespace file

namespace detail {

// One description per record, walked by the writer (write_plan.hpp) and by the reader (read_plan.hpp).

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
  a.number(r.regions);
  a.number(r.param_block_id);
  a.number(r.first_register);
  a.number(r.first_weight);
  a.number(r.first_region);
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
  if (!is_state_align(s.align_bytes)) return a.refuse("a state's alignment is not a power of two up to 64");
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
  walk_enum(a, port.layout, 3, "a port's layout is not known");
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
template <> inline constexpr std::size_t kRecordBytes<InstructionRecord> = 20;
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

/// Calls `visit(section, list)` for every list of a plan but its regions, in file order.
template <class Plan, class Remarks, class Visit>
void each_section(Plan& p, Remarks& diagnostics, Visit&& visit) noexcept {
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
  visit(file::Section::diagnostics, diagnostics);
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
