// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/dead_code.hpp: drops what nobody needs: nodes, values, regions, weights and their data.
#pragma once

#include <zrt/ir/passes/context.hpp>
#include <zrt/ir/passes/needed.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// Gives ids in the order of their first use.
class Renumbering {
 public:
  [[nodiscard]] static Result<Renumbering> of(const Allocator& allocator, std::size_t count) noexcept {
    Renumbering made(allocator);
    if (auto r = made.ids_.resize(count); !r) return pass(r);
    for (std::uint32_t& id : made.ids_) id = kNone;
    return made;
  }
  [[nodiscard]] bool has(std::uint32_t old) const noexcept { return ids_[old] != kNone; }
  [[nodiscard]] std::uint32_t operator[](std::uint32_t old) const noexcept { return old == kNone ? kNone : ids_[old]; }
  void set(std::uint32_t old, std::size_t id) noexcept { ids_[old] = static_cast<std::uint32_t>(id); }

 private:
  explicit Renumbering(const Allocator& allocator) noexcept : ids_(allocator) {}
  Vector<std::uint32_t> ids_;
};

/// Copies what is needed of a graph into a new one.
class DeadCode {
 public:
  [[nodiscard]] static Result<Graph> run(Graph& from, Span<const std::uint8_t> needed) noexcept {
    auto values = Renumbering::of(from.allocator, from.values.size());
    if (!values) return pass(values);
    auto weights = Renumbering::of(from.allocator, from.weights.size());
    if (!weights) return pass(weights);
    DeadCode pass_over(from, std::move(*values), std::move(*weights));
    if (auto r = pass_over.copy(needed); !r) return pass(r);
    return std::move(pass_over.to_);
  }

 private:
  DeadCode(Graph& from, Renumbering values, Renumbering weights) noexcept
      : from_(from), to_(from.allocator), values_(std::move(values)), weights_(std::move(weights)) {}

  [[nodiscard]] Result<void> copy(Span<const std::uint8_t> needed) noexcept {
    if (auto r = to_.symbols.append(from_.symbols.span()); !r) return r;
    if (auto r = to_.states.append(from_.states.span()); !r) return r;
    if (auto r = reserve_constants(needed); !r) return r;
    for (const Port& port : from_.inputs) {
      if (auto r = add_value(port.value.index, kNone); !r) return r;
      if (auto r = to_.inputs.push_back({port.name, {values_[port.value.index]}}); !r) return r;
    }
    for (std::size_t i = 0; i < from_.nodes.size(); ++i)
      if (needed[i] != 0)
        if (auto r = copy(from_.nodes[i]); !r) return r;
    for (const Port& port : from_.outputs)
      if (auto r = to_.outputs.push_back({port.name, {values_[port.value.index]}}); !r) return r;
    return {};
  }

  [[nodiscard]] Result<void> copy(const Node& n) noexcept {
    Node made = n;
    made.first_operand = static_cast<std::uint32_t>(to_.operands.size());
    made.params_offset = static_cast<std::uint32_t>(to_.params.size());
    for (std::uint32_t v : from_.node_inputs(n))
      if (auto r = to_.operands.push_back(values_[v]); !r) return r;
    for (std::uint32_t w : from_.node_weights(n)) {
      if (w != kNone && !weights_.has(w))
        if (auto r = add_weight(w); !r) return r;
      if (auto r = to_.operands.push_back(weights_[w]); !r) return r;
    }
    for (std::uint32_t region : from_.node_regions(n)) {
      if (auto r = to_.operands.push_back(static_cast<std::uint32_t>(to_.regions.size())); !r) return r;
      if (auto r = to_.regions.push_back(std::move(from_.regions[region])); !r) return r;
    }
    for (std::uint32_t v : from_.node_outputs(n)) {
      if (auto r = add_value(v, static_cast<std::uint32_t>(to_.nodes.size())); !r) return r;
      if (auto r = to_.operands.push_back(values_[v]); !r) return r;
    }
    if (auto r = to_.operands.append(from_.node_in_place(n)); !r) return r;
    if (auto r = to_.params.append(from_.node_params(n).data); !r) return r;
    if (auto r = to_.params.resize(align_up(to_.params.size(), 8)); !r) return r;
    return to_.nodes.push_back(made);
  }

  /// Makes room for the data of all weights at once.
  [[nodiscard]] Result<void> reserve_constants(Span<const std::uint8_t> needed) noexcept {
    CheckedSize bytes = 0;
    for (std::size_t i = 0; i < from_.nodes.size(); ++i)
      if (needed[i] != 0)
        for (std::uint32_t w : from_.node_weights(from_.nodes[i]))
          if (w != kNone && from_.weights[w].inline_data()) bytes = bytes.aligned(64) + from_.weights[w].data_bytes;
    // Two nodes with one weight count it twice.
    const std::uint64_t there = from_.constants.size();
    return to_.constants.reserve(static_cast<std::size_t>(bytes.ok() && bytes.raw() < there ? bytes.raw() : there));
  }

  [[nodiscard]] Result<void> add_value(std::uint32_t old, std::uint32_t producer) noexcept {
    values_.set(old, to_.values.size());
    return to_.values.push_back({from_.values[old].type, producer});
  }

  [[nodiscard]] Result<void> add_weight(std::uint32_t old) noexcept {
    Weight weight = from_.weights[old];
    if (weight.inline_data()) {
      const Span<const std::byte> data(from_.constants.data() + weight.data_offset, weight.data_bytes);
      const auto offset = to_.store(data);
      if (!offset) return pass(offset);
      weight.data_offset = *offset;
    }
    weights_.set(old, to_.weights.size());
    return to_.weights.push_back(weight);
  }

  Graph& from_;
  Graph to_;
  Renumbering values_;
  Renumbering weights_;
};

}  // namespace detail

/// Drops every node that no output and no state needs, and what only such nodes name. Results keep their
/// bits; a violation that a dropped node would have reported goes with it, as in every plan.
[[nodiscard]] inline Result<bool> drop_dead_code(Graph& g, const PassContext&) noexcept {
  auto needed = needed_nodes(g);
  if (!needed) return pass(needed);
  std::size_t kept = 0;
  for (std::uint8_t keep : *needed) kept += keep;
  Vector<std::uint8_t> weight_used(g.allocator);
  if (auto r = weight_used.resize(g.weights.size()); !r) return pass(r);
  std::size_t weights = 0;
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    if ((*needed)[i] == 0) continue;
    for (std::uint32_t w : g.node_weights(g.nodes[i])) {
      if (w == kNone || weight_used[w] != 0) continue;
      weight_used[w] = 1;
      ++weights;
    }
  }
  if (kept == g.nodes.size() && weights == g.weights.size()) return false;
  auto made = detail::DeadCode::run(g, needed->span());
  if (!made) return pass(made);
  g = std::move(*made);
  return true;
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
