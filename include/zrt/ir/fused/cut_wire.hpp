// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/cut_wire.hpp: where a fused program breaks: the step, its wires, and the steps on both sides.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/ir/fused/mode_ops.hpp>
#include <zrt/ir/fused/program.hpp>

#include <algorithm>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::fused {

/// What can be said of an input of the broken step.
enum class WireStatus : std::uint8_t {
  feed,      ///< a feed of a program that nobody has bound yet
  bound,     ///< a feed that the caller bound
  unbound,   ///< a feed that the caller did not bind
  produced,  ///< by an earlier step
  late,      ///< by this or a later step
  missing,   ///< by nothing
};

[[nodiscard]] constexpr std::string_view name(WireStatus status) noexcept {
  switch (status) {
    case WireStatus::feed:
      return "a feed";
    case WireStatus::bound:
      return "bound";
    case WireStatus::unbound:
      return "missing, a feed that is not bound";
    case WireStatus::produced:
      return "produced";
    case WireStatus::late:
      return "produced too late";
    case WireStatus::missing:
      return "missing, nothing gives it";
  }
  return "unknown";
}

/// The place of a failure, and what was known when it was met. The rest around it `append_report` reads from the
/// program.
struct CutWire {
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit CutWire(Allocator a = system_allocator()) noexcept : unbound(a), types(a) {}

  std::size_t step = kNone;                    ///< index into FusedProgram::steps; kNone: no step broke
  std::optional<ValueId> value{};              ///< the value in question, where there is one
  std::optional<ptir::TensorType> expected{};  ///< of `value`
  Name wanted{};                               ///< of `value`, in words, where several types are right
  std::optional<ptir::TensorType> actual{};    ///< of `value`
  bool binds = false;                          ///< whether feeds were bound; without, none of them is missing
  Vector<ValueId> unbound;                     ///< the feeds that the caller did not bind, ascending
  Vector<FeedType> types;                      ///< of the values that have one by now: bound or inferred, ascending
  Name backend{};                              ///< that was inspected, where one was

  /// Forgets everything.
  void clear() noexcept {
    step = kNone;
    value.reset();
    expected.reset();
    wanted = {};
    actual.reset();
    binds = false;
    unbound.clear();
    types.clear();
    backend = {};
  }
  /// The type that a value has, or null where that is not known yet.
  [[nodiscard]] const ptir::TensorType* type_of(ValueId id) const noexcept {
    const FeedType* row = std::lower_bound(types.begin(), types.end(), id,
                                           [](const FeedType& type, ValueId wanted_id) { return type.id < wanted_id; });
    return row == types.end() || row->id != id ? nullptr : &row->type;
  }
};

/// Index of the step that gives `id`, or kNone.
[[nodiscard]] inline std::size_t producer_of(const FusedProgram& p, ValueId id) noexcept {
  for (std::size_t s = 0; s < p.steps.size(); ++s)
    for (const ValueId result : p.results_of(p.steps[s]))
      if (result == id) return s;
  return CutWire::kNone;
}

/// Index of the first step that reads `id`, or kNone.
[[nodiscard]] inline std::size_t first_reader_of(const FusedProgram& p, ValueId id) noexcept {
  for (std::size_t s = 0; s < p.steps.size(); ++s)
    for (const ValueId input : p.inputs_of(p.steps[s]))
      if (input == id) return s;
  return CutWire::kNone;
}

/// What `id` is to the broken step.
[[nodiscard]] inline WireStatus wire_status(const FusedProgram& p, const CutWire& cut, ValueId id) noexcept {
  for (const ValueId feed : p.feeds) {
    if (feed != id) continue;
    if (!cut.binds) return WireStatus::feed;
    return std::binary_search(cut.unbound.begin(), cut.unbound.end(), id) ? WireStatus::unbound : WireStatus::bound;
  }
  const std::size_t producer = producer_of(p, id);
  if (producer == CutWire::kNone) return WireStatus::missing;
  return producer < cut.step ? WireStatus::produced : WireStatus::late;
}

namespace detail {

/// Writes the report of one break.
class CutWireReport {
 public:
  CutWireReport(String& out, const FusedProgram& program, const CutWire& cut) noexcept
      : out_(out),
        p_(program),
        cut_(cut),
        step_(cut.step < program.steps.size() ? &program.steps[cut.step] : nullptr) {}

