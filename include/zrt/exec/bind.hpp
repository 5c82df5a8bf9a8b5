// SPDX-License-Identifier: Apache-2.0
// zrt/exec/bind.hpp: everything that can fail, once: weights, memory, and the record of a program.
#pragma once

#include <zrt/exec/adapter_table.hpp>
#include <zrt/exec/state_store.hpp>
#include <zrt/plan/memory.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// Finds a weight of the model by name; `data` stays valid while programs use it.
struct WeightSource {
  const void* context = nullptr;
  Result<WeightView> (*find)(const void* context, std::string_view name) noexcept = nullptr;
};

/// The weights of a plan on a device, in the plan's order; shared by all programs of the plan.
template <class B> using WeightSet = Vector<typename B::Weight>;

/// Checks and hands every weight of the plan to the device.
///
/// Errors: Errc::missing_weight, shape_mismatch or dtype_mismatch naming the tensor; the device's own.
template <class B>
[[nodiscard]] Result<WeightSet<B>> bind_weights(const plan::ExecutionPlan& plan, const WeightSource& source,
                                                typename B::Device& device) noexcept {
  WeightSet<B> weights(plan.allocator);
  for (const plan::PlanWeight& w : plan.weights) {
    WeightView view{w.name.view(), w.dtype, w.shape, {}};
    if (w.inline_data()) {
      view.data = plan.constants.span().subspan(w.data_offset, w.data_bytes);
    } else {
      if (source.find == nullptr) return fail(Errc::missing_weight, "no weight source for ", w.name.view());
      auto found = source.find(source.context, w.name.view());
      if (!found) return pass(found);
      if (found->dtype != w.dtype)
        return fail(Errc::dtype_mismatch, "weight ", w.name.view(), " is ", name(found->dtype),
                    ", the plan was compiled for ", name(w.dtype));
      if (!(found->shape == w.shape)) {
        Error error = Error::of(Errc::shape_mismatch, "weight ", w.name.view(), " has shape ");
        append_shape(error, found->shape).append(", the plan was compiled for ");
        return std::unexpected<Error>(append_shape(error, w.shape));
      }
      view.data = found->data;
    }
    auto bound = device.weight(view);
    if (!bound) return pass(bound);
    if (auto r = weights.push_back(*bound); !r) return pass(r);
  }
  return weights;
}

/// How large a plan is bound: symbols at their upper bounds, slots in one step.
struct BindSizes {
  Extents bounds{};
  std::uint32_t batch_slots = 1;
};

/// A plan recorded on a device, with the memory that it runs in.
template <class B> class BoundPlan {
 public:
  BoundPlan(typename B::Program program, plan::PhysicalMapping mapping, typename B::Memory arena,
            Vector<TensorHandle<B>> registers) noexcept
      : program_(std::move(program)),
        mapping_(std::move(mapping)),
        arena_(std::move(arena)),
        registers_(std::move(registers)) {}

  [[nodiscard]] typename B::Program& program() noexcept { return program_; }
  [[nodiscard]] const typename B::Program& program() const noexcept { return program_; }
  [[nodiscard]] const plan::PhysicalMapping& mapping() const noexcept { return mapping_; }
  [[nodiscard]] const TensorHandle<B>& handle(plan::RegisterRef r) const noexcept { return registers_[plan::index(r)]; }
  [[nodiscard]] const typename B::Tensor& tensor(plan::RegisterRef r) const noexcept { return handle(r).tensor; }

 private:
  typename B::Program program_;
  plan::PhysicalMapping mapping_;
  typename B::Memory arena_;
  Vector<TensorHandle<B>> registers_;
};

namespace detail {

/// What one instruction reads and writes, as ranges of the arena and a state.
struct Footprint {
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool write = false;
  };
  std::array<Range, 2 * plan::kMaxOperands + 1> ranges{};
  std::size_t count = 0;
  std::uint8_t state = plan::InstructionRecord::kNoState;

