// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/strings.hpp: the strings of a model by number, so that tensors of strings are tensors of whole numbers.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/core/vector.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// Strings, each once, numbered from 0 in the order in which they came: equal strings have equal numbers.
class StringTable {
 public:
  explicit StringTable(Allocator a = system_allocator()) noexcept : bytes_(a), ends_(a), places_(a) {}

  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  /// The string of that number, any bytes; empty where there is none. It is valid until the next one is added.
  [[nodiscard]] std::string_view operator[](std::int64_t number) const noexcept {
    const auto at = static_cast<std::uint64_t>(number);
    if (at >= ends_.size()) return {};
    const std::size_t first = at == 0 ? 0 : ends_[at - 1];
    return {bytes_.data() + first, ends_[at] - first};
  }
  /// The number of a string that is there.
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view text) const noexcept {
    if (places_.empty()) return std::nullopt;
    const std::uint32_t had = places_[place_of(places_, text)];
    return had == 0 ? std::nullopt : std::optional<std::int64_t>(had - 1);
  }
  /// The number of a string, which is added where it is not there. `text` is no part of a string of the table.
  ///
  /// Errors: Errc::limit_exceeded for more than 2^31 strings; out of memory.
  [[nodiscard]] Result<std::int64_t> number_of(std::string_view text) noexcept {
    if (const auto had = find(text)) return *had;
    if (ends_.size() >= kMost) return fail(Errc::limit_exceeded, "more than ", kMost, " strings");
    if (places_.size() < 2 * (ends_.size() + 1))
      if (auto r = enlarge(); !r) return pass(r);
    if (auto r = ends_.push_back(bytes_.size() + text.size()); !r) return pass(r);
    if (auto r = bytes_.append(Span<const char>(text.data(), text.size())); !r) {
      ends_.pop_back();
      return pass(r);
    }
    places_[place_of(places_, text)] = static_cast<std::uint32_t>(ends_.size());
    return static_cast<std::int64_t>(ends_.size()) - 1;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 31;

  /// Where `places` has that string, or would get it.
  [[nodiscard]] std::size_t place_of(const Vector<std::uint32_t>& places, std::string_view text) const noexcept {
    const std::size_t mask = places.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash_bytes(text)) & mask;
    while (places[at] != 0 && (*this)[std::int64_t{places[at]} - 1] != text) at = (at + 1) & mask;
    return at;
  }
  [[nodiscard]] Result<void> enlarge() noexcept {
    Vector<std::uint32_t> wider(places_.allocator());
    if (auto r = wider.resize(places_.empty() ? 16 : 2 * places_.size()); !r) return r;
    for (std::size_t i = 0; i < ends_.size(); ++i)
      wider[place_of(wider, (*this)[static_cast<std::int64_t>(i)])] = static_cast<std::uint32_t>(i + 1);
    places_ = std::move(wider);
    return {};
  }

  Vector<char> bytes_;
  Vector<std::size_t> ends_;      ///< of each string in `bytes_`
  Vector<std::uint32_t> places_;  ///< by hash: the number of a string and 1, or 0; half of them are empty
};

/// The strings of a program that was read, and where they stand: tensors of strings are si64 tensors of their numbers.
/// A host adds the strings that it feeds, before or after the program is read.
struct ModelStrings {
  explicit ModelStrings(Allocator a = system_allocator()) noexcept : table(a), inputs(a), outputs(a) {}

  StringTable table;
  Vector<std::uint32_t> inputs;   ///< inputs of the program that are of strings, by their places
  Vector<std::uint32_t> outputs;  ///< outputs that are
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
