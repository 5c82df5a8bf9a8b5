// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_parser.hpp: the tokens of a chat template to its program.
#pragma once

#include <zrt/text/chat/template_program.hpp>

#include <initializer_list>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// Parses the part of Jinja that chat templates use. The first fault is kept; parsing then runs to its end without
/// moving on.
class TemplateParser {
 public:
  static constexpr std::uint32_t kDepth = 64;       ///< of nested statements and brackets
  static constexpr std::uint32_t kTreeDepth = 200;  ///< of the program
  static constexpr std::size_t kMostNodes = 65536;

  TemplateParser(Span<const TemplateToken> tokens, const Allocator& allocator) noexcept
      : tokens_(tokens), program_(allocator), pending_(allocator) {}

  [[nodiscard]] Result<TemplateProgram> parse() noexcept {
    program_.root = statements({});
    if (ok_ && peek().kind != TemplateTokenKind::end) expected("the end");
    if (!ok_) return std::unexpected<Error>(error_);
    return std::move(program_);
  }

 private:
  // --- tokens ----------------------------------------------------------------------------------------

  [[nodiscard]] const TemplateToken& peek(std::size_t ahead = 0) const noexcept {
    return tokens_[at_ + ahead < tokens_.size() ? at_ + ahead : tokens_.size() - 1];
  }
  [[nodiscard]] bool is(std::string_view op) const noexcept {
    return peek().kind == TemplateTokenKind::op && peek().text == op;
  }
  [[nodiscard]] bool is_name(std::string_view name, std::size_t ahead = 0) const noexcept {
    return peek(ahead).kind == TemplateTokenKind::name && peek(ahead).text == name;
  }
  [[nodiscard]] bool takes(std::string_view op) noexcept { return is(op) && advance(); }
  [[nodiscard]] bool takes_name(std::string_view name) noexcept { return is_name(name) && advance(); }
  bool advance() noexcept {
    if (ok_ && at_ + 1 < tokens_.size()) ++at_;
    return ok_;
  }
  void demand(std::string_view op) noexcept {
    if (!takes(op)) expected(op);
  }
  void demand_end_of_block() noexcept {
    if (peek().kind != TemplateTokenKind::end_block || !advance()) expected("%}");
  }
  [[nodiscard]] std::string_view demand_name() noexcept {
    const std::string_view name = peek().text;
    if (peek().kind != TemplateTokenKind::name || !advance()) expected("a name");
    return name;
  }

  template <class... Pieces> void fault(TemplatePlace place, Pieces... pieces) noexcept {
    if (ok_) error_ = template_error(Errc::invalid_argument, place, pieces...);
    ok_ = false;
  }
  void expected(std::string_view what) noexcept {
    const TemplateToken& t = peek();
    const std::string_view found = t.kind == TemplateTokenKind::end    ? "the end"
                                   : t.kind == TemplateTokenKind::text ? "text"
                                                                       : t.text;
    fault(t.place, "expected ", what, ", found ", found);
  }

  // --- nodes -----------------------------------------------------------------------------------------

  [[nodiscard]] std::uint32_t add(TemplateNode node) noexcept {
    if (!ok_) return 0;
    std::uint32_t deepest = 0;
    const auto look = [&](std::uint32_t child) {
      if (child != kNoNode && program_.nodes[child].depth > deepest) deepest = program_.nodes[child].depth;
    };
    for (const std::uint32_t child : {node.a, node.b, node.c, node.d, node.e}) look(child);
    for (const std::uint32_t child : program_.children(node)) look(child);
    if (deepest + 1 > kTreeDepth) return fault(node.place, "expected at most ", kTreeDepth, " nested parts"), 0;
    if (program_.nodes.size() >= kMostNodes) return fault(node.place, "expected at most ", kMostNodes, " parts"), 0;
    node.depth = static_cast<std::uint16_t>(deepest + 1);
    keep(program_.nodes.push_back(node));
    return static_cast<std::uint32_t>(program_.nodes.size() - 1);
  }
  void keep(const Result<void>& r) noexcept {
    if (!r && ok_) error_ = r.error();
    ok_ = ok_ && r.has_value();
  }
  /// Children under construction: those pushed since `begin` become the list of a node.
  [[nodiscard]] std::size_t begin_list() const noexcept { return pending_.size(); }
  void push(std::uint32_t child) noexcept { keep(pending_.push_back(child)); }
  void end_list(std::size_t begin, TemplateNode& node) noexcept {
    node.first = static_cast<std::uint32_t>(program_.lists.size());
    node.count = ok_ ? static_cast<std::uint32_t>(pending_.size() - begin) : 0;
    if (ok_) keep(program_.lists.append(pending_.span().subspan(begin)));
    if (!ok_) node.count = 0;
    while (pending_.size() > begin) pending_.pop_back();
  }

