// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/parse_values.hpp: names, numbers, types, literals and operands of the text form of the portable tensor IR.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/ptir/lexer.hpp>

#include <bit>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// Reads what programs are made of from their text, token by token. Every member tells whether it succeeded; the first
/// error stays.
class TextValues {
 protected:
  TextValues(std::string_view text, const Allocator& allocator) noexcept
      : lexer_(text),
        program_(allocator),
        scratch_(allocator),
        types_(allocator),
        words_(allocator),
        data_(allocator) {}

  using Kind = Lexeme::Kind;

  [[nodiscard]] const Lexeme& now() const noexcept { return lexer_.token(); }

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
    return fault(Errc::invalid_file, "expected ", what..., ", found ", slice(now().text, 0, 40));
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
    const Lexeme at = now();
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
      return fault(Errc::unsupported_version, "spec_version is ", slice(now().text, 0, 40), ", expected ",
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

  Lexer lexer_;
  Program program_;
  String scratch_;
  Vector<TensorType> types_;
  Vector<std::int64_t> words_;
  Vector<std::byte> data_;
  Error error_{};
};

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