  void add(const plan::PhysicalSpec& spec, std::uint64_t bytes, bool write) noexcept {
    ranges[count++] = {spec.offset, spec.offset + bytes, write};
  }
  [[nodiscard]] bool conflicts(const Footprint& other) const noexcept {
    if (state != plan::InstructionRecord::kNoState && state == other.state) return true;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < other.count; ++k)
        if ((ranges[i].write || other.ranges[k].write) && ranges[i].begin < other.ranges[k].end &&
            other.ranges[k].begin < ranges[i].end)
          return true;
    return false;
  }
};

[[nodiscard]] inline Footprint footprint(const plan::ExecutionPlan& plan, const plan::PhysicalMapping& mapping,
                                         std::size_t i) noexcept {
  const plan::Instruction insn = plan.instruction(i);
  Footprint f;
  // Whole buffers, not registers: a smaller register never hides that its buffer is shared.
  for (plan::RegisterRef r : insn.inputs)
    if (r != plan::kNoRegister) f.add(mapping.of(r), mapping.of(r).size, false);
  for (plan::RegisterRef r : insn.outputs) f.add(mapping.of(r), mapping.of(r).size, true);
  if (const std::uint16_t s = mapping.scratch_to_physical[i]; s != plan::PhysicalMapping::kNoScratch)
    f.add(mapping.physical_specs[s], mapping.physical_specs[s].size, true);
  if (insn.state_block_id) f.state = *insn.state_block_id;
  return f;
}

}  // namespace detail