  // --- statements ------------------------------------------------------------------------------------

  /// Statements up to a block that begins with one of `ends`, or to the end.
  [[nodiscard]] std::uint32_t statements(std::initializer_list<std::string_view> ends) noexcept {
    TemplateNode node{.kind = NodeKind::block, .place = peek().place};
    if (++depth_ > kDepth) fault(peek().place, "expected at most ", kDepth, " nested statements");
    const std::size_t begin = begin_list();
    while (ok_ && peek().kind != TemplateTokenKind::end && !ends_here(ends)) push(statement());
    end_list(begin, node);
    --depth_;
    return add(node);
  }
  [[nodiscard]] bool ends_here(std::initializer_list<std::string_view> ends) const noexcept {
    if (peek().kind != TemplateTokenKind::begin_block) return false;
    for (const std::string_view end : ends)
      if (is_name(end, 1)) return true;
    return false;
  }
  /// Takes `{% name %}`.
  void demand_end(std::string_view name) noexcept {
    if (peek().kind == TemplateTokenKind::begin_block && is_name(name, 1)) {
      advance();
      advance();
      return demand_end_of_block();
    }
    expected(name);
  }

  [[nodiscard]] std::uint32_t statement() noexcept {
    const TemplateToken& token = peek();
    if (token.kind == TemplateTokenKind::text) {
      advance();
      return add({.kind = NodeKind::text, .text = token.text, .place = token.place});
    }
    if (token.kind == TemplateTokenKind::begin_output) {
      advance();
      const std::uint32_t value = tuple();
      if (peek().kind != TemplateTokenKind::end_output || !advance()) expected("}}");
      return add({.kind = NodeKind::output, .a = value, .place = token.place});
    }
    if (token.kind != TemplateTokenKind::begin_block) return expected("a statement"), 0;
    advance();
    struct Statement {
      std::string_view name;
      std::uint32_t (TemplateParser::*parse)(TemplatePlace) noexcept;
    };
    static constexpr Statement kStatements[] = {
        {"if", &TemplateParser::condition},     {"for", &TemplateParser::loop},
        {"set", &TemplateParser::assign},       {"macro", &TemplateParser::macro},
        {"filter", &TemplateParser::filtered},  {"generation", &TemplateParser::generation},
        {"break", &TemplateParser::leave_loop}, {"continue", &TemplateParser::next_turn}};
    for (const Statement& s : kStatements)
      if (takes_name(s.name)) return (this->*s.parse)(token.place);
    expected("if, for, set, macro, filter, generation, break or continue");
    return 0;
  }

  [[nodiscard]] std::uint32_t condition(TemplatePlace place) noexcept {
    TemplateNode node{.kind = NodeKind::condition, .place = place};
    const std::size_t begin = begin_list();
    for (bool more = true; more && ok_;) {
      push(tuple(false));
      demand_end_of_block();
      push(statements({"elif", "else", "endif"}));
      more = is_name("elif", 1) && advance() && advance();
    }
    if (is_name("else", 1)) {
      demand_end("else");
      node.a = statements({"endif"});
    }
    end_list(begin, node);
    demand_end("endif");
    return add(node);
  }

