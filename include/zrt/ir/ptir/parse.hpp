// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/parse.hpp: reads the text form of the portable tensor IR; errors name line and column.
#pragma once

#include <zrt/ir/ptir/lexer.hpp>

#include <bit>
#include <string_view>
#include <utility>

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// One recursive descent whose depth is fixed by the grammar. Every member tells whether it succeeded;
/// the first error stays.
class Parser {
 public:
  Parser(std::string_view text, const Allocator& allocator) noexcept
      : lexer_(text),
        program_(allocator),
        scratch_(allocator),
        types_(allocator),
        operands_(allocator),
        words_(allocator),
        texts_(allocator),
        entries_(allocator),
        data_(allocator) {}

  [[nodiscard]] Result<Program> run() noexcept {
    if (!version()) return std::unexpected<Error>(error_);
    while (now().kind != Token::Kind::end)
      if (!region()) return std::unexpected<Error>(error_);
    if (program_.regions.empty()) {
      (void)expected("region");
      return std::unexpected<Error>(error_);
    }
    return std::move(program_);
  }

 private:
  using Kind = Token::Kind;

  [[nodiscard]] const Token& now() const noexcept { return lexer_.token(); }

  bool set(Error error) noexcept {
    error_ = error.at_offset(now().offset);
    return false;
  }
  /// An error at the current token.
  template <class... Pieces> bool fault(Errc code, const Pieces&... pieces) noexcept {
    return set(Error::of(code, "line ", now().line, ", column ", now().column, ": ", pieces...));
  }
  /// "expected `what`, found" the current token.
  template <class... Pieces> bool expected(const Pieces&... what) noexcept {
    if (now().kind == Kind::end) return fault(Errc::truncated_file, "expected ", what..., ", found the end");
    return fault(Errc::invalid_file, "expected ", what..., ", found ", now().text.substr(0, 40));
  }
  template <class T> bool keep(const Result<T>& result) noexcept { return result ? true : set(result.error()); }

  bool take(char c) noexcept {
    if (!now().is(c)) return false;
    lexer_.advance();
    return true;
  }
  bool need(char c) noexcept { return take(c) || expected(c); }
  bool word(std::string_view text) noexcept {
    if (now().kind != Kind::identifier || now().text != text) return expected(text);
    lexer_.advance();
    return true;
  }
  /// `open` items separated by commas `close`.
  template <class F> bool list(char open, char close, const F& item) noexcept {
    if (!need(open)) return false;
    if (take(close)) return true;
    do {
      if (!item()) return false;
    } while (take(','));
    return take(close) || expected("',' or ", close);
  }

  template <std::integral I> bool integer(I& value, std::string_view what) noexcept {
    const auto read = now().kind == Kind::number ? parse_integer<I>(now().text) : std::nullopt;
    if (!read) return expected(what);
    value = *read;
    lexer_.advance();
    return true;
  }
  bool real(double& value) noexcept {
    const bool number = now().kind == Kind::number || (now().kind == Kind::identifier && now().text == "inf");
    const auto read = number ? parse_real<double>(now().text) : std::nullopt;
    if (!read) return expected("a real number");
    value = *read;
    lexer_.advance();
    return true;
  }
  bool boolean(bool& value) noexcept {
    const bool is_true = now().text == "true";
    if (now().kind != Kind::identifier || (!is_true && now().text != "false")) return expected("true or false");
    value = is_true;
    lexer_.advance();
    return true;
  }
  /// A quoted string, unescaped into scratch_.
  bool quoted() noexcept {
    if (now().kind != Kind::string) return expected("a quoted string");
    scratch_.clear();
    const auto clean = append_unescaped(scratch_, now().text);
    if (!clean) return keep(clean);
    if (!*clean) return fault(Errc::invalid_file, "expected \\\", \\\\, \\n or \\xNN after a backslash");
    lexer_.advance();
    return true;
  }
  /// An identifier or a quoted string into scratch_.
  bool identifier_or_quoted() noexcept {
    if (now().kind != Kind::identifier) return quoted();
    scratch_.clear();
    if (!keep(scratch_.append(now().text))) return false;
    lexer_.advance();
    return true;
  }
  /// An optional name.
  bool optional_name(Name& name) noexcept {
    if (now().kind != Kind::identifier && now().kind != Kind::string) return true;
    const Token at = now();
    if (!identifier_or_quoted()) return false;
    name = Name(scratch_.view());
    if (name.fits()) return true;
    return set(Error::of(Errc::limit_exceeded, "line ", at.line, ", column ", at.column, ": a name has ",
                         scratch_.size(), " characters, at most ", Name::kCapacity, " expected"));
  }

