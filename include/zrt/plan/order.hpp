// SPDX-License-Identifier: Apache-2.0
// zrt/plan/order.hpp: the order in which the nodes of a graph run.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/ir/graph.hpp>

#include <array>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// In which order nodes run. Every order keeps that of nodes on one state, lets a value be read before a
/// node that is marked to write over it, and is the same for the same graph. In all but the first,
/// constants run right before their first reader. (Graph runtime log, Memory-Aware Topological Ordering.)
enum class Ordering : std::uint8_t {
  program,  ///< as the graph has them
  /// Of the nodes whose operands are there, the one that frees the most bytes, as known when its last
  /// operand was made.
  freed_bytes,
  /// Of those, the one that frees the most bytes over those that it takes, and prepares results in
  /// place; known anew whenever it changes.
  lazy_rescore,
};

inline constexpr auto kOrderings = std::to_array({Ordering::program, Ordering::freed_bytes, Ordering::lazy_rescore});

[[nodiscard]] constexpr std::string_view name(Ordering ordering) noexcept {
  switch (ordering) {
    case Ordering::program:
      return "program";
    case Ordering::freed_bytes:
      return "freed_bytes";
    case Ordering::lazy_rescore:
      return "lazy_rescore";
  }
  return "unknown";
}

namespace detail {

/// Schedules the nodes of a graph. Symbols count with their bounds.
class NodeScheduler {
 public:
  NodeScheduler(const ir::Graph& graph, const OpTable& table, Span<const std::uint8_t> needed) noexcept
      : graph_(graph),
        table_(table),
        needed_(needed),
        memory_(graph.allocator),
        owner_(graph.allocator),
        waiting_(graph.allocator),
        first_next_(graph.allocator),
        next_(graph.allocator),
        prepares_(graph.allocator),
        ready_(graph.allocator) {}

  /// The needed nodes in order.
  [[nodiscard]] Result<Vector<std::uint32_t>> run(Ordering ordering) noexcept {
    Vector<std::uint32_t> order(graph_.allocator);
    if (ordering == Ordering::program) {
      for (std::uint32_t node = 0; node < needed_.size(); ++node)
        if (needed_[node] != 0)
          if (auto r = order.push_back(node); !r) return pass(r);
      return order;
    }
    rescores_ = ordering == Ordering::lazy_rescore;
    if (auto r = measure(); !r) return pass(r);
    if (auto r = connect(); !r) return pass(r);
    for (std::uint32_t node = 0; node < needed_.size(); ++node)
      if (needed_[node] != 0 && waiting_[node] == 0 && !is_source(node))
        if (auto r = ready_.push({score(node), node}); !r) return pass(r);
    while (!ready_.empty()) {
      const Entry entry = ready_.top();
      ready_.pop();
      if (waiting_[entry.node] == kDone) continue;
      if (rescores_) {
        if (const std::int64_t now = score(entry.node); now != entry.score) {
          if (auto r = ready_.push({now, entry.node}); !r) return pass(r);
          continue;
        }
      }
      for (std::uint32_t value : graph_.node_inputs(graph_.nodes[entry.node]))
        if (value != ir::kNone)
          if (auto r = run_source(graph_.values[value].producer, order); !r) return pass(r);
      waiting_[entry.node] = kDone;
      if (auto r = order.push_back(entry.node); !r) return pass(r);
      if (auto r = release(entry.node); !r) return pass(r);
    }
    for (std::uint32_t node = 0; node < needed_.size(); ++node)
      if (needed_[node] != 0)
        if (auto r = run_source(node, order); !r) return pass(r);
    return order;
  }

 private:
  static constexpr std::uint32_t kNoNode = ir::kNone;
  static constexpr std::uint32_t kDone = ir::kNone;
  /// Sums of sizes of one node's operands stay far below 2^63.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 55;

  /// Memory that one value and its views share.
  struct Memory {
    std::int64_t bytes = 0;
    std::uint32_t readers = 0;       ///< nodes that have yet to read it
    std::uint32_t exclusive_or = 0;  ///< of those nodes' numbers: when one is left, its own
    bool kept = false;               ///< an output of the graph
  };
  struct Entry {
    std::int64_t score = 0;
    std::uint32_t node = 0;
  };
  struct Before {
    bool operator()(const Entry& a, const Entry& b) const noexcept {
      return a.score != b.score ? a.score > b.score : a.node < b.node;
    }
  };
  /// The memories that a node reads, each once.
  struct Reads {
    std::array<std::uint32_t, kMaxOperands> memory{};
    std::size_t count = 0;
  };

