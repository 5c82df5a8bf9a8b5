// SPDX-License-Identifier: Apache-2.0
// zrt/ir/fused/cut_wire.hpp: where a fused program breaks: the step, its wires, and the steps on both sides.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/ir/fused/mode_ops.hpp>
#include <zrt/ir/fused/program.hpp>

#include <optional>
#include <utility>

namespace zrt::inline ZRT_ABI::ir::fused {

/// What can be said of an input of the broken step.
enum class WireStatus : std::uint8_t {
  bound,     ///< a feed, unless it is CutWire::unbound
  produced,  ///< by an earlier step
  late,      ///< by this or a later step
  missing,   ///< by nothing, or a feed that is not bound
};

[[nodiscard]] constexpr std::string_view name(WireStatus status) noexcept {
  switch (status) {
    case WireStatus::bound:
      return "bound";
    case WireStatus::produced:
      return "produced";
    case WireStatus::late:
      return "produced too late";
    case WireStatus::missing:
      return "missing";
  }
  return "unknown";
}

/// The place of a failure. Everything around it is read from the program by `append_report`.
struct CutWire {
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t step = kNone;                    ///< index into FusedProgram::steps; kNone: no step broke
  std::optional<ValueId> value{};              ///< the value in question, where there is one
  std::optional<ptir::TensorType> expected{};  ///< of `value`
  std::optional<ptir::TensorType> actual{};    ///< of `value`
  std::optional<ValueId> unbound{};            ///< a feed that the caller did not bind
  Name backend{};                              ///< that was inspected, where one was
};

/// Index of the step that gives `id`, or kNone.
[[nodiscard]] inline std::size_t producer_of(const FusedProgram& p, ValueId id) noexcept {
  for (std::size_t s = 0; s < p.steps.size(); ++s)
    for (const ValueId result : p.results_of(p.steps[s]))
      if (result == id) return s;
  return CutWire::kNone;
}

[[nodiscard]] inline WireStatus wire_status(const FusedProgram& p, std::size_t step, ValueId id) noexcept {
  for (const ValueId feed : p.feeds)
    if (feed == id) return WireStatus::bound;
  const std::size_t producer = producer_of(p, id);
  if (producer == CutWire::kNone) return WireStatus::missing;
  return producer < step ? WireStatus::produced : WireStatus::late;
}

namespace detail {

/// A piece of a report, cut at the length of an error's text.
template <class... Pieces> Result<void> put(String& out, const Pieces&... pieces) noexcept {
  Error piece;
  (piece.append(pieces), ...);
  return out.append(piece.text());
}
/// The beginning of another line: an error's text has only one.
template <class... Pieces> Result<void> put_line(String& out, const Pieces&... pieces) noexcept {
  if (auto r = out.append("\n  "); !r) return r;
  return put(out, pieces...);
}

inline Result<void> put_type(String& out, const FusedProgram& p, std::string_view before,
                             const ptir::TensorType& type) noexcept {
  Error line;
  return out.append(ptir::append_type(line.append(before), p.store, type).text());
}

inline Result<void> put_step(String& out, const Step& step) noexcept {
  return put(out, "step ", step.step_id, " (", step.op.view(), ")");
}

inline Result<void> put_wires(String& out, const FusedProgram& p, const CutWire& cut) noexcept {
  const Step& step = p.steps[cut.step];
  for (const ValueId id : p.inputs_of(step)) {
    const WireStatus status = id == cut.unbound ? WireStatus::missing : wire_status(p, cut.step, id);
    if (auto r = put_line(out, "input ", id, ": ", name(status)); !r) return r;
    if (const Meta* meta = p.meta_of(id))
      if (auto r = put_type(out, p, ", ", meta->type); !r) return r;
    if (const std::size_t from = producer_of(p, id); from != CutWire::kNone) {
      if (auto r = out.append(", from "); !r) return r;
      if (auto r = put_step(out, p.steps[from]); !r) return r;
    }
  }
  // As many readers as help to find the place.
  std::size_t shown = 0;
  for (const ValueId result : p.results_of(step)) {
    if (auto r = put_line(out, "result ", result); !r) return r;
    if (const Meta* meta = p.meta_of(result))
      if (auto r = put_type(out, p, ": declared as ", meta->type); !r) return r;
    for (std::size_t s = 0; s < p.steps.size() && shown < 8; ++s)
      for (const ValueId input : p.inputs_of(p.steps[s])) {
        if (input != result) continue;
        if (auto r = out.append(", to "); !r) return r;
        if (auto r = put_step(out, p.steps[s]); !r) return r;
        ++shown;
        break;
      }
  }
  const ptir::OpInfo* op = find_op(step.op.view());
  if (op == nullptr) return {};
  for (const AttributeAlias& row : kAttributeAliases)
    if (field_name(*op, row.alias) == row.name)
      if (auto r = put_line(out, "attribute ", row.name, " is also read as ", row.alias); !r) return r;
  return {};
}

}  // namespace detail

/// Appends what is known around the break: step, op, inputs with status, type and producer, results with
/// their readers, expected and actual type, the names of attributes, and the backend.
///
/// Errors: Errc::out_of_memory.
[[nodiscard]] inline Result<void> append_report(String& out, const FusedProgram& p, const CutWire& cut,
                                                const Error& error) noexcept {
  if (cut.step < p.steps.size()) {
    if (auto r = detail::put_step(out, p.steps[cut.step]); !r) return r;
    if (auto r = out.append(": "); !r) return r;
  }
  if (auto r = out.append(error.text()); !r) return r;
  if (cut.unbound)
    if (auto r = detail::put_line(out, "feed ", *cut.unbound, ": not bound"); !r) return r;
  if (cut.step < p.steps.size())
    if (auto r = detail::put_wires(out, p, cut); !r) return r;
  if (cut.value)
    if (auto r = detail::put_line(out, "value ", *cut.value); !r) return r;
  for (const auto& [what, type] : {std::pair("\n  expected ", &cut.expected), std::pair("\n  actual ", &cut.actual)}) {
    if (!*type) continue;
    if (auto r = out.append(what); !r) return r;
    if (auto r = detail::put_type(out, p, "", **type); !r) return r;
  }
  if (!cut.backend.view().empty())
    if (auto r = detail::put_line(out, "backend inspected: ", cut.backend.view()); !r) return r;
  return out.append("\n");
}

}  // namespace zrt::inline ZRT_ABI::ir::fused