  bool version() noexcept {
    if (!word("spec_version") || !need('=')) return false;
    if (now().kind != Kind::identifier) return expected(kSpecVersion);
    if (now().text != kSpecVersion)
      return fault(Errc::unsupported_version, "spec_version is ", now().text.substr(0, 40), ", expected ",
                   kSpecVersion);
    lexer_.advance();
    return true;
  }

  bool dtype(DType& value) noexcept {
    const DTypeInfo* row = now().kind == Kind::identifier ? find_dtype(now().text) : nullptr;
    if (row == nullptr) return expected("a dtype");
    value = row->dtype;
    lexer_.advance();
    return true;
  }
  bool dim(Dim& value, bool may_infer) noexcept {
    if (take('?')) {
      value = Dim::any();
      if (now().kind != Kind::identifier && now().kind != Kind::string) return true;
      if (!identifier_or_quoted()) return false;
      const auto named = program_.dim(scratch_.view());
      if (!keep(named)) return false;
      value = *named;
      return true;
    }
    std::int64_t number = 0;
    if (!integer(number, "an extent")) return false;
    if (number < (may_infer ? -1 : 0))
      return fault(Errc::invalid_file, "an extent is ", number, ", expected 0 or more");
    value = Dim(number);
    return true;
  }
  bool shape(Shape& value) noexcept {
    value = {};
    return list('[', ']', [&] {
      if (value.rank == kMaxRank)
        return fault(Errc::unsupported_tensor_rank, "a tensor has more than ", unsigned{kMaxRank}, " axes");
      Dim d;
      if (!dim(d, false)) return false;
      value.append(d);
      return true;
    });
  }
  bool tensor(TensorType& type) noexcept { return dtype(type.dtype) && shape(type.shape); }
  bool type(ValueType& value) noexcept {
    types_.clear();
    const auto element = [&] {
      TensorType t;
      return tensor(t) && keep(types_.push_back(t));
    };
    value.tuple = now().kind == Kind::identifier && now().text == "tuple";
    if (value.tuple) {
      lexer_.advance();
      if (!list('<', '>', element)) return false;
    } else if (!element()) {
      return false;
    }
    const auto range = program_.add(program_.types, types_.span());
    if (!keep(range)) return false;
    value.elements = *range;
    return true;
  }

