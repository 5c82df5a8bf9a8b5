// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/template_evaluator.hpp: renders the program of a chat template.
#pragma once

#include <zrt/text/chat/calendar.hpp>
#include <zrt/text/chat/template_filters.hpp>
#include <zrt/text/chat/template_operators.hpp>

namespace zrt::inline ZRT_ABI::text::chat::detail {

/// Walks a program. Names live in scopes: a loop's turn, a macro's call and a block have one of their own; what a
/// statement sets there ends with it.
class TemplateEvaluator {
 public:
  TemplateEvaluator(const TemplateProgram& program, TemplateRun& run) noexcept
      : program_(program),
        run_(run),
        out_(run.values, run.limits.output_bytes),
        scopes_(run.values.allocator()),
        names_(run.values.allocator()),
        loops_(run.values.allocator()),
        arguments_(run.values.allocator()),
        keywords_(run.values.allocator()) {}

  /// The text for the names of the dict `context`.
  [[nodiscard]] Result<ChatPrompt> render(const Value& context) noexcept {
    open_scope(kNoScope);
    for (const Entry& entry : run_.values.entries(context)) define(entry.key.text, entry.value);
    open_scope(0);
    execute(program_.root);
    if (!out_.result()) run_.fail_with(out_.result().error());
    if (!run_.ok()) return std::unexpected<Error>(run_.error());
    return ChatPrompt{out_.take(), out_.take_given()};
  }

 private:
  static constexpr std::size_t kNoScope = ~std::size_t{0};
  static constexpr std::uint32_t kDepth = 600;  ///< nested evaluations, about 600 KiB of stack

  enum class Flow : std::uint8_t { on, leave, next };

  struct Scope {
    std::size_t parent;
    std::size_t first;  ///< of its names
  };
  struct Loop {
    Value items;
    std::size_t at;
  };
  struct NestedCall {
    TemplateEvaluator& of;
    explicit NestedCall(TemplateEvaluator& e) noexcept : of(e) {
      if (++of.depth_ > kDepth) of.run_.exceed(kDepth, " nested evaluations");
    }
    ~NestedCall() { --of.depth_; }
    NestedCall(const NestedCall&) = delete;
    NestedCall& operator=(const NestedCall&) = delete;
  };

  // --- names -----------------------------------------------------------------------------------------

  void keep(const Result<void>& r) noexcept {
    if (!r) run_.fail_with(r.error());
  }
  void open_scope(std::size_t parent) noexcept { keep(scopes_.push_back({parent, names_.size()})); }
  void close_scope() noexcept {
    while (names_.size() > scopes_.back().first) names_.pop_back();
    scopes_.pop_back();
  }
  [[nodiscard]] std::size_t end_of(std::size_t scope) const noexcept {
    return scope + 1 < scopes_.size() ? scopes_[scope + 1].first : names_.size();
  }
  [[nodiscard]] Value* find_in(std::size_t scope, std::string_view name) noexcept {
    for (std::size_t i = scopes_[scope].first; i < end_of(scope); ++i)
      if (names_[i].key.text == name) return &names_[i].value;
    return nullptr;
  }
  void define(std::string_view name, const Value& value) noexcept {
    if (!run_.ok()) return;
    if (Value* found = find_in(scopes_.size() - 1, name); found != nullptr)
      *found = value;
    else
      keep(names_.push_back({Value::of(name), value}));
  }
  [[nodiscard]] Value look_up(std::string_view name) noexcept {
    for (std::size_t scope = scopes_.size() - 1; scope != kNoScope; scope = scopes_[scope].parent) {
      (void)run_.charge(1);
      if (const Value* found = find_in(scope, name); found != nullptr) return *found;
    }
    for (const std::string_view function : {"namespace", "raise_exception", "strftime_now", "range", "dict"})
      if (name == function) return {.kind = Kind::method, .text = function};
    return Value::undefined(name);
  }

  // --- statements ------------------------------------------------------------------------------------

