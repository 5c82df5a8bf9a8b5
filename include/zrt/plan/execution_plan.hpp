// SPDX-License-Identifier: Apache-2.0
// zrt/plan/execution_plan.hpp: instructions over logical registers, as typed by the runtime contract.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/ops/op_table.hpp>

#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// A logical register; `kNoRegister` stands for an optional operand that is absent.
enum class RegisterRef : std::uint16_t {};
inline constexpr RegisterRef kNoRegister{0xffff};
/// Plans have at most this many registers.
inline constexpr std::uint32_t kMaxRegisters = 65535;
[[nodiscard]] constexpr std::uint16_t index(RegisterRef r) noexcept { return static_cast<std::uint16_t>(r); }

/// A weight of the plan's list; `kNoWeight` stands for an optional role that is absent.
enum class WeightRef : std::uint32_t {};
inline constexpr WeightRef kNoWeight{0xffffffffu};
[[nodiscard]] constexpr std::uint32_t index(WeightRef w) noexcept { return static_cast<std::uint32_t>(w); }

/// One instruction as a view into its plan (runtime contract, Instruction).
struct Instruction {
  Opcode opcode{};
  Span<const RegisterRef> inputs;
  Span<const RegisterRef> outputs;
  Span<const WeightRef> weights;
  std::optional<std::uint16_t> param_block_id;
  std::optional<std::uint8_t> state_block_id;
  std::uint32_t first_region = 0;
  std::uint8_t regions = 0;  ///< regions of the op, from `first_region` on
};

/// An instruction as stored: counts and offsets into the plan's pools.
struct InstructionRecord {
  Opcode opcode{};
  std::uint8_t inputs = 0;
  std::uint8_t outputs = 0;
  std::uint8_t weights = 0;
  std::uint8_t state_block_id = kNoState;
  std::uint8_t regions = 0;
  std::uint16_t param_block_id = kNoParams;
  std::uint32_t first_register = 0;
  std::uint32_t first_weight = 0;
  std::uint32_t first_region = 0;

  static constexpr std::uint8_t kNoState = 0xff;
  static constexpr std::uint16_t kNoParams = 0xffff;
};

/// Where one parameter block lies in the plan's parameter bytes.
struct ParamRecord {
  std::uint32_t offset = 0;
  std::uint16_t bytes = 0;
  Opcode opcode{};
  std::uint8_t version = 0;
};

/// A weight that the plan names, or data that it carries.
struct PlanWeight {
  Name name{};
  DType dtype = DType::f32;
  Shape shape{};
  std::uint64_t data_offset = kNoData;
  std::uint64_t data_bytes = 0;

  static constexpr std::uint64_t kNoData = ~std::uint64_t{0};
  [[nodiscard]] bool inline_data() const noexcept { return data_offset != kNoData; }
  [[nodiscard]] WeightInfo info() const noexcept { return {true, dtype, shape}; }
};

/// A named register at the border of the plan.
struct PlanPort {
  Name name{};
  RegisterRef reg = kNoRegister;
  Layout layout = Layout::contiguous;  ///< how it is handed over: contiguous, or as only one backend reads it
};

/// An extent that is data of the step, with its upper bound (0: bound per shape).
struct PlanSymbol {
  Name name{};
  std::uint32_t bound = 0;
};

/// Instructions, the types of the registers, and everything that they name. Owns its pools.
struct ExecutionPlan {
  explicit ExecutionPlan(Allocator a = system_allocator()) noexcept
      : allocator(a),
        instructions(a),
        register_refs(a),
        weight_refs(a),
        registers(a),
        states(a),
        weights(a),
        params(a),
        param_bytes(a),
        constants(a),
        inputs(a),
        outputs(a),
        symbols(a),
        regions(a),
        origins(a) {}

