// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/instantiate.hpp: a fused program for one mode and one set of feeds, as a PTIR program.
#pragma once

#include <zrt/ir/fused/tell_extents.hpp>
#include <zrt/ir/fused/verify.hpp>
#include <zrt/ir/ptir/builder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

namespace detail {

/// True when a type may be what meta declares.
[[nodiscard]] constexpr bool agrees(const ptir::TensorType& found, const Meta* meta) noexcept {
  return meta == nullptr || compatible(found, meta->type);
}

inline void sort_by_id(Vector<FeedType>& types) noexcept {
  std::sort(types.begin(), types.end(), [](const FeedType& a, const FeedType& b) { return a.id < b.id; });
}

/// Notes in `cut` which feeds are bound, and as what. A feed that is bound twice has one of its types.
[[nodiscard]] inline Result<void> note_feeds(const FusedProgram& p, Span<const FeedType> given, CutWire& cut) noexcept {
  cut.binds = true;
  Vector<FeedType> all(p.store.allocator);
  if (auto r = all.append(given); !r) return r;
  sort_by_id(all);
  const FeedType* next = all.begin();
  for (const ValueId id : p.feeds) {
    while (next != all.end() && next->id < id) ++next;
    const bool bound = next != all.end() && next->id == id;
    if (auto r = bound ? cut.types.push_back(*next) : cut.unbound.push_back(id); !r) return r;
  }
  return {};
}

/// Each feed once, and nothing else, with a type that its meta allows.
[[nodiscard]] inline Result<void> check_feeds(const FusedProgram& p, Span<const FeedType> given,
                                              CutWire& cut) noexcept {
  for (const FeedType& feed : given)
    if (!std::binary_search(p.feeds.begin(), p.feeds.end(), feed.id)) {
      cut.value = feed.id;
      return fail(Errc::invalid_argument, "value ", feed.id, " is bound, but it is no feed");
    }
  if (!cut.unbound.empty()) {
    const ValueId id = cut.unbound[0];
    cut.step = first_reader_of(p, id);
    return fail(Errc::invalid_argument, "feed ", id, " is not bound");
  }
  if (given.size() != p.feeds.size()) {
    // Each feed is bound, so one is bound twice.
    Vector<ValueId> ids(p.store.allocator);
    for (const FeedType& feed : given)
      if (auto r = ids.push_back(feed.id); !r) return r;
    std::sort(ids.begin(), ids.end());
    cut.value = *std::adjacent_find(ids.begin(), ids.end());
    return fail(Errc::duplicate_name, "feed ", *cut.value, " is bound twice");
  }
  for (const FeedType& feed : cut.types) {
    const Meta* meta = p.meta_of(feed.id);
    if (agrees(feed.type, meta)) continue;
    cut.value = feed.id;
    cut.step = first_reader_of(p, feed.id);
    cut.expected = meta->type;
    cut.actual = feed.type;
    return fail(meta->type.dtype == feed.type.dtype ? Errc::shape_mismatch : Errc::dtype_mismatch, "feed ", feed.id,
                " is bound to another type than its meta");
  }
  ToldExtents told(p.store.allocator);
  if (auto r = told.read(p, cut.types.span()); !r) return r;
  if (const auto& other = told.disagreement()) {
    cut.value = other->feed;
    cut.step = first_reader_of(p, other->feed);
    cut.expected = p.meta_of(other->feed)->type;
    told.tell(*cut.expected);
    cut.actual = *cut.type_of(other->feed);
    return fail(Errc::shape_mismatch, "feed ", other->feed, ": ?", p.store.symbol_name(other->symbol), " is ",
                other->told.constant(), ", feed ", other->earlier, " has it as ", other->earlier_told.constant());
  }
  return {};
}

/// Notes the types of the feeds and of the results so far, which `values` holds in the order of their ordinals.
[[nodiscard]] inline Result<void> note_types(const FusedProgram& p, Span<const ptir::Tensor> values,
                                             CutWire& cut) noexcept {
  cut.types.clear();
  std::size_t ordinal = 0;
  const auto note = [&](ValueId id) -> Result<void> {
    return ordinal < values.size() ? cut.types.push_back({id, values[ordinal++].type()}) : Result<void>{};
  };
  for (const ValueId id : p.feeds)
    if (auto r = note(id); !r) return r;
  for (const Step& step : p.steps)
    for (const ValueId id : p.results_of(step))
      if (auto r = note(id); !r) return r;
  sort_by_id(cut.types);
  return {};
}

/// Notes the operand that a step's op refuses, and the error about it.
inline std::unexpected<Error> refused(const FusedProgram& p, const Step& step, Span<const ptir::Tensor> in,
                                      const ptir::Mismatch& mismatch, const Error& error, CutWire& cut) noexcept {
  if (mismatch.operand < in.size()) {
    cut.value = p.inputs_of(step)[mismatch.operand];
    cut.expected = mismatch.expected;
    cut.wanted = mismatch.wanted;
    cut.actual = in[mismatch.operand].type();
  }
  return std::unexpected<Error>(error);
}

/// Emits one step; `values` takes its results.
[[nodiscard]] inline Result<void> emit_step(const FusedProgram& p, const Step& step, bool training, ptir::Builder& b,
                                            RunSeed& seed, Span<const ptir::Tensor> in, Vector<ptir::Tensor>& values,
                                            CutWire& at) noexcept {
  if (const ModeOp* mode = find_mode_op(step.op.view())) {
    ModeCall call{b, in, p.attributes_of(step), step.step_id, training, seed, values};
    mode->expand(call);
    if (b.failed()) return refused(p, step, in, call.mismatch, b.cause(), at);
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
  if (b.failed()) return refused(p, step, in, b.mismatch(), b.cause(), at);
  if (given.size() != results.size())
    return fail(Errc::invalid_params, step.op.view(), " has ", results.size(), " results, expected ", given.size());
  for (std::size_t e = 0; e < given.size(); ++e)
    if (auto r = values.push_back(given[e]); !r) return r;
  return {};
}

/// Emits the steps one after the other; `at.step` is the one that an error is about.
[[nodiscard]] inline Result<void> emit_each(const FusedProgram& p, const ValueOrigins& origins, bool training,
                                            ptir::Builder& b, RunSeed& seed, Vector<ptir::Tensor>& values, CutWire& at,
                                            Vector<ptir::ValueId>* first_values) noexcept {
  Vector<ptir::Tensor> in(p.store.allocator);
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    at.step = s;
    if (first_values != nullptr)
      if (auto r = first_values->push_back(b.next_value()); !r) return r;
    in.clear();
    for (const ValueId id : p.inputs_of(p.steps[s]))
      if (auto r = in.push_back(values[origins.find(id)->ordinal]); !r) return r;
    const std::size_t before = values.size();
    if (auto r = emit_step(p, p.steps[s], training, b, seed, in.span(), values, at); !r) return r;
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
  at.step = CutWire::kNone;
  return {};
}

/// Emits every step; `values` holds the feeds and takes all results, in the order of their ordinals, `first_values` the
/// first id of what each step becomes, `at` the types of all values.
[[nodiscard]] inline Result<void> emit_steps(const FusedProgram& p, const ValueOrigins& origins, bool training,
                                             ptir::Builder& b, RunSeed& seed, Vector<ptir::Tensor>& values, CutWire& at,
                                             Vector<ptir::ValueId>* first_values = nullptr) noexcept {
  // A parameter that may not be, or no memory for one.
  if (b.failed()) return std::unexpected<Error>(b.cause());
  const auto emitted = emit_each(p, origins, training, b, seed, values, at, first_values);
  if (auto r = note_types(p, values.span(), at); !r) return r;
  return emitted;
}

/// Adds to `cut.types`, which has those of the bound feeds, what steps give, as far as that follows from them and from
/// what meta declares of values that are not known.
[[nodiscard]] inline Result<void> infer_results(const FusedProgram& named, const ValueOrigins& origins, bool training,
                                                CutWire& cut) noexcept {
  const auto told = with_told_extents(named, cut.types.span());
  if (!told) return pass(told);
  const FusedProgram& p = *told;
  auto store = p.store.clone();
  if (!store) return pass(store);
  ptir::Builder b(std::move(*store));
  RunSeed seed;
  CutWire unasked(p.store.allocator);
  Vector<ptir::Tensor> values(p.store.allocator), in(p.store.allocator);
  Vector<std::uint8_t> known(p.store.allocator);
  // A value that nothing is known of has a place all the same.
  const auto add = [&](ValueId id) -> Result<void> {
    const Meta* meta = p.meta_of(id);
    ptir::TensorType type;
    if (const ptir::TensorType* bound = cut.type_of(id)) {
      type = *bound;
    } else if (meta != nullptr) {
      type = meta->type;
    }
    if (auto r = known.push_back(meta != nullptr || cut.type_of(id) != nullptr ? 1 : 0); !r) return r;
    return values.push_back(b.parameter(type));
  };
  for (const ValueId id : p.feeds)
    if (auto r = add(id); !r) return r;
  Vector<FeedType> found(p.store.allocator);
  for (const Step& step : p.steps) {
    in.clear();
    bool whole = true;
    for (const ValueId id : p.inputs_of(step)) {
      const std::uint32_t ordinal = origins.find(id)->ordinal;
      whole = whole && known[ordinal] != 0;
      if (auto r = in.push_back(values[ordinal]); !r) return r;
    }
    const auto results = p.results_of(step);
    if (!whole) {
      for (const ValueId id : results)
        if (auto r = add(id); !r) return r;
      continue;
    }
    // What follows a step that refuses its operands is not known.
    if (!emit_step(p, step, training, b, seed, in.span(), values, unasked)) break;
    for (const ValueId id : results) {
      const ptir::TensorType& type = values[known.size()].type();
      if (auto r = known.push_back(1); !r) return r;
      if (auto r = found.push_back({id, type}); !r) return r;
    }
  }
  if (auto r = cut.types.append(found.span()); !r) return r;
  sort_by_id(cut.types);
  return {};
}

/// Verifies the program for these feeds. `cut` has their types afterwards, in the order of the feeds, and where they
/// are refused the types of results that are known all the same.
[[nodiscard]] inline Result<void> bind_feeds(const FusedProgram& p, Span<const FeedType> given, bool training,
                                             CutWire& cut) noexcept {
  cut.clear();
  if (auto r = ascending(p.feeds.span(), "feeds"); !r) return r;
  if (auto r = note_feeds(p, given, cut); !r) return r;
  if (auto r = verify_program(p, cut); !r) return r;
  const auto checked = check_feeds(p, given, cut);
  if (checked) return checked;
  // What is told of a break takes memory; without any, the error is all that there is.
  if (const auto origins = ValueOrigins::of(p, cut)) (void)infer_results(p, *origins, training, cut);
  return checked;
}

/// Notes the state whose next value is of another type, and the steps that read the one and give the other.
inline std::unexpected<Error> refused_update(const FusedProgram& p, const StateUpdate& update,
                                             const ptir::TensorType& expected, const ptir::TensorType& actual,
                                             CutWire& cut) noexcept {
  const std::size_t reader = first_reader_of(p, update.state);
  const std::size_t maker = producer_of(p, update.value);
  cut.step = maker != CutWire::kNone ? maker : reader;
  cut.value = update.value;
  cut.expected = expected;
  cut.actual = actual;
  Error error = Error::of(expected.dtype == actual.dtype ? Errc::shape_mismatch : Errc::dtype_mismatch, "state ",
                          update.state, " is ");
  ptir::append_type(error, p.store, expected);
  const auto name_step = [&](std::string_view before, std::size_t step) {
    if (step != CutWire::kNone)
      error.append(before)
          .append("step ")
          .append(p.steps[step].step_id)
          .append(" (")
          .append(p.steps[step].op.view())
          .append(')');
  };
  name_step(", read by ", reader);
  error.append("; its next, value ").append(update.value);
  name_step(", from ", maker);
  error.append(", is ");
  return std::unexpected<Error>(ptir::append_type(error, p.store, actual));
}

/// Drops the instructions of the main region that no result needs. Custom calls stay, since whether a backend has their
/// targets shows only when it is asked.
[[nodiscard]] inline Result<void> keep_needed(ptir::Program& program) noexcept {
  ptir::Region& main = program.regions[0];
  ptir::ValueId last = 0;
  for (const ptir::Instruction& i : main.instructions) last = std::max(last, i.id);
  Vector<std::uint8_t> needed(program.allocator);
  if (auto r = needed.resize(std::size_t{last} + 1); !r) return r;
  // Parameters are marked with the rest, those above the last instruction's id apart.
  const auto mark = [&](const ptir::Operand& operand) {
    if (operand.kind != ptir::Operand::Kind::literal && operand.id <= last) needed[operand.id] = 1;
  };
  for (const ptir::RegionResult& result : main.results) mark(result.operand);
  for (std::size_t i = main.instructions.size(); i-- > 0;) {
    const ptir::Instruction& instruction = main.instructions[i];
    if (instruction.opcode == ops::CustomCall::opcode) needed[instruction.id] = 1;
    if (needed[instruction.id] == 0) continue;
    for (const ptir::Operand& operand : program.operands_of(instruction)) mark(operand);
  }
  std::size_t kept = 0;
  for (const ptir::Instruction& i : main.instructions)
    if (needed[i.id] != 0) main.instructions[kept++] = i;
  return main.instructions.resize(kept);
}

}  // namespace detail

/// Makes the PTIR program that `named` is in one mode: parameters are the feeds in ascending order, instructions
/// follow the steps, results are the outputs and then the values of state_out. In evaluation these are the
/// states as they came, and steps that only an update needs are left out. An extent that meta names is what its feeds
/// are bound with, wherever the name stands.
///
/// Where a step draws without a seed of its own, the last parameter is the run's: `seed`, a scalar of si64.
///
/// Errors: those of `verify`; Errc::invalid_argument and Errc::duplicate_name for feeds that are not bound
/// exactly once; Errc::shape_mismatch and Errc::dtype_mismatch where types break a step's rule or disagree
/// with meta; those of the ops' type rules. `cut`, where given, tells the place. `first_values`, where given, takes
/// for each step the first id of what it becomes.
[[nodiscard]] inline Result<ptir::Program> instantiate(const FusedProgram& named, Span<const FeedType> feeds,
                                                       bool training, CutWire* cut = nullptr,
                                                       Vector<ptir::ValueId>* first_values = nullptr) noexcept {
  CutWire unasked(named.store.allocator);
  CutWire& at = cut != nullptr ? *cut : unasked;
  if (auto r = detail::bind_feeds(named, feeds, training, at); !r) return pass(r);
  const auto told = with_told_extents(named, feeds);
  if (!told) return pass(told);
  const FusedProgram& p = *told;
  const auto origins = detail::ValueOrigins::of(p, at);
  if (!origins) return pass(origins);
  auto store = p.store.clone();
  if (!store) return pass(store);
  ptir::Builder b(std::move(*store));
  RunSeed seed;
  Vector<ptir::Tensor> values(p.store.allocator);
  for (const FeedType& feed : at.types)
    if (auto r = values.push_back(b.parameter(feed.type, Name::of("feed", feed.id))); !r) return pass(r);
  if (auto r = detail::emit_steps(p, *origins, training, b, seed, values, at, first_values); !r) return pass(r);
  for (const Output& output : p.outputs) b.result(values[origins->find(output.id)->ordinal]);
  for (const StateUpdate& update : p.state_out) {
    const ptir::Tensor& state = values[origins->find(update.state)->ordinal];
    const ptir::Tensor& value = values[origins->find(update.value)->ordinal];
    if (!(state.type() == value.type())) return detail::refused_update(p, update, state.type(), value.type(), at);
    b.result(training ? value : state);
  }
  auto made = b.finish();
  if (made && !training)
    if (auto r = detail::keep_needed(*made); !r) return pass(r);
  return made;
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
