// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lower.hpp: from a program of the portable tensor IR to a graph of the catalog's ops.
#pragma once

#include <zrt/ir/ptir/lowering_custom.hpp>
#include <zrt/ir/ptir/lowering_region.hpp>
#include <zrt/ir/ptir/lowering_shape.hpp>
#include <zrt/ir/ptir/verify.hpp>
#include <zrt/ops/catalog.hpp>

#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

/// What became of the main region's instructions.
struct LowerTrace {
  explicit LowerTrace(Allocator a = system_allocator()) noexcept : first_nodes(a) {}

  /// For each instruction that was begun the number of nodes before it, and, once all of them are lowered, one entry
  /// more with the number of all.
  Vector<std::uint32_t> first_nodes;
  Error cause{};  ///< the error without the place in the main region, where there was one
};

/// How a program becomes a graph.
struct LowerOptions {
  std::uint64_t trip_limit = ops::WhileLoopParams{}.trip_limit;  ///< of every while_loop
  LowerTrace* trace = nullptr;                                   ///< where given, takes what became of instructions
};

/// A lowered program has at most this many instructions, those of a region once for each call of it.
inline constexpr std::size_t kMaxLoweredInstructions = std::size_t{1} << 16;

namespace detail {

using LowerFn = Result<void> (*)(const LowerCall& c, LoweredValues& out) noexcept;

template <class O> ZRT_COLD Result<void> lower_as(const LowerCall& c, LoweredValues& out) noexcept {
  if constexpr (LowersByItself<O>) {
    return Lowering<O>::lower(c, out);
  } else {
    const auto params = params_of<O>(c);
    if (!params) return pass(params);
    // Operands that are left out stand last.
    std::array<ir::ValueId, kInputs<O>> in{};
    for (std::size_t i = 0; i < c.in().size(); ++i) in[i] = c.in()[i];
    append_node<O>(c.builder(), in, {}, {}, *params, out);
    return {};
  }
}

template <class... O> consteval auto lower_fns(boost::mp11::mp_list<O...>) {
  return std::array<LowerFn, sizeof...(O)>{&lower_as<O>...};
}

/// Lowerings in the order of kOps.
inline constexpr auto kLowerings = lower_fns(Operations{});

/// Lowers one program for one set of input shapes.
class ProgramLowerer {
 public:
  ProgramLowerer(const Program& program, const OpTable& table, const LowerOptions& options,
                 SymbolExtents extents) noexcept
      : program_(program), table_(table), options_(options), extents_(std::move(extents)) {}

  /// A graph of region `index` with parameters of these types.
  [[nodiscard]] Result<ir::Graph> run(ptir::RegionId index, Span<const zrt::TensorType> arguments) noexcept {
    const Region& region = program_.regions[index];
    const std::size_t known = extents_.known();
    ir::Builder builder(table_, program_.allocator);
    // Most constants are the main region's: at once, so that none is moved.
    const CheckedSize constants =
        CheckedSize(program_.literal_bytes.size()) + CheckedSize(64) * program_.literals.size();
    if (index == 0 && constants.ok())
      if (auto r = builder.graph().constants.reserve(static_cast<std::size_t>(constants.raw())); !r) return pass(r);
    auto values = ValueTable::of(program_, region);
    if (!values) return pass(values);
    Scope scope{index,
                region,
                *values,
                builder,
                Vector<Slot>(program_.allocator),
                Vector<ir::ValueId>(program_.allocator),
                Vector<LiteralSlot>(program_.allocator)};
    if (auto r = find_literals(scope); !r) return pass(r);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Parameter& p = region.parameters[i];
      const ir::ValueId value = builder.input(port_name(p.name, p.id), arguments[i]);
      if (auto r = define(scope, p.id, {&p.type, 1}, {&value, 1}); !r) return at(r.error(), index, nullptr, 0);
    }
    for (std::size_t n = 0; n < region.instructions.size(); ++n) {
      const Instruction& i = region.instructions[n];
      if (auto r = trace(scope); !r) return pass(r);
      if (auto r = lower_instruction(scope, i); !r) return at(r.error(), index, &i, n);
    }
    if (auto r = trace(scope); !r) return pass(r);
    for (std::size_t i = 0; i < region.results.size(); ++i) {
      const Operand& operand = region.results[i].operand;
      const auto value = value_of(scope, operand);
      if (!value) return at(value.error(), index, nullptr, 0);
      builder.output(result_name(scope, operand, i), *value);
    }
    extents_.forget(known);
    return builder.finish();
  }

 private:
  /// Where the values of one definition stand in Scope::values.
  struct Slot {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  /// A literal that a region reads, and its constant once it is there.
  struct LiteralSlot {
    std::uint32_t literal = 0;
    ir::ValueId value{};
  };
  /// A region while it is lowered.
  struct Scope {
    ptir::RegionId index;
    const Region& region;
    const ValueTable& table;
    ir::Builder& builder;
    Vector<Slot> slots;  ///< by position
    Vector<ir::ValueId> values;
    Vector<LiteralSlot> literals;  ///< by literal
  };

