// SPDX-License-Identifier: Apache-2.0
// zrt/plan/conversion.hpp: what programs of the portable tensor IR are converted to, and whether one can be.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/ir/ptir/lower.hpp>
#include <zrt/ir/ptir/print.hpp>
#include <zrt/ir/ptir/walk.hpp>
#include <zrt/plan/c/claims.hpp>
#include <zrt/plan/c/custom_forms.hpp>
#include <zrt/plan/validate.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// A form that programs are converted to.
struct ConversionTarget {
  std::string_view name;
  OpSet ops;                     ///< the operations that it has a form for
  bool dynamic_extents = false;  ///< takes programs whose extents are not all constants
  bool lowers = false;           ///< is made of the graph of the program for one set of input shapes
  /// Whether it has a form for a target of custom calls; null: their backend decides.
  bool (*has_custom_form)(std::string_view target) noexcept = nullptr;
};

namespace detail {

consteval OpSet all_operations() {
  OpSet set;
  for (const ir::ptir::OpInfo& op : ir::ptir::kOps) set.insert(op.opcode);
  return set;
}
consteval OpSet operations_in_c() {
  OpSet set;
  for (const ir::ptir::OpInfo& op : ir::ptir::kOps)
    if (c::has_form(op.opcode)) set.insert(op.opcode);
  return set;
}

}  // namespace detail

/// Every target, in the order of their names.
///
/// - c: one function of C99 (plan/c/convert.hpp), for one set of input shapes.
/// - dot: a graph for Graphviz (ir/ptir/dot.hpp).
/// - plan: an execution plan (ir/ptir/lower.hpp, plan/compile.hpp), for one set of input shapes. Whether a
///   backend has the target of a custom call shows when the plan is bound.
inline constexpr auto kConversionTargets = std::to_array<ConversionTarget>(
    {{.name = "c",
      .ops = detail::operations_in_c(),
      .dynamic_extents = true,
      .lowers = true,
      .has_custom_form = &c::has_custom_form},
     {.name = "dot", .ops = detail::all_operations(), .dynamic_extents = true},
     {.name = "plan", .ops = detail::all_operations(), .dynamic_extents = true, .lowers = true}});

/// The target of that name, or null.
[[nodiscard]] constexpr const ConversionTarget* find_conversion_target(std::string_view name) noexcept {
  for (const ConversionTarget& target : kConversionTargets)
    if (target.name == name) return &target;
  return nullptr;
}

/// One reason why a program cannot be converted, or should not be.
struct LegalityFinding {
  Severity severity = Severity::error;
  ir::ptir::RegionId region = 0;
  ir::ptir::ValueId value = 0;  ///< that the instruction defines; 0 where the error alone says it
  std::uint32_t index = 0;      ///< of the instruction in its region
  Opcode opcode{};
  Error error{};  ///< says it in words
};

/// What stands in the way of converting `program` to `target`, all of it, in the order of walk_program.
///
/// A program that does not verify has one finding, its first error. A warning is no obstacle: a region that
/// nothing names is one. With the shapes of its inputs, a program for a target that lowers is lowered too,
/// and the first thing in its way (complex arithmetic, extents that do not fit) is the last finding.
/// Errors: Errc::out_of_memory.
[[nodiscard]] inline Result<Vector<LegalityFinding>> check_program_legality(
    const ir::ptir::Program& program, const ConversionTarget& target,
    std::optional<Span<const ir::ptir::Shape>> shapes = std::nullopt) noexcept {
  namespace ptir = ir::ptir;
  Vector<LegalityFinding> findings(program.allocator);
  if (auto r = ptir::verify(program); !r) {
    if (r.error().code() == Errc::out_of_memory) return pass(r);
    if (auto kept = findings.push_back({Severity::error, 0, 0, 0, Opcode{r.error().opcode()}, r.error()}); !kept)
      return pass(kept);
    return findings;
  }
  Result<void> kept;
  const auto add = [&](const ptir::ProgramPlace& at, Errc code, auto... pieces) {
    const ptir::OpInfo& op = *ptir::find_op(at.instruction.opcode);
    Error error = Error::of(code, "region @", at.region, ", %", at.instruction.id, ": ", op.name, pieces...);
    error.at_instruction(at.index, number(op.opcode));
    if (auto r =
            findings.push_back({Severity::error, at.region, at.instruction.id, at.index, at.instruction.opcode, error});
        !r)
      kept = r;
  };
  Vector<std::uint8_t> reached(program.allocator);
  if (auto r = reached.resize(program.regions.size()); !r) return pass(r);
  reached[0] = 1;
  const auto done = ptir::walk_program(program, [&](const ptir::ProgramPlace& at) {
    reached[at.region] = 1;
    for (const ptir::Attribute& a : program.attributes_of(at.instruction))
      if (a.kind == ptir::AttributeKind::region) reached[static_cast<std::size_t>(a.bits)] = 1;
    const Opcode opcode = at.instruction.opcode;
    if (!target.ops.contains(opcode)) {
      add(at, Errc::unsupported_opcode, " has no form in ", target.name);
    } else if (target.has_custom_form != nullptr && opcode == ops::CustomCall::opcode) {
      const std::string_view called = program.text(program.attributes_of(at.instruction)[0].range);
      if (!target.has_custom_form(called))
        add(at, Errc::unsupported_opcode, ": ", called, " has no form in ", target.name);
    }
    for (const ptir::TensorType& type : program.types_of(at.instruction.output))
      if (!target.dynamic_extents && !type.shape.is_constant())
        add(at, Errc::unimplemented, " gives a dynamic extent, ", target.name, " takes constants");
    return kept.has_value();
  });
  if (!done) return pass(done);
  if (!kept) return pass(kept);
  for (std::size_t region = 0; region < reached.size(); ++region) {
    if (reached[region] != 0) continue;
    const Error error = Error::of(Errc::invalid_argument, "region @", region, " is never named");
    if (auto r = findings.push_back({Severity::warning, static_cast<ptir::RegionId>(region), 0, 0, {}, error}); !r)
      return pass(r);
  }
  if (!target.lowers || !shapes) return findings;
  const auto graph = ptir::lower(program, *shapes, kOpTable<ops::Catalog>);
  if (graph) return findings;
  const Error& error = graph.error();
  if (error.code() == Errc::out_of_memory) return pass(graph);
  if (auto r = findings.push_back({Severity::error, 0, 0, error.instruction(), Opcode{error.opcode()}, error}); !r)
    return pass(r);
  return findings;
}

/// The name of what `text` becomes: "zrt_", `stem` as an identifier, and 16 digits that follow from the text.
[[nodiscard]] inline Name entry_point_name(std::string_view stem, std::string_view text) noexcept {
  const std::uint64_t hash = hash_bytes(text);
  std::array<char, 60> given{};
  std::size_t size = 0;
  for (const char c : slice(stem, 0, given.size())) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    given[size++] = plain ? c : '_';
  }
  std::array<char, 16> digits{};
  for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
  return Name::of("zrt_", std::string_view(given.data(), size), size == 0 ? "" : "_",
                  std::string_view(digits.data(), digits.size()));
}

/// The name of what a program becomes, made of the main region's name and of all that the program says. The
/// same program has the same name everywhere.
///
/// Errors: Errc::out_of_memory.
[[nodiscard]] inline Result<Name> entry_point_name(const ir::ptir::Program& program) noexcept {
  const auto text = ir::ptir::print(program);
  if (!text) return pass(text);
  return entry_point_name(program.regions.empty() ? std::string_view() : program.regions[0].name.view(), text->view());
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