  [[nodiscard]] std::uint32_t loop(TemplatePlace place) noexcept {
    TemplateNode node{.kind = NodeKind::loop, .place = place};
    node.a = target();
    if (!takes_name("in")) expected("in");
    node.b = tuple(false);
    if (takes_name("if")) node.d = expression();
    demand_end_of_block();
    ++loops_;
    node.c = statements({"endfor", "else"});
    --loops_;
    if (is_name("else", 1)) {
      demand_end("else");
      node.e = statements({"endfor"});
    }
    demand_end("endfor");
    return add(node);
  }
  [[nodiscard]] std::uint32_t leave_loop(TemplatePlace place) noexcept {
    return in_loop(NodeKind::leave, "break", place);
  }
  [[nodiscard]] std::uint32_t next_turn(TemplatePlace place) noexcept {
    return in_loop(NodeKind::next, "continue", place);
  }
  [[nodiscard]] std::uint32_t in_loop(NodeKind kind, std::string_view name, TemplatePlace place) noexcept {
    if (loops_ == 0) fault(place, "expected ", name, " inside a loop, found it outside");
    demand_end_of_block();
    return add({.kind = kind, .place = place});
  }

  /// A name, an attribute of one, or several names.
  [[nodiscard]] std::uint32_t target() noexcept {
    TemplateNode node{.kind = NodeKind::tuple, .place = peek().place};
    const bool brackets = takes("(");
    const std::size_t begin = begin_list();
    do push(single_target());
    while (takes(",") && peek().kind == TemplateTokenKind::name && !is_name("in"));
    if (brackets) demand(")");
    const bool single = ok_ && pending_.size() == begin + 1;
    const std::uint32_t first = single ? pending_.back() : kNoNode;
    end_list(begin, node);
    return single ? first : add(node);
  }
  [[nodiscard]] std::uint32_t single_target() noexcept {
    const TemplatePlace place = peek().place;
    const std::uint32_t name = add({.kind = NodeKind::name, .text = demand_name(), .place = place});
    if (!takes(".")) return name;
    return add({.kind = NodeKind::attribute, .a = name, .text = demand_name(), .place = place});
  }

  [[nodiscard]] std::uint32_t assign(TemplatePlace place) noexcept {
    TemplateNode node{.kind = NodeKind::assign, .place = place};
    node.a = target();
    if (takes("=")) {
      node.b = tuple();
      demand_end_of_block();
      return add(node);
    }
    node.kind = NodeKind::assign_block;
    const std::size_t begin = begin_list();
    while (ok_ && takes("|")) push(filter_of(kNoNode));
    end_list(begin, node);
    demand_end_of_block();
    node.b = statements({"endset"});
    demand_end("endset");
    return add(node);
  }

  [[nodiscard]] std::uint32_t macro(TemplatePlace place) noexcept {
    TemplateNode node{.kind = NodeKind::macro, .text = demand_name(), .place = place};
    const std::uint32_t outer = loops_;
    loops_ = 0;
    demand("(");
    const std::size_t begin = begin_list();
    while (ok_ && !is(")")) {
      TemplateNode parameter{.kind = NodeKind::parameter, .place = peek().place};
      parameter.text = demand_name();
      if (takes("=")) parameter.a = expression();
      push(add(parameter));
      if (!takes(",")) break;
    }
    end_list(begin, node);
    demand(")");
    demand_end_of_block();
    node.a = statements({"endmacro"});
    demand_end("endmacro");
    loops_ = outer;
    return add(node);
  }

  [[nodiscard]] std::uint32_t filtered(TemplatePlace place) noexcept {
    TemplateNode node{.kind = NodeKind::filter_block, .place = place};
    node.a = filter_of(kNoNode);
    while (ok_ && takes("|")) node.a = filter_of(node.a);
    demand_end_of_block();
    node.b = statements({"endfilter"});
    demand_end("endfilter");
    return add(node);
  }
  /// Marks what the assistant said, for training: the body as it is.
  [[nodiscard]] std::uint32_t generation(TemplatePlace) noexcept {
    demand_end_of_block();
    const std::uint32_t body = statements({"endgeneration"});
    demand_end("endgeneration");
    return body;
  }

  // --- expressions -----------------------------------------------------------------------------------

