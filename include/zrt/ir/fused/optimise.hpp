// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/optimise.hpp: a fused program without the steps that say nothing new or that nothing needs.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/ir/fused/verify.hpp>

#include <bit>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

namespace detail {

/// Copies a program's steps but for those that repeat an earlier one, and those without a reader.
class Optimiser {
 public:
  Optimiser(const FusedProgram& from, const ValueOrigins& origins) noexcept
      : from_(from), origins_(origins), stands_(from.store.allocator), needed_(from.store.allocator) {}

  [[nodiscard]] Result<FusedProgram> run() noexcept {
    FusedProgram to(from_.store.allocator);
    if (auto r = merge(); !r) return pass(r);
    if (auto r = mark(); !r) return pass(r);
    auto store = from_.store.clone();
    if (!store) return pass(store);
    to.store = std::move(*store);
    to.version = from_.version;
    if (auto r = to.feeds.append(from_.feeds.span()); !r) return pass(r);
    if (auto r = to.state_in.append(from_.state_in.span()); !r) return pass(r);
    Vector<ValueId> ids(from_.store.allocator);
    for (std::size_t s = 0; s < from_.steps.size(); ++s) {
      if (needed_[s] == 0) continue;
      Step step = from_.steps[s];
      const auto results = to.add_ids(from_.results_of(step));
      if (!results) return pass(results);
      ids.clear();
      for (const ValueId id : from_.inputs_of(step))
        if (auto r = ids.push_back(value(id)); !r) return pass(r);
      const auto inputs = to.add_ids(ids.span());
      if (!inputs) return pass(inputs);
      step.inputs = *inputs;
      step.results = *results;
      if (auto r = to.steps.push_back(step); !r) return pass(r);
    }
    for (const Output& output : from_.outputs)
      if (auto r = to.outputs.push_back({output.name, value(output.id)}); !r) return pass(r);
    for (const StateUpdate& update : from_.state_out)
      if (auto r = to.state_out.push_back({update.state, value(update.value)}); !r) return pass(r);
    for (const Meta& meta : from_.meta)
      if (const auto* row = origins_.find(meta.id); row->step == ValueOrigins::kFeed || needed_[row->step] != 0)
        if (auto r = to.meta.push_back(meta); !r) return pass(r);
    return to;
  }

 private:
  /// The value that stands for `id`.
  [[nodiscard]] ValueId value(ValueId id) const noexcept { return stands_[origins_.find(id)->ordinal]; }

  /// True when equal inputs and attributes give equal results: no draw, no host's kernel.
  [[nodiscard]] bool is_pure(const Step& step) const noexcept {
    const std::string_view op = step.op.view();
    return find_mode_op(op) == nullptr && op != "rng_uniform" && op != "rng_normal" && op != "custom_call";
  }
  [[nodiscard]] bool same(const Step& a, const Step& b) const noexcept {
    const ptir::detail::SameProgram compare{from_.store, from_.store};
    return a.op == b.op && a.results.count == b.results.count &&
           compare.all(from_.inputs_of(a), from_.inputs_of(b),
                       [this](ValueId x, ValueId y) { return value(x) == value(y); }) &&
           compare.all(from_.attributes_of(a), from_.attributes_of(b),
                       [&](const Attribute& x, const Attribute& y) { return compare.attributes(x, y); });
  }
  [[nodiscard]] std::uint64_t hash(const Step& step) const noexcept {
    std::uint64_t h = hash_bytes(step.op.view());
    const auto mix = [&](std::uint64_t word) { h = (h ^ word) * 0x9E3779B97F4A7C15u ^ h >> 29; };
    for (const ValueId id : from_.inputs_of(step)) mix(value(id));
    for (const Attribute& attribute : from_.attributes_of(step)) {
      if (attribute.kind != ptir::AttributeKind::literal) {
        mix(attribute.bits);
        continue;
      }
      // Equal literals may lie in several places.
      const auto data = from_.store.bytes_of(*from_.store.literal(attribute.bits));
      mix(hash_bytes({reinterpret_cast<const char*>(data.data()), data.size()}));
    }
    return h;
  }

  /// Lets the results of a step that repeats an earlier one be the earlier one's.
  [[nodiscard]] Result<void> merge() noexcept {
    for (const ValueId id : from_.feeds)
      if (auto r = stands_.push_back(id); !r) return r;
    for (const Step& step : from_.steps)
      for (const ValueId id : from_.results_of(step))
        if (auto r = stands_.push_back(id); !r) return r;
    constexpr std::uint32_t kFree = ~std::uint32_t{0};
    Vector<std::uint32_t> table(from_.store.allocator);  // of steps, by hash; never more than half full
    if (auto r = table.resize(std::bit_ceil(2 * from_.steps.size() + 1)); !r) return r;
    for (std::uint32_t& place : table) place = kFree;
    for (std::uint32_t s = 0; s < from_.steps.size(); ++s) {
      const Step& step = from_.steps[s];
      if (!is_pure(step)) continue;
      std::size_t at = hash(step) & (table.size() - 1);
      while (table[at] != kFree && !same(from_.steps[table[at]], step)) at = (at + 1) & (table.size() - 1);
      if (table[at] == kFree) {
        table[at] = s;
        continue;
      }
      const auto results = from_.results_of(step), earlier = from_.results_of(from_.steps[table[at]]);
      for (std::size_t e = 0; e < results.size(); ++e) stands_[origins_.find(results[e])->ordinal] = earlier[e];
    }
    return {};
  }
  /// Marks the steps that outputs and updates need.
  [[nodiscard]] Result<void> mark() noexcept {
    if (auto r = needed_.resize(from_.steps.size()); !r) return r;
    const auto need = [this](ValueId id) {
      const auto* row = origins_.find(value(id));
      if (row->step != ValueOrigins::kFeed) needed_[row->step] = 1;
    };
    for (const Output& output : from_.outputs) need(output.id);
    for (const StateUpdate& update : from_.state_out) need(update.value);
    for (std::size_t s = from_.steps.size(); s-- > 0;)
      if (needed_[s] != 0)
        for (const ValueId id : from_.inputs_of(from_.steps[s])) need(id);
    return {};
  }

  const FusedProgram& from_;
  const ValueOrigins& origins_;
  Vector<ValueId> stands_;  ///< by ordinal
  Vector<std::uint8_t> needed_;
};

}  // namespace detail

/// Gives a new program that computes the same: steps that repeat an earlier one are merged into it, and steps
/// that neither an output nor an update needs are gone. The rest keep their order and their ids, so that draws
/// stay; `p` stays as it was.
///
/// Errors: those of `verify`.
[[nodiscard]] inline Result<FusedProgram> optimise(const FusedProgram& p, CutWire* cut = nullptr) noexcept {
  CutWire unasked(p.store.allocator);
  CutWire& at = cut != nullptr ? *cut : unasked;
  if (auto r = verify(p, &at); !r) return pass(r);
  const auto origins = detail::ValueOrigins::of(p, at);
  if (!origins) return pass(origins);
  return detail::Optimiser(p, *origins).run();
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
