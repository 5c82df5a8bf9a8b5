// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/program.hpp: a program of the portable tensor IR: regions of instructions over SSA values.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/string.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/ir/ptir/origins.hpp>
#include <zrt/ir/ptir/types.hpp>
#include <zrt/ops/op_info.hpp>

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// The one version of the specification that programs bear and readers accept.
inline constexpr std::string_view kSpecVersion = "ptir.v0.4";

/// A program names at most this many dynamic extents.
inline constexpr std::size_t kMaxSymbolNames = 4096;
/// A map attribute has at most this many entries.
inline constexpr std::size_t kMaxMapEntries = 256;

/// Names a value; unique within its region, which sees no value of another region.
using ValueId = std::uint32_t;
/// Index into Program::regions; region 0 is the program itself.
using RegionId = std::uint32_t;

/// `count` entries of a pool, from `first` on.
struct PoolRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// What an instruction reads: a tensor value, one element of a tuple value, or a literal.
struct Operand {
  enum class Kind : std::uint8_t { value, tuple_element, literal };
  Kind kind = Kind::value;
  std::uint32_t id = 0;       ///< value id, or index into Program::literals
  std::uint32_t element = 0;  ///< of a tuple

  [[nodiscard]] static constexpr Operand value(ValueId id) noexcept { return {Kind::value, id, 0}; }
  [[nodiscard]] static constexpr Operand tuple_element(ValueId id, std::uint32_t element) noexcept {
    return {Kind::tuple_element, id, element};
  }
  [[nodiscard]] static constexpr Operand literal(std::uint32_t index) noexcept { return {Kind::literal, index, 0}; }
};

/// A dense constant, row-major and little-endian, in Program::literal_bytes.
struct Literal {
  TensorType type{};
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

using zrt::AttributeField;
using zrt::AttributeKind;
using zrt::OpInfo;

/// One attribute's value: a scalar in `bits`, or a range of the pool that belongs to its kind.
struct Attribute {
  AttributeKind kind = AttributeKind::none;
  /// integer, bit pattern of a real, 0 or 1, DType number, index of a choice, literal or region
  std::uint64_t bits = 0;
  /// string: chars; integers, reals, booleans, shape: words; strings: texts; map: entries
  PoolRange range{};

  [[nodiscard]] static constexpr Attribute integer(std::int64_t value) noexcept {
    return {AttributeKind::integer, static_cast<std::uint64_t>(value), {}};
  }
  [[nodiscard]] static constexpr Attribute real(double value) noexcept {
    return {AttributeKind::real, std::bit_cast<std::uint64_t>(value), {}};
  }
  [[nodiscard]] static constexpr Attribute boolean(bool value) noexcept {
    return {AttributeKind::boolean, value ? 1u : 0u, {}};
  }
  [[nodiscard]] static constexpr Attribute dtype(DType value) noexcept {
    return {AttributeKind::dtype, static_cast<std::uint64_t>(value), {}};
  }
  [[nodiscard]] static constexpr Attribute choice(std::uint64_t index) noexcept {
    return {AttributeKind::choice, index, {}};
  }
  /// A choice by the op's enumerator.
  template <class Kind>
    requires std::is_enum_v<Kind>
  [[nodiscard]] static constexpr Attribute choice(Kind kind) noexcept {
    return choice(static_cast<std::uint64_t>(kind));
  }
  [[nodiscard]] static constexpr Attribute literal(std::uint32_t index) noexcept {
    return {AttributeKind::literal, index, {}};
  }
  [[nodiscard]] static constexpr Attribute region(RegionId id) noexcept { return {AttributeKind::region, id, {}}; }

