// SPDX-License-Identifier: Apache-2.0
// zrt/exec/bind.hpp: everything that can fail, once: the checks, the memory, and the record of a program.
#pragma once

#include <zrt/exec/adapter_table.hpp>
#include <zrt/exec/bound_plan.hpp>
#include <zrt/exec/hazards.hpp>
#include <zrt/exec/placed_plan.hpp>
#include <zrt/exec/state_store.hpp>
#include <zrt/exec/step_bounds.hpp>
#include <zrt/exec/weights.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/plan/compiled_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// The size at which a plan is bound: upper bounds of its symbols and slots in one step, and how its memory is planned,
/// regions included. A program that runs batches also states their most tokens and the length of a slot's page lists.
struct BindSizes {
  Extents bounds{};
  std::uint32_t batch_slots = 1;
  plan::Fit fit = plan::Fit::least;
  std::uint32_t batch_tokens = 0;
  std::uint32_t pages_per_slot = 0;
  bool keep_values = false;  ///< see plan::MemoryOptions
};

namespace detail {

/// The memory of a plan, before any instruction is recorded. A region's memory is workspace of its instruction, so the
/// memory planner knows nothing of control flow.
struct PlanLayout {
  explicit PlanLayout(Allocator a) noexcept : mapping(a), kernel_scratch(a), weight_of(a), regions(a) {}

  plan::PhysicalMapping mapping;
  Vector<std::uint64_t> kernel_scratch;  ///< workspace of each instruction's own kernel; its regions follow
  Vector<plan::WeightRef> weight_of;     ///< by register: the weight that it is, where it lies; else kNoWeight
  Vector<PlanLayout> regions;
};

/// What recording one plan reads and fills.
template <class B> struct RecordTask {
  const plan::ExecutionPlan& plan;
  PlanLayout& layout;
  const WeightSet<B>& weights;
  const StateStore<B>* states;  ///< null for a region
  typename B::Memory& arena;
  std::uint64_t base;  ///< byte of the arena at which the plan's memory begins
  RecordedPlan<B>& recording;
  Hazards hazards;
};

/// Binds one plan and its regions.
template <class B> class Binder {
 public:
  Binder(const OpAdapters<B>& ops, const BindSizes& sizes, bool checked, typename B::Device& device,
         bool timed) noexcept
      : ops_(ops), sizes_(sizes), checked_(checked), device_(device), timed_(timed) {}

  /// Checks every instruction and plans memory. Constants that the device reads in place take none.
  [[nodiscard]] Result<PlanLayout> layout(const plan::ExecutionPlan& plan, const plan::LivenessMap& live,
                                          const WeightSet<B>& weights) noexcept {
    PlanLayout out(plan.allocator);
    if (auto r = layout_regions(plan, weights, out); !r) return pass(r);
    Vector<std::uint64_t> workspaces(plan.allocator);
    for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
      const plan::Instruction insn = plan.instruction(i);
      if (auto r = check_claim(plan, insn); !r) return at(i, insn, r.error());
      if (auto r = size_workspace(plan, insn, out, workspaces); !r) return at(i, insn, r.error());
    }
    if (auto r = find_stored(plan, weights, out.weight_of); !r) return pass(r);
    if (auto r = place(plan, live, workspaces.span(), out); !r) return pass(r);
    return out;
  }

