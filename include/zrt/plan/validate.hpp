// SPDX-License-Identifier: Apache-2.0
// zrt/plan/validate.hpp: checks of a plan once it is compiled, with severities.
#pragma once

#include <zrt/plan/compiled_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

namespace detail {

[[nodiscard]] inline Error at_insn(Error error, std::size_t i, Opcode opcode) noexcept {
  return error.at_instruction(static_cast<std::uint32_t>(i), number(opcode));
}

[[nodiscard]] inline std::unexpected<Error> of_register(std::size_t reg, std::unexpected<Error> error) noexcept {
  error.error().at_tensor(static_cast<std::uint32_t>(reg));
  return error;
}

/// Offsets and ids inside their pools: what every later check relies on.
[[nodiscard]] inline Result<void> check_references(const ExecutionPlan& plan, const OpTable& table) noexcept {
  if (plan.registers.size() > kMaxRegisters || plan.symbols.size() >= kMaxSymbols ||
      plan.states.size() >= InstructionRecord::kNoState)
    return fail(Errc::invalid_plan, "more registers, symbols or states than a plan can have");
  for (std::size_t i = 0; i < plan.registers.size(); ++i) {
    const TensorType& type = plan.registers[i];
    if (!is_dtype(static_cast<std::uint8_t>(type.dtype)) || type.shape.rank > kMaxRank)
      return of_register(i, fail(Errc::invalid_plan, "register ", i, " has an unknown type or rank"));
    for (std::uint8_t axis = 0; axis < type.shape.rank; ++axis)
      if (type.shape[axis].symbol > plan.symbols.size())
        return of_register(i, fail(Errc::invalid_plan, "register ", i, " uses a symbol that the plan does not have"));
  }
  for (const PlanWeight& w : plan.weights) {
    if (!is_dtype(static_cast<std::uint8_t>(w.dtype)) || w.shape.rank > kMaxRank)
      return fail(Errc::invalid_plan, "weight ", w.name.view(), " has an unknown type or rank");
    if (!whole_blocks(w.dtype, w.shape))
      return fail(Errc::invalid_plan, "weight ", w.name.view(),
                  " has a symbol in its shape, or rows that are not whole blocks");
    if (!w.inline_data()) continue;
    const CheckedSize bytes = bytes_of(w.dtype, w.shape.elements({}));
    const CheckedSize end = CheckedSize(w.data_offset) + w.data_bytes;
    if (!bytes.ok() || !end.ok() || end.raw() > plan.constants.size() || w.data_bytes != bytes.raw())
      return fail(Errc::invalid_plan, "weight ", w.name.view(), ": its data does not have the size of its shape");
  }
  for (std::size_t i = 0; i < plan.states.size(); ++i) {
    const StateDescriptor& s = plan.states[i];
    if (s.id != i || !is_known(s.info))
      return fail(Errc::invalid_state, "state ", i, " has an unknown class or type, or another id");
    const CheckedSize bytes = unit_bytes(s.info);
    if (s.lifecycle != s.info.lifecycle || !bytes.ok() || s.size_bytes != bytes.raw())
      return fail(Errc::invalid_state, "state ", unsigned{s.id}, " has ", s.size_bytes, " bytes, its dims give ",
                  bytes.raw());
  }
  for (const ExecutionPlan& region : plan.regions)
    if (region.inputs.size() > kMaxOperands || region.outputs.size() > kMaxOperands || !region.states.empty() ||
        region.symbols.size() != plan.symbols.size())
      return fail(Errc::invalid_plan, "a region has state, another plan's symbols, or more than ", kMaxOperands,
                  " parameters or results");
  for (const PlanPort& port : plan.inputs)
    if (index(port.reg) >= plan.registers.size())
      return fail(Errc::invalid_plan, "input ", port.name.view(), " names no register");
  for (const PlanPort& port : plan.outputs)
    if (index(port.reg) >= plan.registers.size())
      return fail(Errc::invalid_plan, "output ", port.name.view(), " names no register");
  for (const Vector<PlanPort>* ports : {&plan.inputs, &plan.outputs})
    for (const PlanPort& port : *ports)
      if (port.layout == Layout::strided)
        return fail(Errc::invalid_plan, "port ", port.name.view(),
                    " is strided, expected contiguous or backend_native");
  std::size_t regions = 0;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const InstructionRecord& r = plan.instructions[i];
    auto bad = [&](Errc code, auto... pieces) {
      return std::unexpected<Error>(at_insn(Error::of(code, pieces...), i, r.opcode));
    };
    const OpRow* row = table[number(r.opcode)];
    if (row == nullptr)
      return bad(Errc::unsupported_opcode, "opcode ", unsigned{number(r.opcode)}, " is not in the catalog");
    if (!row->takes_inputs(r.inputs) || !row->gives_outputs(r.outputs) || r.weights != row->weights.size() ||
        r.regions != row->regions.size())
      return bad(Errc::invalid_plan, row->name, ": the number of operands is not the op's");
    if (std::uint64_t{r.first_register} + r.inputs + r.outputs > plan.register_refs.size() ||
        std::uint64_t{r.first_weight} + r.weights > plan.weight_refs.size())
      return bad(Errc::invalid_plan, row->name, ": operands lie outside their pool");
    if (r.first_region != regions || r.regions > plan.regions.size() - regions)
      return bad(Errc::invalid_plan, row->name, ": its regions are not the next of the plan's");
    regions += r.regions;
    if (r.param_block_id >= plan.params.size()) return bad(Errc::invalid_plan, row->name, ": no parameter block");
    const ParamRecord& p = plan.params[r.param_block_id];
    if (std::uint64_t{p.offset} + p.bytes > plan.param_bytes.size())
      return bad(Errc::invalid_plan, row->name, ": the parameter block lies outside its pool");
    const bool stateful = row->lifecycle != StateLifecycle::none;
    if (stateful &&
        (r.state_block_id >= plan.states.size() || plan.states[r.state_block_id].lifecycle != row->lifecycle))
      return bad(Errc::invalid_state, row->name, ": the state's lifecycle is not the op's");
    if (!stateful && r.state_block_id != InstructionRecord::kNoState)
      return bad(Errc::invalid_state, row->name, ": the op has no state");
    const Instruction insn = plan.instruction(i);
    for (std::size_t k = 0; k < insn.inputs.size(); ++k)
      if (index(insn.inputs[k]) >= plan.registers.size() && !(insn.inputs[k] == kNoRegister && row->input(k).optional))
        return bad(Errc::dangling_value, row->name, ": input ", row->input(k).name, " names no register");
    for (RegisterRef reg : insn.outputs)
      if (index(reg) >= plan.registers.size())
        return bad(Errc::dangling_value, row->name, ": an output names no register");
    for (WeightRef w : insn.weights)
      if (w != kNoWeight && index(w) >= plan.weights.size())
        return bad(Errc::missing_weight, row->name, ": a weight id names none");
  }
  if (regions != plan.regions.size()) return fail(Errc::invalid_plan, "a region belongs to no instruction");
  return {};
}

