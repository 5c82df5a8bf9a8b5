// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/values.hpp: finds what defines a value of a region, and what type an operand has.
#pragma once

#include <zrt/ir/ptir/program.hpp>

#include <algorithm>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// The definitions of one region by value id. Refers to the program and the region that it was made
/// of, which must not change.
class ValueTable {
 public:
  /// Errors: Errc::duplicate_name when two definitions have one id, Errc::out_of_memory.
  [[nodiscard]] static Result<ValueTable> of(const Program& program, const Region& region) noexcept {
    ValueTable table(program, region);
    if (auto r = table.rows_.reserve(region.parameters.size() + region.instructions.size()); !r) return pass(r);
    std::uint32_t position = 0;
    for (const Parameter& p : region.parameters)
      if (auto r = table.rows_.push_back({p.id, position++}); !r) return pass(r);
    for (const Instruction& i : region.instructions)
      if (auto r = table.rows_.push_back({i.id, position++}); !r) return pass(r);
    std::sort(table.rows_.begin(), table.rows_.end(),
              [](const Row& a, const Row& b) { return a.id < b.id || (a.id == b.id && a.position < b.position); });
    for (std::size_t i = 1; i < table.rows_.size(); ++i)
      if (table.rows_[i - 1].id == table.rows_[i].id)
        return fail(Errc::duplicate_name, "value %", table.rows_[i].id, " is defined twice");
    return table;
  }

  /// Where a value is defined: parameters count from 0, instructions go on after them. Nothing when
  /// the region defines no such value.
  [[nodiscard]] std::optional<std::uint32_t> position(ValueId id) const noexcept {
    const auto row =
        std::lower_bound(rows_.begin(), rows_.end(), id, [](const Row& r, ValueId wanted) { return r.id < wanted; });
    if (row == rows_.end() || row->id != id) return std::nullopt;
    return row->position;
  }

  /// The type of an operand that is read at `position`.
  ///
  /// Errors: Errc::dangling_value for a value that is not defined before, a literal that is missing or
  /// an element that the tuple lacks; Errc::invalid_argument for a tuple where a tensor is needed.
  [[nodiscard]] Result<TensorType> type(const Operand& operand, std::size_t position) const noexcept {
    if (operand.kind == Operand::Kind::literal) {
      const Literal* literal = program_->literal(operand.id);
      if (literal == nullptr) return fail(Errc::dangling_value, "literal ", operand.id, " is not in the program");
      return literal->type;
    }
    const auto at = this->position(operand.id);
    if (!at) return fail(Errc::dangling_value, "value %", operand.id, " is not defined in its region");
    if (*at >= position) return fail(Errc::dangling_value, "value %", operand.id, " is read before it is defined");
    const std::size_t parameters = region_->parameters.size();
    const bool tuple = *at >= parameters && region_->instructions[*at - parameters].output.tuple;
    if (operand.kind == Operand::Kind::value && tuple)
      return fail(Errc::invalid_argument, "value %", operand.id,
                  " is a tuple, expected a tensor or one of its elements");
    if (operand.kind == Operand::Kind::tuple_element && !tuple)
      return fail(Errc::invalid_argument, "value %", operand.id, " is a tensor, expected a tuple");
    if (*at < parameters) return region_->parameters[*at].type;
    const auto types = program_->types_of(region_->instructions[*at - parameters].output);
    const std::size_t element = tuple ? operand.element : 0;
    if (element >= types.size())
      return fail(Errc::dangling_value, "value %", operand.id, " has ", types.size(), " elements, expected more than ",
                  element);
    return types[element];
  }

 private:
  struct Row {
    ValueId id;
    std::uint32_t position;
  };

  ValueTable(const Program& program, const Region& region) noexcept
      : program_(&program), region_(&region), rows_(program.allocator) {}

  const Program* program_;
  const Region* region_;
  Vector<Row> rows_;
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