  /// A node that reads nothing, such as a constant. It runs when its first reader is about to, because
  /// before that its result only lies in the way.
  [[nodiscard]] bool is_source(std::uint32_t node) const noexcept {
    return graph_.nodes[node].inputs == 0 && !graph_.nodes[node].state.present();
  }
  [[nodiscard]] Result<void> run_source(std::uint32_t node, Vector<std::uint32_t>& order) noexcept {
    if (node == kNoNode || !is_source(node) || waiting_[node] == kDone) return {};
    waiting_[node] = kDone;
    return order.push_back(node);
  }

  [[nodiscard]] Reads reads(const ir::Node& n) const noexcept {
    Reads found;
    for (std::uint32_t value : graph_.node_inputs(n)) {
      if (value == ir::kNone) continue;
      bool seen = false;
      for (std::size_t i = 0; i < found.count; ++i) seen = seen || found.memory[i] == owner_[value];
      if (!seen) found.memory[found.count++] = owner_[value];
    }
    return found;
  }

  [[nodiscard]] std::int64_t bytes_of_value(std::uint32_t value, const Extents& bounds) const noexcept {
    const TensorType& type = graph_.values[value].type;
    const CheckedSize elements = type.shape.elements(bounds);
    if (!elements.ok() || elements.raw() > kMostBytes) return static_cast<std::int64_t>(kMostBytes);
    const std::uint64_t bytes = zrt::bytes_of(type.dtype, elements.raw());
    return static_cast<std::int64_t>(bytes < kMostBytes ? bytes : kMostBytes);
  }

  /// Finds who reads which memory. Views belong to what they are views of, whatever is planned later.
  [[nodiscard]] Result<void> measure() noexcept {
    Extents bounds;
    for (std::size_t i = 0; i < graph_.symbols.size(); ++i)
      bounds.value[i + 1] = graph_.symbols[i].bound != 0 ? graph_.symbols[i].bound : 1;
    if (auto r = memory_.resize(graph_.values.size()); !r) return r;
    if (auto r = owner_.resize(graph_.values.size()); !r) return r;
    if (auto r = prepares_.resize(graph_.nodes.size()); !r) return r;
    for (std::uint32_t v = 0; v < owner_.size(); ++v) {
      owner_[v] = v;
      memory_[v].bytes = bytes_of_value(v, bounds);
    }
    OperandStorage storage;
    for (std::uint32_t node = 0; node < needed_.size(); ++node) {
      if (needed_[node] == 0) continue;
      const ir::Node& n = graph_.nodes[node];
      const OpRow& row = *table_[number(n.opcode)];
      if (row.view != nullptr && row.view(graph_.operand_info(n, storage)))
        owner_[graph_.node_outputs(n)[0]] = owner_[graph_.node_inputs(n)[0]];
      const Reads found = reads(n);
      for (std::size_t i = 0; i < found.count; ++i) {
        Memory& memory = memory_[found.memory[i]];
        ++memory.readers;
        memory.exclusive_or ^= node;
      }
    }
    for (const ir::Port& port : graph_.outputs) memory_[owner_[port.value.index]].kept = true;
    if (rescores_)
      for (std::uint32_t node = 0; node < needed_.size(); ++node)
        if (needed_[node] != 0) prepare(node);
    return {};
  }

  /// Credits the nodes that make operands which `node`, as their only reader, may write over.
  void prepare(std::uint32_t node) noexcept {
    const ir::Node& n = graph_.nodes[node];
    const auto inputs = graph_.node_inputs(n);
    const auto outputs = graph_.node_outputs(n);
    for (const Alias& alias : table_[number(n.opcode)]->may_alias) {
      const std::uint32_t from = inputs[alias.input];
      if (from == ir::kNone || alias.output >= outputs.size()) continue;
      const Memory& memory = memory_[owner_[from]];
      const std::uint32_t maker = graph_.values[from].producer;
      if (maker == kNoNode || memory.readers != 1 || memory.kept ||
          memory.bytes != memory_[outputs[alias.output]].bytes)
        continue;
      prepares_[maker] += memory.bytes / 8;
    }
  }

