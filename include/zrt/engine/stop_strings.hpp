// SPDX-License-Identifier: Apache-2.0
// zrt/engine/stop_strings.hpp: finds stop strings in a stream of text and holds back what may begin one.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/core/string.hpp>
#include <zrt/engine/string_list.hpp>
#include <zrt/text/detail/unicode.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI {

/// Passes text on until a stop string is complete; nothing of the match or after it gets out. Of several the one counts
/// that ends first, so how the text is cut into pieces changes nothing.
class StopStrings {
 public:
  explicit StopStrings(Allocator a) noexcept : stops_(a), held_(a), ready_(a) {}

  /// Copies the strings. Feeding at most `longest_text` bytes at once then allocates nothing.
  ///
  /// Errors: Errc::invalid_argument for an empty one, and for one that is not whole UTF-8 characters: it would cut
  /// the stream inside a character.
  [[nodiscard]] Result<void> set(const StringList& stops, std::size_t longest_text = 256) noexcept {
    auto added = stops.each([&](std::string_view stop) noexcept -> Result<void> {
      if (stop.empty()) return fail(Errc::invalid_argument, "a stop string is empty");
      for (std::size_t at = 0; at < stop.size();) {
        const text::detail::CodePoint c = text::detail::decode(stop, at);
        if (!c.valid)
          return fail(Errc::invalid_argument, "a stop string is no UTF-8 at byte ", at, ", expected whole characters");
        at += c.length;
      }
      auto copy = String::of(stop, stops_.allocator());
      if (!copy) return pass(copy);
      longest_ = stop.size() > longest_ ? stop.size() : longest_;
      return stops_.push_back(std::move(*copy));
    });
    if (!added) return added;
    longest_text_ = longest_text;
    if (auto r = held_.reserve(longest_ + longest_text); !r) return r;
    return ready_.reserve(longest_ + longest_text);
  }

  /// Begins with `text` held back, as another matcher left it; what it means is seen at the next feed.
  [[nodiscard]] Result<void> resume(std::string_view text) noexcept {
    const std::size_t room = text.size() + longest_text_ + longest_;
    if (auto r = held_.reserve(room); !r) return r;
    if (auto r = ready_.reserve(room); !r) return r;
    return held_.append(text);
  }

  /// Takes more text and returns what is now sure; the view holds until the next call.
  [[nodiscard]] Result<std::string_view> feed(std::string_view text) noexcept { return advance(text, true); }

  /// Takes the last text and returns all that is left up to a match: a mere beginning is none.
  [[nodiscard]] Result<std::string_view> finish(std::string_view text) noexcept { return advance(text, false); }

  [[nodiscard]] Span<const String> strings() const noexcept { return stops_.span(); }
  /// Text that was fed and has not come out.
  [[nodiscard]] std::string_view held() const noexcept { return matched_ ? std::string_view{} : held_.view(); }
  [[nodiscard]] bool matched() const noexcept { return matched_; }

 private:
  [[nodiscard]] Result<std::string_view> advance(std::string_view text, bool more) noexcept {
    ready_.clear();
    if (matched_) return std::string_view{};
    if (stops_.empty() && held_.empty()) return text;
    if (auto r = held_.append(text); !r) return pass(r);
    const std::string_view all = held_.view();
    // The one that is complete first, as it is where each byte comes alone; of several the one that begins first.
    std::size_t first = std::string_view::npos;
    std::size_t first_end = std::string_view::npos;
    for (const String& stop : stops_) {
      const std::size_t at = all.find(stop.view());
      if (at == std::string_view::npos || at + stop.size() > first_end) continue;
      first = at + stop.size() == first_end && first < at ? first : at;
      first_end = at + stop.size();
    }
    matched_ = first != std::string_view::npos;
    const std::size_t sure = matched_ ? first : all.size() - (more ? possible_beginning(all) : 0);
    if (auto r = ready_.append(std::string_view(all.data(), sure)); !r) return pass(r);
    held_.erase_front(sure);
    return ready_.view();
  }

  /// Length of the longest end of `text` that begins a stop string.
  [[nodiscard]] std::size_t possible_beginning(std::string_view text) const noexcept {
    std::size_t most = 0;
    for (const String& stop : stops_) {
      std::size_t length = stop.size() - 1 < text.size() ? stop.size() - 1 : text.size();
      for (; length > most; --length)
        if (text.ends_with(std::string_view(stop.view().data(), length))) most = length;
    }
    return most;
  }
  Vector<String> stops_;
  String held_;
  String ready_;
  std::size_t longest_ = 0;
  std::size_t longest_text_ = 0;
  bool matched_ = false;
};

}  // namespace zrt::inline ZRT_ABI