  /// The innermost place is the one that an error names.
  [[nodiscard]] std::unexpected<Error> at(const Error& error, ptir::RegionId region, const Instruction* i,
                                          std::size_t n) noexcept {
    if (std::exchange(located_, true)) return std::unexpected<Error>(error);
    Error there = located(error, region, i, n);
    if (const std::string_view node = i == nullptr ? std::string_view() : program_.origins.name(i->origin);
        !node.empty())
      there = Error::of(error.code(), node, ": ", error.text()).at_instruction(there.instruction(), there.opcode());
    if (options_.trace != nullptr) options_.trace->cause = region == 0 ? error : there;
    return std::unexpected<Error>(there);
  }
  /// Notes how many nodes there are before the next instruction of the main region.
  [[nodiscard]] Result<void> trace(const Scope& scope) noexcept {
    if (options_.trace == nullptr || scope.index != 0) return {};
    return options_.trace->first_nodes.push_back(static_cast<std::uint32_t>(scope.builder.graph().nodes.size()));
  }
  [[nodiscard]] static Name port_name(const Name& name, ValueId id) noexcept {
    return name.view().empty() ? Name::of("%", unsigned{id}) : name;
  }
  /// The name of the value that a result gives, else that of its place.
  [[nodiscard]] static Name result_name(const Scope& scope, const Operand& operand, std::size_t place) noexcept {
    Name name;
    if (operand.kind == Operand::Kind::value) {
      const std::size_t position = *scope.table.position(operand.id);
      const std::size_t parameters = scope.region.parameters.size();
      name = position < parameters ? scope.region.parameters[position].name
                                   : scope.region.instructions[position - parameters].name;
    }
    return name.view().empty() ? Name::of("result.", static_cast<unsigned>(place)) : name;
  }

  /// Enters what an instruction or parameter gives, after a look at the extents that it declares.
  [[nodiscard]] Result<void> define(Scope& scope, ValueId id, Span<const TensorType> declared,
                                    Span<const ir::ValueId> values) noexcept {
    if (auto r = scope.slots.push_back(
            {static_cast<std::uint32_t>(scope.values.size()), static_cast<std::uint32_t>(values.size())});
        !r)
      return r;
    if (scope.builder.failed()) return {};  // the builder's error comes first
    if (declared.size() != values.size())
      return fail(Errc::invalid_params, "%", id, " is declared with ", declared.size(), " results, the op gives ",
                  values.size());
    for (std::size_t v = 0; v < values.size(); ++v) {
      const zrt::TensorType type = scope.builder.type_of(values[v]);
      if (type.dtype != declared[v].dtype || type.shape.rank != declared[v].shape.rank)
        return fail(Errc::dtype_mismatch, "%", id, " is declared as ", name(declared[v].dtype), " of ",
                    unsigned{declared[v].shape.rank}, " axes, the op gives ", name(type.dtype), " of ",
                    unsigned{type.shape.rank});
      for (std::uint32_t axis = 0; axis < type.shape.rank; ++axis)
        if (auto r = extents_.learn(declared[v].shape[axis], type.shape[axis].extent, {scope.index, id, axis}); !r)
          return r;
      if (auto r = scope.values.push_back(values[v]); !r) return r;
    }
    return {};
  }

  [[nodiscard]] Result<ir::ValueId> value_of(Scope& scope, const Operand& operand) noexcept {
    if (operand.kind == Operand::Kind::literal) {
      const auto slot = std::lower_bound(scope.literals.begin(), scope.literals.end(), operand.id,
                                         [](const LiteralSlot& l, std::uint32_t id) { return l.literal < id; });
      ir::ValueId& kept = slot->value;
      if (kept.present()) return kept;
      LoweredValues out;
      if (auto r = lower_literal(program_, program_.literals[operand.id], scope.builder, out); !r) return pass(r);
      return kept = out[0];
    }
    const Slot slot = scope.slots[*scope.table.position(operand.id)];
    return scope.values[slot.first + (operand.kind == Operand::Kind::tuple_element ? operand.element : 0)];
  }

  /// Makes room for the literals that the region reads itself, sorted; of one read twice the first slot counts.
  [[nodiscard]] Result<void> find_literals(Scope& scope) noexcept {
    const auto add = [&](const Operand& operand) -> Result<void> {
      if (operand.kind != Operand::Kind::literal) return {};
      return scope.literals.push_back({operand.id, {}});
    };
    for (const Instruction& i : scope.region.instructions)
      for (const Operand& operand : program_.operands_of(i))
        if (auto r = add(operand); !r) return r;
    for (const RegionResult& result : scope.region.results)
      if (auto r = add(result.operand); !r) return r;
    std::sort(scope.literals.begin(), scope.literals.end(),
              [](const LiteralSlot& a, const LiteralSlot& b) { return a.literal < b.literal; });
    return {};
  }

