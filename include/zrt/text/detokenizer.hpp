// SPDX-License-Identifier: Apache-2.0
// zrt/text/detokenizer.hpp: ids to text one by one, giving out whole UTF-8 characters only.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/tokenizer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text {

namespace detail {

/// What stands at a place of a byte stream: a character, the beginning of one that may still be completed, or neither.
struct StreamUnit {
  enum class Kind : std::uint8_t { character, incomplete, invalid } kind;
  std::size_t length;
};

/// Looks at `at`, which lies inside `text`. An invalid unit is as long as it looked like a character.
[[nodiscard]] constexpr StreamUnit stream_unit(std::string_view text, std::size_t at) noexcept {
  using Kind = StreamUnit::Kind;
  if (const CodePoint c = decode(text, at); c.valid) return {Kind::character, c.length};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0xc2 || lead > 0xf4) return {Kind::invalid, 1};
  std::size_t good = 1;
  while (at + good < text.size() && good < announced_length(lead) &&
         (good == 1 ? second_byte_fits(lead, byte(1)) : (byte(good) & 0xc0u) == 0x80u))
    ++good;
  return {at + good == text.size() ? Kind::incomplete : Kind::invalid, good};
}

}  // namespace detail

/// Turns a stream of token ids into a stream of valid UTF-8.
///
/// Bytes of an unfinished character are held back until the next ids complete it; bytes that no character
/// has become U+FFFD. Keeps a pointer to the tokenizer, which must outlive it and stay where it is.
class Detokenizer {
 public:
  /// Begins a stream that continues a text (a prompt): a first space is kept, control tokens are left out.
  explicit Detokenizer(const Tokenizer& tokenizer) noexcept : Detokenizer(tokenizer, continuing()) {}
  Detokenizer(const Tokenizer& tokenizer, DecodeOptions options) noexcept
      : tokenizer_(&tokenizer), options_(options), pending_(tokenizer.allocator()), ready_(tokenizer.allocator()) {}

  /// Makes room for ids whose text has at most `bytes` bytes, so that feeding them allocates nothing.
  [[nodiscard]] Result<void> reserve(std::size_t bytes) noexcept {
    // What is held back goes before the piece; each byte may become a replacement character.
    if (auto r = pending_.reserve(bytes + kMostHeld); !r) return r;
    return ready_.reserve((bytes + kMostHeld) * kReplacement.size());
  }

  /// Returns the text that `id` completes, possibly none; the view holds until the next call.
  /// Errors: invalid_argument for an id outside the vocabulary, out_of_memory; the stream is then as it was.
  [[nodiscard]] Result<std::string_view> feed(std::int32_t id) noexcept {
    const std::size_t held = pending_.size();
    auto fed = take(id);
    if (!fed) pending_.truncate(held);
    return fed;
  }

  /// Ends the stream: an unfinished character becomes U+FFFD. The next feed begins a new stream.
  [[nodiscard]] Result<std::string_view> finish() noexcept {
    ready_.clear();
    if (!pending_.empty())
      if (auto r = ready_.append(kReplacement); !r) return pass(r);
    pending_.clear();
    begun_ = false;
    return ready_.view();
  }

 private:
  // Not a default argument: GCC 12 confuses two designated initialisers of one type in default arguments.
  [[nodiscard]] static DecodeOptions continuing() noexcept {
    DecodeOptions options;
    options.at_start = false;
    return options;
  }

  static constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  /// Bytes of a character that may be held back.
  static constexpr std::size_t kMostHeld = 4;

  [[nodiscard]] Result<std::string_view> take(std::int32_t id) noexcept {
    using Kind = detail::StreamUnit::Kind;
    ready_.clear();
    if (auto r = tokenizer_->append_piece(id, options_.special, pending_); !r) return pass(r);
    const std::string_view bytes = pending_.view();
    std::size_t at = 0;
    if (!begun_ && options_.at_start && tokenizer_->adds_space_prefix() && bytes.starts_with(' ')) at = 1;
    while (at < bytes.size()) {
      const detail::StreamUnit unit = detail::stream_unit(bytes, at);
      if (unit.kind == Kind::incomplete) break;
      if (auto r = ready_.append(unit.kind == Kind::character ? slice(bytes, at, unit.length) : kReplacement); !r)
        return pass(r);
      at += unit.length;
    }
    char tail[4]{};
    std::size_t left = 0;  // below 4: what is left is an incomplete character
    for (; left < sizeof tail && at + left < bytes.size(); ++left) tail[left] = bytes[at + left];
    pending_.clear();
    begun_ = true;
    // Four bytes fit where the piece stood before, so this cannot fail.
    if (auto r = pending_.append({tail, left}); !r) return pass(r);
    return ready_.view();
  }

  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  String pending_;
  String ready_;
  bool begun_ = false;
};

}  // namespace zrt::inline ZRT_ABI::text
