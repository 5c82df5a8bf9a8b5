// SPDX-License-Identifier: Apache-2.0
// zrt/trace/value_pairs.hpp: which values of two plans of one model are the same value, and by how much they may differ.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/exec/adapter_table.hpp>
#include <zrt/plan/layer_of.hpp>

#include <array>
#include <cstring>
#include <utility>

namespace zrt::inline ZRT_ABI::trace {

/// A result of an instruction, or what an instruction writes to its state, in the plans of two backends.
struct ValuePair {
  std::array<std::uint32_t, 2> instruction{};
  Opcode opcode{};  ///< in the first plan
  std::uint32_t layer = plan::kNoLayer;
  bool is_state = false;
  std::uint32_t output = 0;  ///< of the op in the first plan; for a result
  std::array<plan::RegisterRef, 2> reg{plan::kNoRegister, plan::kNoRegister};
  std::uint8_t state = 0;                    ///< in both plans; for a state
  plan::WeightRef weight = plan::kNoWeight;  ///< of the first plan: what the value is made with, or none
  double allowed = 0.0;                      ///< share of the larger magnitude by which both may differ; 0: same bits
};

struct ValuePairs {
  explicit ValuePairs(Allocator a) noexcept : pairs(a) {}

  Vector<ValuePair> pairs;  ///< in the order of the first plan
  std::size_t only_first = 0;
  std::size_t only_second = 0;
};

/// How one element agrees.
struct Agreement {
  bool differs = false;   ///< in any bit
  bool outside = false;   ///< by more than it may
  double distance = 0.0;  ///< as a share of the larger magnitude
  double first = 0.0;     ///< 0 for what is no real number of its own: complex, or packed in a block
  double second = 0.0;
};

/// Compares element `element` of two arrays of a type. Of a type in blocks it compares the block that holds it.
///
/// `allowed` is the share of the larger magnitude by which floating-point elements may differ; 0 demands the same bits.
/// Elements of other types are the same, or, where something is allowed, whatever they are.
[[nodiscard]] inline Agreement agree(DType dtype, const std::byte* first, const std::byte* second,
                                     std::uint64_t element, double allowed) noexcept {
  const DTypeInfo& row = info(dtype);
  const std::uint64_t block = element / row.block_elems;
  const std::byte* const a = first + block * row.block_bytes;
  const std::byte* const b = second + block * row.block_bytes;
  Agreement found;
  if (std::memcmp(a, b, row.block_bytes) == 0) return found;
  found.differs = true;
  found.distance = 1.0;
  if (row.block_elems == 1 && !is_complex(dtype)) {
    cast_elements(dtype, a, DType::f64, reinterpret_cast<std::byte*>(&found.first), 0, 1);
    cast_elements(dtype, b, DType::f64, reinterpret_cast<std::byte*>(&found.second), 0, 1);
    const double x = found.first < 0 ? -found.first : found.first;
    const double y = found.second < 0 ? -found.second : found.second;
    const double apart = found.first < found.second ? found.second - found.first : found.first - found.second;
    // Not for a NaN, nor for an infinity, of which every number is infinitely far.
    if (apart <= x + y && apart - apart == 0) found.distance = apart == 0 ? 0.0 : apart / (x < y ? y : x);
  }
  found.outside = allowed == 0.0 || (is_float(dtype) && !(found.distance <= allowed));
  return found;
}

namespace detail {

/// By how much a backend's values may be off the reference's, by register and state of its plan: an op's own bound and
/// what its inputs and its state may be off by.
struct Deviations {
  explicit Deviations(Allocator a) noexcept : registers(a), states(a) {}

  Vector<double> registers;
  Vector<double> states;