/// Plans memory at `sizes`, then records every instruction. Unless the plan's validation level is
/// `none`, the planned memory is proven first, and what each adapter is handed is checked.
///
/// Errors: Errc::unsupported_opcode (not claimed), invalid_param_block_abi, batch_unsupported (an
/// adapter's max_batch_size is below sizes.batch_slots), invalid_state (states of another plan),
/// out_of_memory, those of plan::check_memory and check_operands, and the adapters' own, with the
/// instruction's index and op.
template <class B>
[[nodiscard]] Result<BoundPlan<B>> bind(const plan::CompiledPlan& compiled, const OpTable& ops,
                                        const WeightSet<B>& weights, StateStore<B>& states, const BindSizes& sizes,
                                        typename B::Device& device) noexcept {
  const plan::ExecutionPlan& plan = compiled.plan;
  const AdapterTable<B>& table = kAdapterTable<B>;
  if (weights.size() != plan.weights.size() || states.descriptors().size() != plan.states.size())
    return fail(Errc::invalid_argument, "the plan has ", plan.weights.size(), " weights and ", plan.states.size(),
                " states, ", weights.size(), " and ", states.descriptors().size(), " were given");
  for (std::size_t i = 0; i < plan.states.size(); ++i)
    if (!(states.descriptors()[i] == plan.states[i]))
      return fail(Errc::invalid_state, "state ", i,
                  " was made for another plan: its class, type, size or group differs");
  const bool checked = compiled.validation != plan::Validation::none;
  std::array<InputInfo, plan::kMaxOperands> in;
  std::array<WeightInfo, plan::kMaxOperands> w;
  Vector<std::uint64_t> scratch(plan.allocator);
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const plan::Instruction insn = plan.instruction(i);
    const BindEntry<B>& entry = table[number(insn.opcode)];
    auto at = [&](Error error) {
      return std::unexpected<Error>(error.at_instruction(static_cast<std::uint32_t>(i), number(insn.opcode)));
    };
    const OpRow* row = ops[number(insn.opcode)];
    if (row == nullptr || entry.record == nullptr)
      return at(Error::of(Errc::unsupported_opcode, B::name, " does not claim opcode ", unsigned{number(insn.opcode)}));
    if (entry.capability.max_batch_size != 0 && sizes.batch_slots > entry.capability.max_batch_size)
      return at(Error::of(Errc::batch_unsupported, B::name, " runs ", row->name, " for at most ",
                          entry.capability.max_batch_size, " slots in a step, ", sizes.batch_slots, " were asked for"));
    if ((row->lifecycle != StateLifecycle::none) != insn.state_block_id.has_value() ||
        (insn.state_block_id &&
         (*insn.state_block_id >= plan.states.size() || plan.states[*insn.state_block_id].lifecycle != row->lifecycle)))
      return at(Error::of(Errc::invalid_state, row->name, ": the state's lifecycle is not the op's"));
    auto bytes = entry.scratch(plan.operand_info(insn, in, w), sizes.bounds);
    if (!bytes) return at(bytes.error());
    if (auto r = scratch.push_back(*bytes); !r) return pass(r);
  }
  auto mapping = plan::plan_memory(compiled, ops, sizes.bounds, scratch.span());
  if (!mapping) return pass(mapping);
  if (checked)
    if (auto r = plan::check_memory(plan, ops, sizes.bounds, *mapping); !r) return pass(r);
  auto arena = device.allocate(mapping->arena_bytes);
  if (!arena) return pass(arena);
  Vector<TensorHandle<B>> registers(plan.allocator);
  for (std::size_t i = 0; i < plan.registers.size(); ++i) {
    const plan::RegisterRef reg{static_cast<std::uint16_t>(i)};
    const auto view = contiguous_view(plan.registers[i], sizes.bounds);
    if (!view) return pass(view);
    const typename B::Tensor tensor = device.tensor(*arena, mapping->of(reg).offset, plan.registers[i]);
    if (auto r = registers.push_back({reg, tensor, *view}); !r) return pass(r);
  }

  typename B::Program program(device);
  typename B::Recorder recorder(program, device);
  Vector<detail::Footprint> footprints(plan.allocator);
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const plan::Instruction insn = plan.instruction(i);
    auto at = [&](Error error) {
      return std::unexpected<Error>(error.at_instruction(static_cast<std::uint32_t>(i), number(insn.opcode)));
    };
    if (auto r = footprints.push_back(detail::footprint(plan, *mapping, i)); !r) return pass(r);
    RecordSite<typename B::Scratch> site;
    site.instruction = static_cast<std::uint32_t>(i);
    site.opcode = insn.opcode;
    for (std::size_t k = i; k-- > 0 && site.wait_for == site.kNoWait;)
      if (footprints[k].conflicts(footprints[i])) site.wait_for = static_cast<std::uint32_t>(k);
    if (const std::uint16_t s = mapping->scratch_to_physical[i]; s != plan::PhysicalMapping::kNoScratch)
      site.scratch = device.scratch(*arena, mapping->physical_specs[s].offset, scratch[i]);
    if (auto r = recorder.begin(site); !r) return at(r.error());
    std::array<TensorHandle<B>, plan::kMaxOperands> inputs{};
    std::array<TensorHandle<B>, plan::kMaxOperands> outputs{};
    std::array<typename B::Weight, plan::kMaxOperands> bound{};
    for (std::size_t k = 0; k < insn.inputs.size(); ++k)
      if (insn.inputs[k] != plan::kNoRegister) inputs[k] = registers[plan::index(insn.inputs[k])];
    for (std::size_t k = 0; k < insn.outputs.size(); ++k) outputs[k] = registers[plan::index(insn.outputs[k])];
    for (std::size_t k = 0; k < insn.weights.size(); ++k)
      if (insn.weights[k] != plan::kNoWeight) bound[k] = weights[plan::index(insn.weights[k])];
    BoundOperands<B> operands{{inputs.data(), insn.inputs.size()},
                              {outputs.data(), insn.outputs.size()},
                              {bound.data(), insn.weights.size()},
                              insn.state_block_id ? &states.handle(*insn.state_block_id) : nullptr,
                              {}};
    if (insn.param_block_id) operands.params = plan.param_block(*insn.param_block_id);
    if (checked)
      if (auto r = check_operands<B>(plan, insn, *ops[number(insn.opcode)], operands, sizes.bounds); !r)
        return at(r.error());
    if (auto r = table[number(insn.opcode)].record(recorder, operands); !r) return at(r.error());
  }
  if (auto r = recorder.finish(); !r) return pass(r);
  return BoundPlan<B>(std::move(program), std::move(*mapping), std::move(*arena), std::move(registers));
}

}  // namespace zrt::inline ZRT_ABI::exec