  /// Records a plan in `arena` from byte `base` on. `states` is null for a region.
  [[nodiscard]] Result<Owned<RecordedPlan<B>>> record(const plan::ExecutionPlan& plan, PlanLayout layout,
                                                      const WeightSet<B>& weights, const StateStore<B>* states,
                                                      typename B::Memory& arena, std::uint64_t base) noexcept {
    auto made = Owned<RecordedPlan<B>>::make(plan.allocator, typename B::Program(device_), std::move(layout.mapping),
                                             plan.allocator);
    if (!made) return pass(made);
    RecordTask<B> task{plan, layout, weights, states, arena, base, **made, Hazards(plan.allocator)};
    if (auto r = task.hazards.begin((*made)->mapping); !r) return pass(r);
    if (auto r = show_registers(task); !r) return pass(r);
    if (auto r = show_ports(task); !r) return pass(r);
    typename B::Recorder recorder((*made)->program, device_);
    if constexpr (TimesLaunches<B>)
      if (timed_) recorder.time_launches();
    if constexpr (ReservesSteps<B>)
      if (auto r = recorder.reserve(step_bounds(plan)); !r) return pass(r);
    if constexpr (SeesRegisters<B>)
      if (auto r = recorder.see(Span<const TensorHandle<B>>((*made)->registers.span())); !r) return pass(r);
    for (std::size_t i = 0; i < plan.instructions.size(); ++i)
      if (auto r = record_instruction(task, i, recorder); !r) return at(i, plan.instruction(i), r.error());
    if (auto r = recorder.finish(); !r) return pass(r);
    return std::move(*made);
  }

 private:
  // Layout.

  [[nodiscard]] Result<void> layout_regions(const plan::ExecutionPlan& plan, const WeightSet<B>& weights,
                                            PlanLayout& out) noexcept {
    for (std::size_t i = 0; i < plan.regions.size(); ++i) {
      auto live = plan::liveness(plan.regions[i]);
      if (!live) return pass(live);
      auto inner = layout(plan.regions[i], *live, weights.regions[i]);
      if (!inner) return pass(inner);
      if (auto r = out.regions.push_back(std::move(*inner)); !r) return r;
    }
    return {};
  }

  /// Adds the workspace of `insn`'s kernel and of its regions.
  [[nodiscard]] Result<void> size_workspace(const plan::ExecutionPlan& plan, const plan::Instruction& insn,
                                            PlanLayout& out, Vector<std::uint64_t>& workspaces) noexcept {
    OperandStorage storage;
    auto own = ops_.adapter(insn.opcode).scratch(plan.operand_info(insn, storage), sizes_.bounds);
    if (!own) return pass(own);
    CheckedSize bytes = *own;
    for (std::size_t k = 0; k < insn.regions; ++k)
      bytes = bytes.aligned(64) + out.regions[insn.first_region + k].mapping.arena_bytes;
    const auto total = bytes.get("an instruction's workspace");
    if (!total) return pass(total);
    if (auto r = out.kernel_scratch.push_back(*own); !r) return r;
    return workspaces.push_back(*total);
  }