  [[nodiscard]] constexpr bool present() const noexcept { return kind != AttributeKind::none; }
  [[nodiscard]] constexpr std::int64_t as_integer() const noexcept { return static_cast<std::int64_t>(bits); }
  [[nodiscard]] constexpr double as_real() const noexcept { return std::bit_cast<double>(bits); }
};

/// One named value of a map.
struct MapEntry {
  PoolRange key{};  ///< chars
  Attribute value{};
};

/// What an instruction gives: one tensor, or a tuple of tensors.
///
/// A tuple's elements are tensors: an operand selects an element by one index, and ops take tensors.
struct ValueType {
  bool tuple = false;
  PoolRange elements{};  ///< types; exactly one unless `tuple`
};

/// One op applied, which defines the value `id`.
struct Instruction {
  ValueId id = 0;
  Opcode opcode{};
  Name name{};             ///< of the value; may be empty
  PoolRange operands{};    ///< operands
  PoolRange attributes{};  ///< attributes: one for each field of the op, in the table's order
  ValueType output{};
  std::uint32_t origin = 0;  ///< of Program::origins, or 0
};

/// A value that enters a region.
struct Parameter {
  ValueId id = 0;
  Name name{};
  TensorType type{};
};

/// A value that leaves a region.
struct RegionResult {
  Operand operand{};
  TensorType type{};
};

/// Instructions in program order between parameters and results. Closed: what it reads from outside
/// are its parameters.
struct Region {
  explicit Region(Allocator a = system_allocator()) noexcept : parameters(a), instructions(a), results(a) {}

  Name name{};
  Vector<Parameter> parameters;
  Vector<Instruction> instructions;
  Vector<RegionResult> results;
};

/// Regions and the pools that they index. Anyone may fill it; `verify` judges it.
///
/// Whatever stands in it, the reading members stay inside the pools: a range that leaves its pool
/// reads as empty.
struct Program {
  explicit Program(Allocator a = system_allocator()) noexcept
      : allocator(a),
        regions(a),
        symbols(a),
        literals(a),
        literal_bytes(a),
        types(a),
        operands(a),
        attributes(a),
        words(a),
        texts(a),
        entries(a),
        chars(a),
        origins(a) {}

  Allocator allocator;
  Vector<Region> regions;
  Vector<Name> symbols;  ///< names of dynamic extents, each once
  Vector<Literal> literals;
  Vector<std::byte> literal_bytes;
  Vector<TensorType> types;
  Vector<Operand> operands;
  Vector<Attribute> attributes;
  Vector<std::int64_t> words;  ///< integers, bits of reals, booleans, Dim codes
  Vector<PoolRange> texts;     ///< strings of lists, in chars
  Vector<MapEntry> entries;
  Vector<char> chars;
  Origins origins;  ///< no part of what the program says

  [[nodiscard]] Span<const Operand> operands_of(const Instruction& i) const noexcept {
    return part(operands, i.operands);
  }
  [[nodiscard]] Span<const Attribute> attributes_of(const Instruction& i) const noexcept {
    return part(attributes, i.attributes);
  }
  [[nodiscard]] Span<const TensorType> types_of(const ValueType& type) const noexcept {
    return part(types, type.elements);
  }
  /// The numbers of a list attribute (reals as bits, extents as Dim codes).
  [[nodiscard]] Span<const std::int64_t> words_of(const Attribute& a) const noexcept { return part(words, a.range); }
  [[nodiscard]] Span<const PoolRange> texts_of(const Attribute& a) const noexcept { return part(texts, a.range); }
  [[nodiscard]] Span<const MapEntry> entries_of(const Attribute& a) const noexcept { return part(entries, a.range); }
  [[nodiscard]] std::string_view text(PoolRange range) const noexcept {
    const auto found = part(chars, range);
    return {found.data(), found.size()};
  }
  /// The shape that a shape attribute holds.
  [[nodiscard]] Shape shape_of(const Attribute& a) const noexcept {
    Shape shape;
    for (const std::int64_t code : words_of(a)) shape.append(Dim::from_code(code));
    return shape;
  }
  /// Null when there is no literal `index`.
  [[nodiscard]] const Literal* literal(std::uint64_t index) const noexcept {
    return index < literals.size() ? &literals[index] : nullptr;
  }
  [[nodiscard]] Span<const std::byte> bytes_of(const Literal& literal) const noexcept {
    const std::uint64_t size = literal_bytes.size();
    if (literal.first > size || literal.bytes > size - literal.first) return {};
    return {literal_bytes.data() + literal.first, static_cast<std::size_t>(literal.bytes)};
  }
  /// The name of a symbolic extent, empty when there is none.
  [[nodiscard]] std::string_view symbol_name(Dim dim) const noexcept {
    return dim.is_symbol() && dim.symbol() < symbols.size() ? symbols[dim.symbol()].view() : std::string_view();
  }