  [[nodiscard]] static Result<Deviations> of(const plan::ExecutionPlan& plan,
                                             const exec::CapabilityTable& capabilities) noexcept {
    Deviations out(plan.allocator);
    if (auto r = out.registers.resize(plan.registers.size()); !r) return pass(r);
    if (auto r = out.states.resize(plan.states.size()); !r) return pass(r);
    for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
      const plan::Instruction insn = plan.instruction(i);
      double inherited = 0.0;
      const auto meet = [&](double deviation) { inherited = deviation > inherited ? deviation : inherited; };
      for (const plan::RegisterRef r : insn.inputs)
        if (r != plan::kNoRegister) meet(out.registers[plan::index(r)]);
      if (insn.state_block_id) meet(out.states[*insn.state_block_id]);
      const double own = inherited + bound(plan, insn, capabilities);
      for (const plan::RegisterRef r : insn.outputs) out.registers[plan::index(r)] = own;
      if (insn.state_block_id && own > out.states[*insn.state_block_id]) out.states[*insn.state_block_id] = own;
    }
    return out;
  }

 private:
  /// Of an op and of what its regions run, each once.
  [[nodiscard]] static double bound(const plan::ExecutionPlan& plan, const plan::Instruction& insn,
                                    const exec::CapabilityTable& capabilities) noexcept {
    double sum = double{capabilities[number(insn.opcode)].bound};
    for (std::size_t k = 0; k < insn.regions; ++k) {
      const plan::ExecutionPlan& region = plan.regions[insn.first_region + k];
      for (std::size_t i = 0; i < region.instructions.size(); ++i)
        sum += bound(region, region.instruction(i), capabilities);
    }
    return sum;
  }
};

/// What tells a result in a plan from the others, on whichever backend.
struct ValueKey {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t instruction = 0;
  std::uint32_t output = 0;
  Opcode opcode{};
  std::uint32_t layer = plan::kNoLayer;
  std::string_view weight{};  ///< what it is made with: the weight that its role names, or the op's first
  plan::WeightRef weight_ref = plan::kNoWeight;
  plan::RegisterRef reg = plan::kNoRegister;
  std::uint32_t partner = kNone;  ///< in the keys of the other plan

  [[nodiscard]] static Result<Vector<ValueKey>> of(const plan::ExecutionPlan& plan, const OpTable& table) noexcept {
    Vector<ValueKey> keys(plan.allocator);
    const auto layers = plan::layers(plan);
    if (!layers) return pass(layers);
    for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
      const plan::Instruction insn = plan.instruction(i);
      const OpRow& row = *table[number(insn.opcode)];
      for (std::size_t o = 0; o < insn.outputs.size(); ++o) {
        ValueKey key{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(o), insn.opcode, (*layers)[i]};
        key.reg = insn.outputs[o];
        key.weight_ref = weight_of(insn, row, row.output(o).name);
        if (key.weight_ref != plan::kNoWeight) key.weight = plan.weights[plan::index(key.weight_ref)].name.view();
        if (auto r = keys.push_back(key); !r) return pass(r);
      }
    }
    return keys;
  }

 private:
  [[nodiscard]] static plan::WeightRef weight_of(const plan::Instruction& insn, const OpRow& row,
                                                 std::string_view output) noexcept {
    plan::WeightRef first = plan::kNoWeight;
    for (std::size_t w = 0; w < insn.weights.size(); ++w) {
      if (insn.weights[w] == plan::kNoWeight) continue;
      if (row.weights[w].name == output) return insn.weights[w];
      if (first == plan::kNoWeight) first = insn.weights[w];
    }
    return first;
  }
};

/// Finds what two plans have in common.
class PairFinder {
 public:
  PairFinder(const plan::ExecutionPlan& first, const plan::ExecutionPlan& second) noexcept
      : first_(first), second_(second), keys_(first.allocator), others_(first.allocator), out_(first.allocator) {}

  [[nodiscard]] Result<ValuePairs> run(const OpTable& table, const Deviations& off_first,
                                       const Deviations& off_second) noexcept {
    for (auto [keys, plan] : {std::pair(&keys_, &first_), std::pair(&others_, &second_)}) {
      auto found = ValueKey::of(*plan, table);
      if (!found) return pass(found);
      *keys = std::move(*found);
    }
    const auto layers = plan::layers(first_);
    if (!layers) return pass(layers);
    for (const bool same_op : {true, false}) pair_keys(same_op);
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < first_.instructions.size(); ++i) {
      for (; next < keys_.size() && keys_[next].instruction == i; ++next)
        if (auto r = add_result(keys_[next], off_first, off_second); !r) return pass(r);
      if (auto r = add_states(i, (*layers)[i], off_first, off_second); !r) return pass(r);
    }
    for (const ValueKey& other : others_) out_.only_second += other.partner == kNone ? 1u : 0u;
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kNone = ValueKey::kNone;

