// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_arena.hpp: an arena as a picture: instructions from left to right, bytes from top to bottom.
#pragma once

#include "plan_fold.hpp"

#include <map>

namespace program::drawing {

/// A colour per op of a plan: the hue says its rung, the shade which op it is.
class OpColours {
 public:
  explicit OpColours(const nlohmann::ordered_json& plan);

  [[nodiscard]] const std::string& of(const std::string& op) const { return colours_.at(op); }
  /// Rungs with their ops, in the order of the plan.
  [[nodiscard]] const std::vector<std::pair<std::string, std::vector<std::string>>>& rungs() const { return rungs_; }

 private:
  std::map<std::string, std::string> colours_;
  std::vector<std::pair<std::string, std::vector<std::string>>> rungs_;
};

/// An <svg> of the arena of a plan_json(), with the boxes of fold() or unfolded(). Each register and each scratch is a
/// box from the instruction that writes it to the last that reads it, as high as its bytes on a scale that keeps small
/// ones visible. `wide` draws names; without it a column is a few pixels.
[[nodiscard]] std::string arena_svg(const nlohmann::ordered_json& plan, const nlohmann::ordered_json& arena,
                                    const std::vector<FoldedRange>& boxes, const OpColours& colours, bool wide);

}  // namespace program::drawing
