// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/schedule.hpp: brings the steps of a process graph into the order of their levels.
#pragma once

#include <zrt/ir/fused/verify.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

/// The stream of a dropout: its attribute, or where that is left out the id of its step.
[[nodiscard]] constexpr Attribute dropout_stream(const Step& step, const Attribute& stream) noexcept {
  return stream.present() ? stream : Attribute::integer(std::int64_t{step.step_id});
}

namespace detail {

/// Gives a step another id; a dropout keeps its draws.
[[nodiscard]] inline Result<void> renumber(FusedProgram& p, Step& step, std::uint32_t id) noexcept {
  const auto attributes = p.attributes_of(step);
  if (step.op.view() == "dropout" && step.step_id != id && attributes.size() == 3 && !attributes[2].present()) {
    const std::array own{attributes[0], attributes[1], dropout_stream(step, attributes[2])};
    const auto range = p.store.add(p.store.attributes, Span<const Attribute>(own));
    if (!range) return pass(range);
    step.attributes = *range;
  }
  step.step_id = id;
  return {};
}

}  // namespace detail

/// Orders steps that stand in any order: by level (one more than the highest level among the producers of
/// the inputs; feeds have none), then by step_id, and numbers them anew from 0. The ids of values stay, and so do draws:
/// the stream of a dropout that gets another id and has none of its own becomes the id that it had.
///
/// Errors: Errc::duplicate_name for a value with two origins, Errc::dangling_value for an input that nothing
/// gives or steps that form a cycle.
[[nodiscard]] inline Result<void> schedule(FusedProgram& p) noexcept {
  CutWire cut(p.store.allocator);
  const auto origins = detail::ValueOrigins::of(p, cut);
  if (!origins) return pass(origins);
  struct Place {
    std::uint32_t level = 0;
    std::uint32_t waits = 0;
    std::uint32_t first_reader = 0;
  };
  const Allocator& allocator = p.store.allocator;
  Vector<Place> places(allocator);
  Vector<std::uint32_t> readers(allocator), ready(allocator);
  if (auto r = places.resize(p.steps.size() + 1); !r) return r;
  if (auto r = ready.reserve(p.steps.size()); !r) return r;
  // Calls `visit` with producer and reader of each wire between steps.
  const auto each_wire = [&](const auto& visit) -> Result<void> {
    for (std::uint32_t s = 0; s < p.steps.size(); ++s)
      for (const ValueId input : p.inputs_of(p.steps[s])) {
        const auto* row = origins->find(input);
        if (row == nullptr)
          return fail(Errc::dangling_value, "step ", p.steps[s].step_id, " (", p.steps[s].op.view(), "): input ", input,
                      " is given by nothing");
        if (row->step != detail::ValueOrigins::kFeed) visit(row->step, s);
      }
    return {};
  };
  // The readers of a step stand together in `readers`: counted, then placed.
  if (auto r = each_wire([&](std::uint32_t from, std::uint32_t to) {
        ++places[from + 1].first_reader;
        ++places[to].waits;
      });
      !r)
    return r;
  for (std::size_t s = 1; s < places.size(); ++s) places[s].first_reader += places[s - 1].first_reader;
  if (auto r = readers.resize(places.back().first_reader); !r) return r;
  Vector<std::uint32_t> filled(allocator);
  if (auto r = filled.resize(p.steps.size()); !r) return r;
  if (auto r = each_wire(
          [&](std::uint32_t from, std::uint32_t to) { readers[places[from].first_reader + filled[from]++] = to; });
      !r)
    return r;
  Result<void> kept;
  const auto add = [&](std::uint32_t s) {
    if (auto r = ready.push_back(s); !r) kept = r;
  };
  for (std::uint32_t s = 0; s < p.steps.size(); ++s)
    if (places[s].waits == 0) add(s);
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const std::uint32_t from = ready[next];
    for (std::uint32_t i = places[from].first_reader; i < places[from + 1].first_reader; ++i) {
      Place& reader = places[readers[i]];
      reader.level = std::max(reader.level, places[from].level + 1);
      if (--reader.waits == 0) add(readers[i]);
    }
  }
  if (!kept) return kept;
  if (ready.size() != p.steps.size()) return fail(Errc::dangling_value, "the steps form a cycle");
  std::sort(ready.begin(), ready.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (places[a].level != places[b].level) return places[a].level < places[b].level;
    if (p.steps[a].step_id != p.steps[b].step_id) return p.steps[a].step_id < p.steps[b].step_id;
    return a < b;
  });
  Vector<Step> steps(allocator);
  if (auto r = steps.reserve(p.steps.size()); !r) return r;
  for (const std::uint32_t s : ready) {
    Step step = p.steps[s];
    if (auto r = detail::renumber(p, step, static_cast<std::uint32_t>(steps.size())); !r) return r;
    if (auto r = steps.push_back(step); !r) return r;
  }
  p.steps = std::move(steps);
  return {};
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
