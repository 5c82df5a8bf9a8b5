// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/dot.hpp: a program of the portable tensor IR as a Graphviz graph.
#pragma once

#include <zrt/ir/ptir/print.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// Writes labels through the text printer, so that both forms name things alike.
class DotWriter {
 public:
  explicit DotWriter(const Program& program) noexcept
      : program_(program), label_(program, program.allocator), out_(program, program.allocator) {}

  [[nodiscard]] Result<String> run() noexcept {
    out_ << "digraph ptir {\n  node [shape=box];\n";
    for (std::size_t r = 0; r < program_.regions.size(); ++r) region(r);
    out_ << "}\n";
    return out_.finish();
  }

 private:
  /// Ends a node's line with the label that was written since the last one.
  void labelled(std::string_view rest) noexcept {
    auto text = label_.finish();
    if (!text) return out_.set(text.error());
    out_ << " [label=";
    // Graphviz knows \" and \\ alone; a line end inside a label is written as it stands.
    out_ << "\"";
    for (const char c : text->view()) {
      if (c == '"' || c == '\\') out_ << "\\";
      out_ << std::string_view(&c, 1);
    }
    out_ << "\"" << rest << "];\n";
    label_ = Printer(program_, program_.allocator);
  }
  void node(std::size_t region, ValueId id) noexcept { out_ << "r" << region << "v" << id; }
  void edge(std::size_t region, const Operand& operand, std::size_t slot) noexcept {
    node(region, operand.id);
    out_ << " -> ";
    to(region);
    out_ << " [label=\"" << slot;
    if (operand.kind == Operand::Kind::tuple_element) out_ << ": [" << operand.element << "]";
    out_ << "\"];\n";
  }
  void to(std::size_t region) noexcept {
    if (target_ == nullptr)
      out_ << "r" << region << "return";
    else
      node(region, target_->id);
  }
  /// A literal is a node of its own beside what reads it.
  void constant(std::size_t region, const Operand& operand, std::size_t slot) noexcept {
    out_ << "    ";
    to(region);
    out_ << "c" << slot;
    const Literal* literal = program_.literal(operand.id);
    if (literal != nullptr && literal->type.shape.constant_elements().raw() <= 4)
      label_.literal(operand.id);
    else if (literal != nullptr)
      label_.type(literal->type);
    labelled(", shape=plain");
    out_ << "    ";
    to(region);
    out_ << "c" << slot << " -> ";
    to(region);
    out_ << " [label=\"" << slot << "\"];\n";
  }
  void input(std::size_t region, const Operand& operand, std::size_t slot) noexcept {
    if (operand.kind == Operand::Kind::literal) return constant(region, operand, slot);
    out_ << "    ";
    edge(region, operand, slot);
  }

  void region(std::size_t r) noexcept {
    const Region& region = program_.regions[r];
    out_ << "  subgraph cluster_" << r << " {\n    graph";
    label_ << "@" << r;
    label_.value_name(region.name);
    labelled("");
    for (const Parameter& p : region.parameters) {
      out_ << "    ";
      node(r, p.id);
      label_ << "%" << p.id;
      label_.value_name(p.name);
      label_ << "\n";
      label_.type(p.type);
      labelled(", shape=ellipse");
    }
    for (const Instruction& i : region.instructions) {
      const OpInfo* op = find_op(i.opcode);
      out_ << "    ";
      node(r, i.id);
      label_ << "%" << i.id;
      label_.value_name(i.name);
      label_ << " " << (op == nullptr ? "?" : op->name);
      if (op != nullptr) label_.attributes(*op, i);
      label_ << "\n";
      label_.type(i.output);
      labelled("");
    }
    for (const Instruction& i : region.instructions) {
      target_ = &i;
      const auto operands = program_.operands_of(i);
      for (std::size_t slot = 0; slot < operands.size(); ++slot) input(r, operands[slot], slot);
    }
    target_ = nullptr;
    out_ << "    r" << r << "return";
    label_ << "return";
    labelled(", shape=ellipse");
    for (std::size_t slot = 0; slot < region.results.size(); ++slot) input(r, region.results[slot].operand, slot);
    out_ << "  }\n";
    for (const Instruction& i : region.instructions)
      for (const Attribute& a : program_.attributes_of(i)) {
        if (a.kind != AttributeKind::region) continue;
        out_ << "  ";
        node(r, i.id);
        out_ << " -> r" << a.bits << "return [style=dashed];\n";
      }
  }

  const Program& program_;
  Printer label_;
  Printer out_;
  const Instruction* target_ = nullptr;  ///< what edges lead to; null for the region's return
};

}  // namespace detail

/// Draws a program: one cluster per region, one box per instruction, edges numbered by operand, dashed
/// edges from control flow to the regions that it runs.
[[nodiscard]] inline Result<String> to_dot(const Program& program) noexcept { return detail::DotWriter(program).run(); }

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
