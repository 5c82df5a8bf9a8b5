// SPDX-License-Identifier: Apache-2.0
// zrt/plan/compile.hpp: from a graph to a plan of ops that a backend claims.
#pragma once

#include <zrt/ir/expand.hpp>
#include <zrt/ir/passes/needed.hpp>
#include <zrt/ir/verify.hpp>
#include <zrt/plan/compiled_plan.hpp>
#include <zrt/plan/order.hpp>
#include <zrt/plan/validate.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

struct CompileOptions {
  ActPolicy act = ActPolicy::weight;
  Validation validation = Validation::normal;
  Ordering ordering = Ordering::program;  ///< of regions too
};

/// Lowers a graph and its regions to the ops that `claims` holds. Each expansion is a diagnostic.
///
/// Errors: Errc::unsupported_opcode for an op that is neither claimed nor expands.
[[nodiscard]] inline Result<ir::Graph> lower(const ir::Graph& graph, const ir::Ops& ops, const OpSet& claims,
                                             Vector<PlanDiagnostic>& diagnostics) noexcept;

namespace detail {

/// Rebuilds `from` with every node outside `claims` replaced by its expansion, one step down.
class Expander {
 public:
  Expander(const ir::Graph& from, const ir::Ops& ops, const OpSet& claims, Vector<PlanDiagnostic>& diagnostics) noexcept
      : from_(from),
        ops_(ops),
        claims_(claims),
        diagnostics_(diagnostics),
        builder_(*ops.table, from.allocator),
        values_(from.allocator) {}

  /// Expands each unclaimed op once; true when none was left.
  [[nodiscard]] Result<bool> run(ir::Graph& to) noexcept {
    ir::Graph& g = builder_.graph();
    if (auto r = values_.resize(from_.values.size()); !r) return pass(r);
    if (auto r = g.symbols.append(from_.symbols.span()); !r) return pass(r);
    if (auto r = g.weights.append(from_.weights.span()); !r) return pass(r);
    if (auto r = g.states.append(from_.states.span()); !r) return pass(r);
    if (auto r = g.constants.append(from_.constants.span()); !r) return pass(r);
    for (const ir::Port& port : from_.inputs)
      values_[port.value.index] = builder_.input(port.name, from_.values[port.value.index].type);
    bool done = true;
    for (const ir::Node& n : from_.nodes)
      if (auto r = copy(n, done); !r) return pass(r);
    for (const ir::Port& port : from_.outputs) builder_.output(port.name, values_[port.value.index]);
    auto graph = builder_.finish();
    if (!graph) return pass(graph);
    to = std::move(*graph);
    return done;
  }

 private:
  [[nodiscard]] Result<void> copy(const ir::Node& n, bool& done) noexcept {
    const OpRow* row = ops_.row(n.opcode);
    std::array<ir::ValueId, kMaxOperands> in;
    std::array<ir::WeightId, kMaxOperands> w;
    std::array<ir::ValueId, kMaxOperands> out;
    const auto inputs = from_.node_inputs(n);
    const auto weights = from_.node_weights(n);
    const auto outputs = from_.node_outputs(n);
    for (std::size_t i = 0; i < inputs.size(); ++i) in[i] = inputs[i] == ir::kNone ? ir::ValueId{} : values_[inputs[i]];
    for (std::size_t i = 0; i < weights.size(); ++i) w[i] = {weights[i]};
    const Span<const ir::ValueId> ins(in.data(), inputs.size());
    const Span<const ir::WeightId> ws(w.data(), weights.size());
    const Span<ir::ValueId> outs(out.data(), outputs.size());
    std::array<ir::RegionId, kMaxRegions> region_ids;
    const auto regions = from_.node_regions(n);
    for (std::size_t i = 0; i < regions.size(); ++i) {
      auto region = lower(from_.regions[regions[i]], ops_, claims_, diagnostics_);
      if (!region) return pass(region);
      region_ids[i] = builder_.region(std::move(*region));
    }
    const Span<const ir::RegionId> rs(region_ids.data(), regions.size());
    builder_.origin(n.origin);
    if (claims_.contains(n.opcode)) {
      builder_.append(n.opcode, ins, ws, n.state, from_.node_params(n), outs, rs);
      const auto marks = from_.node_in_place(n);
      for (std::size_t i = 0; i < marks.size(); ++i)
        if (marks[i] != 0) builder_.in_place(static_cast<std::uint32_t>(i), marks[i] - 1);
    } else {
      const ir::ExpandFn expand = (*ops_.expansions)[number(n.opcode)];
      if (expand == nullptr)
        return std::unexpected<Error>(
            at_insn(Error::of(Errc::unsupported_opcode, "the backend neither claims ", row->name, " (opcode ",
                              unsigned{number(n.opcode)}, ") nor can it be expanded"),
                    static_cast<std::size_t>(&n - from_.nodes.begin()), n.opcode));
      const std::size_t before = builder_.graph().nodes.size();
      expand(builder_, {ins, ws, n.state, from_.node_params(n), rs}, outs);
      if (builder_.failed()) return pass(builder_.finish());
      const std::size_t count = builder_.graph().nodes.size() - before;
      if (auto r = diagnostics_.push_back({Severity::info, DiagnosticKind::expanded, n.opcode,
                                           static_cast<std::uint32_t>(before), static_cast<std::uint32_t>(count),
                                           kNoRegister});
          !r)
        return r;
      done = false;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) values_[outputs[i]] = out[i];
    return {};
  }