  /// An expression, or several as a tuple.
  [[nodiscard]] std::uint32_t tuple(bool conditional_too = true) noexcept {
    TemplateNode node{.kind = NodeKind::tuple, .place = peek().place};
    const auto one = [&] { return conditional_too ? expression() : either(); };
    const std::uint32_t first = one();
    if (!is(",")) return first;
    const std::size_t begin = begin_list();
    push(first);
    while (ok_ && takes(",") && begins_expression()) push(one());
    end_list(begin, node);
    return add(node);
  }
  [[nodiscard]] bool begins_expression() const noexcept {
    const TemplateTokenKind kind = peek().kind;
    return kind == TemplateTokenKind::name || kind == TemplateTokenKind::string || kind == TemplateTokenKind::integer ||
           kind == TemplateTokenKind::real || is("(") || is("[") || is("{") || is("-") || is("+");
  }

  [[nodiscard]] std::uint32_t expression() noexcept {
    if (++depth_ > kDepth) fault(peek().place, "expected at most ", kDepth, " nested expressions");
    std::uint32_t left = ok_ ? either() : 0;
    while (ok_ && is_name("if")) {
      TemplateNode node{.kind = NodeKind::conditional, .a = left, .place = peek().place};
      advance();
      node.b = either();
      if (takes_name("else")) node.c = expression();
      left = add(node);
    }
    --depth_;
    return left;
  }
  [[nodiscard]] std::uint32_t either() noexcept {
    std::uint32_t left = both();
    while (ok_ && is_name("or")) {
      const TemplatePlace place = peek().place;
      advance();
      const std::uint32_t right = both();
      left = add({.kind = NodeKind::either, .a = left, .b = right, .place = place});
    }
    return left;
  }
  [[nodiscard]] std::uint32_t both() noexcept {
    std::uint32_t left = inverted();
    while (ok_ && is_name("and")) {
      const TemplatePlace place = peek().place;
      advance();
      const std::uint32_t right = inverted();
      left = add({.kind = NodeKind::both, .a = left, .b = right, .place = place});
    }
    return left;
  }
  [[nodiscard]] std::uint32_t inverted() noexcept {
    const TemplatePlace place = peek().place;
    if (!takes_name("not")) return compared();
    if (++depth_ > kDepth) fault(place, "expected at most ", kDepth, " nested expressions");
    const std::uint32_t inner = ok_ ? inverted() : 0;
    --depth_;
    return add({.kind = NodeKind::invert, .a = inner, .place = place});
  }
  [[nodiscard]] std::string_view comparison_here() const noexcept {
    for (const std::string_view op : {"==", "!=", ">=", "<=", ">", "<"})
      if (is(op)) return op;
    if (is_name("in")) return "in";
    return is_name("not") && is_name("in", 1) ? "not in" : "";
  }
  [[nodiscard]] std::uint32_t compared() noexcept {
    const std::uint32_t left = binary(0);
    if (!ok_ || comparison_here().empty()) return left;
    TemplateNode node{.kind = NodeKind::compare, .a = left, .place = peek().place};
    const std::size_t begin = begin_list();
    for (std::string_view op = comparison_here(); ok_ && !op.empty(); op = comparison_here()) {
      const TemplatePlace place = peek().place;
      advance();
      if (op == "not in") advance();
      const std::uint32_t right = binary(0);
      push(add({.kind = NodeKind::comparison, .a = right, .text = op, .place = place}));
    }
    end_list(begin, node);
    return add(node);
  }