  /// Finds the registers that are weights of their own type, which the device shows as tensors.
  [[nodiscard]] Result<void> find_stored(const plan::ExecutionPlan& plan, const WeightSet<B>& weights,
                                         Vector<plan::WeightRef>& weight_of) const noexcept {
    if (auto r = weight_of.resize(plan.registers.size()); !r) return r;
    for (plan::WeightRef& weight : weight_of) weight = plan::kNoWeight;
    if constexpr (ReadsWeights<B>)
      for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
        const plan::Instruction insn = plan.instruction(i);
        if (insn.opcode != ops::Constant::opcode || insn.weights[0] == plan::kNoWeight) continue;
        const TensorType& type = plan.registers[plan::index(insn.outputs[0])];
        const std::uint32_t weight = plan::index(insn.weights[0]);
        if (type.dtype == plan.weights[weight].dtype && device_.value(weights.own[weight], 0, type))
          weight_of[plan::index(insn.outputs[0])] = insn.weights[0];
      }
    return {};
  }

  /// Plans the arena, without the registers that lie outside of it, and proves the result unless validation is `none`.
  [[nodiscard]] Result<void> place(const plan::ExecutionPlan& plan, const plan::LivenessMap& live,
                                   Span<const std::uint64_t> workspaces, PlanLayout& out) const noexcept {
    Vector<std::uint8_t> outside(plan.allocator);
    for (plan::WeightRef weight : out.weight_of)
      if (auto r = outside.push_back(weight != plan::kNoWeight ? 1 : 0); !r) return r;
    auto mapping = plan::plan_memory(plan, live, *ops_.rows, sizes_.bounds, workspaces,
                                     {.fit = sizes_.fit, .outside = outside.span(), .keep_values = sizes_.keep_values});
    if (!mapping) return pass(mapping);
    if (checked_)
      if (auto r = plan::check_memory(plan, *ops_.rows, sizes_.bounds, *mapping, outside.span(), sizes_.keep_values);
          !r)
        return r;
    out.mapping = std::move(*mapping);
    return {};
  }

  [[nodiscard]] Result<void> check_claim(const plan::ExecutionPlan& plan, const plan::Instruction& insn) noexcept {
    const BindEntry<B>& entry = ops_.adapter(insn.opcode);
    const OpRow* row = ops_.row(insn.opcode);
    if (row == nullptr || entry.record == nullptr)
      return fail(Errc::unsupported_opcode, B::name, " does not claim opcode ", unsigned{number(insn.opcode)});
    if (insn.regions != 0 && !RunsRegions<B>)
      return fail(Errc::unsupported_opcode, B::name, " runs no regions, ", row->name, " has ", unsigned{insn.regions});
    if (auto r = check_batch(entry.capability, row->name); !r) return r;
    if ((row->lifecycle != StateLifecycle::none) != insn.state_block_id.has_value() ||
        (insn.state_block_id &&
         (*insn.state_block_id >= plan.states.size() || plan.states[*insn.state_block_id].lifecycle != row->lifecycle)))
      return fail(Errc::invalid_state, row->name, ": the state's lifecycle is not the op's");
    return {};
  }
  [[nodiscard]] Result<void> check_batch(const AdapterCapability& capability, std::string_view op) const noexcept {
    if (!capability.supports_batch && sizes_.batch_slots > 1)
      return fail(Errc::batch_unsupported, B::name, " runs ", op, " for one slot in a step, ", sizes_.batch_slots,
                  " were asked for");
    if (capability.max_batch_size != 0 && sizes_.batch_slots > capability.max_batch_size)
      return fail(Errc::batch_unsupported, B::name, " runs ", op, " for at most ", capability.max_batch_size,
                  " slots in a step, ", sizes_.batch_slots, " were asked for");
    return {};
  }

  // Recording.

  /// Makes a tensor and a view for each register, in the arena or in place of its weight.
  [[nodiscard]] Result<void> show_registers(RecordTask<B>& task) noexcept {
    for (std::size_t i = 0; i < task.plan.registers.size(); ++i) {
      const plan::RegisterRef reg{static_cast<std::uint16_t>(i)};
      const auto view = contiguous_view(task.plan.registers[i], sizes_.bounds);
      if (!view) return pass(view);
      if (auto r = task.recording.registers.push_back({reg, tensor_of(task, reg), *view}); !r) return r;
    }
    return {};
  }
  [[nodiscard]] typename B::Tensor tensor_of(RecordTask<B>& task, plan::RegisterRef reg) noexcept {
    const plan::PhysicalMapping& mapping = task.recording.mapping;
    const TensorType& type = task.plan.registers[plan::index(reg)];
    const std::uint64_t offset = mapping.of(reg).offset;
    const plan::RegisterRef in = mapping.outside_of(reg);
    if (in == plan::kNoRegister) return device_.tensor(task.arena, task.base + offset, type);
    if constexpr (ReadsWeights<B>)
      return *device_.value(task.weights.own[plan::index(task.layout.weight_of[plan::index(in)])], offset, type);
    else
      return {};
  }

  [[nodiscard]] static Result<void> show_ports(RecordTask<B>& task) noexcept {
    RecordedPlan<B>& recording = task.recording;
    for (const plan::PlanPort& port : task.plan.inputs)
      if (auto r = recording.params.push_back(recording.registers[plan::index(port.reg)].tensor); !r) return r;
    for (const plan::PlanPort& port : task.plan.outputs)
      if (auto r = recording.results.push_back(recording.registers[plan::index(port.reg)].tensor); !r) return r;
    return {};
  }

  /// Records the regions of instruction `i`, then the instruction itself unless it is a view.
  [[nodiscard]] Result<void> record_instruction(RecordTask<B>& task, std::size_t i,
                                                typename B::Recorder& recorder) noexcept {
    const plan::Instruction insn = task.plan.instruction(i);
    const bool idle = is_idle(task, insn);
    auto site = site_of(task, i, insn.opcode);
    if (!idle) site.wait_for = task.hazards.follow(task.plan, task.recording.mapping, i);
    std::array<RegionOf<B>, kMaxRegions> regions{};
    if (auto r = record_regions(task, i, insn, regions); !r) return r;
    if (!idle)
      if (auto r = recorder.begin(site); !r) return r;
    return record_call(task, insn, {regions.data(), insn.regions}, idle ? nullptr : &recorder);
  }

  /// True when `insn` needs no kernel: its result is a view of an input, or a weight in place.
  [[nodiscard]] bool is_idle(const RecordTask<B>& task, const plan::Instruction& insn) const noexcept {
    const plan::PhysicalMapping& mapping = task.recording.mapping;
    return plan::is_view(task.plan, insn, *ops_.row(insn.opcode), mapping) ||
           (!insn.outputs.empty() && mapping.outside_of(insn.outputs[0]) == insn.outputs[0]);
  }

  /// Returns where instruction `i` stands, with its workspace.
  [[nodiscard]] RecordSite<typename B::Scratch> site_of(const RecordTask<B>& task, std::size_t i,
                                                        Opcode opcode) noexcept {
    RecordSite<typename B::Scratch> site;
    site.instruction = static_cast<std::uint32_t>(i);
    site.opcode = opcode;
    if (task.recording.mapping.scratch_to_physical[i] != plan::PhysicalMapping::kNoScratch)
      site.scratch = device_.scratch(task.arena, workspace_of(task, i), task.layout.kernel_scratch[i]);
    return site;
  }
  /// Byte of the arena at which the workspace of instruction `i` begins; 0 where it has none.
  [[nodiscard]] static std::uint64_t workspace_of(const RecordTask<B>& task, std::size_t i) noexcept {
    const plan::PhysicalMapping& mapping = task.recording.mapping;
    const std::uint16_t s = mapping.scratch_to_physical[i];
    return s == plan::PhysicalMapping::kNoScratch ? 0 : task.base + mapping.physical_specs[s].offset;
  }

  /// Records the regions of instruction `i` in its workspace, behind its kernel's part.
  [[nodiscard]] Result<void> record_regions(RecordTask<B>& task, std::size_t i, const plan::Instruction& insn,
                                            std::array<RegionOf<B>, kMaxRegions>& regions) noexcept {
    std::uint64_t workspace = workspace_of(task, i) + task.layout.kernel_scratch[i];
    for (std::size_t k = 0; k < insn.regions; ++k) {
      const std::size_t id = insn.first_region + k;
      workspace = align_up(workspace, 64);
      const std::uint64_t bytes = task.layout.regions[id].mapping.arena_bytes;
      auto region = record(task.plan.regions[id], std::move(task.layout.regions[id]), task.weights.regions[id], nullptr,
                           task.arena, workspace);
      if (!region) return pass(region);
      workspace += bytes;
      if constexpr (RunsRegions<B>)
        regions[k] = device_.region((*region)->program, (*region)->params.span(), (*region)->results.span());
      if (auto r = task.recording.regions.push_back(std::move(*region)); !r) return r;
    }
    return {};
  }

  /// Checks the operands of an instruction and hands them to its adapter. Without a recorder it only checks them.
  [[nodiscard]] Result<void> record_call(const RecordTask<B>& task, const plan::Instruction& insn,
                                         Span<const RegionOf<B>> regions, typename B::Recorder* recorder) noexcept {
    std::array<TensorHandle<B>, kMaxOperands> inputs{};
    std::array<TensorHandle<B>, kMaxOperands> outputs{};
    std::array<typename B::Weight, kMaxOperands> bound{};
    for (std::size_t k = 0; k < insn.inputs.size(); ++k)
      if (insn.inputs[k] != plan::kNoRegister) inputs[k] = task.recording.registers[plan::index(insn.inputs[k])];
    for (std::size_t k = 0; k < insn.outputs.size(); ++k)
      outputs[k] = task.recording.registers[plan::index(insn.outputs[k])];
    for (std::size_t k = 0; k < insn.weights.size(); ++k)
      if (insn.weights[k] != plan::kNoWeight) bound[k] = task.weights.own[plan::index(insn.weights[k])];
    BoundOperands<B> operands{{inputs.data(), insn.inputs.size()},
                              {outputs.data(), insn.outputs.size()},
                              {bound.data(), insn.weights.size()},
                              insn.state_block_id ? &task.states->handle(*insn.state_block_id) : nullptr,
                              {},
                              regions};
    if (insn.param_block_id) operands.params = task.plan.param_block(*insn.param_block_id);
    if (checked_)
      if (auto r = check_operands<B>(task.plan, insn, *ops_.row(insn.opcode), operands, sizes_.bounds); !r) return r;
    if (recorder == nullptr) return {};
    return ops_.adapter(insn.opcode).record(*recorder, operands);
  }

  [[nodiscard]] StepBounds step_bounds(const plan::ExecutionPlan& plan) const noexcept {
    StepBounds step{sizes_.bounds, sizes_.batch_tokens, sizes_.batch_slots, sizes_.pages_per_slot, 0};
    for (const StateDescriptor& state : plan.states)
      if (state.lifecycle == StateLifecycle::kv_paged && state.info.group >= step.groups)
        step.groups = state.info.group + 1u;
    return step;
  }

  [[nodiscard]] static std::unexpected<Error> at(std::size_t i, const plan::Instruction& insn, Error error) noexcept {
    return std::unexpected<Error>(error.at_instruction(static_cast<std::uint32_t>(i), number(insn.opcode)));
  }

  const OpAdapters<B>& ops_;
  const BindSizes& sizes_;
  bool checked_;
  typename B::Device& device_;
  bool timed_;
};