  Flow execute(std::uint32_t index) noexcept {
    const TemplateNode& node = program_.node(index);
    const NestedCall nested(*this);
    run_.place = node.place;
    if (!run_.charge(1)) return Flow::on;
    switch (node.kind) {
      case NodeKind::text:
        out_ << node.text;
        break;
      case NodeKind::output:
        output(evaluate(node.a));
        break;
      case NodeKind::block:
        return execute_all(node);
      case NodeKind::condition:
        return choose(node);
      case NodeKind::loop:
        go_over(node);
        break;
      case NodeKind::assign:
        assign(node.a, evaluate(node.b));
        break;
      case NodeKind::assign_block:
        assign_block(node);
        break;
      case NodeKind::macro:
        define(node.text,
               {.kind = Kind::macro, .index = index, .integer = static_cast<std::int64_t>(scopes_.size() - 1)});
        break;
      case NodeKind::leave:
        return Flow::leave;
      case NodeKind::next:
        return Flow::next;
      case NodeKind::filter_block:
        output(filtered(node.a, capture(node.b)));
        break;
      default:
        output(evaluate(index));
    }
    if (!out_.result()) run_.fail_with(out_.result().error());
    return Flow::on;
  }
  void output(const Value& value) noexcept {
    if (run_.ok()) run_.write(value, out_);
  }
  Flow execute_all(const TemplateNode& block) noexcept {
    for (const std::uint32_t child : program_.children(block)) {
      const Flow flow = execute(child);
      if (!run_.ok()) return Flow::on;
      if (flow != Flow::on) return flow;
    }
    return Flow::on;
  }
  Flow choose(const TemplateNode& node) noexcept {
    const Span<const std::uint32_t> branches = program_.children(node);
    for (std::size_t i = 0; run_.ok() && i < branches.size(); i += 2)
      if (run_.truth(evaluate(branches[i])) && run_.ok()) return execute(branches[i + 1]);
    return run_.ok() && node.a != kNoNode ? execute(node.a) : Flow::on;
  }

  void go_over(const TemplateNode& node) noexcept {
    Value items = run_.iterate(evaluate(node.b));
    if (node.d != kNoNode) items = those_that_hold(node, items);
    if (!run_.ok()) return;
    const std::size_t loop = loops_.size();
    keep(loops_.push_back({items, 0}));
    const std::size_t count = run_.values.items(items).size();
    Flow flow = Flow::on;
    for (std::size_t i = 0; run_.ok() && i < run_.values.items(items).size() && flow != Flow::leave; ++i) {
      loops_[loop].at = i;
      open_scope(scopes_.size() - 1);
      define("loop", {.kind = Kind::loop, .integer = static_cast<std::int64_t>(loop)});
      assign(node.a, Value(run_.values.items(items)[i]));
      flow = execute(node.c);
      if (!scopes_.empty()) close_scope();
    }
    if (loops_.size() > loop) loops_.pop_back();
    if (count == 0 && node.e != kNoNode) (void)execute(node.e);
  }
  /// The elements for which the loop's condition holds.
  [[nodiscard]] Value those_that_hold(const TemplateNode& node, const Value& items) noexcept {
    const Value list = run_.values.list();
    for (std::size_t i = 0; run_.ok() && i < run_.values.items(items).size(); ++i) {
      const Value item = run_.values.items(items)[i];
      open_scope(scopes_.size() - 1);
      assign(node.a, item);
      if (run_.truth(evaluate(node.d))) run_.values.push(list, item);
      close_scope();
    }
    return list;
  }

