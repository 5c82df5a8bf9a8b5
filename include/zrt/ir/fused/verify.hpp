// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/verify.hpp: decides whether a fused program is whole: ids, ops, attributes, order, outputs, state.
#pragma once

#include <zrt/ir/fused/cut_wire.hpp>
#include <zrt/ir/ptir/verify.hpp>

#include <algorithm>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

namespace detail {

/// Where each value comes from, found by id.
class ValueOrigins {
 public:
  static constexpr std::uint32_t kFeed = ~std::uint32_t{0};
  struct Row {
    ValueId id = 0;
    std::uint32_t step = kFeed;  ///< index, or kFeed
    std::uint32_t ordinal = 0;   ///< values count from the first feed to the last result
  };

  /// Errors: Errc::duplicate_name for an id with two origins; `cut` then tells which.
  [[nodiscard]] static Result<ValueOrigins> of(const FusedProgram& p, CutWire& cut) noexcept {
    ValueOrigins origins(p.store.allocator);
    std::uint32_t ordinal = 0;
    for (const ValueId feed : p.feeds)
      if (auto r = origins.rows_.push_back({feed, kFeed, ordinal++}); !r) return pass(r);
    for (std::uint32_t s = 0; s < p.steps.size(); ++s)
      for (const ValueId id : p.results_of(p.steps[s]))
        if (auto r = origins.rows_.push_back({id, s, ordinal++}); !r) return pass(r);
    std::sort(origins.rows_.begin(), origins.rows_.end(),
              [](const Row& a, const Row& b) { return a.id < b.id || (a.id == b.id && a.ordinal < b.ordinal); });
    for (std::size_t i = 1; i < origins.rows_.size(); ++i) {
      const Row& second = origins.rows_[i];
      if (origins.rows_[i - 1].id != second.id) continue;
      cut.value = second.id;
      if (second.step != kFeed) cut.step = second.step;
      return fail(Errc::duplicate_name, "value ", second.id, " has two origins");
    }
    return origins;
  }
  /// Null when nothing gives the value.
  [[nodiscard]] const Row* find(ValueId id) const noexcept {
    const Row* row =
        std::lower_bound(rows_.begin(), rows_.end(), id, [](const Row& r, ValueId wanted) { return r.id < wanted; });
    return row == rows_.end() || row->id != id ? nullptr : row;
  }

 private:
  explicit ValueOrigins(const Allocator& a) noexcept : rows_(a) {}
  Vector<Row> rows_;
};

inline Result<void> ascending(Span<const ValueId> ids, std::string_view what) noexcept {
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i - 1] == ids[i]) return fail(Errc::invalid_argument, what, " holds ", ids[i], " twice");
    if (ids[i - 1] > ids[i])
      return fail(Errc::invalid_argument, what, " holds ", ids[i], " after ", ids[i - 1], ", expected ascending ids");
  }
  return {};
}

/// The step by itself: a known op with its operands, attributes and results.
inline Result<void> verify_step(const FusedProgram& p, const Step& step) noexcept {
  const ptir::OpInfo* op = find_op(step.op.view());
  if (op == nullptr) return fail(Errc::unsupported_opcode, step.op.view(), " is no operation");
  const auto inputs = p.inputs_of(step), results = p.results_of(step);
  const auto attributes = p.attributes_of(step);
  if (inputs.size() != step.inputs.count || results.size() != step.results.count ||
      attributes.size() != step.attributes.count)
    return fail(Errc::dangling_value, "inputs, attributes or results lie outside the program");
  if (!op->takes(inputs.size()))
    return fail(Errc::invalid_params, op->name, " has ", inputs.size(), " inputs, expected ", op->bound(),
                op->bounded());
  const ModeOp* mode = find_mode_op(step.op.view());
  // An op that does not heed the mode may be told of it.
  if (mode != nullptr && !step.mode_sensitive)
    return fail(Errc::invalid_params, op->name, " is mode-sensitive, the step says otherwise");
  if (results.empty() || (mode != nullptr && results.size() != mode->results))
    return fail(Errc::invalid_params, op->name, " has ", results.size(), " results, expected ",
                mode != nullptr ? mode->results : 1);
  if (attributes.size() != op->field_count)
    return fail(Errc::invalid_params, op->name, " has ", attributes.size(), " attributes, expected ",
                unsigned{op->field_count});
  for (std::size_t f = 0; f < attributes.size(); ++f)
    if (auto r = ptir::check_attribute(p.store, *op, f, attributes[f]); !r) return r;
  return {};
}