  [[nodiscard]] Result<void> lower_instruction(Scope& scope, const Instruction& i) noexcept {
    if (++instructions_ > kMaxLoweredInstructions)
      return fail(Errc::limit_exceeded, "the program has more than ", kMaxLoweredInstructions,
                  " instructions, those of regions counted at each call");
    const OpInfo& op = *find_op(i.opcode);
    const LowerFn lower = kLowerings[static_cast<std::size_t>(&op - kOps.data())];
    Vector<ir::ValueId> in(program_.allocator);
    for (const Operand& operand : program_.operands_of(i)) {
      const auto value = value_of(scope, operand);
      if (!value) return pass(value);
      if (auto r = in.push_back(*value); !r) return r;
    }
    // Concat alone takes more than one node holds.
    if (in.size() > kMaxOperands && i.opcode != ops::Concat::opcode)
      return fail(Errc::limit_exceeded, op.name, " has ", in.size(), " operands, at most ", kMaxOperands, " expected");
    scope.builder.origin(i.origin);
    const LowerCall call(program_, op, i, extents_, scope.builder, in.span(), {this, &ProgramLowerer::call_region},
                         options_.trip_limit);
    LoweredValues out;
    if (!scope.builder.failed())
      if (auto r = lower(call, out); !r) return r;
    if (scope.builder.failed()) return pass(scope.builder.finish());
    return define(scope, i.id, program_.types_of(i.output), {out.data(), out.size()});
  }

  static Result<ir::RegionId> call_region(void* self, ir::Builder& into, ptir::RegionId index,
                                          Span<const zrt::TensorType> arguments) noexcept {
    auto& lowerer = *static_cast<ProgramLowerer*>(self);
    const Region& region = lowerer.program_.regions[index];
    if (region.parameters.size() > kMaxOperands || region.results.size() > kMaxOperands)
      return fail(Errc::limit_exceeded, "region @", index, " has more than ", kMaxOperands, " parameters or results");
    auto graph = lowerer.run(index, arguments);
    if (!graph) return pass(graph);
    return into.region(std::move(*graph));
  }

  const Program& program_;
  const OpTable& table_;
  const LowerOptions& options_;
  SymbolExtents extents_;
  std::size_t instructions_ = 0;
  bool located_ = false;
};

/// The types of the program's inputs with the extents of `shapes`.
[[nodiscard]] inline Result<Vector<zrt::TensorType>> input_types(const Program& program,
                                                                 Span<const Shape> shapes) noexcept {
  const auto parameters = program.regions[0].parameters.span();
  if (shapes.size() != parameters.size())
    return fail(Errc::invalid_argument, "the program has ", parameters.size(), " inputs, ", shapes.size(),
                " shapes were given");
  Vector<zrt::TensorType> types(program.allocator);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Parameter& p = parameters[i];
    const auto bad = [&](Errc code, auto... pieces) {
      return fail(code, "input ", i, " (%", p.id, p.name.view().empty() ? "" : " ", p.name.view(), ") ", pieces...);
    };
    if (shapes[i].rank != p.type.shape.rank)
      return bad(Errc::shape_mismatch, "has ", unsigned{p.type.shape.rank}, " axes, a shape of ",
                 unsigned{shapes[i].rank}, " was given");
    zrt::TensorType type{p.type.dtype, {}};
    for (std::size_t axis = 0; axis < shapes[i].size(); ++axis) {
      const Dim dim = shapes[i][axis];
      if (!dim.is_constant())
        return bad(Errc::invalid_argument, "was given extent ", dim.code(), " on axis ", axis,
                   ", expected a number of 0 or more");
      if (dim.constant() > std::numeric_limits<std::uint32_t>::max())
        return bad(Errc::size_overflow, "was given extent ", dim.code(), " on axis ", axis,
                   ", which does not fit 32 bits");
      type.shape = type.shape.appended(static_cast<std::uint32_t>(dim.constant()));
    }
    if (auto r = types.push_back(type); !r) return pass(r);
  }
  return types;
}

}  // namespace detail

/// Verifies `program` and gives the graph that computes it for inputs of these shapes, in the order of the
/// main region's parameters.
///
/// Every dynamic extent gets its value from the shapes, from what an op gives, or from an attribute, so the
/// graph is static. Each instruction becomes the op of its number; literals become constants; each call of a
/// region becomes a region of its node. Inputs and results bear the names that the program gives them, else
/// "%id" and "result.place".
///
/// Errors: those of verify; Errc::invalid_argument and shape_mismatch for shapes that do not fit the
/// program, naming extent, input and both values; Errc::unimplemented for complex arithmetic;
/// Errc::limit_exceeded and size_overflow for what a graph cannot hold; those of the ops' shape rules. They
/// name the region and the value, with the instruction's index and opcode.
[[nodiscard]] inline Result<ir::Graph> lower(const Program& program, Span<const Shape> shapes, const OpTable& table,
                                             const LowerOptions& options = {}) noexcept {
  if (auto r = verify(program); !r) return pass(r);
  auto extents = SymbolExtents::of(program);
  if (!extents) return pass(extents);
  const auto types = detail::input_types(program, shapes);
  if (!types) return pass(types);
  return detail::ProgramLowerer(program, table, options, std::move(*extents)).run(0, types->span());
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
