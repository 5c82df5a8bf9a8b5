// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/source.hpp: C text while it is written: expressions, lines, blocks.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/core/string.hpp>

#include <array>
#include <concepts>
#include <initializer_list>
#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

class Expr;

/// A part of a line: text, or an unsigned number in decimal.
class CodePiece {
 public:
  CodePiece(std::string_view text) noexcept : text_(text) {}         // NOLINT: a literal is a piece
  CodePiece(const char* text) noexcept : text_(text) {}              // NOLINT: a literal is a piece
  CodePiece(const String& text) noexcept : text_(text.view()) {}     // NOLINT: text is a piece
  CodePiece(const Expr& expr) noexcept;                              // NOLINT: an expression is a piece
  template <std::unsigned_integral I> CodePiece(I value) noexcept {  // NOLINT: a number is a piece
    auto rest = static_cast<std::uint64_t>(value);
    do {
      digits_[digits_.size() - ++count_] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
  }
  /// False for an expression that was longer than an Expr is.
  [[nodiscard]] bool whole() const noexcept { return whole_; }
  [[nodiscard]] std::string_view view() const noexcept {
    return count_ == 0 ? text_ : std::string_view(digits_.data() + digits_.size() - count_, count_);
  }

 private:
  std::string_view text_;
  std::array<char, 20> digits_{};
  std::size_t count_ = 0;
  bool whole_ = true;
};

/// An expression of C, by value. One that outgrows it is cut, and then no Source takes it.
class Expr {
 public:
  /// A sum over the 16 axes of a tiling, with strides below 2^53, in a call: 16 * 26 and what stands around it.
  static constexpr std::size_t kCapacity = 640;

  Expr() noexcept = default;
  Expr(std::initializer_list<CodePiece> pieces) noexcept { append(pieces); }
  Expr& append(std::initializer_list<CodePiece> pieces) noexcept {
    for (const CodePiece& piece : pieces) {
      whole_ = whole_ && piece.whole() && piece.view().size() <= kCapacity - size_;
      for (const char c : piece.view())
        if (size_ < kCapacity) text_[size_++] = c;
    }
    return *this;
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool whole() const noexcept { return whole_; }

 private:
  std::size_t size_ = 0;
  bool whole_ = true;
  std::array<char, kCapacity> text_;  // beyond size_, whatever was there
};

inline CodePiece::CodePiece(const Expr& expr) noexcept : text_(expr.view()), whole_(expr.whole()) {}

/// Lines of C, indented by the blocks that are open. Keeps the first error; `finish` returns it.
class Source {
 public:
  explicit Source(const Allocator& allocator) noexcept : text_(allocator) {}

  void line(std::initializer_list<CodePiece> pieces) noexcept {
    for (std::size_t i = 0; i < depth_; ++i) put("  ");
    for (const CodePiece& piece : pieces) put(piece);
    put("\n");
  }
  /// A line that opens a block; an empty one is a block of its own.
  void open(std::initializer_list<CodePiece> pieces) noexcept {
    for (std::size_t i = 0; i < depth_; ++i) put("  ");
    for (const CodePiece& piece : pieces) put(piece);
    put(pieces.size() == 0 ? "{\n" : " {\n");
    ++depth_;
  }
  /// A loop of `variable` over 0..count-1.
  void loop(const Expr& variable, std::uint64_t count) noexcept {
    // A compiler warns of an unsigned number below 0.
    const std::uint64_t first = count == 0 ? 1 : 0;
    open({"for (uint64_t ", variable, " = ", first, "; ", variable, " < ", count == 0 ? first : count, "; ++", variable,
          ")"});
  }
  void close() noexcept {
    --depth_;
    line({"}"});
  }
  /// Lines that another source wrote, inside the blocks that are open here.
  void lines(std::string_view text) noexcept {
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      line({slice(text, 0, end)});
      text.remove_prefix(end + 1);
    }
  }
  void put(const CodePiece& piece) noexcept {
    if (!piece.whole())
      set(Error::of(Errc::limit_exceeded, "an expression has more than ", Expr::kCapacity, " characters"));
    if (error_) error_ = text_.append(piece.view());
  }

  void set(const Error& error) noexcept {
    if (error_) error_ = std::unexpected<Error>(error);
  }
  [[nodiscard]] bool failed() const noexcept { return !error_; }
  /// Says of the error that there is which instruction it is about; who calls last knows best.
  void at_instruction(std::uint32_t index, std::uint8_t opcode) noexcept {
    error_.error().at_instruction(index, opcode);
  }
  /// The text; the source is empty afterwards.
  [[nodiscard]] Result<String> finish() noexcept {
    if (!error_) return pass(error_);
    return std::move(text_);
  }

 private:
  String text_;
  std::size_t depth_ = 0;
  Result<void> error_;
};

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
