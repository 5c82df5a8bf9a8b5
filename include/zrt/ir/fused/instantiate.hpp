// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/instantiate.hpp: a fused program for one mode and one set of feeds, as a PTIR program.
#pragma once

#include <zrt/ir/fused/verify.hpp>
#include <zrt/ir/ptir/builder.hpp>

namespace zrt::inline ZRT_ABI::ir::fused {

/// The type under which a feed is bound.
struct FeedType {
  ValueId id = 0;
  ptir::TensorType type{};
};

namespace detail {

/// True when a type may be what meta declares.
[[nodiscard]] constexpr bool agrees(const ptir::TensorType& found, const Meta* meta) noexcept {
  return meta == nullptr || ptir::compatible(found, meta->type);
}

/// Each feed once, and nothing else, with a type that its meta allows; gives them in the order of the feeds.
[[nodiscard]] inline Result<void> order_feeds(const FusedProgram& p, Span<const FeedType> given,
                                              Vector<ptir::TensorType>& ordered, CutWire& cut) noexcept {
  for (const FeedType& feed : given)
    if (!std::binary_search(p.feeds.begin(), p.feeds.end(), feed.id)) {
      cut.value = feed.id;
      return fail(Errc::invalid_argument, "value ", feed.id, " is bound, but it is no feed");
    }
  for (const ValueId id : p.feeds) {
    const FeedType* found = nullptr;
    for (const FeedType& feed : given) {
      if (feed.id != id) continue;
      if (found != nullptr) return fail(Errc::duplicate_name, "feed ", id, " is bound twice");
      found = &feed;
    }
    if (found == nullptr) {
      cut.unbound = id;
      for (std::size_t s = 0; s < p.steps.size() && cut.step == CutWire::kNone; ++s)
        for (const ValueId input : p.inputs_of(p.steps[s]))
          if (input == id) cut.step = s;
      return fail(Errc::invalid_argument, "feed ", id, " is not bound");
    }
    const Meta* meta = p.meta_of(id);
    if (!agrees(found->type, meta)) {
      cut.value = id;
      cut.expected = meta->type;
      cut.actual = found->type;
      return fail(meta->type.dtype == found->type.dtype ? Errc::shape_mismatch : Errc::dtype_mismatch, "feed ", id,
                  " is bound to another type than its meta");
    }
    if (auto r = ordered.push_back(found->type); !r) return r;
  }
  return {};
}

/// Emits one step; `values` takes its results.
[[nodiscard]] inline Result<void> emit_step(const FusedProgram& p, const Step& step, bool training, ptir::Builder& b,
                                            RunSeed& seed, Span<const ptir::Tensor> in,
                                            Vector<ptir::Tensor>& values) noexcept {
  if (const ModeOp* mode = find_mode_op(step.op.view())) {
    ModeCall call{b, in, p.attributes_of(step), step.step_id, training, seed, values};
    mode->expand(call);
    return {};
  }
  const auto results = p.results_of(step);
  ptir::Results given = [&] {
    if (step.op.view() != "custom_call") return b.apply(step.op.view(), in, p.attributes_of(step));
    // Only its declaration says what a custom call gives.
    Vector<ptir::TensorType> types(p.store.allocator);
    for (const ValueId id : results) {
      const Meta* meta = p.meta_of(id);
      if (meta == nullptr)
        b.set(Error::of(Errc::invalid_params, "custom_call: meta lacks the type of result ", id));
      else if (auto r = types.push_back(meta->type); !r)
        b.set(r.error());
    }
    return b.apply(step.op.view(), in, p.attributes_of(step), types.span(), results.size() != 1);
  }();
  if (b.failed()) return {};
  if (given.size() != results.size())
    return fail(Errc::invalid_params, step.op.view(), " has ", results.size(), " results, expected ", given.size());
  for (std::size_t e = 0; e < given.size(); ++e)
    if (auto r = values.push_back(given[e]); !r) return r;
  return {};
}

/// Emits every step; `values` holds the feeds and takes all results, in the order of their ordinals, `first_values` the
/// first id of what each step becomes.
[[nodiscard]] inline Result<void> emit_steps(const FusedProgram& p, const ValueOrigins& origins, bool training,
                                             ptir::Builder& b, RunSeed& seed, Vector<ptir::Tensor>& values, CutWire& at,
                                             Vector<ptir::ValueId>* first_values = nullptr) noexcept {
  Vector<ptir::Tensor> in(p.store.allocator);
  for (std::size_t s = 0; s < p.steps.size() && !b.failed(); ++s) {
    at.step = s;
    if (first_values != nullptr)
      if (auto r = first_values->push_back(b.next_value()); !r) return r;
    in.clear();
    for (const ValueId id : p.inputs_of(p.steps[s]))
      if (auto r = in.push_back(values[origins.find(id)->ordinal]); !r) return r;
    const std::size_t before = values.size();
    if (auto r = emit_step(p, p.steps[s], training, b, seed, in.span(), values); !r) return r;
    if (b.failed()) break;
    const auto results = p.results_of(p.steps[s]);
    for (std::size_t e = 0; e < results.size(); ++e) {
      const Meta* meta = p.meta_of(results[e]);
      const ptir::TensorType& found = values[before + e].type();
      if (agrees(found, meta)) continue;
      at.value = results[e];
      at.expected = meta->type;
      at.actual = found;
      return fail(found.dtype == meta->type.dtype ? Errc::shape_mismatch : Errc::dtype_mismatch, "value ", results[e],
                  " is of another type than its meta");
    }
  }
  if (!b.failed()) at.step = CutWire::kNone;
  return {};
}

/// Which instructions of the main region its results need: 1 for each of them, by the value's id.
[[nodiscard]] inline Result<Vector<std::uint8_t>> needed_values(const ptir::Program& program) noexcept {
  const ptir::Region& main = program.regions[0];
  ptir::ValueId last = 0;
  for (const ptir::Instruction& i : main.instructions) last = std::max(last, i.id);
  Vector<std::uint8_t> needed(program.allocator);
  if (auto r = needed.resize(std::size_t{last} + 1); !r) return pass(r);
  // Parameters are marked with the rest, those above the last instruction's id apart.
  const auto mark = [&](const ptir::Operand& operand) {
    if (operand.kind != ptir::Operand::Kind::literal && operand.id <= last) needed[operand.id] = 1;
  };
  for (const ptir::RegionResult& result : main.results) mark(result.operand);
  for (std::size_t i = main.instructions.size(); i-- > 0;)
    if (needed[main.instructions[i].id] != 0)
      for (const ptir::Operand& operand : program.operands_of(main.instructions[i])) mark(operand);
  return needed;
}

/// Drops the instructions of the main region that no result needs.
[[nodiscard]] inline Result<void> keep_needed(ptir::Program& program) noexcept {
  const auto needed = needed_values(program);
  if (!needed) return pass(needed);
  ptir::Region& main = program.regions[0];
  std::size_t kept = 0;
  for (const ptir::Instruction& i : main.instructions)
    if ((*needed)[i.id] != 0) main.instructions[kept++] = i;
  return main.instructions.resize(kept);
}

}  // namespace detail

/// Makes the PTIR program that `p` is in one mode: parameters are the feeds in ascending order, instructions
/// follow the steps, results are the outputs and then the values of state_out. In evaluation these are the
/// states as they came, and steps that only an update needs are left out.
///
/// Where a step draws without a seed of its own, the last parameter is the run's: `seed`, a scalar of si64.
///
/// Errors: those of `verify`; Errc::invalid_argument and Errc::duplicate_name for feeds that are not bound
/// exactly once; Errc::shape_mismatch and Errc::dtype_mismatch where types break a step's rule or disagree
/// with meta; those of the ops' type rules. `cut`, where given, tells the place. `first_values`, where given, takes
/// for each step the first id of what it becomes.
[[nodiscard]] inline Result<ptir::Program> instantiate(const FusedProgram& p, Span<const FeedType> feeds, bool training,
                                                       CutWire* cut = nullptr,
                                                       Vector<ptir::ValueId>* first_values = nullptr) noexcept {
  CutWire unasked;
  CutWire& at = cut != nullptr ? *cut : unasked;
  if (auto r = verify(p, &at); !r) return pass(r);
  const Allocator& allocator = p.store.allocator;
  Vector<ptir::TensorType> types(allocator);
  if (auto r = detail::order_feeds(p, feeds, types, at); !r) return pass(r);
  const auto origins = detail::ValueOrigins::of(p, at);
  if (!origins) return pass(origins);
  auto store = p.store.clone();
  if (!store) return pass(store);
  ptir::Builder b(std::move(*store));
  RunSeed seed;
  Vector<ptir::Tensor> values(allocator);
  for (std::size_t f = 0; f < types.size(); ++f)
    if (auto r = values.push_back(b.parameter(types[f], Name::of("feed", p.feeds[f]))); !r) return pass(r);
  if (auto r = detail::emit_steps(p, *origins, training, b, seed, values, at, first_values); !r) return pass(r);
  if (!b.failed()) {
    for (const Output& output : p.outputs) b.result(values[origins->find(output.id)->ordinal]);
    for (const StateUpdate& update : p.state_out) {
      const ptir::Tensor& state = values[origins->find(update.state)->ordinal];
      const ptir::Tensor& value = values[origins->find(update.value)->ordinal];
      if (!(state.type() == value.type())) {
        at.value = update.value;
        at.expected = state.type();
        at.actual = value.type();
        return fail(Errc::shape_mismatch, "state ", update.state, " is updated with a value of another type");
      }
      b.result(training ? value : state);
    }
  }
  auto made = b.finish();
  if (made && !training)
    if (auto r = detail::keep_needed(*made); !r) return pass(r);
  return made;
}

}  // namespace zrt::inline ZRT_ABI::ir::fused