  /// The extent of that name, which is added when it is new.
  ///
  /// Errors: Errc::invalid_argument for a name that is empty or longer than Name::kCapacity,
  /// Errc::limit_exceeded past kMaxSymbolNames.
  [[nodiscard]] Result<Dim> dim(std::string_view name) noexcept {
    for (std::uint32_t i = 0; i < symbols.size(); ++i)
      if (symbols[i].view() == name) return Dim::of_symbol(i);
    const Name kept(name);
    if (name.empty() || !kept.fits())
      return fail(Errc::invalid_argument, "a dynamic extent has a name of ", name.size(), " characters, expected 1 to ",
                  Name::kCapacity);
    if (symbols.size() == kMaxSymbolNames)
      return fail(Errc::limit_exceeded, "a program names more than ", kMaxSymbolNames, " dynamic extents");
    if (auto r = symbols.push_back(kept); !r) return pass(r);
    return Dim::of_symbol(static_cast<std::uint32_t>(symbols.size() - 1));
  }

  /// Copies `values` to the end of a pool of this program.
  template <class T>
  [[nodiscard]] Result<PoolRange> add(Vector<T>& pool, std::type_identity_t<Span<const T>> values) noexcept {
    const auto first = next(pool, values.size());
    if (!first) return pass(first);
    if (auto r = pool.append(values); !r) return pass(r);
    return PoolRange{*first, static_cast<std::uint32_t>(values.size())};
  }
  [[nodiscard]] Result<PoolRange> add_text(std::string_view value) noexcept {
    return add(chars, Span<const char>(value.data(), value.size()));
  }
  /// Copies a constant to the pool; gives its index. Whether size and type agree is `verify`'s.
  [[nodiscard]] Result<std::uint32_t> add_literal(const TensorType& type, Span<const std::byte> data) noexcept {
    const auto index = next(literals);
    if (!index) return pass(index);
    const std::uint64_t first = literal_bytes.size();
    if (auto r = literal_bytes.append(data); !r) return pass(r);
    if (auto r = literals.push_back({type, first, data.size()}); !r) return pass(r);
    return *index;
  }

  /// Copies the program.
  [[nodiscard]] Result<Program> clone() const noexcept {
    Program copy(allocator);
    for (const Region& region : regions) {
      Region made(allocator);
      made.name = region.name;
      if (auto r = made.parameters.append(region.parameters.span()); !r) return pass(r);
      if (auto r = made.instructions.append(region.instructions.span()); !r) return pass(r);
      if (auto r = made.results.append(region.results.span()); !r) return pass(r);
      if (auto r = copy.regions.push_back(std::move(made)); !r) return pass(r);
    }
    Result<void> kept;
    const auto pool = [&](auto& to, const auto& from) {
      if (kept) kept = to.append(from.span());
    };
    pool(copy.symbols, symbols);
    pool(copy.literals, literals);
    pool(copy.literal_bytes, literal_bytes);
    pool(copy.types, types);
    pool(copy.operands, operands);
    pool(copy.attributes, attributes);
    pool(copy.words, words);
    pool(copy.texts, texts);
    pool(copy.entries, entries);
    pool(copy.chars, chars);
    if (!kept) return pass(kept);
    auto from = origins.clone();
    if (!from) return pass(from);
    copy.origins = std::move(*from);
    return copy;
  }

  /// True when both say the same: ids, names, types, operands and attributes. Where in the pools it
  /// lies does not count, nor what nothing refers to. Empty lists of a map are alike, whatever of.
  [[nodiscard]] bool operator==(const Program& other) const noexcept;

 private:
  template <class T> static Span<const T> part(const Vector<T>& pool, PoolRange range) noexcept {
    if (range.first > pool.size() || range.count > pool.size() - range.first) return {};
    return {pool.data() + range.first, range.count};
  }
  template <class T>
  [[nodiscard]] static Result<std::uint32_t> next(const Vector<T>& pool, std::size_t more = 1) noexcept {
    if (more > std::numeric_limits<std::uint32_t>::max() - pool.size())
      return fail(Errc::size_overflow, "a pool of a program grows past ", std::numeric_limits<std::uint32_t>::max(),
                  " entries");
    return static_cast<std::uint32_t>(pool.size());
  }
};

namespace detail {

/// Compares what two programs say, following their pools.
struct SameProgram {
  const Program& a;
  const Program& b;

