// SPDX-License-Identifier: Apache-2.0
// zrt/core/finding.hpp: what a check of a graph or a plan found, and which findings count.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/core/error.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

enum class Severity : std::uint8_t { info, warning, error };

/// How strictly graphs and plans are judged, when they are compiled and when they are bound: warnings fail too, errors
/// fail, or nothing is looked at.
///
/// Plans from files are never judged with `none`.
enum class Validation : std::uint8_t { strict, normal, none };

/// One finding of any phase. The error tells phase, code, the node or instruction with its op, the tensor (a value
/// of the graph, a register of the plan), and in words what was expected and found, shapes included.
struct Finding {
  Severity severity = Severity::error;
  Error error{};
  TensorType type{};  ///< what is recorded of the tensor that the error names
};

/// True where a finding of that severity fails a check of that level.
[[nodiscard]] constexpr bool fails(Severity severity, Validation level) noexcept {
  if (level == Validation::none) return false;
  return severity == Severity::error || (severity == Severity::warning && level == Validation::strict);
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