/// One producer per register, writes before reads, types as the ops give them.
[[nodiscard]] inline Result<void> check_flow(const ExecutionPlan& plan, const OpTable& table) noexcept {
  Vector<std::uint8_t> written(plan.allocator);
  if (auto r = written.resize(plan.registers.size()); !r) return r;
  for (const PlanPort& port : plan.inputs) {
    if (written[index(port.reg)] != 0)
      return fail(Errc::overlapping_writers, "input ", port.name.view(), " names a register that is an input already");
    written[index(port.reg)] = 1;
  }
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    const OpRow* row = table[number(insn.opcode)];
    auto bad = [&](const Error& error) { return std::unexpected<Error>(at_insn(error, i, insn.opcode)); };
    for (std::size_t k = 0; k < insn.inputs.size(); ++k)
      if (insn.inputs[k] != kNoRegister && written[index(insn.inputs[k])] == 0)
        return of_register(index(insn.inputs[k]),
                           bad(Error::of(Errc::dangling_value, row->name, ": input ", row->input(k).name,
                                         " reads register ", index(insn.inputs[k]), " before it is written")));
    OperandStorage storage;
    std::array<TensorType, kMaxOperands> types;
    const auto count = row->infer(plan.operand_info(insn, storage), types);
    if (!count) return bad(count.error());
    if (*count != insn.outputs.size())
      return bad(
          Error::of(Errc::invalid_plan, row->name, ": ", insn.outputs.size(), " outputs, the op gives ", *count));
    for (std::size_t k = 0; k < insn.outputs.size(); ++k) {
      const std::uint16_t reg = index(insn.outputs[k]);
      if (written[reg] != 0)
        return of_register(reg, bad(Error::of(Errc::overlapping_writers, row->name, ": register ", reg,
                                              " has another producer already")));
      written[reg] = 1;
      if (plan.registers[reg].dtype != types[k].dtype)
        return of_register(reg,
                           bad(Error::of(Errc::dtype_mismatch, row->name, ": register ", reg, " is recorded as ",
                                         name(plan.registers[reg].dtype), ", the op gives ", name(types[k].dtype))));
      if (!(plan.registers[reg].shape == types[k].shape)) {
        Error error = Error::of(Errc::shape_mismatch, row->name, ": register ", reg, " is recorded as ");
        append_shape(error, plan.registers[reg].shape).append(", the op gives ");
        return of_register(reg, bad(append_shape(error, types[k].shape)));
      }
      if (types[k].shape.rank > row->max_rank)
        return of_register(reg, bad(Error::of(Errc::unsupported_tensor_rank, row->name, ": register ", reg, " has ",
                                              unsigned{types[k].shape.rank}, " axes, at most ", unsigned{row->max_rank},
                                              " expected")));
    }
  }
  for (const PlanPort& port : plan.outputs)
    if (written[index(port.reg)] == 0)
      return of_register(index(port.reg), fail(Errc::dangling_value, "output ", port.name.view(),
                                               " names a register that nothing writes"));
  return {};
}

}  // namespace detail