inline Result<void> verify_ends(const FusedProgram& p, const ValueOrigins& origins, CutWire& cut) noexcept {
  const auto known = [&](ValueId id, std::string_view what) -> Result<void> {
    if (origins.find(id) != nullptr) return {};
    cut.value = id;
    return fail(Errc::dangling_value, what, " names value ", id, ", which nothing gives");
  };
  // Equal names stand side by side once they are sorted.
  Vector<std::string_view> names(p.store.allocator);
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const Name& name = p.outputs[i].name;
    if (name.view().empty() || !name.fits()) return fail(Errc::invalid_argument, "output ", i, " has no proper name");
    if (auto r = known(p.outputs[i].id, "an output"); !r) return r;
    if (auto r = names.push_back(name.view()); !r) return r;
  }
  std::sort(names.begin(), names.end());
  if (const auto* twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    return fail(Errc::duplicate_name, "two outputs are named ", *twice);
  for (const ValueId state : p.state_in)
    if (!std::binary_search(p.feeds.begin(), p.feeds.end(), state))
      return fail(Errc::invalid_state, "state ", state, " is no feed");
  Vector<std::uint8_t> updated(p.store.allocator);  // by place in state_in
  if (auto r = updated.resize(p.state_in.size()); !r) return r;
  for (const StateUpdate& update : p.state_out) {
    const ValueId* state = std::lower_bound(p.state_in.begin(), p.state_in.end(), update.state);
    if (state == p.state_in.end() || *state != update.state)
      return fail(Errc::invalid_state, "state_out updates ", update.state, ", which is not in state_in");
    if (std::exchange(updated[static_cast<std::size_t>(state - p.state_in.begin())], std::uint8_t{1}) != 0)
      return fail(Errc::duplicate_name, "state_out updates ", update.state, " twice");
    if (auto r = known(update.value, "state_out"); !r) return r;
  }
  for (std::size_t i = 0; i < p.meta.size(); ++i) {
    const Meta& meta = p.meta[i];
    if (i != 0 && p.meta[i - 1].id >= meta.id)
      return fail(Errc::invalid_argument, "meta holds ", meta.id, " after ", p.meta[i - 1].id,
                  ", expected ascending ids");
    if (auto r = known(meta.id, "meta"); !r) return r;
    if (auto r = ptir::check_type(p.store, meta.type, "meta"); !r) return r;
  }
  return {};
}

/// The first step that names `region`, by way of another region where need be, or kNone.
[[nodiscard]] inline std::size_t step_of_region(const FusedProgram& p, std::size_t region) noexcept {
  const auto names = [&](Span<const Attribute> attributes) {
    for (const Attribute& a : attributes)
      if (a.kind == ptir::AttributeKind::region && a.bits == region) return true;
    return false;
  };
  // Regions that lie within themselves have no step.
  for (std::size_t depth = 0; depth < p.store.regions.size(); ++depth) {
    for (std::size_t s = 0; s < p.steps.size(); ++s)
      if (names(p.attributes_of(p.steps[s]))) return s;
    std::size_t outer = 0;
    for (std::size_t r = 1; r < p.store.regions.size() && outer == 0; ++r)
      for (const ptir::Instruction& i : p.store.regions[r].instructions)
        if (names(p.store.attributes_of(i))) outer = r;
    if (outer == 0) break;
    region = outer;
  }
  return CutWire::kNone;
}

/// The regions as PTIR has them.
inline Result<void> verify_regions(const FusedProgram& p, CutWire& at) noexcept {
  for (std::size_t region = 1; region < p.store.regions.size(); ++region)
    if (auto r = ptir::detail::verify_region(p.store, region); !r) {
      at.step = step_of_region(p, region);
      return r;
    }
  return ptir::detail::verify_nesting(p.store);
}

/// `verify`, without forgetting what `at` knows of the feeds.
[[nodiscard]] inline Result<void> verify_program(const FusedProgram& p, CutWire& at) noexcept {
  if (p.version != kVersion) return fail(Errc::unsupported_version, "version is ", p.version, ", expected ", kVersion);
  if (auto r = ascending(p.feeds.span(), "feeds"); !r) return r;
  if (auto r = ascending(p.state_in.span(), "state_in"); !r) return r;
  if (!p.store.regions.empty() && (!p.store.regions[0].parameters.empty() || !p.store.regions[0].instructions.empty() ||
                                   !p.store.regions[0].results.empty()))
    return fail(Errc::invalid_argument, "region 0 of a fused program is not empty");
  const auto origins = ValueOrigins::of(p, at);
  if (!origins) return pass(origins);
  for (std::uint32_t s = 0; s < p.steps.size(); ++s) {
    const Step& step = p.steps[s];
    at.step = s;
    if (s != 0 && p.steps[s - 1].step_id >= step.step_id)
      return fail(Errc::invalid_argument, "step ", step.step_id, " stands after step ", p.steps[s - 1].step_id,
                  ", expected ascending step ids");
    if (auto r = verify_step(p, step); !r) return r;
    for (const ValueId input : p.inputs_of(step)) {
      const auto* row = origins->find(input);
      if (row != nullptr && (row->step == ValueOrigins::kFeed || row->step < s)) continue;
      at.value = input;
      return fail(Errc::dangling_value, "input ", input,
                  row == nullptr ? " is given by nothing" : " is read before it is given");
    }
  }
  at.step = CutWire::kNone;
  if (auto r = verify_regions(p, at); !r) return r;
  return verify_ends(p, *origins, at);
}

}  // namespace detail

/// Checks all that does not depend on the feeds' types: those are `instantiate`'s.
///
/// Errors: Errc::unsupported_version; Errc::duplicate_name for an id with two origins; Errc::dangling_value
/// for one that is read before it is given, or never is; Errc::unsupported_opcode, Errc::invalid_params and
/// those of ptir::check_attribute for a step; Errc::invalid_state; those of ptir::verify for a region, with the step
/// that names it. `cut`, where given, tells the place.
[[nodiscard]] inline Result<void> verify(const FusedProgram& p, CutWire* cut = nullptr) noexcept {
  CutWire unasked(p.store.allocator);
  CutWire& at = cut != nullptr ? *cut : unasked;
  at.clear();
  return detail::verify_program(p, at);
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