  static constexpr auto equal = [](const auto& x, const auto& y) { return x == y; };
  template <class T, class U, class F> static bool all(Span<const T> x, Span<const U> y, const F& same) noexcept {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!same(x[i], y[i])) return false;
    return true;
  }
  [[nodiscard]] bool dims(Dim x, Dim y) const noexcept {
    if (x.is_symbol() && y.is_symbol()) return a.symbol_name(x) == b.symbol_name(y);
    return x == y;
  }
  [[nodiscard]] bool types(const TensorType& x, const TensorType& y) const noexcept {
    return x.dtype == y.dtype && x.shape.rank == y.shape.rank &&
           all(x.shape.view(), y.shape.view(), [&](Dim p, Dim q) { return dims(p, q); });
  }
  [[nodiscard]] bool literals(std::uint64_t x, std::uint64_t y) const noexcept {
    const Literal* p = a.literal(x);
    const Literal* q = b.literal(y);
    if (p == nullptr || q == nullptr) return p == q;
    return types(p->type, q->type) && all(a.bytes_of(*p), b.bytes_of(*q), equal);
  }
  [[nodiscard]] bool operands(const Operand& x, const Operand& y) const noexcept {
    if (x.kind != y.kind) return false;
    return x.kind == Operand::Kind::literal ? literals(x.id, y.id) : x.id == y.id && x.element == y.element;
  }
  [[nodiscard]] bool attributes(const Attribute& x, const Attribute& y) const noexcept {
    using enum AttributeKind;
    const auto list = [](AttributeKind k) { return k == integers || k == reals || k == booleans || k == strings; };
    if (list(x.kind) && list(y.kind) && x.range.count == 0 && y.range.count == 0) return true;
    if (x.kind != y.kind) return false;
    switch (x.kind) {
      case none:
        return true;
      case integer:
      case real:
      case boolean:
      case dtype:
      case choice:
      case region:
        return x.bits == y.bits;
      case string:
        return a.text(x.range) == b.text(y.range);
      case integers:
      case reals:
      case booleans:
        return all(a.words_of(x), b.words_of(y), equal);
      case strings:
        return all(a.texts_of(x), b.texts_of(y), [&](PoolRange p, PoolRange q) { return a.text(p) == b.text(q); });
      case shape:
        return all(a.words_of(x), b.words_of(y),
                   [&](std::int64_t p, std::int64_t q) { return dims(Dim::from_code(p), Dim::from_code(q)); });
      case literal:
        return literals(x.bits, y.bits);
      case map:
        return all(a.entries_of(x), b.entries_of(y), [&](const MapEntry& p, const MapEntry& q) {
          // A map in a map is not part of the form; not following it keeps the depth at one.
          return a.text(p.key) == b.text(q.key) && p.value.kind != map && attributes(p.value, q.value);
        });
    }
    return false;
  }
  [[nodiscard]] bool instructions(const Instruction& x, const Instruction& y) const noexcept {
    return x.id == y.id && x.opcode == y.opcode && x.name == y.name && x.output.tuple == y.output.tuple &&
           all(a.types_of(x.output), b.types_of(y.output), [&](const auto& p, const auto& q) { return types(p, q); }) &&
           all(a.operands_of(x), b.operands_of(y), [&](const auto& p, const auto& q) { return operands(p, q); }) &&
           all(a.attributes_of(x), b.attributes_of(y), [&](const auto& p, const auto& q) { return attributes(p, q); });
  }
  [[nodiscard]] bool regions(const Region& x, const Region& y) const noexcept {
    return x.name == y.name &&
           all(x.parameters.span(), y.parameters.span(),
               [&](const Parameter& p, const Parameter& q) {
                 return p.id == q.id && p.name == q.name && types(p.type, q.type);
               }) &&
           all(x.instructions.span(), y.instructions.span(),
               [&](const auto& p, const auto& q) { return instructions(p, q); }) &&
           all(x.results.span(), y.results.span(), [&](const RegionResult& p, const RegionResult& q) {
             return operands(p.operand, q.operand) && types(p.type, q.type);
           });
  }
};

}  // namespace detail

inline bool Program::operator==(const Program& other) const noexcept {
  const detail::SameProgram same{*this, other};
  return same.all(regions.span(), other.regions.span(),
                  [&](const auto& x, const auto& y) { return same.regions(x, y); });
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
