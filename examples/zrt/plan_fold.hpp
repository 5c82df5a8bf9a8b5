// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_fold.hpp: a plan as few boxes: layers that do the same with other weights are one.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace program::drawing {

/// Consecutive instructions that are drawn together: a layer that stands for several, or what lies between layers.
struct FoldedRange {
  std::size_t first = 0;  ///< instruction
  std::size_t size = 0;   ///< instructions of one repetition
  std::size_t repeats = 1;
  std::optional<std::uint32_t> layer{};  ///< the first of them

  [[nodiscard]] std::size_t end() const { return first + size * repeats; }
};

/// The boxes of a plan_json(), in order. With an arena of memory_json(), layers whose registers lie elsewhere or live
/// longer are boxes of their own.
[[nodiscard]] std::vector<FoldedRange> fold(const nlohmann::ordered_json& plan,
                                            const nlohmann::ordered_json* arena = nullptr);

/// As fold() with nothing folded: a box per layer.
[[nodiscard]] std::vector<FoldedRange> unfolded(const nlohmann::ordered_json& plan);

/// "layers 0 to 21", or the ops of a box that is no layer.
[[nodiscard]] std::string label(const nlohmann::ordered_json& plan, const FoldedRange& box);

/// A range of bytes in an arena.
struct ArenaRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Where registers and scratch of a plan lie.
struct Places {
  std::vector<std::optional<ArenaRange>> of_register;
  std::vector<std::optional<ArenaRange>> scratch_of;  ///< by instruction
};
[[nodiscard]] Places places(const nlohmann::ordered_json& plan, const nlohmann::ordered_json& arena);

}  // namespace program::drawing