  const ir::Graph& from_;
  const ir::Ops& ops_;
  const OpSet& claims_;
  Vector<PlanDiagnostic>& diagnostics_;
  ir::Builder builder_;
  Vector<ir::ValueId> values_;
};

}  // namespace detail

inline Result<ir::Graph> lower(const ir::Graph& graph, const ir::Ops& ops, const OpSet& claims,
                               Vector<PlanDiagnostic>& diagnostics) noexcept {
  ir::Graph lowered(graph.allocator);
  const ir::Graph* from = &graph;
  // The catalog bounds the ladder's depth, so this ends.
  for (bool done = false; !done;) {
    ir::Graph next(graph.allocator);
    auto step = detail::Expander(*from, ops, claims, diagnostics).run(next);
    if (!step) return pass(step);
    done = *step;
    lowered = std::move(next);
    from = &lowered;
  }
  return lowered;
}

namespace detail {

/// Writes a lowered graph as a plan, which takes its constants: values become registers, nodes become instructions.
[[nodiscard]] inline Result<void> emit_plan(ir::Graph& g, const ir::Ops& ops, const CompileOptions& options,
                                            ExecutionPlan& plan, Vector<PlanDiagnostic>& diagnostics) noexcept {
  auto needed = ir::needed_nodes(g);
  if (!needed) return pass(needed);
  auto order = node_order(g, *ops.table, needed->span(), options.ordering);
  if (!order) return pass(order);
  Vector<RegisterRef> reg(g.allocator);
  if (auto r = reg.resize(g.values.size()); !r) return r;
  for (RegisterRef& r : reg) r = kNoRegister;
  auto assign = [&](std::uint32_t value) -> Result<void> {
    if (plan.registers.size() >= kMaxRegisters)
      return fail(Errc::limit_exceeded, "the plan needs more than ", kMaxRegisters, " registers");
    reg[value] = static_cast<RegisterRef>(plan.registers.size());
    return plan.registers.push_back(g.values[value].type);
  };
  for (const ir::Symbol& s : g.symbols)
    if (auto r = plan.symbols.push_back({s.name, s.bound}); !r) return r;
  for (const ir::Weight& w : g.weights)
    if (auto r = plan.weights.push_back({w.name, w.dtype, w.shape, w.data_offset, w.data_bytes}); !r) return r;
  plan.constants = std::move(g.constants);
  if (g.states.size() >= InstructionRecord::kNoState)
    return fail(Errc::limit_exceeded, "a plan has at most 255 states, found ", g.states.size());
  for (std::size_t i = 0; i < g.states.size(); ++i) {
    const auto bytes = unit_bytes(g.states[i]).get("a state");
    if (!bytes) return pass(bytes);
    if (auto r = plan.states.push_back({static_cast<std::uint8_t>(i), *bytes, 64,
                                        action(g.states[i].lifecycle, StateEvent::reset) == StateAction::zero_block,
                                        g.states[i].lifecycle, g.states[i]});
        !r)
      return r;
  }
  for (const ir::Port& port : g.inputs) {
    if (auto r = assign(port.value.index); !r) return r;
    if (auto r = plan.inputs.push_back({port.name, reg[port.value.index]}); !r) return r;
  }
  for (std::uint32_t node : *order) {
    const ir::Node& n = g.nodes[node];
    InstructionRecord record;
    record.opcode = n.opcode;
    record.inputs = n.inputs;
    record.outputs = n.outputs;
    record.weights = n.weights;
    record.first_register = static_cast<std::uint32_t>(plan.register_refs.size());
    record.first_weight = static_cast<std::uint32_t>(plan.weight_refs.size());
    record.first_region = static_cast<std::uint32_t>(plan.regions.size());
    record.regions = n.regions;
    for (std::uint32_t id : g.node_regions(n)) {
      ExecutionPlan region(g.allocator);
      Vector<PlanDiagnostic> remarks(g.allocator);
      if (auto r = emit_plan(g.regions[id], ops, options, region, remarks); !r) return r;
      if (auto r = plan.regions.push_back(std::move(region)); !r) return r;
    }
    if (n.state.present()) record.state_block_id = static_cast<std::uint8_t>(n.state.index);
    for (std::uint32_t v : g.node_inputs(n))
      if (auto r = plan.register_refs.push_back(v == ir::kNone ? kNoRegister : reg[v]); !r) return r;
    for (std::uint32_t v : g.node_outputs(n)) {
      if (auto r = assign(v); !r) return r;
      if (auto r = plan.register_refs.push_back(reg[v]); !r) return r;
    }
    for (std::uint32_t w : g.node_weights(n))
      if (auto r = plan.weight_refs.push_back(static_cast<WeightRef>(w)); !r) return r;
    if (plan.params.size() >= InstructionRecord::kNoParams)
      return fail(Errc::limit_exceeded, "a plan has at most 65535 parameter blocks");
    record.param_block_id = static_cast<std::uint16_t>(plan.params.size());
    const auto offset = static_cast<std::uint32_t>(plan.param_bytes.size());
    if (auto r = plan.params.push_back({offset, n.params_bytes, n.opcode, n.params_version}); !r) return r;
    if (auto r = plan.param_bytes.append(g.node_params(n).data); !r) return r;
    OperandStorage storage;
    const OperandInfo operands = g.operand_info(n, storage);
    if (ops.row(n.opcode)->assign_act(operands.weights, options.act,
                                      {plan.param_bytes.data() + offset, n.params_bytes}))
      if (auto r = diagnostics.push_back({Severity::info, DiagnosticKind::rounding, n.opcode,
                                          static_cast<std::uint32_t>(plan.instructions.size()), 0, kNoRegister});
          !r)
        return r;
    if (auto r = plan.param_bytes.resize(align_up(plan.param_bytes.size(), 8)); !r) return r;
    if (auto r = plan.instructions.push_back(record); !r) return r;
    if (auto r = plan.origins.push_back(n.origin); !r) return r;
  }
  for (const ir::Port& port : g.outputs)
    if (auto r = plan.outputs.push_back({port.name, reg[port.value.index]}); !r) return r;
  return {};
}

}  // namespace detail

