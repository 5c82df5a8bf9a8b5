// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/plan_file.cpp: any bytes as a plan file; what is accepted is planned, proven, written and run.
// covers: zrt/plan/plan_format.hpp 90
// covers: zrt/plan/read_plan.hpp 90
// covers: zrt/plan/write_plan.hpp 90
//
// An input that starts with the magic is a file. Any other input edits a good file: byte 0 chooses
// one, then each five bytes are an offset (u16), what to do, and a value (u16).
#include <zrt/backend/reference.hpp>
#include <zrt/exec/bind.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/ops/catalog.hpp>
#include <zrt/plan/memory.hpp>
#include <zrt/plan/read_plan.hpp>
#include <zrt/plan/write_plan.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace zrt;

constexpr ir::Ops kOps = ir::Ops::of<ops::Catalog>();

void demand(bool condition) {
  if (!condition) std::abort();
}

/// Primitives, a projection with constants, norms and a reshape; with a state where `stateful`.
std::vector<std::byte> good_file(bool stateful) {
  ir::Builder g(*kOps.table);
  const SymbolId tokens = g.symbol("tokens", 2);
  std::array<float, 64> weight{};
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i % 7) - 3.0f;
  const auto x = g.input("x", {DType::f32, {Dim(1, tokens), 8}});
  const auto w = g.constant(std::as_bytes(std::span(weight)), DType::f32, {8, 8});
  const auto y = g.emit<ops::Linear>({.in = {x}, .w = {w, {}}})[0];
  const auto both = g.emit<ops::ResidualRmsNorm>({.in = {y, x}, .params = {.norm = {.dim = 4}}});
  const auto halves = g.emit<ops::Reshape>({.in = {both[1]}, .params = {ShapeParams::of({Dim(1, tokens), 2, 4})}})[0];
  const auto joined = g.emit<ops::Concat>({.in = {halves, halves}})[0];
  g.output("slice", g.emit<ops::Slice>({.in = {joined}, .params = {1, 3}})[0]);
  const auto cached = g.emit<ops::Constant>({.in = {}, .w = {w}})[0];
  ops::DotGeneralParams dims;
  dims.contract_count = 1;
  dims.contract_lhs[0] = dims.contract_rhs[0] = 1;
  g.output("dot", g.emit<ops::DotGeneral>({.in = {y, cached}, .params = dims})[0]);
  if (stateful) {
    const auto state = g.state({StateLifecycle::kv_paged, DType::f16, 0, 0, {1, 8, 8, 0}});
    (void)g.emit<ops::KvWriteBatched>({.in = {y, y}, .state = state, .params = {1, 8, 8}});
  }
  auto graph = g.finish();
  demand(graph.has_value());
  OpSet claims = OpSet::of(ReferenceBackend::Claims{});
  auto plan = plan::compile(*graph, kOps, claims);
  demand(plan.has_value());
  // A remark of each kind, so that the list has entries.
  demand(plan->diagnostics
             .push_back({plan::DiagnosticLevel::info, plan::DiagnosticKind::expanded, ops::Swiglu::opcode, 0, 2,
                         plan::kNoRegister})
             .has_value());
  auto bytes = plan::write_plan(*plan);
  demand(bytes.has_value());
  return {bytes->begin(), bytes->end()};
}

/// Ops whose data cannot name anything outside their operands.
bool self_contained(const plan::ExecutionPlan& plan) {
  static constexpr OpSet kPlain = OpSet::of(
      boost::mp11::mp_list<ops::Linear, ops::ResidualRmsNorm, ops::RmsNorm, ops::ResidualAdd, ops::GatedAct,
                           ops::Softmax, ops::Reshape, ops::Concat, ops::Slice, ops::Constant, ops::DotGeneral,
                           ops::BroadcastTo, ops::ElementwiseUnary, ops::ElementwiseBinary, ops::Reduce>{});
  for (const plan::InstructionRecord& r : plan.instructions)
    if (!kPlain.contains(r.opcode)) return false;
  return true;
}

void run(const plan::CompiledPlan& compiled, const exec::BindSizes& sizes) {
  ReferenceBackend::Device device;
  auto weights = exec::bind_weights<ReferenceBackend>(compiled.plan, {}, device);
  if (!weights) return;
  auto states = exec::StateStore<ReferenceBackend>::make(compiled.plan, device, 0, 0);
  if (!states) return;
  auto bound = exec::bind<ReferenceBackend>(compiled, *kOps.table, *weights, *states, sizes, device);
  if (!bound) return;
  ExecutionContext step;
  step.extents = sizes.bounds;
  demand(bound->program().launch(device, step, {}).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<std::vector<std::byte>, 2> kGood{good_file(false), good_file(true)};
  std::vector<std::byte> bytes;
  if (size >= 8 && std::memcmp(data, plan::file::kMagic.data(), 8) == 0) {
    bytes.resize(size);
    std::memcpy(bytes.data(), data, size);
  } else {
    bytes = kGood[size == 0 ? 0 : data[0] % 2];
    for (std::size_t at = 1; at + 5 <= size; at += 5) {
      const std::size_t offset = (data[at] | static_cast<std::size_t>(data[at + 1]) << 8) % (bytes.size() + 1);
      const std::uint8_t value = data[at + 3];
      if (data[at + 2] % 8 == 7) bytes.resize(offset);
      if (offset < bytes.size()) bytes[offset] = static_cast<std::byte>(value);
      if (data[at + 2] % 8 == 6 && offset + 1 < bytes.size()) bytes[offset + 1] = static_cast<std::byte>(data[at + 4]);
      if (bytes.empty()) break;
    }
  }
  const auto compiled = plan::read_plan(bytes, *kOps.table);
  if (!compiled) {
    demand(compiled.error().code() != Errc::ok && !compiled.error().text().empty());
    demand(compiled.error().offset() <= bytes.size());
    return 0;
  }
  const auto again = plan::write_plan(*compiled);
  demand(again.has_value() && std::equal(again->begin(), again->end(), bytes.begin(), bytes.end()));
  exec::BindSizes sizes;
  for (std::uint32_t& value : sizes.bounds.value) value = 2;
  const std::vector<std::uint64_t> scratch(compiled->plan.instructions.size());
  const auto mapping = plan::plan_memory(*compiled, *kOps.table, sizes.bounds, scratch);
  if (!mapping) return 0;
  demand(plan::check_memory(compiled->plan, *kOps.table, sizes.bounds, *mapping).has_value());
  // Larger ones are only slow.
  if (mapping->arena_bytes < 16384 && self_contained(compiled->plan)) run(*compiled, sizes);
  return 0;
}
