// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_program.hpp: what a chat template is after parsing: a flat tree of nodes.
#pragma once

#include <zrt/text/chat/template_lexer.hpp>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// What a node is, and which of its fields mean what. `list` is a range of children.
enum class NodeKind : std::uint8_t {
  // Statements.
  text,          ///< text
  output,        ///< a: expression
  block,         ///< list: statements
  condition,     ///< list: condition, block, condition, block, ...; a: block of else
  loop,          ///< a: target, b: sequence, c: body, d: condition, e: block of else
  assign,        ///< a: target, b: value
  assign_block,  ///< a: target, b: body, list: filters
  macro,         ///< text: name, list: parameters, a: body
  leave,         ///< break
  next,          ///< continue
  filter_block,  ///< a: filter whose input is the body, b: body
  // Parts.
  parameter,  ///< text: name, a: default
  keyword,    ///< text: name, a: value
  pair,       ///< a: key, b: value
  // Expressions.
  literal,      ///< value
  name,         ///< text
  list,         ///< list: elements
  tuple,        ///< list: elements
  dict,         ///< list: pairs
  negate,       ///< a
  plus,         ///< a
  invert,       ///< a: not
  both,         ///< a and b
  either,       ///< a or b
  concatenate,  ///< list: parts of ~
  arithmetic,   ///< text: operator, a, b
  compare,      ///< a, list: comparisons
  comparison,   ///< text: operator, a: right side
  conditional,  ///< a if b else c
  attribute,    ///< a, text: name
  item,         ///< a, b: index
  slice,        ///< a, b: from, c: to, d: step
  filter,       ///< a: input, or none in a block; text: name, list: arguments
  test,         ///< a, text: name, list: arguments
  call,         ///< a: callee, list: arguments
};

inline constexpr std::uint32_t kNoNode = ~std::uint32_t{0};

struct TemplateNode {
  NodeKind kind = NodeKind::block;
  std::uint16_t depth = 1;
  std::uint32_t a = kNoNode;
  std::uint32_t b = kNoNode;
  std::uint32_t c = kNoNode;
  std::uint32_t d = kNoNode;
  std::uint32_t e = kNoNode;
  std::uint32_t first = 0;  ///< of the children's list
  std::uint32_t count = 0;
  std::string_view text{};
  Value value{};
  TemplatePlace place{};
};

/// A parsed template. Its texts lie in the source and in the Values of the parser.
struct TemplateProgram {
  explicit TemplateProgram(const Allocator& a) noexcept : nodes(a), lists(a) {}

  Vector<TemplateNode> nodes;
  Vector<std::uint32_t> lists;
  std::uint32_t root = kNoNode;

  [[nodiscard]] const TemplateNode& node(std::uint32_t index) const noexcept { return nodes[index]; }
  [[nodiscard]] Span<const std::uint32_t> children(const TemplateNode& node) const noexcept {
    return lists.span().subspan(node.first, node.count);
  }
};

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
