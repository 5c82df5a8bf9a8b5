// SPDX-License-Identifier: Apache-2.0
// zrt/trace/json_out.hpp: JSON text to a sink, in pieces of a few kilobytes.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/json_escape.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::trace {

/// Hands text to `sink(std::string_view) -> Result<void>`; the first error is kept, and what follows it left out.
template <class Sink> class JsonOut {
 public:
  explicit JsonOut(Sink& sink) noexcept : sink_(sink) {}

  /// Characters as they are.
  void raw(std::string_view text) noexcept {
    for (const char c : text) put(c);
  }
  /// Characters within quotes: those that JSON escapes are escaped, bytes that are no ASCII too, as names of weights may
  /// be any bytes.
  void text(std::string_view text) noexcept {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (needs_json_escape(byte) || byte >= 0x7f)
        raw(json_escape(byte).view());
      else
        put(c);
    }
  }
  void number(std::uint64_t value) noexcept { raw(digits(value)); }
  /// A number of thousandths: 1234 is 1.234.
  void thousandths(std::uint64_t value) noexcept {
    number(value / 1000);
    put('.');
    const std::uint64_t rest = value % 1000;
    put(static_cast<char>('0' + rest / 100));
    put(static_cast<char>('0' + rest / 10 % 10));
    put(static_cast<char>('0' + rest % 10));
  }
  /// To six places; what is no finite number from 0 to 2^40 is 0.
  void real(double value) noexcept {
    const bool sound = value >= 0.0 && value < 1099511627776.0;
    const auto millionths = static_cast<std::uint64_t>(sound ? value * 1e6 + 0.5 : 0.0);
    number(millionths / 1'000'000);
    put('.');
    for (std::uint64_t place = 100'000; place != 0; place /= 10) put(static_cast<char>('0' + millionths / place % 10));
  }
  [[nodiscard]] Result<void> finish() noexcept {
    flush();
    return result_;
  }

 private:
  void put(char c) noexcept {
    if (size_ == buffer_.size()) flush();
    buffer_[size_++] = c;
  }
  void flush() noexcept {
    if (result_ && size_ != 0) result_ = sink_(std::string_view(buffer_.data(), size_));
    size_ = 0;
  }
  [[nodiscard]] std::string_view digits(std::uint64_t value) noexcept {
    std::size_t at = digits_.size();
    do digits_[--at] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    return {digits_.data() + at, digits_.size() - at};
  }

  Sink& sink_;
  std::array<char, 4096> buffer_{};
  std::size_t size_ = 0;
  std::array<char, 20> digits_{};
  Result<void> result_{};
};

}  // namespace zrt::inline ZRT_ABI::trace