  bool hex_bytes() noexcept {
    const std::string_view text = now().text;
    if (text.size() % 2 != 0) return expected("an even number of hexadecimal digits");
    if (!keep(data_.resize(text.size() / 2))) return false;
    for (std::size_t i = 0; i < data_.size(); ++i) {
      unsigned value = 0;
      const auto end = std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16).ptr;
      if (end != text.data() + 2 * i + 2) return expected("hexadecimal digits");
      data_[i] = static_cast<std::byte>(value);
    }
    lexer_.advance();
    return true;
  }
  bool literal(std::uint32_t& index) noexcept {
    TensorType t;
    if (!tensor(t)) return false;
    if (!t.shape.is_constant()) return fault(Errc::invalid_file, "a literal's extents must be constants");
    const CheckedSize size = literal_bytes(t);
    if (!size.ok()) return fault(Errc::size_overflow, "the size of a literal does not fit 64 bits");
    data_.clear();
    if (now().kind == Kind::identifier && now().text == "x") {
      lexer_.advance();
      if (now().kind != Kind::string) return expected("a quoted string");
      if (now().text.size() / 2 != size.raw())
        return fault(Errc::invalid_file, "expected ", size.raw(), " bytes, found ", now().text.size() / 2);
      if (!hex_bytes()) return false;
    } else if (!elements(t)) {
      return false;
    }
    const auto added = program_.add_literal(t, data_.span());
    if (!keep(added)) return false;
    index = *added;
    return true;
  }
  bool elements(const TensorType& t) noexcept {
    const ElementForm form = element_form(t.dtype);
    const std::uint64_t wanted = t.shape.constant_elements().raw();
    std::uint64_t parts = 0;
    // Grows with what is written, never with what a shape promises.
    const auto part = [&] {
      const bool number = now().kind == Kind::number || (now().kind == Kind::identifier && now().text == "inf");
      const auto bits = number ? parse_part(form, now().text) : std::nullopt;
      if (!bits) return expected("a number that fits ", zrt::name(form.part));
      const std::size_t bytes = form.nibbles == 1 ? static_cast<std::size_t>(parts / 2 + 1)
                                                  : static_cast<std::size_t>(parts + 1) * (form.nibbles / 2u);
      while (data_.size() < bytes)
        if (!keep(data_.push_back(std::byte{0}))) return false;
      write_part(data_.span(), form, static_cast<std::size_t>(parts++), *bits);
      lexer_.advance();
      return true;
    };
    const bool listed = list('{', '}', [&] {
      if (parts / form.parts == wanted) return fault(Errc::invalid_file, "expected ", wanted, " elements, found more");
      if (form.parts == 1) return part();
      return need('(') && part() && need(',') && part() && need(')');
    });
    if (!listed) return false;
    return parts / form.parts == wanted ||
           fault(Errc::invalid_file, "expected ", wanted, " elements, found ", parts / form.parts);
  }

  bool value_id(ValueId& id) noexcept { return need('%') && integer(id, "a value id"); }
  bool operand(Operand& value) noexcept {
    if (!now().is('%')) {
      std::uint32_t index = 0;
      if (now().kind != Kind::identifier) return expected("a value or a literal");
      if (!literal(index)) return false;
      value = Operand::literal(index);
      return true;
    }
    ValueId id = 0;
    if (!value_id(id)) return false;
    value = Operand::value(id);
    if (!take('[')) return true;
    std::uint32_t element = 0;
    if (!integer(element, "an element of a tuple") || !need(']')) return false;
    value = Operand::tuple_element(id, element);
    return true;
  }

  bool store_words(AttributeKind kind, Attribute& value) noexcept {
    const auto range = program_.add(program_.words, words_.span());
    if (!keep(range)) return false;
    value = {kind, 0, *range};
    return true;
  }
  /// A list whose items are read by `item` into words_.
  template <class F> bool word_list(AttributeKind kind, Attribute& value, const F& item) noexcept {
    words_.clear();
    const auto one = [&] {
      std::int64_t word = 0;
      return item(word) && keep(words_.push_back(word));
    };
    return list('[', ']', one) && store_words(kind, value);
  }
  bool string(Attribute& value) noexcept {
    if (!quoted()) return false;
    const auto range = program_.add_text(scratch_.view());
    if (!keep(range)) return false;
    value = {AttributeKind::string, 0, *range};
    return true;
  }
  bool string_list(Attribute& value) noexcept {
    texts_.clear();
    const auto one = [&] {
      Attribute text;
      return string(text) && keep(texts_.push_back(text.range));
    };
    if (!list('[', ']', one)) return false;
    const auto range = program_.add(program_.texts, texts_.span());
    if (!keep(range)) return false;
    value = {AttributeKind::strings, 0, *range};
    return true;
  }

  bool attribute(const AttributeField& field, Attribute& value) noexcept { return attribute(field, field.kind, value); }
  bool attribute(const AttributeField& field, AttributeKind kind, Attribute& value) noexcept {
    using enum AttributeKind;
    switch (kind) {
      case none:
        return expected("an attribute");
      case integer: {
        std::int64_t number = 0;
        if (!this->integer(number, "an integer")) return false;
        value = Attribute::integer(number);
        return true;
      }
      case real: {
        double number = 0;
        if (!this->real(number)) return false;
        value = Attribute::real(number);
        return true;
      }
      case boolean: {
        bool truth = false;
        if (!this->boolean(truth)) return false;
        value = Attribute::boolean(truth);
        return true;
      }
      case dtype: {
        DType named{};
        if (!this->dtype(named)) return false;
        value = Attribute::dtype(named);
        return true;
      }
      case choice:
        for (std::size_t i = 0; i < field.choices.size(); ++i) {
          if (now().kind != Kind::identifier || now().text != field.choices[i]) continue;
          value = Attribute::choice(i);
          lexer_.advance();
          return true;
        }
        return expected("one of the names of ", field.name);
      case string:
        return this->string(value);
      case integers:
        return word_list(kind, value, [&](std::int64_t& word) { return this->integer(word, "an integer"); });
      case reals:
        return word_list(kind, value, [&](std::int64_t& word) {
          double number = 0;
          if (!this->real(number)) return false;
          word = std::bit_cast<std::int64_t>(number);
          return true;
        });
      case booleans:
        return word_list(kind, value, [&](std::int64_t& word) {
          bool truth = false;
          if (!this->boolean(truth)) return false;
          word = truth ? 1 : 0;
          return true;
        });
      case strings:
        return string_list(value);
      case shape:
        return word_list(kind, value, [&](std::int64_t& word) {
          Dim d;
          if (!dim(d, true)) return false;
          word = d.code();
          return true;
        });
      case literal: {
        std::uint32_t index = 0;
        if (!this->literal(index)) return false;
        value = Attribute::literal(index);
        return true;
      }
      case region: {
        RegionId id = 0;
        if (!need('@') || !this->integer(id, "a region number")) return false;
        value = Attribute::region(id);
        return true;
      }
      case map:
        return this->map(field, value);
    }
    return false;
  }
  /// What the token that begins a map's value, or an item of its list, can only be.
  [[nodiscard]] AttributeKind kind_of(const Token& token) const noexcept {
    using enum AttributeKind;
    if (token.kind == Kind::string) return string;
    if (token.kind == Kind::identifier) return token.text == "inf" ? real : boolean;
    if (token.kind == Kind::number) return parse_integer<std::int64_t>(token.text) ? integer : real;
    return none;
  }
  bool map_value(const AttributeField& field, Attribute& value) noexcept {
    using enum AttributeKind;
    if (!now().is('[')) {
      const AttributeKind kind = kind_of(now());
      return kind == none ? expected("a number, a boolean, a string or a list") : attribute(field, kind, value);
    }
    Lexer ahead = lexer_;
    ahead.advance();
    switch (kind_of(ahead.token())) {
      case real:
        return attribute(field, reals, value);
      case boolean:
        return attribute(field, booleans, value);
      case string:
        return attribute(field, strings, value);
      default:
        return attribute(field, integers, value);
    }
  }
  bool map(const AttributeField& field, Attribute& value) noexcept {
    entries_.clear();
    const auto entry = [&] {
      MapEntry e;
      if (entries_.size() == kMaxMapEntries)
        return fault(Errc::limit_exceeded, field.name, " has more than ", kMaxMapEntries, " entries");
      if (!identifier_or_quoted()) return false;
      for (const MapEntry& other : entries_)
        if (program_.text(other.key) == scratch_.view())
          return fault(Errc::duplicate_name, field.name, " has ", scratch_.view().substr(0, 40), " twice");
      const auto key = program_.add_text(scratch_.view());
      if (!keep(key)) return false;
      e.key = *key;
      return need('=') && map_value(field, e.value) && keep(entries_.push_back(e));
    };
    if (!list('{', '}', entry)) return false;
    const auto range = program_.add(program_.entries, entries_.span());
    if (!keep(range)) return false;
    value = {AttributeKind::map, 0, *range};
    return true;
  }

  bool attributes(const OpInfo& op, Instruction& i) noexcept {
    std::array<Attribute, OpInfo::kMaxFields> values{};
    const auto one = [&] {
      for (std::size_t f = 0; f < op.field_count; ++f) {
        if (now().kind != Kind::identifier || now().text != op.fields_[f].name) continue;
        if (values[f].present()) return fault(Errc::duplicate_name, op.name, " has ", now().text, " twice");
        lexer_.advance();
        return need('=') && attribute(op.fields_[f], values[f]);
      }
      return expected("an attribute of ", op.name);
    };
    if (now().is('{') && !list('{', '}', one)) return false;
    for (std::size_t f = 0; f < op.field_count; ++f)
      if (!values[f].present() && !op.fields_[f].optional)
        return expected("the attribute ", op.fields_[f].name, " of ", op.name);
    const auto range = program_.add(program_.attributes, std::span<const Attribute>(values).first(op.field_count));
    if (!keep(range)) return false;
    i.attributes = *range;
    return true;
  }

  bool instruction(Instruction& i) noexcept {
    if (!value_id(i.id) || !optional_name(i.name) || !need('=')) return false;
    const OpInfo* op = now().kind == Kind::identifier ? find_op(now().text) : nullptr;
    if (op == nullptr) return expected("an operation");
    i.opcode = op->opcode;
    lexer_.advance();
    operands_.clear();
    const auto one = [&] {
      Operand o;
      return operand(o) && keep(operands_.push_back(o));
    };
    if (!list('(', ')', one)) return false;
    const auto range = program_.add(program_.operands, operands_.span());
    if (!keep(range)) return false;
    i.operands = *range;
    return attributes(*op, i) && need(':') && type(i.output);
  }

  bool region() noexcept {
    RegionId id = 0;
    if (!word("region") || !need('@')) return false;
    const Token at = now();
    if (!integer(id, "a region number")) return false;
    if (id != program_.regions.size())
      return set(Error::of(Errc::invalid_file, "line ", at.line, ", column ", at.column, ": expected region @",
                           program_.regions.size(), ", found @", id));
    Region r(program_.allocator);
    const auto parameter = [&] {
      Parameter p;
      return value_id(p.id) && optional_name(p.name) && need(':') && tensor(p.type) && keep(r.parameters.push_back(p));
    };
    if (!optional_name(r.name) || !list('(', ')', parameter) || !need('{')) return false;
    while (now().is('%')) {
      Instruction i;
      if (!instruction(i) || !keep(r.instructions.push_back(i))) return false;
    }
    if (!word("return")) return false;
    if (!take('}')) {
      do {
        RegionResult result;
        if (!operand(result.operand) || !need(':') || !tensor(result.type) || !keep(r.results.push_back(result)))
          return false;
      } while (take(','));
      if (!need('}')) return false;
    }
    return keep(program_.regions.push_back(std::move(r)));
  }

  Lexer lexer_;
  Program program_;
  String scratch_;
  Vector<TensorType> types_;
  Vector<Operand> operands_;
  Vector<std::int64_t> words_;
  Vector<Range> texts_;
  Vector<MapEntry> entries_;
  Vector<std::byte> data_;
  Error error_{};
};

}  // namespace detail

/// Reads a program from its text form (grammar in text.hpp). What it means is `verify`'s business.
///
/// Errors: Errc::unsupported_version for any spec_version but kSpecVersion; otherwise line, column,
/// what was expected and what was found, with the byte offset.
[[nodiscard]] inline Result<Program> parse(std::string_view text, Allocator allocator = system_allocator()) noexcept {
  return detail::Parser(text, allocator).run();
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir
