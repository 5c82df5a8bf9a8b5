// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/drop_identities.hpp: who reads a value that is another one, bit for bit, reads that one instead.
#pragma once

#include <zrt/ir/passes/context.hpp>
#include <zrt/ir/passes/purity.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

namespace detail {

class Identities {
 public:
  Identities(Graph& g, const OpTable& table) noexcept
      : g_(g), table_(table), same_(g.allocator), begins_(g.allocator), overwritten_(g.allocator) {}

  [[nodiscard]] Result<bool> run() noexcept {
    if (auto r = same_.resize(g_.values.size()); !r) return pass(r);
    if (auto r = begins_.resize(g_.values.size()); !r) return pass(r);
    if (auto r = overwritten_.resize(g_.values.size()); !r) return pass(r);
    for (std::uint32_t v = 0; v < same_.size(); ++v) same_[v] = begins_[v] = v;
    for (const Node& n : g_.nodes)
      for (std::size_t i = 0; i < n.outputs; ++i) {
        const std::uint32_t mark = g_.node_in_place(n)[i];
        if (mark == 0) continue;
        overwritten_[g_.node_inputs(n)[mark - 1]] = 1;
      }
    bool changed = false;
    for (std::uint32_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      for (std::size_t k = 0; k < n.inputs; ++k) {
        std::uint32_t& input = g_.operands[n.first_operand + k];
        if (input == kNone || same_[input] == input) continue;
        input = same_[input];
        changed = true;
      }
      if (shows_all_of_its_input(n)) find_same(g_.node_inputs(n)[0], g_.node_outputs(n)[0]);
    }
    for (Port& port : g_.outputs) {
      changed = changed || same_[port.value.index] != port.value.index;
      port.value.index = same_[port.value.index];
    }
    return changed;
  }

 private:
  /// The result begins where the first input does. As large as it, it holds the same bytes.
  [[nodiscard]] bool shows_all_of_its_input(const Node& n) const noexcept {
    const OpRow* row = table_[number(n.opcode)];
    if (row == nullptr || row->view == nullptr || !is_pure(g_, table_, n)) return false;
    if (n.outputs != 1 || n.inputs == 0 || g_.node_inputs(n)[0] == kNone) return false;
    if (overwritten_[g_.node_inputs(n)[0]] != 0 || overwritten_[g_.node_outputs(n)[0]] != 0) return false;
    OperandStorage storage;
    return row->view(g_.operand_info(n, storage)) == 0;
  }

  /// Enters y, which begins where x does: of one type with one of those that x is a view of, it is that one.
  void find_same(std::uint32_t x, std::uint32_t y) noexcept {
    for (std::uint32_t v = x;; v = begins_[v]) {
      if (g_.values[v].type == g_.values[y].type) {
        same_[y] = v;
        return;
      }
      if (begins_[v] == v) break;
    }
    begins_[y] = x;
  }

  Graph& g_;
  const OpTable& table_;
  Vector<std::uint32_t> same_;    ///< by value: the one that stands for it
  Vector<std::uint32_t> begins_;  ///< by value: the one that it is a view of, from its first byte on; else itself
  Vector<std::uint8_t> overwritten_;
};

}  // namespace detail

/// Lets who reads what is a value already, bit for bit, read that value: a cast to the own type, a reshape to the own
/// shape or there and back, an order of axes that is the one there was, a slice of everything, padding by nothing.
/// An op says in `view` when its result is its input; extents that follow the step are the same where they follow the
/// same symbol. Results keep their bits.
[[nodiscard]] inline Result<bool> drop_identities(Graph& g, const PassContext& context) noexcept {
  return detail::Identities(g, *context.ops.table).run();
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