  void assign(std::uint32_t target, const Value& value) noexcept {
    if (!run_.ok()) return;
    const TemplateNode& node = program_.node(target);
    if (node.kind == NodeKind::name) return define(node.text, value);
    if (node.kind == NodeKind::attribute) {
      const Value of = evaluate(node.a);
      if (!of.is(Kind::space))
        return void(run_.fail("expected a namespace to set an attribute of, found ", run_.kind_of(of)));
      return run_.put(of, Value::of(node.text), value);
    }
    const Value items = run_.iterate(value);
    const Span<const std::uint32_t> targets = program_.children(node);
    if (run_.values.items(items).size() != targets.size())
      return void(
          run_.fail("expected ", targets.size(), " values for as many names, found ", run_.values.items(items).size()));
    for (std::size_t i = 0; i < targets.size(); ++i) assign(targets[i], Value(run_.values.items(items)[i]));
  }
  void assign_block(const TemplateNode& node) noexcept {
    Value value = capture(node.b);
    for (const std::uint32_t filter : program_.children(node)) value = filtered(filter, value);
    assign(node.a, value);
  }
  /// What a block prints, in a scope of its own.
  [[nodiscard]] Value capture(std::uint32_t block) noexcept {
    open_scope(scopes_.size() - 1);
    const Value text = capture_here(block);
    close_scope();
    return text;
  }
  [[nodiscard]] Value capture_here(std::uint32_t block) noexcept {
    TextBuilder outer(run_.values, run_.limits.output_bytes);
    std::swap(outer, out_);
    (void)execute(block);
    std::swap(outer, out_);
    return run_.finish(outer);
  }

  // --- expressions -----------------------------------------------------------------------------------

  [[nodiscard]] Value evaluate(std::uint32_t index) noexcept {
    const TemplateNode& node = program_.node(index);
    const NestedCall nested(*this);
    run_.place = node.place;
    if (!run_.charge(1)) return {};
    switch (node.kind) {
      case NodeKind::literal:
        return node.value;
      case NodeKind::name:
        return look_up(node.text);
      case NodeKind::list:
        return sequence(node, Kind::list);
      case NodeKind::tuple:
        return sequence(node, Kind::tuple);
      case NodeKind::dict:
        return dict(node);
      case NodeKind::negate:
      case NodeKind::plus:
        return signed_value(run_, node.kind == NodeKind::negate, evaluate(node.a));
      case NodeKind::invert:
        return Value::of(!run_.truth(evaluate(node.a)));
      case NodeKind::both: {
        const Value left = evaluate(node.a);
        return run_.truth(left) ? evaluate(node.b) : left;
      }
      case NodeKind::either: {
        const Value left = evaluate(node.a);
        return run_.truth(left) ? left : evaluate(node.b);
      }
      case NodeKind::concatenate:
        return concatenate(node);
      case NodeKind::arithmetic:
        return arithmetic(node);
      case NodeKind::compare:
        return compare(node);
      case NodeKind::conditional:
        if (run_.truth(evaluate(node.b))) return evaluate(node.a);
        return node.c != kNoNode ? evaluate(node.c) : Value::undefined("the other branch");
      case NodeKind::attribute:
        return attribute(evaluate(node.a), node);
      case NodeKind::item:
        return item(node);
      case NodeKind::slice:
        return part(node);
      case NodeKind::filter:
        return filtered(index, evaluate(node.a));
      case NodeKind::test:
        return tested(node);
      case NodeKind::call:
        return call(node);
      default:
        return run_.fail("expected an expression");
    }
  }

  [[nodiscard]] Value sequence(const TemplateNode& node, Kind kind) noexcept {
    const Value list = run_.values.list(kind);
    for (const std::uint32_t child : program_.children(node)) run_.values.push(list, evaluate(child));
    return list;
  }
  [[nodiscard]] Value dict(const TemplateNode& node) noexcept {
    const Value dict = run_.values.dict();
    for (const std::uint32_t child : program_.children(node)) {
      const Value key = evaluate(program_.node(child).a);
      run_.put(dict, key, evaluate(program_.node(child).b));
    }
    return dict;
  }
  [[nodiscard]] Value concatenate(const TemplateNode& node) noexcept {
    const Value list = run_.values.list();
    for (const std::uint32_t child : program_.children(node)) run_.values.push(list, evaluate(child));
    return joined(run_, list, "");
  }

  [[nodiscard]] Value arithmetic(const TemplateNode& node) noexcept {
    const Value a = evaluate(node.a);
    const Value b = evaluate(node.b);
    run_.place = node.place;
    return run_.ok() ? detail::arithmetic(run_, node.text, a, b) : Value{};
  }

