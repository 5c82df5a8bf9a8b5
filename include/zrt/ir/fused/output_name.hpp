// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/output_name.hpp: under which name each tensor leaves a fused program.
#pragma once

#include <zrt/ir/fused/program.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

/// The name of the tensor that leaves `p` at `place`: of the outputs their names in the program, then `state.ID` of
/// each value of state_out. An output that bears a state's name has `.output` after it. Empty past the last.
[[nodiscard]] inline Name output_name(const FusedProgram& p, std::size_t place) noexcept {
  const auto of_state = [](const StateUpdate& update) { return Name::of("state.", unsigned{update.state}); };
  if (place >= p.outputs.size()) {
    place -= p.outputs.size();
    return place < p.state_out.size() ? of_state(p.state_out[place]) : Name();
  }
  const Name name = p.outputs[place].name;
  for (const StateUpdate& update : p.state_out)
    if (of_state(update) == name) return Name::of(name.view(), ".output");
  return name;
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