  [[nodiscard]] Result<void> run(const Error& error) noexcept {
    if (step_ != nullptr) {
      step(cut_.step);
      put(": ");
    }
    put(error.text());
    if (cut_.value) value(*cut_.value);
    for (const ValueId id : cut_.unbound) line("feed ", id, ": not bound");
    if (step_ != nullptr) wires();
    if (!cut_.backend.view().empty()) line("backend inspected: ", cut_.backend.view());
    keep(out_.append("\n"));
    return kept_;
  }

 private:
  // As many readers as help to find the place.
  static constexpr std::size_t kReaders = 8;

  void keep(const Result<void>& r) noexcept {
    if (kept_ && !r) kept_ = r;
  }
  /// A piece of the report, cut at the length of an error's text.
  template <class... Pieces> void put(const Pieces&... pieces) noexcept {
    Error piece;
    (piece.append(pieces), ...);
    keep(out_.append(piece.text()));
  }
  template <class... Pieces> void line(const Pieces&... pieces) noexcept {
    keep(out_.append("\n  "));
    put(pieces...);
  }
  void type(std::string_view before, const ptir::TensorType& found) noexcept {
    Error piece;
    keep(out_.append(ptir::append_type(piece.append(before), p_.store, found).text()));
  }
  void step(std::size_t index) noexcept { put("step ", p_.steps[index].step_id, " (", p_.steps[index].op.view(), ")"); }

  /// What is known of a value's type, and what the program says of it.
  void types(ValueId id) noexcept {
    if (const ptir::TensorType* known = cut_.type_of(id))
      type(", ", *known);
    else
      put(", of no known type");
    const Meta* meta = p_.meta_of(id);
    if (meta == nullptr) return;
    type(", declared as ", meta->type);
    if (!meta->device.view().empty()) put(" on ", meta->device.view());
  }
  /// The step that gives a value.
  void origin(ValueId id) noexcept {
    const std::size_t from = producer_of(p_, id);
    if (from == CutWire::kNone) return;
    put(", from ");
    step(from);
  }
  /// The value in question, and what it must be.
  void value(ValueId id) noexcept {
    line("value ", id);
    types(id);
    origin(id);
    if (cut_.expected) {
      line("expected ");
      type("", *cut_.expected);
    } else if (!cut_.wanted.view().empty()) {
      line("expected ", cut_.wanted.view());
    }
    if (!cut_.actual) return;
    line("actual ");
    type("", *cut_.actual);
  }
  void wires() noexcept {
    for (const ValueId id : p_.inputs_of(*step_)) {
      line("input ", id, ": ", name(wire_status(p_, cut_, id)));
      types(id);
      origin(id);
    }
    for (const ValueId id : p_.results_of(*step_)) result(id);
    const ptir::OpInfo* op = find_op(step_->op.view());
    if (op == nullptr) return;
    for (const AttributeAlias& row : kAttributeAliases)
      if (field_name(*op, row.alias) == row.name) line("attribute ", row.name, " is also read as ", row.alias);
  }
  /// A result of the broken step and who reads it.
  void result(ValueId id) noexcept {
    line("result ", id);
    types(id);
    std::size_t shown = 0;
    for (std::size_t s = 0; s < p_.steps.size() && shown < kReaders; ++s) {
      const auto inputs = p_.inputs_of(p_.steps[s]);
      if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) continue;
      put(", to ");
      step(s);
      ++shown;
    }
    for (const Output& output : p_.outputs)
      if (output.id == id && shown++ < kReaders) put(", to output ", output.name.view());
    for (const StateUpdate& update : p_.state_out)
      if (update.value == id && shown++ < kReaders) put(", to state ", update.state);
  }

  String& out_;
  const FusedProgram& p_;
  const CutWire& cut_;
  const Step* step_;
  Result<void> kept_{};
};

}  // namespace detail

/// Appends what is known around the break: step, op and fault; the value in question with its expected and actual
/// type; feeds that are not bound; inputs with status, type, declaration and producer; results with type, declaration
/// and readers; the other names of attributes; and the backend.
///
/// Errors: Errc::out_of_memory.
[[nodiscard]] inline Result<void> append_report(String& out, const FusedProgram& p, const CutWire& cut,
                                                const Error& error) noexcept {
  return detail::CutWireReport(out, p, cut).run(error);
}

}  // namespace zrt::inline ZRT_ABI::ir::fused

ZRT_LOAD_TIME_END
