// SPDX-License-Identifier: Apache-2.0
// examples/zrt/program_work.cpp: counts what a tensor program computes.
#include "program_work.hpp"
#include <zrt/core/cast.hpp>
#include <zrt/ir/ptir/attributes.hpp>
#include <zrt/ir/ptir/values.hpp>
#include <zrt/ops/dot_general.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace program {
namespace {

namespace ptir = zrt::ir::ptir;

double element_count(const ptir::Shape& shape) {
  double count = 1;
  for (const ptir::Dim dim : shape.view()) count *= static_cast<double>(dim.constant());
  return count;
}

/// Operations that only move elements.
constexpr std::array<std::string_view, 14> kMoves{
    "constant", "reshape",       "transpose", "broadcast_to",         "slice",        "concat", "pad", "tile", "take",
    "gather",   "dynamic_slice", "iota",      "dynamic_update_slice", "stop_gradient"};

/// Elements that a contraction adds up for each of its results.
double contracted(const ptir::Program& program, const ptir::ValueTable& values, const ptir::Instruction& insn,
                  const ptir::OpInfo& op) {
  const auto type = values.type(program.operands_of(insn)[0], ~std::size_t{0});
  double count = 1;
  const auto attributes = program.attributes_of(insn);
  for (std::size_t f = 0; type && f < attributes.size() && f < op.field_count; ++f) {
    if (op.fields()[f].name != "contract_lhs") continue;
    for (const std::int64_t axis : program.words_of(attributes[f]))
      count *= static_cast<double>(type->shape[static_cast<std::uint8_t>(axis)].constant());
  }
  return count;
}

double work_of(const ptir::Program& program, const ptir::ValueTable& values, const ptir::Instruction& insn) {
  const ptir::OpInfo& op = *ptir::find_op(insn.opcode);
  if (std::ranges::find(kMoves, op.name) != kMoves.end()) return 0;
  double work = 0;
  for (const ptir::TensorType& type : program.types_of(insn.output))
    if (type.shape.is_constant()) work += element_count(type.shape);
  return insn.opcode == zrt::ops::DotGeneral::opcode ? 2 * work * contracted(program, values, insn, op) : work;
}

}  // namespace

bool is_constant(const ptir::Program& program) {
  return std::ranges::all_of(program.regions[0].parameters,
                             [](const ptir::Parameter& input) { return input.type.shape.is_constant(); });
}

double flops(const ptir::Program& program) {
  double work = 0;
  for (const ptir::Region& region : program.regions) {
    const auto values = ptir::ValueTable::of(program, region);
    if (!values) continue;
    for (const ptir::Instruction& insn : region.instructions) work += work_of(program, *values, insn);
  }
  return work;
}

std::string count_text(double count) {
  constexpr std::array kUnits{"", "k", "M", "G", "T", "P"};
  std::size_t unit = 0;
  for (; count >= 1000 && unit + 1 < kUnits.size(); ++unit) count /= 1000;
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.3g %s", count, kUnits[unit]);
  return text;
}

std::vector<std::byte> ones_of(const zrt::TensorType& type) {
  const std::uint64_t count = type.shape.elements({}).raw();
  std::vector<std::byte> bytes(zrt::bytes_of(type.dtype, count));
  const std::vector<float> ones(count, 1.0f);
  if (count != 0)
    zrt::cast_elements(zrt::DType::f32, reinterpret_cast<const std::byte*>(ones.data()), type.dtype, bytes.data(), 0,
                       count);
  return bytes;
}

}  // namespace program
