// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/program.hpp: a fused program: feeds, steps in their order, named outputs, state in and out.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/ir/ptir/program.hpp>

#include <cstdint>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

using ptir::Attribute;
using ptir::PoolRange;
using ptir::ValueId;

/// The one version that programs bear and readers accept. A change to what a step means changes it.
inline constexpr std::uint32_t kVersion = 1;

/// One op applied. Random steps draw from (seed, step_id, element), so a step keeps its id for life.
struct Step {
  std::uint32_t step_id = 0;  ///< ascending along the program
  Name op{};                  ///< a PTIR operation, or one of kModeOps
  PoolRange inputs{};         ///< ids
  PoolRange attributes{};     ///< of the store: one for each field of the op, in the table's order
  PoolRange results{};        ///< ids, at least one
  bool mode_sensitive = false;
};

/// A value that returns to the caller.
struct Output {
  Name name{};
  ValueId id = 0;
};

/// The value that a state has after a training run. In evaluation the state stays as it was.
struct StateUpdate {
  ValueId state = 0;  ///< of state_in
  ValueId value = 0;
  friend constexpr bool operator==(const StateUpdate&, const StateUpdate&) = default;
};

/// What is known of a value.
struct Meta {
  ValueId id = 0;
  ptir::TensorType type{};
  Name device{};  ///< may be empty
};

/// The type under which a feed is bound.
struct FeedType {
  ValueId id = 0;
  ptir::TensorType type{};
};

/// A program without a tape: the feeds are bound, the steps run in order, everything else follows.
///
/// Anyone may fill it; `verify` judges it. Reading members stay inside the pools, as those of a PTIR program.
struct FusedProgram {
  explicit FusedProgram(Allocator a = system_allocator()) noexcept
      : feeds(a), steps(a), outputs(a), state_in(a), state_out(a), meta(a), ids(a), store(a) {}

  std::uint32_t version = kVersion;
  Vector<ValueId> feeds;  ///< ascending
  Vector<Step> steps;
  Vector<Output> outputs;
  Vector<ValueId> state_in;  ///< ascending; a part of `feeds`
  Vector<StateUpdate> state_out;
  Vector<Meta> meta;  ///< ascending by id
  Vector<ValueId> ids;
  /// Attributes with their pools, and the regions that steps name. Region 0, where there is one, is empty.
  ptir::Program store;

  [[nodiscard]] Span<const ValueId> ids_of(PoolRange range) const noexcept {
    if (range.first > ids.size() || range.count > ids.size() - range.first) return {};
    return {ids.data() + range.first, range.count};
  }
  [[nodiscard]] Span<const ValueId> inputs_of(const Step& step) const noexcept { return ids_of(step.inputs); }
  [[nodiscard]] Span<const ValueId> results_of(const Step& step) const noexcept { return ids_of(step.results); }
  [[nodiscard]] Span<const Attribute> attributes_of(const Step& step) const noexcept {
    ptir::Instruction i;
    i.attributes = step.attributes;
    return store.attributes_of(i);
  }
  /// Null when nothing is known of the value.
  [[nodiscard]] const Meta* meta_of(ValueId id) const noexcept {
    std::size_t first = 0, last = meta.size();
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (meta[middle].id < id)
        first = middle + 1;
      else
        last = middle;
    }
    return first < meta.size() && meta[first].id == id ? &meta[first] : nullptr;
  }

  /// Copies ids to the pool.
  [[nodiscard]] Result<PoolRange> add_ids(Span<const ValueId> values) noexcept { return store.add(ids, values); }

  /// True when both say the same; where in the pools it lies does not count.
  [[nodiscard]] bool operator==(const FusedProgram& b) const noexcept {
    const FusedProgram& a = *this;
    const ptir::detail::SameProgram same{a.store, b.store};
    const auto equal = [](const auto& x, const auto& y) { return x == y; };
    // A store without regions and one whose only region is the empty first are alike.
    const auto regions = [](const FusedProgram& p) {
      const auto all = p.store.regions.span();
      return all.empty() ? all : all.subspan(1);
    };
    return a.version == b.version && same.all(a.feeds.span(), b.feeds.span(), equal) &&
           same.all(a.state_in.span(), b.state_in.span(), equal) &&
           same.all(a.state_out.span(), b.state_out.span(), equal) &&
           same.all(a.outputs.span(), b.outputs.span(),
                    [](const Output& x, const Output& y) { return x.name == y.name && x.id == y.id; }) &&
           same.all(a.meta.span(), b.meta.span(),
                    [&](const Meta& x, const Meta& y) {
                      return x.id == y.id && x.device == y.device && same.types(x.type, y.type);
                    }) &&
           same.all(a.steps.span(), b.steps.span(),
                    [&](const Step& x, const Step& y) {
                      return x.step_id == y.step_id && x.op == y.op && x.mode_sensitive == y.mode_sensitive &&
                             same.all(a.inputs_of(x), b.inputs_of(y), equal) &&
                             same.all(a.results_of(x), b.results_of(y), equal) &&
                             same.all(a.attributes_of(x), b.attributes_of(y),
                                      [&](const auto& p, const auto& q) { return same.attributes(p, q); });
                    }) &&
           same.all(regions(a), regions(b), [&](const auto& x, const auto& y) { return same.regions(x, y); });
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