/// Checks that weights and states are those of the plan, and that its ports are contiguous.
template <class B>
[[nodiscard]] Result<void> check_bindable(const plan::ExecutionPlan& plan, const WeightSet<B>& weights,
                                          const StateStore<B>& states) noexcept {
  if (weights.own.size() != plan.weights.size() || weights.regions.size() != plan.regions.size() ||
      states.descriptors().size() != plan.states.size())
    return fail(Errc::invalid_argument, "the plan has ", plan.weights.size(), " weights and ", plan.states.size(),
                " states, ", weights.own.size(), " and ", states.descriptors().size(), " were given");
  for (std::size_t i = 0; i < plan.states.size(); ++i)
    if (!(states.descriptors()[i] == plan.states[i]))
      return fail(Errc::invalid_state, "state ", i,
                  " was made for another plan: its class, type, size or group differs");
  for (const Vector<plan::PlanPort>* ports : {&plan.inputs, &plan.outputs})
    for (const plan::PlanPort& port : *ports)
      if (port.layout != Layout::contiguous)
        return fail(Errc::stage_handoff, "port ", port.name.view(), " is ", name(port.layout),
                    ", a bound plan's are contiguous");
  return {};
}

/// See bind; where `timed`, a device that can times each launch.
template <class B>
[[nodiscard]] Result<BoundPlan<B>> bind_plan(const plan::CompiledPlan& compiled, const OpAdapters<B>& ops,
                                             const WeightSet<B>& weights, const StateStore<B>& states,
                                             const BindSizes& sizes, typename B::Device& device, bool timed) noexcept {
  const plan::ExecutionPlan& plan = compiled.plan;
  auto bad = [](Error error) { return std::unexpected<Error>(error.in_phase(Phase::bind)); };
  if (auto r = check_bindable(plan, weights, states); !r) return bad(r.error());
  Binder<B> binder(ops, sizes, compiled.validation != Validation::none, device, timed);
  auto layout = binder.layout(plan, compiled.liveness, weights);
  if (!layout) return bad(layout.error());
  auto arena = device.allocate(layout->mapping.arena_bytes);
  if (!arena)
    return bad(plan::too_large(
        plan, *ops.rows, sizes.bounds, layout->mapping.scratch_bytes.span(),
        [&](std::size_t reg) {
          return layout->mapping.outside_of(static_cast<plan::RegisterRef>(reg)) == plan::kNoRegister;
        },
        arena.error()));
  auto recording = binder.record(plan, std::move(*layout), weights, &states, *arena, 0);
  if (!recording) return bad(recording.error());
  return BoundPlan<B>(std::move(*recording), std::move(*arena));
}