/// What is wrong with references, arity, parameters, types and the order of writes and reads of a plan and of its
/// regions (at most one error: the search ends there), and what is odd.
///
/// Errors: Errc::out_of_memory.
[[nodiscard]] inline Result<Vector<Finding>> findings(const ExecutionPlan& plan, const OpTable& table,
                                                      std::size_t depth = 0) noexcept {
  Vector<Finding> list(plan.allocator);
  auto add = [&](Error error) {
    Finding found{Severity::error, error.in_phase(Phase::plan), {}};
    if (error.tensor() < plan.registers.size()) found.type = plan.registers[error.tensor()];
    return list.push_back(found);
  };
  // Regions first: what is known of an instruction includes the types at the borders of its regions.
  if (depth > kMaxRegionDepth) {
    if (auto r = add(Error::of(Errc::limit_exceeded, "regions lie deeper than ", kMaxRegionDepth)); !r) return pass(r);
    return list;
  }
  for (const ExecutionPlan& region : plan.regions) {
    auto inner = findings(region, table, depth + 1);
    if (!inner) return pass(inner);
    if (auto r = list.append(inner->span()); !r) return pass(r);
    if (!list.empty() && list.back().severity == Severity::error) return list;
  }
  auto checked = detail::check_references(plan, table);
  if (checked) checked = detail::check_flow(plan, table);
  if (!checked) {
    if (checked.error().code() == Errc::out_of_memory) return pass(checked);
    if (auto r = add(checked.error()); !r) return pass(r);
    return list;
  }
  auto map = liveness(plan);
  if (!map) return pass(map);
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction insn = plan.instruction(i);
    for (RegisterRef r : insn.outputs) {
      if (map->register_last_read[index(r)] != LivenessMap::kNeverRead) continue;
      const PlanDiagnostic remark{
          Severity::warning, DiagnosticKind::never_read, insn.opcode, static_cast<std::uint32_t>(i), 0, r};
      if (auto done = list.push_back(finding(remark, plan, table)); !done) return pass(done);
    }
  }
  return list;
}

/// Judges a compiled plan; the error is the first finding that counts at that level.
[[nodiscard]] inline Result<void> validate(const ExecutionPlan& plan, const OpTable& table, Validation level) noexcept {
  if (level == Validation::none) return {};
  auto list = findings(plan, table);
  if (!list) return pass(list);
  for (const Finding& found : *list)
    if (fails(found.severity, level)) return std::unexpected<Error>(found.error);
  return {};
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