/// Fills in liveness, peak and the never_read remarks of a plan whose references are in range.
[[nodiscard]] inline Result<void> analyse(CompiledPlan& compiled) noexcept {
  auto map = liveness(compiled.plan);
  if (!map) return pass(map);
  compiled.liveness = std::move(*map);
  compiled.peak_registers = peak_registers(compiled.plan, compiled.liveness);
  for (std::size_t i = 0; i < compiled.plan.instructions.size(); ++i) {
    const Instruction insn = compiled.plan.instruction(i);
    for (RegisterRef r : insn.outputs)
      if (compiled.liveness.register_last_read[index(r)] == LivenessMap::kNeverRead)
        if (auto done = compiled.diagnostics.push_back(
                {Severity::warning, DiagnosticKind::never_read, insn.opcode, static_cast<std::uint32_t>(i), 0, r});
            !done)
          return done;
  }
  return {};
}

/// Compiles a graph for a backend that claims `claims`.
///
/// It verifies the graph; expands ops until every one is claimed, each expansion an `info` diagnostic; drops nodes that
/// nobody reads; orders the rest by `options.ordering`; sets activation rounding by `options.act` and the weights'
/// types; computes liveness; validates the plan. `options.validation` says which findings are errors.
/// Errors: those of ir::verify, Errc::unsupported_opcode, Errc::limit_exceeded.
[[nodiscard]] inline Result<CompiledPlan> compile(const ir::Graph& graph, const ir::Ops& ops, const OpSet& claims,
                                                  const CompileOptions& options = {}) noexcept {
  if (auto r = ir::verify(graph, *ops.table, options.validation); !r) return pass(r);
  CompiledPlan compiled(graph.allocator);
  compiled.validation = options.validation;
  auto lowered = lower(graph, ops, claims, compiled.diagnostics);
  if (!lowered) return pass(lowered, Phase::plan);
  if (auto r = detail::emit_plan(*lowered, ops, options, compiled.plan, compiled.diagnostics); !r)
    return pass(r, Phase::plan);
  if (auto r = analyse(compiled); !r) return pass(r);
  if (auto r = validate(compiled.plan, *ops.table, options.validation); !r) return pass(r);
  return compiled;
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
