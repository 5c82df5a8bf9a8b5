// SPDX-License-Identifier: Apache-2.0
// tests/tools/print_opcodes.cpp: prints docs/opcodes.md from the catalog.
#include <zrt/backend/reference.hpp>
#include <zrt/device/claims.hpp>
#include <zrt/ops/catalog.hpp>
#include <zrt/ops/op_table.hpp>

#include <boost/mp11/algorithm.hpp>

#include <cstdio>
#include <span>
#include <string>
#include <type_traits>

namespace {

using zrt::Field;
using zrt::OpRow;
using zrt::Role;

std::string roles(std::span<const Role> list) {
  std::string text;
  for (const Role& role : list) {
    if (!text.empty()) text += ", ";
    text += role.name;
    if (role.optional) text += '?';
  }
  return text.empty() ? "–" : text;
}

std::string type(const Field& field) {
  const char* kind = field.kind == zrt::FieldKind::floating         ? "f"
                     : field.kind == zrt::FieldKind::signed_integer ? "i"
                                                                    : "u";
  std::string text = kind + std::to_string(field.size * 8);
  if (field.count != 1) text += "[" + std::to_string(field.count) + "]";
  return text;
}

const char* state(zrt::StateLifecycle lifecycle) {
  switch (lifecycle) {
    case zrt::StateLifecycle::none:
      return "–";
    case zrt::StateLifecycle::kv_paged:
      return "kv_paged";
    case zrt::StateLifecycle::recurrent:
      return "recurrent";
  }
  return "";
}

std::string aliases(const OpRow& row) {
  std::string text;
  for (const zrt::Alias& alias : row.may_alias) {
    if (!text.empty()) text += ", ";
    text += std::string(row.outputs[alias.output].name) + " over " + std::string(row.inputs[alias.input].name);
  }
  return text.empty() ? "–" : text;
}

std::string expansion(const OpRow& row) {
  std::string text;
  for (const OpRow* other : zrt::kOpTable<zrt::ops::Catalog>)
    if (other != nullptr && row.expands_to.contains(other->opcode))
      text += (text.empty() ? "" : ", ") + std::string(other->name);
  return text.empty() ? "–" : text;
}

void print_rung(zrt::Rung rung, const char* title, const char* words) {
  std::printf("\n## %s\n\n%s\n\n", title, words);
  std::printf("| no. | op | inputs | outputs | weights | state | in place | reference | expands to |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const OpRow* row : zrt::kOpTable<zrt::ops::Catalog>) {
    if (row == nullptr || row->rung != rung) continue;
    std::printf("| %u | %.*s | %s | %s | %s | %s | %s | %s | %s |\n", unsigned{number(row->opcode)},
                static_cast<int>(row->name.size()), row->name.data(), roles(row->inputs).c_str(),
                roles(row->outputs).c_str(), roles(row->weights).c_str(), state(row->lifecycle), aliases(*row).c_str(),
                row->has_reference   ? "yes"
                : row->has_expansion ? "–"
                                     : "the host's",
                expansion(*row).c_str());
  }
}

template <class O> void print_statement(std::type_identity<O>) {
  std::string gradient = "–", in_c = "–";
  if constexpr (zrt::HasGradientRule<O>)
    gradient = "rule";
  else if constexpr (zrt::HasNoGradientRule<O>)
    gradient = O::gradient.is_stopped() ? "stops" : "none: " + std::string(O::gradient.because());
  if constexpr (zrt::HasFormInC<O>)
    in_c = "yes";
  else if constexpr (zrt::HasNoFormInC<O>)
    in_c = "no: " + std::string(O::emit_c.because);
  else if constexpr (zrt::HasExpansion<O>)
    in_c = "as it expands";
  if (O::rung == zrt::Rung::primitive || zrt::HasFormInC<O>)
    std::printf("| %s | %s | %s |\n", std::string(O::name).c_str(), gradient.c_str(), in_c.c_str());
}

void print_statements() {
  std::printf(
      "\n## Gradients and C\n\n"
      "What each primitive says of its gradient (ir/gradient/) and of its form in C (plan/c/). Ops without a row run\n"
      "as they expand.\n\n"
      "| op | gradient | in C |\n|---|---|---|\n");
  boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, zrt::ops::Catalog>>(
      [](auto op) { print_statement(op); });
}

void print_params() {
  std::printf("\n## Parameter blocks\n\n");
  std::printf(
      "Little-endian, without padding. A field is `name type @offset`; u, i and f are unsigned, signed and\n"
      "floating, followed by the bits of one element. Ops without a row have no parameters.\n\n");
  std::printf("| op | version | bytes | fields |\n|---|---|---|---|\n");
  for (const OpRow* row : zrt::kOpTable<zrt::ops::Catalog>) {
    if (row == nullptr || row->fields.empty()) continue;
    std::string fields;
    for (const Field& field : row->fields) {
      if (!fields.empty()) fields += ", ";
      fields += std::string(field.name) + " " + type(field) + " @" + std::to_string(field.offset);
    }
    std::printf("| %.*s | %u | %u | %s |\n", static_cast<int>(row->name.size()), row->name.data(),
                unsigned{row->params_version}, unsigned{row->params_bytes}, fields.c_str());
  }
}

void print_free() {
  std::string text;
  for (unsigned n = 0; n < 128; ++n) {
    const auto id = static_cast<std::uint8_t>(n);
    if (zrt::kOpTable<zrt::ops::Catalog>[id] != nullptr || n == 52 || n == 53 || n == 54) continue;
    const unsigned first = n;
    while (n + 1 < 128 && n + 1 != 52 && zrt::kOpTable<zrt::ops::Catalog>[n + 1] == nullptr) ++n;
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (n != first) text += ".." + std::to_string(n);
  }
  std::printf(
      "\n## Numbers without an op\n\n%s.\n\n"
      "Numbers 52, 53 and 54 stay empty: matrix-core products and barriers are no ops. So do 128..255.\n"
      "Blocks take numbers below 32, fused ops 32..63 and 103..127, primitives 64..102.\n",
      text.c_str());
}

/// The names of the ops of a list, in the order of the catalog.
template <class... O> std::string names(boost::mp11::mp_list<O...>) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + std::string(O::name)), ...);
  return text.empty() ? "nothing" : text;
}

void print_left_out() {
  std::printf(
      "\n## What a backend leaves out\n\n"
      "An op runs where a backend claims it, or all that it expands to. A model or program that reaches another\n"
      "is refused when it is planned.\n\n"
      "| backend | does not run |\n|---|---|\n");
  std::printf("| cpu, reference | %s |\n| pm4 | %s |\n", names(zrt::ReferenceBackend::Unsupported{}).c_str(),
              names(zrt::device::Unsupported{}).c_str());
}

}  // namespace

int main() {
  std::printf(
      "<!-- Generated by tests/tools/print_opcodes.cpp from zrt::ops::Catalog; ./dev docs writes it anew. -->\n"
      "# Ops\n\n"
      "`name?` is optional. *In place* lists outputs that may lie where an input lay. An op without a reference\n"
      "is defined by its expansion; *expands to* is the upper bound of what it may use. A number is an id that stands "
      "in\n"
      "plans and traces: it never moves, and never means another op.\n");
  print_rung(zrt::Rung::macro, "Macro: one block of a model",
             "Made by arch programs; every backend expands them, or claims them whole.");
  print_rung(zrt::Rung::fused, "Fused: one launch", "What one kernel does.");
  print_rung(zrt::Rung::primitive, "Primitive: portable tensor IR",
             "What front doors without kernels of their own use.");
  print_statements();
  print_params();
  print_left_out();
  print_free();
}
