// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/parse.hpp: reads the text form of the portable tensor IR; errors name line and column.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/ptir/parse_values.hpp>

#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// One recursive descent whose depth is fixed by the grammar.
class Parser : TextValues {
 public:
  Parser(std::string_view text, const Allocator& allocator) noexcept
      : TextValues(text, allocator), operands_(allocator), texts_(allocator), entries_(allocator) {}

  [[nodiscard]] Result<Program> run() noexcept {
    if (!version()) return std::unexpected<Error>(error_);
    while (now().kind != Lexeme::Kind::end)
      if (!region()) return std::unexpected<Error>(error_);
    if (program_.regions.empty()) {
      (void)expected("region");
      return std::unexpected<Error>(error_);
    }
    return std::move(program_);
  }

 private:
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
  [[nodiscard]] AttributeKind kind_of(const Lexeme& token) const noexcept {
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
          return fault(Errc::duplicate_name, field.name, " has ", slice(scratch_.view(), 0, 40), " twice");
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
    const auto range = program_.add(program_.attributes, Span<const Attribute>(values).first(op.field_count));
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
    const Lexeme at = now();
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

  Vector<Operand> operands_;
  Vector<PoolRange> texts_;
  Vector<MapEntry> entries_;
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

ZRT_LOAD_TIME_END
