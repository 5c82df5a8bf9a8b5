// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/region_way.hpp: a region emitted once more, and the way back through it.
#pragma once

#include <zrt/ir/gradient/call.hpp>
#include <zrt/ir/ptir/values.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

/// The instructions of a region in the region under construction, and what comes back through them. Each op's rule
/// works as it does on a step.
class RegionWay {
 public:
  /// For a region of the call's step or instruction.
  [[nodiscard]] static Result<RegionWay> of(const GradientCall& call, const ptir::Region& region) noexcept {
    auto table = ptir::ValueTable::of(call.store(), region);
    if (!table) return pass(table);
    return RegionWay(call, region, std::move(*table));
  }

  /// Emits the instructions on `parameters`, of the region's types. Gradients come back to those that are floats.
  [[nodiscard]] Result<void> forward(ptir::Tensors parameters) noexcept {
    for (const Tensor& p : parameters)
      if (auto r = define({&p, 1}, true); !r) return r;
    Vector<Tensor> in(allocator()), out(allocator());
    for (const ptir::Instruction& i : region_->instructions) {
      in.clear();
      out.clear();
      bool active = false;
      for (const ptir::Operand& operand : store().operands_of(i)) {
        active = active || is_active(operand);
        if (auto r = in.push_back(tensor(operand)); !r) return r;
      }
      const std::string_view op = ptir::find_op(i.opcode)->name;
      const bool declares = op == "custom_call";
      const ptir::Results made = builder().apply(op, in.span(), store().attributes_of(i),
                                                 declares ? store().types_of(i.output) : Span<const ptir::TensorType>(),
                                                 declares && i.output.tuple);
      if (builder().failed()) return std::unexpected<Error>(builder().error());
      for (std::size_t e = 0; e < made.size(); ++e)
        if (auto r = out.push_back(made[e]); !r) return r;
      if (auto r = define(out.span(), active && call_->find()(op)->passage != Passage::stops); !r) return r;
    }
    return {};
  }

  [[nodiscard]] std::size_t results() const noexcept { return region_->results.size(); }
  [[nodiscard]] Tensor result(std::size_t i) noexcept { return tensor(region_->results[i].operand); }
  /// Adds to what comes back for a result; nothing for a literal.
  void come_back(std::size_t result, const Tensor& cotangent) noexcept {
    add(region_->results[result].operand, cotangent);
  }
  /// Goes back through all instructions.
  ///
  /// Errors: Errc::unimplemented for an op that has no rule, and those of the rules.
  [[nodiscard]] Result<void> back() noexcept {
    for (std::size_t n = region_->instructions.size(); n-- > 0;)
      if (auto r = back(n); !r) return r;
    return {};
  }
  /// What came back for a parameter, or zeros.
  [[nodiscard]] Tensor gradient(std::size_t parameter) noexcept {
    const Value& value = values_[parameter];
    return value.cotangent ? *value.cotangent : Expressions::zeros(builder(), value.tensor.type());
  }

 private:
  struct Value {
    Tensor tensor;
    std::uint8_t active;
    std::optional<Tensor> cotangent{};
  };

  RegionWay(const GradientCall& call, const ptir::Region& region, ptir::ValueTable table) noexcept
      : call_(&call),
        region_(&region),
        table_(std::move(table)),
        values_(call.builder().allocator()),
        first_(call.builder().allocator()) {}

  [[nodiscard]] ptir::Builder& builder() const noexcept { return call_->builder(); }
  [[nodiscard]] const Allocator& allocator() const noexcept { return builder().allocator(); }
  [[nodiscard]] const ptir::Program& store() const noexcept { return call_->store(); }

  [[nodiscard]] Result<void> define(ptir::Tensors made, bool active) noexcept {
    if (auto r = first_.push_back(values_.size()); !r) return r;
    for (const Tensor& x : made)
      if (auto r = values_.push_back({x, std::uint8_t{active && is_float(x.dtype())}}); !r) return r;
    return {};
  }
  /// A value of the region, which was defined before; programs are verified.
  [[nodiscard]] Value& value(const ptir::Operand& operand) noexcept {
    return values_[first_[*table_.position(operand.id)] + operand.element];
  }
  [[nodiscard]] bool is_active(const ptir::Operand& operand) noexcept {
    return operand.kind != ptir::Operand::Kind::literal && value(operand).active != 0;
  }
  [[nodiscard]] Tensor tensor(const ptir::Operand& operand) noexcept {
    if (operand.kind != ptir::Operand::Kind::literal) return value(operand).tensor;
    const ptir::Literal& literal = *store().literal(operand.id);
    return builder().literal(literal.type, store().bytes_of(literal));
  }
  void add(const ptir::Operand& operand, const Tensor& cotangent) noexcept {
    if (!is_active(operand)) return;
    std::optional<Tensor>& to = value(operand).cotangent;
    to = to ? *to + cotangent : cotangent;
  }

  [[nodiscard]] Result<void> back(std::size_t n) noexcept {
    const ptir::Instruction& i = region_->instructions[n];
    const auto operands = store().operands_of(i);
    const std::size_t first = first_[region_->parameters.size() + n];
    const std::size_t count = store().types_of(i.output).size();
    Vector<std::optional<Tensor>> cotangents(allocator()), given(allocator());
    Vector<Tensor> in(allocator()), out(allocator());
    Vector<std::uint8_t> wanted(allocator());
    bool came = false;
    bool active = false;
    for (std::size_t e = first; e < first + count; ++e) {
      came = came || (values_[e].cotangent && !Expressions::is_empty(values_[e].tensor.shape()));
      active = active || values_[e].active != 0;
      if (auto r = cotangents.push_back(values_[e].cotangent); !r) return r;
      if (auto r = out.push_back(values_[e].tensor); !r) return r;
    }
    if (!came || !active) return {};
    const std::string_view op = ptir::find_op(i.opcode)->name;
    const GradientRule& rule = *call_->find()(op);
    if (rule.passage == Passage::unimplemented)
      return fail(Errc::unimplemented, "value %", i.id, " of its region (", op, "): it has no gradient: ", rule.why);
    // What has no elements brings nothing back, and nothing comes back to it.
    bool any = false;
    for (const ptir::Operand& operand : operands) {
      if (auto r = in.push_back(tensor(operand)); !r) return r;
      const bool wants = is_active(operand) && !Expressions::is_empty(in.back().shape());
      any = any || wants;
      if (auto r = wanted.push_back(std::uint8_t{wants}); !r) return r;
    }
    if (!any) return {};
    if (auto r = given.resize(operands.size()); !r) return r;
    GradientCall call(*call_, EmittedAgain{op, store().attributes_of(i), in.span(), out.span()}, cotangents.span(),
                      wanted.span(), given);
    rule.apply(call);
    if (builder().failed()) return std::unexpected<Error>(builder().error());
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (given[k] && wanted[k] != 0) add(operands[k], *given[k]);
    return {};
  }

  const GradientCall* call_;
  const ptir::Region* region_;
  ptir::ValueTable table_;
  Vector<Value> values_;       ///< parameters, then the results of the instructions
  Vector<std::size_t> first_;  ///< by position: where its values begin
};

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
