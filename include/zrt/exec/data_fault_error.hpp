// SPDX-License-Identifier: Apache-2.0
// zrt/exec/data_fault_error.hpp: a fault of data in the words of the file that the program was read from.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/exec/step_fault.hpp>
#include <zrt/ir/ptir/origins.hpp>
#include <zrt/ops/data_fault.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// Appends the place of element `element` of a tensor, "0, 7". Where the elements of each of `places` lie together there,
/// it is the place among those.
inline void append_place(Error& error, const Shape& shape, std::uint64_t element,
                         const ir::ptir::Shape& places) noexcept {
  std::array<std::uint64_t, kMaxRank> extents{};
  std::uint8_t rank = shape.rank;
  std::uint64_t elements = 1, within = places.rank == 0 || !places.is_constant() ? 0u : 1u;
  for (std::uint8_t axis = 0; axis < rank; ++axis) elements *= extents[axis] = shape[axis].extent;
  for (std::uint8_t axis = 0; within != 0 && axis < places.rank; ++axis) within *= places[axis].constant();
  if (within != 0 && elements % within == 0) {
    rank = places.rank;
    for (std::uint8_t axis = 0; axis < rank; ++axis) extents[axis] = places[axis].constant();
    element /= elements / within;
    elements = within;
  }
  for (std::uint8_t axis = 0; axis < rank && extents[axis] != 0; ++axis) {
    elements /= extents[axis];
    error.append(axis == 0 ? "" : ", ").append(element / elements % extents[axis]);
  }
}

/// `error` of a step, which names an instruction of `plan`, with the node that the instruction comes from and, where
/// `found` is given, with index, value and input; `operand` is the tensor that holds it.
[[nodiscard]] inline Error data_fault_error(const Error& error, const plan::ExecutionPlan& plan,
                                            const ir::ptir::Origins& origins, const std::optional<DataFault>& found,
                                            const TensorType& operand, std::string_view role) noexcept {
  using Indices = ir::ptir::Origins::Indices;
  const std::uint32_t node =
      error.instruction() < plan.origins.size() ? plan.origins[error.instruction()] : std::uint32_t{0};
  const std::string_view name = origins.name(node);
  if (name.empty() && !found) return error;
  Error made(error.code());
  made.append(name);
  if (name.empty()) {
    // "instruction 3 (take)", without what happened to it.
    const std::string_view text = error.text();
    made.append(slice(text, 0, text.find(')') + 1));
  }
  made.append(": ");
  if (!found) {
    made.append(fault_text(error.code()));
  } else {
    const Indices meaning = origins.indices(node);
    const bool divisor = found->kind == DataFault::Kind::divisor;
    const bool places = meaning == Indices::as_places || meaning == Indices::of_windows;
    const bool outside = places && !divisor && found->value <= ir::ptir::Origins::kOutside / 2;
    std::int64_t value = found->value;
    if (outside) value -= ir::ptir::Origins::kOutside;
    const bool farthest = outside && (value == ir::ptir::Origins::kFarthest || value == -ir::ptir::Origins::kFarthest);
    if (meaning == Indices::count_from_end && value < 0) value -= static_cast<std::int64_t>(found->extent);
    if (divisor)
      made.append("division by zero at [");
    else
      made.append("index ").append(value).append(farthest ? " or beyond at [" : " at [");
    append_place(made, operand.shape, found->element, origins.places(node));
    made.append("]");
    if (outside)
      made.append(", outside its axis");
    else if (!divisor)
      made.append(", extent ").append(found->extent);
    if (name.empty())
      made.append(", in input ").append(found->input).append(" (").append(role).append(")");
    else if (meaning != Indices::unknown && meaning != Indices::of_windows)
      made.append(", in input 1 (").append(origins.input(node, 1)).append(")");
  }
  return made.in_phase(error.phase()).at_instruction(error.instruction(), error.opcode());
}

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
