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
[[nodiscard]] inline Result<void> order_feeds(const FusedProgram& p, std::span<const FeedType> given,
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
                                            std::span<const ptir::Tensor> in, Vector<ptir::Tensor>& values) noexcept {
  if (const ModeOp* mode = find_mode_op(step.op.view())) {
    ModeCall call{b, in, p.attributes_of(step), step.step_id, training, values};
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

}  // namespace detail

/// Makes the PTIR program that `p` is in one mode: parameters are the feeds in ascending order, instructions
/// follow the steps, results are the outputs and then the values of state_out. In evaluation these are the
/// states as they came.
///
/// Errors: those of `verify`; Errc::invalid_argument and Errc::duplicate_name for feeds that are not bound
/// exactly once; Errc::shape_mismatch and Errc::dtype_mismatch where types break a step's rule or disagree
/// with meta; those of the ops' type rules. `cut`, where given, tells the place.
[[nodiscard]] inline Result<ptir::Program> instantiate(const FusedProgram& p, std::span<const FeedType> feeds,
                                                       bool training, CutWire* cut = nullptr) noexcept {
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
  Vector<ptir::Tensor> values(allocator), in(allocator);
  for (std::size_t f = 0; f < types.size(); ++f)
    if (auto r = values.push_back(b.parameter(types[f], Name::of("feed", p.feeds[f]))); !r) return pass(r);
  for (std::size_t s = 0; s < p.steps.size() && !b.failed(); ++s) {
    at.step = s;
    in.clear();
    for (const ValueId id : p.inputs_of(p.steps[s]))
      if (auto r = in.push_back(values[origins->find(id)->ordinal]); !r) return pass(r);
    const std::size_t before = values.size();
    if (auto r = detail::emit_step(p, p.steps[s], training, b, in.span(), values); !r) return pass(r);
    if (b.failed()) break;
    const auto results = p.results_of(p.steps[s]);
    for (std::size_t e = 0; e < results.size(); ++e) {
      const Meta* meta = p.meta_of(results[e]);
      const ptir::TensorType& found = values[before + e].type();
      if (detail::agrees(found, meta)) continue;
      at.value = results[e];
      at.expected = meta->type;
      at.actual = found;
      return fail(found.dtype == meta->type.dtype ? Errc::shape_mismatch : Errc::dtype_mismatch, "value ", results[e],
                  " is of another type than its meta");
    }
  }
  if (!b.failed()) {
    at.step = CutWire::kNone;
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
  return b.finish();
}

}  // namespace zrt::inline ZRT_ABI::ir::fused