  /// Levels of operators, loosest first: sums, ~, products, powers.
  [[nodiscard]] std::string_view operator_here(std::uint32_t level) const noexcept {
    static constexpr std::string_view kOperators[4][4] = {{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}};
    for (const std::string_view op : kOperators[level])
      if (!op.empty() && is(op)) return op;
    return {};
  }
  [[nodiscard]] std::uint32_t binary(std::uint32_t level) noexcept {
    if (level == 4) return unary(true);
    std::uint32_t left = binary(level + 1);
    for (std::string_view op = operator_here(level); ok_ && !op.empty(); op = operator_here(level)) {
      if (op == "~") return concatenated(left, level);
      const TemplatePlace place = peek().place;
      advance();
      const std::uint32_t right = binary(level + 1);
      left = add({.kind = NodeKind::arithmetic, .a = left, .b = right, .text = op, .place = place});
    }
    return left;
  }
  [[nodiscard]] std::uint32_t concatenated(std::uint32_t first, std::uint32_t level) noexcept {
    TemplateNode node{.kind = NodeKind::concatenate, .place = peek().place};
    const std::size_t begin = begin_list();
    push(first);
    while (ok_ && takes("~")) push(binary(level + 1));
    end_list(begin, node);
    return add(node);
  }

  [[nodiscard]] std::uint32_t unary(bool filters) noexcept {
    if (++depth_ > kDepth) fault(peek().place, "expected at most ", kDepth, " nested expressions");
    const TemplatePlace place = peek().place;
    std::uint32_t node = 0;
    if (!ok_)
      node = 0;
    else if (takes("-"))
      node = add({.kind = NodeKind::negate, .a = unary(false), .place = place});
    else if (takes("+"))
      node = add({.kind = NodeKind::plus, .a = unary(false), .place = place});
    else
      node = primary();
    node = postfix(node);
    if (filters) node = filters_and_tests(node);
    --depth_;
    return node;
  }

  [[nodiscard]] std::uint32_t literal(Value value) noexcept {
    const TemplatePlace place = peek().place;
    advance();
    return add({.kind = NodeKind::literal, .value = value, .place = place});
  }
  [[nodiscard]] std::uint32_t primary() noexcept {
    const TemplateToken& token = peek();
    switch (token.kind) {
      case TemplateTokenKind::name:
        if (token.text == "true" || token.text == "True") return literal(Value::of(true));
        if (token.text == "false" || token.text == "False") return literal(Value::of(false));
        if (token.text == "none" || token.text == "None") return literal(Value::none());
        advance();
        return add({.kind = NodeKind::name, .text = token.text, .place = token.place});
      case TemplateTokenKind::integer:
      case TemplateTokenKind::real:
        return literal(token.value);
      case TemplateTokenKind::string:
        return strings();
      case TemplateTokenKind::op:
        if (token.text == "(") return bracketed();
        if (token.text == "[") return list();
        if (token.text == "{") return dict();
        break;
      case TemplateTokenKind::end:
      case TemplateTokenKind::text:
      case TemplateTokenKind::begin_output:
      case TemplateTokenKind::end_output:
      case TemplateTokenKind::begin_block:
      case TemplateTokenKind::end_block:
        break;
    }
    expected("an expression");
    return 0;
  }
  /// Adjacent strings are one.
  [[nodiscard]] std::uint32_t strings() noexcept {
    const TemplatePlace place = peek().place;
    std::uint32_t left = literal(peek().value);
    if (peek().kind != TemplateTokenKind::string) return left;
    TemplateNode node{.kind = NodeKind::concatenate, .place = place};
    const std::size_t begin = begin_list();
    push(left);
    while (ok_ && peek().kind == TemplateTokenKind::string) push(literal(peek().value));
    end_list(begin, node);
    return add(node);
  }
  [[nodiscard]] std::uint32_t bracketed() noexcept {
    TemplateNode node{.kind = NodeKind::tuple, .place = peek().place};
    demand("(");
    if (takes(")")) return add(node);
    const std::uint32_t inner = tuple();
    demand(")");
    return inner;
  }
  [[nodiscard]] std::uint32_t list() noexcept {
    TemplateNode node{.kind = NodeKind::list, .place = peek().place};
    demand("[");
    const std::size_t begin = begin_list();
    while (ok_ && !is("]")) {
      push(expression());
      if (!takes(",")) break;
    }
    end_list(begin, node);
    demand("]");
    return add(node);
  }
  [[nodiscard]] std::uint32_t dict() noexcept {
    TemplateNode node{.kind = NodeKind::dict, .place = peek().place};
    demand("{");
    const std::size_t begin = begin_list();
    while (ok_ && !is("}")) {
      TemplateNode pair{.kind = NodeKind::pair, .place = peek().place};
      pair.a = expression();
      demand(":");
      pair.b = expression();
      push(add(pair));
      if (!takes(",")) break;
    }
    end_list(begin, node);
    demand("}");
    return add(node);
  }