  /// Calls f(before, after) for every pair of nodes whose order is given.
  template <class F> [[nodiscard]] Result<void> each_edge(F&& f) noexcept {
    Vector<std::uint32_t> last_on_state(graph_.allocator);
    Vector<std::uint32_t> overwriter(graph_.allocator);
    if (auto r = last_on_state.resize(graph_.states.size()); !r) return r;
    if (auto r = overwriter.resize(graph_.values.size()); !r) return r;
    for (std::uint32_t& node : last_on_state) node = kNoNode;
    for (std::uint32_t& node : overwriter) node = kNoNode;
    for (std::uint32_t node = 0; node < needed_.size(); ++node) {
      if (needed_[node] == 0) continue;
      const ir::Node& n = graph_.nodes[node];
      const auto marks = graph_.node_in_place(n);
      for (std::uint32_t mark : marks)
        if (mark != 0) overwriter[graph_.node_inputs(n)[mark - 1]] = node;
    }
    for (std::uint32_t node = 0; node < needed_.size(); ++node) {
      if (needed_[node] == 0) continue;
      const ir::Node& n = graph_.nodes[node];
      for (std::uint32_t value : graph_.node_inputs(n)) {
        if (value == ir::kNone) continue;
        const std::uint32_t maker = graph_.values[value].producer;
        if (maker != kNoNode && !is_source(maker)) f(maker, node);
        if (overwriter[value] != kNoNode && overwriter[value] != node) f(node, overwriter[value]);
      }
      if (!n.state.present()) continue;
      std::uint32_t& before = last_on_state[n.state.index];
      if (before != kNoNode) f(before, node);
      before = node;
    }
    return {};
  }

  /// Lists for each node those that wait for it.
  [[nodiscard]] Result<void> connect() noexcept {
    if (auto r = waiting_.resize(graph_.nodes.size()); !r) return r;
    if (auto r = first_next_.resize(graph_.nodes.size() + 1); !r) return r;
    if (auto r = each_edge([this](std::uint32_t before, std::uint32_t after) {
          ++first_next_[before + 1];
          ++waiting_[after];
        });
        !r)
      return r;
    for (std::size_t i = 1; i < first_next_.size(); ++i) first_next_[i] += first_next_[i - 1];
    if (auto r = next_.resize(first_next_.back()); !r) return r;
    Vector<std::uint32_t> filled(graph_.allocator);
    if (auto r = filled.append(first_next_.span()); !r) return r;
    return each_edge([&](std::uint32_t before, std::uint32_t after) { next_[filled[before]++] = after; });
  }

  [[nodiscard]] std::int64_t score(std::uint32_t node) const noexcept {
    const ir::Node& n = graph_.nodes[node];
    const Reads found = reads(n);
    std::int64_t score = 0;
    for (std::size_t i = 0; i < found.count; ++i) {
      const Memory& memory = memory_[found.memory[i]];
      if (memory.readers == 1 && !memory.kept) score += memory.bytes;
    }
    if (!rescores_) return score;
    for (std::uint32_t value : graph_.node_outputs(n))
      if (owner_[value] == value) score -= memory_[value].bytes;
    return score + prepares_[node];
  }

  /// Updates the nodes that wait for `node`, and those that are now the last readers of what it has read.
  [[nodiscard]] Result<void> release(std::uint32_t node) noexcept {
    const Reads found = reads(graph_.nodes[node]);
    for (std::size_t i = 0; i < found.count; ++i) {
      Memory& memory = memory_[found.memory[i]];
      --memory.readers;
      memory.exclusive_or ^= node;
      // Freeing more than before would otherwise be noticed only when it is looked at.
      if (rescores_ && memory.readers == 1 && waiting_[memory.exclusive_or] == 0)
        if (auto r = ready_.push({score(memory.exclusive_or), memory.exclusive_or}); !r) return r;
    }
    for (std::size_t i = first_next_[node]; i < first_next_[node + 1]; ++i)
      if (--waiting_[next_[i]] == 0)
        if (auto r = ready_.push({score(next_[i]), next_[i]}); !r) return r;
    return {};
  }

  const ir::Graph& graph_;
  const OpTable& table_;
  Span<const std::uint8_t> needed_;
  bool rescores_ = false;
  Vector<Memory> memory_;             ///< per value
  Vector<std::uint32_t> owner_;       ///< per value: the value whose memory it shares
  Vector<std::uint32_t> waiting_;     ///< per node: edges from nodes that have not run, or kDone
  Vector<std::uint32_t> first_next_;  ///< per node and one more: its first entry of next_
  Vector<std::uint32_t> next_;        ///< nodes that wait
  Vector<std::int64_t> prepares_;     ///< per node: credit for results in place
  PriorityQueue<Entry, Before> ready_;
};

}  // namespace detail

/// The nodes that `needed` marks, in the order in which they run. The graph is well-formed.
[[nodiscard]] inline Result<Vector<std::uint32_t>> node_order(const ir::Graph& graph, const OpTable& table,
                                                              Span<const std::uint8_t> needed,
                                                              Ordering ordering) noexcept {
  return detail::NodeScheduler(graph, table, needed).run(ordering);
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
