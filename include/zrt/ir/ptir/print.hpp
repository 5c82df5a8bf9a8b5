// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/print.hpp: a program of the portable tensor IR as readable text that `parse` reads back.
#pragma once

#include <zrt/ir/ptir/attributes.hpp>
#include <zrt/ir/ptir/numbers.hpp>

#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// Literals of at most this many elements are printed as numbers, larger ones as their bytes.
inline constexpr std::uint64_t kReadableElements = 64;

namespace detail {

[[nodiscard]] constexpr bool starts_identifier(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
[[nodiscard]] constexpr bool continues_identifier(char c) noexcept {
  return starts_identifier(c) || (c >= '0' && c <= '9') || c == '.';
}
[[nodiscard]] constexpr bool is_identifier(std::string_view text) noexcept {
  if (text.empty() || !starts_identifier(text[0])) return false;
  for (const char c : text)
    if (!continues_identifier(c)) return false;
  return true;
}

/// Appends pieces of the text form and keeps the first failure.
class Printer {
 public:
  Printer(const Program& program, const Allocator& allocator) noexcept : program_(&program), out_(allocator) {}

  Printer& operator<<(std::string_view text) noexcept {
    return keep([&] { return out_.append(text); });
  }
  template <std::integral I>
    requires(!std::same_as<I, char> && !std::same_as<I, bool>)
  Printer& operator<<(I value) noexcept {
    return keep([&] { return append_integer(out_, value); });
  }

  void quoted(std::string_view text) noexcept {
    *this << "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\')
        *this << "\\" << std::string_view(&c, 1);
      else if (c == '\n')
        *this << "\\n";
      else if (byte < 0x20 || byte == 0x7f)
        *this << "\\x" << std::string_view(&"0123456789abcdef"[byte >> 4], 1)
              << std::string_view(&"0123456789abcdef"[byte & 15u], 1);
      else
        *this << std::string_view(&c, 1);
    }
    *this << "\"";
  }
  void name(std::string_view text) noexcept {
    if (is_identifier(text))
      *this << text;
    else
      quoted(text);
  }
  void value_name(const Name& text) noexcept {
    if (text.view().empty()) return;
    *this << " ";
    name(text.view());
  }

  void dim(Dim d) noexcept {
    if (d.is_constant() || d.is_inferred()) {
      *this << d.code();
      return;
    }
    *this << "?";
    if (d.is_symbol()) name(program_->symbol_name(d));
  }
  void shape(const Shape& s) noexcept {
    *this << "[";
    list(s.view(), [&](Dim d) { dim(d); });
    *this << "]";
  }
  void type(const TensorType& t) noexcept {
    *this << (is_ptir_dtype(t.dtype) ? zrt::name(t.dtype) : "?dtype");
    shape(t.shape);
  }
  void type(const ValueType& t) noexcept {
    *this << (t.tuple ? "tuple<" : "");
    list(program_->types_of(t), [&](const TensorType& e) { type(e); });
    *this << (t.tuple ? ">" : "");
  }

  void literal(std::uint64_t index) noexcept {
    const Literal* l = program_->literal(index);
    if (l == nullptr) return set(Error::of(Errc::dangling_value, "literal ", index, " is not in the program"));
    const auto data = program_->bytes_of(*l);
    type(l->type);
    if (!is_canonical(l->type, data) || l->type.shape.constant_elements().raw() > kReadableElements) {
      *this << " x\"";
      for (const std::byte b : data)
        *this << std::string_view(&"0123456789abcdef"[static_cast<unsigned>(b) >> 4], 1)
              << std::string_view(&"0123456789abcdef"[static_cast<unsigned>(b) & 15u], 1);
      *this << "\"";
      return;
    }
    const ElementForm form = element_form(l->type.dtype);
    const std::uint64_t elements = l->type.shape.constant_elements().raw();
    *this << " {";
    for (std::uint64_t i = 0; i < elements; ++i) {
      *this << (i == 0 ? "" : ", ") << (form.parts == 2 ? "(" : "");
      for (std::uint64_t part = 0; part < form.parts; ++part) {
        *this << (part == 0 ? "" : ", ");
        keep([&] { return append_part(out_, form, read_part(data, form, i * form.parts + part)); });
      }
      *this << (form.parts == 2 ? ")" : "");
    }
    *this << "}";
  }

  void operand(const Operand& o) noexcept {
    if (o.kind == Operand::Kind::literal) return literal(o.id);
    *this << "%" << o.id;
    if (o.kind == Operand::Kind::tuple_element) *this << "[" << o.element << "]";
  }

  void attribute(const AttributeField& field, const Attribute& a) noexcept {
    using enum AttributeKind;
    const auto words = program_->words_of(a);
    switch (a.kind) {
      case none:
        return;
      case integer:
        *this << a.as_integer();
        return;
      case real:
        return real_number(a.as_real());
      case boolean:
        *this << (a.bits != 0 ? "true" : "false");
        return;
      case dtype:
        *this << (a.bits < 256 && is_ptir_dtype(static_cast<DType>(a.bits)) ? zrt::name(static_cast<DType>(a.bits))
                                                                            : "?dtype");
        return;
      case choice:
        *this << (a.bits < field.choices.size() ? field.choices[a.bits] : "?choice");
        return;
      case string:
        return quoted(program_->text(a.range));
      case integers:
        return bracketed(words, [&](std::int64_t word) { *this << word; });
      case reals:
        return bracketed(words, [&](std::int64_t word) { real_number(std::bit_cast<double>(word)); });
      case booleans:
        return bracketed(words, [&](std::int64_t word) { *this << (word != 0 ? "true" : "false"); });
      case strings:
        return bracketed(program_->texts_of(a), [&](PoolRange text) { quoted(program_->text(text)); });
      case shape:
        return bracketed(words, [&](std::int64_t word) { dim(Dim::from_code(word)); });
      case literal:
        return this->literal(a.bits);
      case region:
        *this << "@" << a.bits;
        return;
      case map:
        *this << "{";
        list(program_->entries_of(a), [&](const MapEntry& entry) {
          name(program_->text(entry.key));
          *this << " = ";
          if (entry.value.kind == map) return set(Error::of(Errc::invalid_params, "a map holds a map"));
          attribute(field, entry.value);
        });
        *this << "}";
        return;
    }
  }

  void attributes(const OpInfo& op, const Instruction& i) noexcept {
    const auto values = program_->attributes_of(i);
    bool any = false;
    for (std::size_t f = 0; f < op.field_count && f < values.size(); ++f) {
      if (!values[f].present()) continue;
      *this << (any ? ", " : " {") << op.fields_[f].name << " = ";
      attribute(op.fields_[f], values[f]);
      any = true;
    }
    *this << (any ? "}" : "");
  }

  void instruction(const Instruction& i) noexcept {
    const OpInfo* op = find_op(i.opcode);
    if (op == nullptr)
      return set(Error::of(Errc::unsupported_opcode, "opcode ", unsigned{number(i.opcode)},
                           " is no operation of the portable tensor IR"));
    *this << "  %" << i.id;
    value_name(i.name);
    *this << " = " << op->name << "(";
    list(program_->operands_of(i), [&](const Operand& o) { operand(o); });
    *this << ")";
    attributes(*op, i);
    *this << ": ";
    type(i.output);
    *this << "\n";
  }

  void region(std::size_t index) noexcept {
    const Region& r = program_->regions[index];
    *this << "\nregion @" << index;
    value_name(r.name);
    *this << "(";
    list(r.parameters.span(), [&](const Parameter& p) {
      *this << "%" << p.id;
      value_name(p.name);
      *this << ": ";
      type(p.type);
    });
    *this << ") {\n";
    for (const Instruction& i : r.instructions) instruction(i);
    *this << "  return";
    for (std::size_t i = 0; i < r.results.size(); ++i) {
      *this << (i == 0 ? " " : ", ");
      operand(r.results[i].operand);
      *this << ": ";
      type(r.results[i].type);
    }
    *this << "\n}\n";
  }

  template <class T, class F> void list(Span<const T> items, const F& print) noexcept {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) *this << ", ";
      print(items[i]);
    }
  }
  template <class T, class F> void bracketed(Span<const T> items, const F& print) noexcept {
    *this << "[";
    list(items, print);
    *this << "]";
  }
  void real_number(double value) noexcept {
    keep([&] { return append_real(out_, value); });
  }

  void set(const Error& error) noexcept {
    if (!failed_) error_ = error;
    failed_ = true;
  }
  [[nodiscard]] Result<String> finish() noexcept {
    if (failed_) return std::unexpected<Error>(error_);
    return std::move(out_);
  }

 private:
  template <class F> Printer& keep(const F& append) noexcept {
    if (failed_) return *this;
    if (auto r = append(); !r) set(r.error());
    return *this;
  }

  const Program* program_;
  String out_;
  bool failed_ = false;
  Error error_{};
};

}  // namespace detail

/// Prints a program so that `parse` gives an equal one. The grammar stands in text.hpp.
///
/// A program that `verify` refuses prints too, as far as it can be named; an opcode outside the IR or
/// a missing literal is an error.
[[nodiscard]] inline Result<String> print(const Program& program) noexcept {
  detail::Printer printer(program, program.allocator);
  printer << "spec_version = " << kSpecVersion << "\n";
  for (std::size_t i = 0; i < program.regions.size(); ++i) printer.region(i);
  return printer.finish();
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
