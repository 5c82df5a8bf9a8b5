// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/from_ptir.hpp: a fused program from the process graph that a PTIR program is.
#pragma once

#include <zrt/ir/fused/schedule.hpp>
#include <zrt/ir/ptir/verify.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

namespace detail {

/// Turns the main region's instructions into steps that are not yet in order. Value i of the region is value
/// `shift` + i of the fused program.
class FromPtir {
 public:
  FromPtir(const ptir::Program& program, FusedProgram& to, ValueId shift = 0) noexcept
      : from_(program), to_(to), shift_(shift), next_(shift) {
    const ptir::Region& main = from_.regions[0];
    for (const ptir::Parameter& p : main.parameters) next_ = std::max(next_, shift + p.id + 1);
    for (const ptir::Instruction& i : main.instructions) next_ = std::max(next_, shift + i.id + 1);
  }

  /// Feeds, steps and outputs of the whole program.
  [[nodiscard]] Result<void> run(Span<const Name> names) noexcept {
    const ptir::Region& main = from_.regions[0];
    for (const ptir::Parameter& p : main.parameters) {
      if (auto r = to_.feeds.push_back(p.id); !r) return r;
      if (auto r = to_.meta.push_back({p.id, p.type, {}}); !r) return r;
    }
    if (auto r = steps(); !r) return r;
    for (std::size_t n = 0; n < main.results.size(); ++n) {
      const auto id = value(main.results[n].operand);
      if (!id) return pass(id);
      const Name name = n < names.size() ? names[n] : Name::of("out", static_cast<unsigned>(n));
      if (auto r = to_.outputs.push_back({name, *id}); !r) return r;
    }
    std::sort(to_.feeds.begin(), to_.feeds.end());
    std::sort(to_.meta.begin(), to_.meta.end(), [](const Meta& a, const Meta& b) { return a.id < b.id; });
    return {};
  }

  /// The steps alone.
  [[nodiscard]] Result<void> steps() noexcept {
    for (const ptir::Instruction& i : from_.regions[0].instructions)
      if (auto r = step(i); !r) return r;
    return {};
  }
  /// From here on, value `id` of the region is `stands_for` of the fused program.
  [[nodiscard]] Result<void> replace(ValueId id, ValueId stands_for) noexcept {
    return replaced_.push_back({id, 0, stands_for});
  }
  [[nodiscard]] ValueId id_of(ValueId id) const noexcept {
    for (const Element& e : replaced_)
      if (e.tuple == id) return e.id;
    return shift_ + id;
  }

 private:
  struct Element {
    ValueId tuple;
    std::uint32_t element;
    ValueId id;
  };
  struct Constant {
    std::uint32_t literal;
    ValueId id;
  };

  /// The id of an operand; a literal becomes a step of its own, once.
  [[nodiscard]] Result<ValueId> value(const ptir::Operand& operand) noexcept {
    if (operand.kind == ptir::Operand::Kind::value) return id_of(operand.id);
    if (operand.kind == ptir::Operand::Kind::tuple_element) {
      for (const Element& e : elements_)
        if (e.tuple == operand.id && e.element == operand.element) return e.id;
      return fail(Errc::dangling_value, "value %", operand.id, " has no element ", operand.element);
    }
    for (const Constant& c : constants_)
      if (c.literal == operand.id) return c.id;
    const ValueId id = next_++;
    const Attribute attribute = Attribute::literal(operand.id);
    const auto attributes = to_.store.add(to_.store.attributes, Span(&attribute, 1));
    if (!attributes) return pass(attributes);
    if (auto r = constants_.push_back({operand.id, id}); !r) return pass(r);
    if (auto r = add("constant", {}, *attributes, Span(&id, 1), {&from_.literals[operand.id].type, 1}); !r)
      return pass(r);
    return id;
  }
  [[nodiscard]] Result<void> add(std::string_view op, Span<const ValueId> inputs, PoolRange attributes,
                                 Span<const ValueId> results, Span<const ptir::TensorType> types) noexcept {
    const auto in = to_.add_ids(inputs), out = to_.add_ids(results);
    if (!in) return pass(in);
    if (!out) return pass(out);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (auto r = to_.meta.push_back({results[i], types[i], {}}); !r) return r;
    // The node's id is its result's, so that equal graphs have equal orders.
    return to_.steps.push_back({results[0], op, *in, attributes, *out, false});
  }
  [[nodiscard]] Result<void> step(const ptir::Instruction& i) noexcept {
    inputs_.clear();
    results_.clear();
    for (const ptir::Operand& operand : from_.operands_of(i)) {
      const auto id = value(operand);
      if (!id) return pass(id);
      if (auto r = inputs_.push_back(*id); !r) return r;
    }
    const auto types = from_.types_of(i.output);
    if (types.empty()) return fail(Errc::unimplemented, "value %", i.id, ": a step without a result");
    for (std::uint32_t e = 0; e < types.size(); ++e) {
      const ValueId id = i.output.tuple ? next_++ : id_of(i.id);
      if (auto r = results_.push_back(id); !r) return r;
      if (i.output.tuple)
        if (auto r = elements_.push_back({i.id, e, id}); !r) return r;
    }
    return add(ptir::find_op(i.opcode)->name, inputs_.span(), i.attributes, results_.span(), types);
  }

  const ptir::Program& from_;
  FusedProgram& to_;
  ValueId shift_;
  ValueId next_;
  Vector<Element> elements_{to_.store.allocator}, replaced_{to_.store.allocator};
  Vector<Constant> constants_{to_.store.allocator};
  Vector<ValueId> inputs_{to_.store.allocator}, results_{to_.store.allocator};
};

}  // namespace detail

/// Builds a fused program: parameters become feeds, instructions and literals steps in level order, results
/// outputs under `names` (left out: out0, out1 and so on). Values keep their ids; elements of tuples and
/// literals get ids above all others.
///
/// Errors: those of ptir::verify; Errc::unimplemented for an instruction that gives nothing.
[[nodiscard]] inline Result<FusedProgram> from_ptir(const ptir::Program& program,
                                                    Span<const Name> names = {}) noexcept {
  if (auto r = ptir::verify(program); !r) return pass(r);
  auto store = program.clone();
  if (!store) return pass(store);
  FusedProgram made(program.allocator);
  made.store = std::move(*store);
  made.store.regions[0] = ptir::Region(program.allocator);
  if (auto r = detail::FromPtir(program, made).run(names); !r) return pass(r);
  if (auto r = schedule(made); !r) return pass(r);
  if (auto r = verify(made); !r) return pass(r);
  return made;
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