  void pair_keys(bool same_op) noexcept {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].partner != kNone) continue;
      for (std::size_t k = 0; k < others_.size() && keys_[i].partner == kNone; ++k) {
        if (others_[k].partner != kNone || !same_value(keys_[i], others_[k], same_op)) continue;
        keys_[i].partner = static_cast<std::uint32_t>(k);
        others_[k].partner = static_cast<std::uint32_t>(i);
      }
    }
  }
  [[nodiscard]] bool same_value(const ValueKey& key, const ValueKey& other, bool same_op) const noexcept {
    const TensorType& type = first_.registers[plan::index(key.reg)];
    const TensorType& found = second_.registers[plan::index(other.reg)];
    if (other.layer != key.layer || other.weight != key.weight || found.dtype != type.dtype ||
        !(found.shape == type.shape))
      return false;
    return same_op ? other.opcode == key.opcode && other.output == key.output : !key.weight.empty();
  }

  [[nodiscard]] Result<void> add_result(const ValueKey& key, const Deviations& off_first,
                                        const Deviations& off_second) noexcept {
    if (key.partner == kNone) {
      ++out_.only_first;
      return {};
    }
    const ValueKey& other = others_[key.partner];
    ValuePair pair{{key.instruction, other.instruction}, key.opcode, key.layer, false, key.output};
    pair.reg = {key.reg, other.reg};
    pair.weight = key.weight_ref;
    pair.allowed = off_first.registers[plan::index(key.reg)] + off_second.registers[plan::index(other.reg)];
    return out_.pairs.push_back(pair);
  }

  /// What instruction `i` of the first plan writes to its state. It is the first that names the state, because nothing
  /// reads it before. What the others write to a recurrent state counts as its, too.
  [[nodiscard]] Result<void> add_states(std::uint32_t i, std::uint32_t layer, const Deviations& off_first,
                                        const Deviations& off_second) noexcept {
    const std::uint8_t s = first_.instructions[i].state_block_id;
    if (s >= first_.states.size() || writer_of(first_, s) != i || second_.states.size() <= s ||
        !(second_.states[s] == first_.states[s]))
      return {};
    ValuePair pair{{i, writer_of(second_, s)}, first_.instructions[i].opcode, layer, true};
    pair.state = s;
    pair.allowed = off_first.states[s] + off_second.states[s];
    return out_.pairs.push_back(pair);
  }
  [[nodiscard]] static std::uint32_t writer_of(const plan::ExecutionPlan& plan, std::uint8_t state) noexcept {
    std::uint32_t i = 0;
    while (i < plan.instructions.size() && plan.instructions[i].state_block_id != state) ++i;
    return i;
  }

  const plan::ExecutionPlan& first_;
  const plan::ExecutionPlan& second_;
  Vector<ValueKey> keys_;
  Vector<ValueKey> others_;
  ValuePairs out_;
};

}  // namespace detail

/// Pairs the results and states of two plans of one model.
///
/// A result has its counterpart in that of the same op, of the same layer, made with the same weight, at the same place
/// among such. Where one plan has a fused op and the other has its parts, results made with the same weight are a pair.
/// What a plan alone has counts as unpaired.
[[nodiscard]] inline Result<ValuePairs> pair_values(const plan::ExecutionPlan& first, const plan::ExecutionPlan& second,
                                                    const OpTable& table, const exec::CapabilityTable& of_first,
                                                    const exec::CapabilityTable& of_second) noexcept {
  const auto off_first = detail::Deviations::of(first, of_first);
  if (!off_first) return pass(off_first);
  const auto off_second = detail::Deviations::of(second, of_second);
  if (!off_second) return pass(off_second);
  return detail::PairFinder(first, second).run(table, *off_first, *off_second);
}

}  // namespace zrt::inline ZRT_ABI::trace