  [[nodiscard]] Value compare(const TemplateNode& node) noexcept {
    Value left = evaluate(node.a);
    for (const std::uint32_t child : program_.children(node)) {
      const TemplateNode& part = program_.node(child);
      const Value right = evaluate(part.a);
      run_.place = part.place;
      if (!run_.ok() || !holds(run_, part.text, left, right)) return Value::of(false);
      left = right;
    }
    return Value::of(true);
  }
  [[nodiscard]] Value attribute(const Value& of, const TemplateNode& node) noexcept {
    run_.place = node.place;
    if (of.is(Kind::loop)) return loop_attribute(of, node.text);
    if (find_method(of.kind, node.text) != nullptr) return {.kind = Kind::method, .text = node.text};
    return element(run_, of, Value::of(node.text));
  }
  [[nodiscard]] Value loop_attribute(const Value& of, std::string_view name) noexcept {
    const auto number = static_cast<std::size_t>(of.integer);
    if (number >= loops_.size()) return run_.fail("expected a loop that runs");
    const Loop& loop = loops_[number];
    const Span<Value> items = run_.values.items(loop.items);
    const auto at = static_cast<std::int64_t>(loop.at);
    const auto count = static_cast<std::int64_t>(items.size());
    if (name == "index0") return Value::of(at);
    if (name == "index") return Value::of(at + 1);
    if (name == "first") return Value::of(at == 0);
    if (name == "last") return Value::of(at + 1 == count);
    if (name == "length") return Value::of(count);
    if (name == "revindex") return Value::of(count - at);
    if (name == "revindex0") return Value::of(count - at - 1);
    if (name == "depth") return Value::of(std::int64_t{1});
    if (name == "depth0") return Value::of(std::int64_t{0});
    if (name == "previtem") return at > 0 ? items[loop.at - 1] : Value::undefined("loop.previtem");
    if (name == "nextitem") return at + 1 < count ? items[loop.at + 1] : Value::undefined("loop.nextitem");
    return Value::undefined(name);
  }
  [[nodiscard]] Value item(const TemplateNode& node) noexcept {
    const Value of = evaluate(node.a);
    const Value key = evaluate(node.b);
    run_.place = node.place;
    if (!run_.ok()) return {};
    const Value found = element(run_, of, key);
    if (found.is(Kind::undefined) && key.is_string() && find_method(of.kind, key.text) != nullptr)
      return {.kind = Kind::method, .text = key.text};
    return found;
  }

  /// Bounds of a slice as Python clamps them.
  struct Bounds {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t step = 1;
  };
  [[nodiscard]] Bounds bounds(const TemplateNode& node, std::int64_t size) noexcept {
    const auto value = [&](std::uint32_t child) { return child == kNoNode ? Value::none() : evaluate(child); };
    const Value step = value(node.d);
    Bounds b{.step = step.absent() ? 1 : step.integer};
    if (b.step == 0) (void)run_.fail("expected a step other than 0");
    const std::int64_t low = b.step > 0 ? 0 : -1;
    const std::int64_t high = b.step > 0 ? size : size - 1;
    const auto clamp = [&](const Value& v, std::int64_t otherwise) {
      if (v.absent()) return otherwise;
      if (!v.is_integral()) (void)run_.fail("expected an integer in a slice, found ", run_.kind_of(v));
      const std::int64_t at = v.integer < 0 ? v.integer + size : v.integer;
      return at < low ? low : at > high ? high : at;
    };
    b.from = clamp(value(node.b), b.step > 0 ? low : high);
    b.to = clamp(value(node.c), b.step > 0 ? high : low);
    return b;
  }
  [[nodiscard]] Value part(const TemplateNode& node) noexcept {
    const Value of = evaluate(node.a);
    run_.place = node.place;
    if (!of.is_string() && !of.is_sequence())
      return run_.fail("expected a text or a list to slice, found ", run_.kind_of(of));
    const Value items = of.is_string() ? Value{} : of;
    const std::int64_t size =
        of.is_string() ? run_.characters(of.text) : static_cast<std::int64_t>(run_.values.items(of).size());
    const Bounds b = bounds(node, size);
    if (!run_.charge(of.text.size() / 64 + 1)) return {};
    if (of.is_string() && b.step == 1) {
      const std::size_t from = run_.offset_of(of.text, b.from);
      return Value::of(slice(of.text, from, b.to > b.from ? run_.offset_of(slice(of.text, from), b.to - b.from) : 0));
    }
    const Value all = of.is_string() ? run_.iterate(of) : items;
    const Value list = run_.values.list(of.is_string() ? Kind::list : of.kind);
    for (std::int64_t i = b.from; b.step > 0 ? i < b.to : i > b.to;) {
      if (!run_.charge(1)) break;
      run_.values.push(list, Value(run_.values.items(all)[static_cast<std::size_t>(i)]));
      if (__builtin_add_overflow(i, b.step, &i)) break;
    }
    return of.is_string() ? joined(run_, list, "") : list;
  }