/// What an observer is told of a program.
template <class B>
[[nodiscard]] ObservedProgram observed_program(const plan::CompiledPlan& compiled, const typename B::Program& program,
                                               const typename B::Device& device) noexcept {
  ObservedProgram seen{&compiled, 1, compiled.plan.instructions.size(), TimesLaunches<B>};
  if constexpr (requires { program.size(); }) seen.calls = program.size();
  if constexpr (requires { device.threads().workers; })
    if (device.threads().run != nullptr) seen.workers = device.threads().workers;
  return seen;
}

}  // namespace detail

/// Does everything that can fail, once: plans memory at `sizes` and records every instruction. A result that is a view
/// of an input needs no adapter and is only checked.
///
/// Unless the plan's validation is `none`, it first proves the planned memory, and checks what each adapter receives.
///
/// Errors: Errc::unsupported_opcode (not claimed), invalid_param_block_abi, batch_unsupported (an
/// adapter's max_batch_size is below sizes.batch_slots), invalid_state (states of another plan), stage_handoff (a port
/// that is not contiguous), out_of_memory, those of plan::check_memory and check_operands, and the adapters' own, with
/// the instruction's index and op.
template <class B>
[[nodiscard]] Result<BoundPlan<B>> bind(const plan::CompiledPlan& compiled, const OpAdapters<B>& ops,
                                        const WeightSet<B>& weights, const StateStore<B>& states,
                                        const BindSizes& sizes, typename B::Device& device) noexcept {
  return detail::bind_plan<B>(compiled, ops, weights, states, sizes, device, false);
}

/// The same with an observer. The observer hears of the program and may allocate. A device that can time launches times
/// those of this program only.
///
/// Errors: also those of the observer's `bind`.
template <class B, Observer O>
[[nodiscard]] Result<BoundPlan<B, O>> bind(const plan::CompiledPlan& compiled, const OpAdapters<B>& ops,
                                           const WeightSet<B>& weights, const StateStore<B>& states,
                                           const BindSizes& sizes, typename B::Device& device, O observer) noexcept {
  static_assert(Observes<B, O>,
                "zrt: this backend's programs take no observer; add one to Program::launch as its last parameter");
  constexpr bool kTimed = TimesLaunches<B> && WatchesDevice<O>;
  auto plain = detail::bind_plan<B>(compiled, ops, weights, states, sizes, device, kTimed);
  if (!plain) return pass(plain);
  if (auto r = observer.bind(detail::observed_program<B>(compiled, plain->program(), device)); !r)
    return pass(r, Phase::bind);
  return BoundPlan<B, O>(std::move(*plain), observer);
}

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
