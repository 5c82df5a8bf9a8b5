// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/origins.hpp: the nodes of a file that a program's instructions come from.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/ir/ptir/types.hpp>

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// Nodes of the file that a program was read from, numbered from 1, so that an error can name them. Texts and JSON of a
/// program hold none, and equal programs may have different ones.
class Origins {
 public:
  /// What the numbers that an instruction is given, indices or divisors, are in the file.
  enum class Indices : std::uint8_t {
    unknown,         ///< not said; those below are of the node's second input
    as_given,        ///< the same
    count_from_end,  ///< a negative one had the extent added
    as_places,       ///< several axes as one place; what is outside its axis is kOutside more than the index
    of_windows,      ///< the same, of places counted from where a window begins; they are in no input
  };
  /// Added to an index outside its axis where indices become places, so that no place is as small.
  static constexpr std::int64_t kOutside = -(std::int64_t{1} << 62);
  /// An index as far from 0, or farther, counts as this one before kOutside is added.
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 61;

  explicit Origins(Allocator a = system_allocator()) noexcept : nodes_(a), inputs_(a), chars_(a), allocator_(a) {}

  /// Adds a node; gives its number.
  [[nodiscard]] Result<std::uint32_t> add(std::string_view name, Span<const std::string_view> inputs) noexcept {
    const auto kept = text(name);
    if (!kept) return pass(kept);
    const auto first = static_cast<std::uint32_t>(inputs_.size());
    for (const std::string_view input : inputs.first(inputs.size() < kMaxInputs ? inputs.size() : kMaxInputs)) {
      const auto range = text(input);
      if (!range) return pass(range);
      if (auto r = inputs_.push_back(*range); !r) return pass(r);
    }
    const auto count = static_cast<std::uint32_t>(inputs_.size() - first);
    if (auto r = nodes_.push_back({*kept, first, count, Indices::unknown, {}}); !r) return pass(r);
    return static_cast<std::uint32_t>(nodes_.size());
  }
  /// `places` are the extents over which an index operand that became places runs in the file.
  void indices(std::uint32_t node, Indices meaning, const Shape& places = {}) noexcept {
    if (!has(node)) return;
    nodes_[node - 1].indices = meaning;
    nodes_[node - 1].places = places;
  }

  /// Of a number that is none: empty, and unknown.
  [[nodiscard]] std::string_view name(std::uint32_t node) const noexcept {
    return has(node) ? view(nodes_[node - 1].name) : std::string_view();
  }
  [[nodiscard]] std::string_view input(std::uint32_t node, std::uint32_t i) const noexcept {
    return has(node) && i < nodes_[node - 1].inputs ? view(inputs_[nodes_[node - 1].first_input + i])
                                                    : std::string_view();
  }
  [[nodiscard]] Indices indices(std::uint32_t node) const noexcept {
    return has(node) ? nodes_[node - 1].indices : Indices::unknown;
  }

  [[nodiscard]] Shape places(std::uint32_t node) const noexcept {
    return has(node) ? nodes_[node - 1].places : Shape();
  }

  [[nodiscard]] Result<Origins> clone() const noexcept {
    Origins copy(allocator_);
    if (auto r = copy.nodes_.append(nodes_.span()); !r) return pass(r);
    if (auto r = copy.inputs_.append(inputs_.span()); !r) return pass(r);
    if (auto r = copy.chars_.append(chars_.span()); !r) return pass(r);
    return copy;
  }

 private:
  /// Names are cut at as many bytes, since an error holds no more of them.
  static constexpr std::size_t kMaxName = 96;
  /// Later inputs of a node bear no names: no index operand is among them.
  static constexpr std::size_t kMaxInputs = 4;

  struct Text {
    std::uint32_t first = 0;
    std::uint32_t size = 0;
  };
  struct Node {
    Text name{};
    std::uint32_t first_input = 0;
    std::uint32_t inputs = 0;
    Indices indices = Indices::unknown;
    Shape places{};
  };

  [[nodiscard]] bool has(std::uint32_t node) const noexcept { return node != 0 && node <= nodes_.size(); }
  [[nodiscard]] std::string_view view(Text t) const noexcept { return {chars_.data() + t.first, t.size}; }
  [[nodiscard]] Result<Text> text(std::string_view value) noexcept {
    std::string_view cut = slice(value, 0, kMaxName);
    // Between characters.
    while (cut.size() < value.size() && !cut.empty() && (static_cast<unsigned char>(value[cut.size()]) & 0xc0u) == 0x80)
      cut.remove_suffix(1);
    if (chars_.size() > std::numeric_limits<std::uint32_t>::max() - kMaxName)
      return fail(Errc::limit_exceeded, "the names of nodes take more than 4 GiB");
    const Text made{static_cast<std::uint32_t>(chars_.size()), static_cast<std::uint32_t>(cut.size())};
    if (auto r = chars_.append(Span<const char>(cut.data(), cut.size())); !r) return pass(r);
    return made;
  }

  Vector<Node> nodes_;
  Vector<Text> inputs_;
  Vector<char> chars_;
  Allocator allocator_;
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