  // --- calls -----------------------------------------------------------------------------------------

  /// Arguments of a call, on a stack that the call ends.
  class CallArguments {
   public:
    CallArguments(TemplateEvaluator& e, const TemplateNode& node) noexcept
        : e_(e), positional_(e.arguments_.size()), named_(e.keywords_.size()) {
      for (const std::uint32_t child : e.program_.children(node)) {
        const TemplateNode& argument = e.program_.node(child);
        if (argument.kind == NodeKind::keyword)
          e.keep(e.keywords_.push_back({Value::of(argument.text), e.evaluate(argument.a)}));
        else
          e.keep(e.arguments_.push_back(e.evaluate(child)));
      }
      e.run_.place = node.place;
    }
    ~CallArguments() {
      while (e_.arguments_.size() > positional_) e_.arguments_.pop_back();
      while (e_.keywords_.size() > named_) e_.keywords_.pop_back();
    }
    CallArguments(const CallArguments&) = delete;
    CallArguments& operator=(const CallArguments&) = delete;

    [[nodiscard]] Arguments get() const noexcept {
      return {e_.arguments_.span().subspan(positional_), e_.keywords_.span().subspan(named_)};
    }

   private:
    TemplateEvaluator& e_;
    std::size_t positional_;
    std::size_t named_;
  };

  [[nodiscard]] Value filtered(std::uint32_t index, Value input) noexcept {
    const TemplateNode& node = program_.node(index);
    // In a block the innermost filter has no input of its own.
    if (node.a != kNoNode && program_.node(node.a).kind == NodeKind::filter && input_missing(node.a))
      input = filtered(node.a, input);
    const CallArguments arguments(*this, node);
    return run_.ok() ? apply_filter(run_, node.text, input, arguments.get()) : Value{};
  }
  [[nodiscard]] bool input_missing(std::uint32_t index) const noexcept {
    while (program_.node(index).kind == NodeKind::filter && program_.node(index).a != kNoNode)
      index = program_.node(index).a;
    return program_.node(index).kind == NodeKind::filter;
  }
  [[nodiscard]] Value tested(const TemplateNode& node) noexcept {
    const Value value = evaluate(node.a);
    const CallArguments arguments(*this, node);
    return Value::of(run_.ok() && test_holds(run_, node.text, value, arguments.get().positional));
  }

  [[nodiscard]] Value call(const TemplateNode& node) noexcept {
    const TemplateNode& callee = program_.node(node.a);
    if (callee.kind == NodeKind::attribute || callee.kind == NodeKind::item) {
      const Value self = evaluate(callee.a);
      const Value found = callee.kind == NodeKind::attribute ? attribute(self, callee) : item(callee);
      if (found.is(Kind::macro)) return call_macro(node, found);
      const std::string_view name = callee.kind == NodeKind::attribute ? callee.text : found.text;
      const CallArguments arguments(*this, node);
      if (!run_.ok()) return {};
      if (self.is(Kind::loop) && name == "cycle") return cycled(self, arguments.get());
      return call_method(run_, self, name, arguments.get());
    }
    const Value function = evaluate(node.a);
    if (function.is(Kind::macro)) return call_macro(node, function);
    if (!function.is(Kind::method))
      return run_.ok() ? run_.fail("expected a function, found ", run_.kind_of(function), " ", function.text) : Value{};
    const CallArguments arguments(*this, node);
    return run_.ok() ? call_function(function.text, arguments.get()) : Value{};
  }
  [[nodiscard]] Value cycled(const Value& self, const Arguments& a) noexcept {
    if (a.positional.empty()) return run_.fail("cycle: expected values");
    return a.positional[loops_[static_cast<std::size_t>(self.integer)].at % a.positional.size()];
  }

