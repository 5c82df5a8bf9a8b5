// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/common_subexpressions.hpp: nodes that compute the same become one.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/ir/passes/context.hpp>
#include <zrt/ir/passes/purity.hpp>

#include <cstring>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

/// Finds among the pure nodes seen so far one with the same op, parameters and operands.
class CommonSubexpressions {
 public:
  CommonSubexpressions(Graph& g, const OpTable& table) noexcept
      : g_(g), table_(table), same_(g.allocator), read_(g.allocator), overwritten_(g.allocator), slots_(g.allocator) {}

  [[nodiscard]] Result<bool> run() noexcept {
    if (auto r = same_.resize(g_.values.size()); !r) return pass(r);
    if (auto r = read_.resize(g_.values.size()); !r) return pass(r);
    if (auto r = overwritten_.resize(g_.values.size()); !r) return pass(r);
    std::size_t capacity = 16;
    while (capacity < 2 * g_.nodes.size()) capacity *= 2;
    if (auto r = slots_.resize(capacity); !r) return pass(r);
    for (std::uint32_t& slot : slots_) slot = kNone;
    for (std::uint32_t v = 0; v < same_.size(); ++v) same_[v] = v;
    for (const Port& port : g_.outputs) read_[port.value.index] = 1;
    for (const Node& n : g_.nodes) {
      for (std::uint32_t v : g_.node_inputs(n))
        if (v != kNone) read_[v] = 1;
      const auto marks = g_.node_in_place(n);
      for (std::uint32_t mark : marks)
        if (mark != 0 && g_.node_inputs(n)[mark - 1] != kNone) overwritten_[g_.node_inputs(n)[mark - 1]] = 1;
    }
    bool changed = false;
    for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      for (std::size_t k = 0; k < n.inputs; ++k) {
        std::uint32_t& input = g_.operands[n.first_operand + k];
        if (input != kNone) input = same_[input];
      }
      if (!mergeable(n)) continue;
      const std::uint32_t first = find_or_enter(i);
      if (first == i) continue;
      for (std::size_t k = 0; k < n.outputs; ++k) {
        const std::uint32_t v = g_.node_outputs(n)[k];
        const std::uint32_t kept = g_.node_outputs(g_.nodes[first])[k];
        if (same_[v] == kept) continue;
        same_[v] = kept;
        // A merged node that only waits to be dropped is no change.
        changed = changed || read_[v] != 0;
      }
    }
    for (Port& port : g_.outputs) port.value.index = same_[port.value.index];
    return changed;
  }

 private:
  [[nodiscard]] bool mergeable(const Node& n) const noexcept {
    if (!is_pure(g_, table_, n)) return false;
    for (std::uint32_t v : g_.node_outputs(n))
      if (overwritten_[v] != 0) return false;
    return true;
  }

  [[nodiscard]] static std::string_view text(Span<const std::byte> bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] Span<const std::byte> data_of(const Weight& w) const noexcept {
    return {g_.constants.data() + w.data_offset, w.data_bytes};
  }

  [[nodiscard]] std::uint64_t hash(const Node& n) const noexcept {
    std::uint64_t h = number(n.opcode);
    const auto mix = [&](std::uint64_t x) { h = (h ^ x) * 0x9e3779b97f4a7c15u + (h >> 29); };
    for (std::uint32_t v : g_.node_inputs(n)) mix(v);
    for (std::uint32_t w : g_.node_weights(n)) {
      if (w == kNone) continue;
      const Weight& weight = g_.weights[w];
      // The first bytes tell most constants apart; all of them are compared in the end.
      const auto data = weight.inline_data() ? data_of(weight) : as_bytes(Span(weight.name.view()));
      mix(data.size());
      mix(hash_bytes(text(data.first(data.size() < 256 ? data.size() : 256))));
    }
    mix(hash_bytes(text(g_.node_params(n).data)));
    return h;
  }

  [[nodiscard]] bool same_weight(std::uint32_t a, std::uint32_t b) const noexcept {
    if (a == b) return true;
    if (a == kNone || b == kNone) return false;
    const Weight& x = g_.weights[a];
    const Weight& y = g_.weights[b];
    if (x.dtype != y.dtype || !(x.shape == y.shape) || x.inline_data() != y.inline_data()) return false;
    return x.inline_data() ? text(data_of(x)) == text(data_of(y)) : x.name.view() == y.name.view();
  }

  [[nodiscard]] bool same_node(const Node& a, const Node& b) const noexcept {
    if (a.opcode != b.opcode || a.inputs != b.inputs || a.weights != b.weights || a.outputs != b.outputs) return false;
    for (std::size_t i = 0; i < a.inputs; ++i)
      if (g_.node_inputs(a)[i] != g_.node_inputs(b)[i]) return false;
    for (std::size_t i = 0; i < a.weights; ++i)
      if (!same_weight(g_.node_weights(a)[i], g_.node_weights(b)[i])) return false;
    return a.params_version == b.params_version && text(g_.node_params(a).data) == text(g_.node_params(b).data);
  }

  /// The first node that computes what node `i` computes: itself when there was none.
  [[nodiscard]] std::uint32_t find_or_enter(std::uint32_t i) noexcept {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash(g_.nodes[i]) & mask;; at = (at + 1) & mask) {
      if (slots_[at] == kNone) slots_[at] = i;
      if (same_node(g_.nodes[slots_[at]], g_.nodes[i])) return slots_[at];
    }
  }

  Graph& g_;
  const OpTable& table_;
  Vector<std::uint32_t> same_;  ///< by value: the one that stands for it
  Vector<std::uint8_t> read_;   ///< by value, as the graph was
  Vector<std::uint8_t> overwritten_;
  Vector<std::uint32_t> slots_;  ///< a table of nodes by hash
};

}  // namespace detail

/// Lets one node stand for all that compute the same; constants are the same by their bytes. Results keep
/// their bits. Nodes with state or regions, draws of random numbers, calls that the host defines, and what
/// is written over are left alone.
[[nodiscard]] inline Result<bool> merge_common_subexpressions(Graph& g, const PassContext& context) noexcept {
  return detail::CommonSubexpressions(g, *context.ops.table).run();
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