  Allocator allocator;
  Vector<InstructionRecord> instructions;
  Vector<RegisterRef> register_refs;
  Vector<WeightRef> weight_refs;
  Vector<TensorType> registers;
  Vector<StateDescriptor> states;
  Vector<PlanWeight> weights;
  Vector<ParamRecord> params;
  Vector<std::byte> param_bytes;
  Vector<std::byte> constants;
  Vector<PlanPort> inputs;
  Vector<PlanPort> outputs;
  Vector<PlanSymbol> symbols;     ///< entry i is symbol i + 1
  Vector<ExecutionPlan> regions;  ///< each of one instruction, in the order of the instructions
  /// For each instruction the ir::Node::origin of its node; empty in a plan from a file.
  Vector<std::uint32_t> origins;

  [[nodiscard]] std::uint16_t register_count() const noexcept { return static_cast<std::uint16_t>(registers.size()); }

  [[nodiscard]] Instruction instruction(std::size_t i) const noexcept {
    const InstructionRecord& r = instructions[i];
    const RegisterRef* regs = register_refs.data() + r.first_register;
    Instruction out{r.opcode,
                    {regs, r.inputs},
                    {regs + r.inputs, r.outputs},
                    {weight_refs.data() + r.first_weight, r.weights},
                    std::nullopt,
                    std::nullopt,
                    r.first_region,
                    r.regions};
    if (r.param_block_id != InstructionRecord::kNoParams) out.param_block_id = r.param_block_id;
    if (r.state_block_id != InstructionRecord::kNoState) out.state_block_id = r.state_block_id;
    return out;
  }
  [[nodiscard]] ParamBlock param_block(std::uint16_t id) const noexcept {
    const ParamRecord& p = params[id];
    return {p.version, p.opcode, {param_bytes.data() + p.offset, p.bytes}};
  }

  /// What the shape rule of an instruction sees, in `storage`.
  [[nodiscard]] OperandInfo operand_info(const Instruction& insn, OperandStorage& storage) const noexcept {
    for (std::size_t i = 0; i < insn.inputs.size(); ++i)
      storage.in.make(i,
                      insn.inputs[i] == kNoRegister ? InputInfo{} : InputInfo{true, registers[index(insn.inputs[i])]});
    for (std::size_t i = 0; i < insn.weights.size(); ++i)
      storage.w.make(i, insn.weights[i] == kNoWeight ? WeightInfo{} : weights[index(insn.weights[i])].info());
    std::size_t next = 0;
    auto list = [&](const ExecutionPlan& region, const Vector<PlanPort>& ports) {
      const TensorType* const first = storage.types.data() + next;
      for (const PlanPort& port : ports) storage.types.make(next++, region.registers[index(port.reg)]);
      return Span<const TensorType>(first, ports.size());
    };
    for (std::size_t i = 0; i < insn.regions; ++i) {
      const ExecutionPlan& region = regions[insn.first_region + i];
      storage.regions.make(i, {list(region, region.inputs), list(region, region.outputs)});
    }
    return {{storage.in.data(), insn.inputs.size()},
            {storage.w.data(), insn.weights.size()},
            insn.state_block_id ? states[*insn.state_block_id].info : StateInfo{},
            insn.param_block_id ? param_block(*insn.param_block_id) : ParamBlock{},
            {storage.regions.data(), insn.regions}};
  }

  /// Returns the number of the symbol of this name, or 0.
  [[nodiscard]] SymbolId symbol(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < symbols.size(); ++i)
      if (symbols[i].name.view() == name) return static_cast<SymbolId>(i + 1);
    return 0;
  }
  /// The port of this name, or null.
  [[nodiscard]] const PlanPort* find_input(std::string_view name) const noexcept { return find(inputs, name); }
  [[nodiscard]] const PlanPort* find_output(std::string_view name) const noexcept { return find(outputs, name); }
  [[nodiscard]] RegisterRef input(std::string_view name) const noexcept { return reg_of(find_input(name)); }
  [[nodiscard]] RegisterRef output(std::string_view name) const noexcept { return reg_of(find_output(name)); }

 private:
  [[nodiscard]] static const PlanPort* find(const Vector<PlanPort>& ports, std::string_view name) noexcept {
    for (const PlanPort& port : ports)
      if (port.name.view() == name) return &port;
    return nullptr;
  }
  [[nodiscard]] static RegisterRef reg_of(const PlanPort* port) noexcept {
    return port == nullptr ? kNoRegister : port->reg;
  }
};

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