  [[nodiscard]] Value call_macro(const TemplateNode& node, const Value& macro) noexcept {
    const TemplateNode& body = program_.node(macro.index);
    const CallArguments arguments(*this, node);
    if (!run_.ok()) return {};
    if (macros_ >= run_.limits.macro_depth)
      return run_.exceed(run_.limits.macro_depth, " nested calls of macros"), Value{};
    const Span<const std::uint32_t> parameters = program_.children(body);
    const Arguments given = arguments.get();
    if (given.positional.size() > parameters.size())
      return run_.fail("expected at most ", parameters.size(), " arguments of ", body.text, ", found ",
                       given.positional.size());
    ++macros_;
    const auto home = static_cast<std::size_t>(macro.integer);
    open_scope(home < scopes_.size() ? home : 0);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const TemplateNode& parameter = program_.node(parameters[i]);
      Value value = arguments.get().get(i, parameter.text);
      if (value.is(Kind::undefined) && parameter.a != kNoNode) value = evaluate(parameter.a);
      define(parameter.text, value);
    }
    const Value text = capture_here(body.a);
    close_scope();
    --macros_;
    return text;
  }

  [[nodiscard]] Value call_function(std::string_view name, const Arguments& a) noexcept {
    if (name == "range") return range(a);
    if (name == "raise_exception") return run_.fail("the template refuses: ", run_.text_of(a.get(0, "message")).text);
    if (name == "strftime_now") {
      TextBuilder out = run_.builder();
      write_time(run_.now, a.get(0, "format").string_or_empty(), out);
      return run_.finish(out);
    }
    if (name != "namespace" && name != "dict") return run_.fail("expected a function, found the method ", name);
    const Value dict = run_.values.dict(name == "namespace" ? Kind::space : Kind::dict);
    for (const Value& from : a.positional)
      for (std::size_t i = 0; i < run_.values.entries(from).size(); ++i)
        run_.put(dict, Value(run_.values.entries(from)[i].key), Value(run_.values.entries(from)[i].value));
    for (const Entry& entry : a.named) run_.put(dict, entry.key, entry.value);
    return dict;
  }
  [[nodiscard]] Value range(const Arguments& a) noexcept {
    for (const Value& v : a.positional)
      if (!v.is_integral()) return run_.fail("range: expected integers, found ", run_.kind_of(v));
    if (a.positional.empty() || a.positional.size() > 3) return run_.fail("range: expected 1 to 3 integers");
    const bool single = a.positional.size() == 1;
    const std::int64_t from = single ? 0 : a.positional[0].integer;
    const std::int64_t to = a.positional[single ? 0 : 1].integer;
    const std::int64_t step = a.positional.size() == 3 ? a.positional[2].integer : 1;
    if (step == 0) return run_.fail("range: expected a step other than 0");
    const Value list = run_.values.list();
    std::int64_t count = 0;
    for (std::int64_t i = from; step > 0 ? i < to : i > to;) {
      if (++count > run_.limits.range) return run_.exceed(run_.limits.range, " elements of a range"), Value{};
      if (!run_.charge(1)) break;
      run_.values.push(list, Value::of(i));
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    return list;
  }

  const TemplateProgram& program_;
  TemplateRun& run_;
  TextBuilder out_;
  Vector<Scope> scopes_;
  Vector<Entry> names_;
  Vector<Loop> loops_;
  Vector<Value> arguments_;
  Vector<Entry> keywords_;
  std::uint32_t depth_ = 0;
  std::uint32_t macros_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::text::chat::detail