  [[nodiscard]] std::uint32_t postfix(std::uint32_t node) noexcept {
    while (ok_) {
      const TemplatePlace place = peek().place;
      if (takes("."))
        node = member(node, place);
      else if (takes("["))
        node = subscript(node, place);
      else if (is("("))
        node = call(node);
      else
        break;
    }
    return node;
  }
  [[nodiscard]] std::uint32_t member(std::uint32_t of, TemplatePlace place) noexcept {
    if (peek().kind == TemplateTokenKind::integer) {
      const std::uint32_t index = literal(peek().value);
      return add({.kind = NodeKind::item, .a = of, .b = index, .place = place});
    }
    return add({.kind = NodeKind::attribute, .a = of, .text = demand_name(), .place = place});
  }
  [[nodiscard]] std::uint32_t subscript(std::uint32_t of, TemplatePlace place) noexcept {
    TemplateNode node{.kind = NodeKind::item, .a = of, .place = place};
    if (!is(":")) node.b = expression();
    if (is(":")) {
      node.kind = NodeKind::slice;
      advance();
      if (!is("]") && !is(":")) node.c = expression();
      if (takes(":") && !is("]")) node.d = expression();
    }
    demand("]");
    return add(node);
  }
  [[nodiscard]] std::uint32_t call(std::uint32_t callee) noexcept {
    TemplateNode node{.kind = NodeKind::call, .a = callee, .place = peek().place};
    arguments(node);
    return add(node);
  }
  void arguments(TemplateNode& node) noexcept {
    demand("(");
    const std::size_t begin = begin_list();
    while (ok_ && !is(")")) {
      if (peek().kind == TemplateTokenKind::name && peek(1).kind == TemplateTokenKind::op && peek(1).text == "=") {
        TemplateNode keyword{.kind = NodeKind::keyword, .text = peek().text, .place = peek().place};
        advance();
        advance();
        keyword.a = expression();
        push(add(keyword));
      } else {
        push(expression());
      }
      if (!takes(",")) break;
    }
    end_list(begin, node);
    demand(")");
  }

  [[nodiscard]] std::uint32_t filters_and_tests(std::uint32_t node) noexcept {
    while (ok_) {
      if (takes("|"))
        node = filter_of(node);
      else if (is_name("is"))
        node = tested(node);
      else if (is("("))
        node = call(node);
      else
        break;
    }
    return node;
  }
  [[nodiscard]] std::uint32_t filter_of(std::uint32_t input) noexcept {
    TemplateNode node{.kind = NodeKind::filter, .a = input, .place = peek().place};
    node.text = demand_name();
    if (is("(")) arguments(node);
    return add(node);
  }
  [[nodiscard]] std::uint32_t tested(std::uint32_t input) noexcept {
    advance();
    const bool inverts = takes_name("not");
    TemplateNode node{.kind = NodeKind::test, .a = input, .place = peek().place};
    node.text = demand_name();
    const bool argument = begins_expression() && !is("-") && !is("+") && !is_name("else") && !is_name("or") &&
                          !is_name("and") && !is_name("is") && !is_name("if") && !is_name("not") && !is_name("in");
    if (is("(")) {
      arguments(node);
    } else if (argument) {
      const std::size_t begin = begin_list();
      push(postfix(primary()));
      end_list(begin, node);
    }
    const std::uint32_t test = add(node);
    return inverts ? add({.kind = NodeKind::invert, .a = test, .place = node.place}) : test;
  }

  Span<const TemplateToken> tokens_;
  TemplateProgram program_;
  Vector<std::uint32_t> pending_;
  std::size_t at_ = 0;
  std::uint32_t depth_ = 0;
  std::uint32_t loops_ = 0;
  bool ok_ = true;
  Error error_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
