// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/plan_file.cpp: any bytes as a plan file; what is accepted is planned, proven, written and run.
// covers: zrt/plan/plan_format.hpp 90
// covers: zrt/plan/read_plan.hpp 90
// covers: zrt/plan/write_plan.hpp 90
//
// An input that starts with the magic is a file. Any other input edits a good file: byte 0 chooses
// one, then each five bytes are an offset (u16), what to do, and a value (u16).
#include <zrt/backend/reference.hpp>
#include <zrt/exec/executor.hpp>
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
  const auto joined = g.emit<ops::Concat>({.in = {halves, halves}, .params = {2}})[0];
  g.output("slice",
           g.emit<ops::Slice>({.in = {joined}, .params = ops::SliceParams::of_last(g.type_of(joined).shape, 1, 3)})[0]);
  const auto cached = g.emit<ops::Constant>({.in = {}, .w = {w}})[0];
  ops::DotGeneralParams dims;
  dims.contract_count = 1;
  dims.contract_lhs[0] = dims.contract_rhs[0] = 1;
  g.output("dot", g.emit<ops::DotGeneral>({.in = {y, cached}, .params = dims})[0]);
  ir::Builder body(*kOps.table);
  (void)body.symbol("tokens", 2);
  const auto carry = body.input("carry", {DType::f32, {8}});
  const auto sum = body.emit<ops::ElementwiseBinary>({.in = {carry, body.input("row", {DType::f32, {8}})}})[0];
  body.output("carry", sum);
  body.output("sum", sum);
  auto region = body.finish();
  demand(region.has_value());
  const auto start = g.emit<ops::Constant>({.in = {}, .w = {g.constant(std::span(weight).first(8))}})[0];
  g.output("sums",
           g.emit<ops::Scan>({.in = {start, y}, .params = {1, 1}, .region = {g.region(std::move(*region))}})[1]);
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
             .push_back({Severity::info, plan::DiagnosticKind::expanded, ops::Swiglu::opcode, 0, 2, plan::kNoRegister})
             .has_value());
  auto bytes = plan::write_plan(*plan);
  demand(bytes.has_value());
  return {bytes->begin(), bytes->end()};
}

/// A decoder of one layer with a sampler, its weights as constants.
std::vector<std::byte> good_decoder() {
  constexpr std::uint32_t kWidth = 8, kVocabulary = 16, kHeads = 2, kHeadDim = 4;
  ir::Builder g(*kOps.table);
  const Dim tokens(1, g.symbol(exec::port::kTokens, 4));
  const Dim rows(1, g.symbol(exec::port::kRows, 4));
  auto weight = [&](std::initializer_list<Dim> shape) {
    std::array<float, 128> values{};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 5) - 2.0f;
    const auto count = static_cast<std::size_t>(Shape(shape).elements({}).raw());
    return g.constant(std::as_bytes(std::span(values).first(count)), DType::f32, shape);
  };
  const auto ids = g.input(exec::port::kTokens, {DType::si32, {tokens}});
  const auto positions = g.input(exec::port::kPositions, {DType::si32, {tokens}});
  const auto wanted = g.input(exec::port::kRows, {DType::si32, {rows}});
  const auto x = g.emit<ops::Embedding>({.in = {ids}, .w = {weight({kVocabulary, kWidth})}})[0];
  ops::MultiheadAttentionParams attention;
  attention.attention.heads = kHeads;
  attention.attention.kv_heads = 1;
  attention.attention.key_dim = attention.attention.value_dim = kHeadDim;
  attention.rope.head_dim = attention.rope.n_rot = kHeadDim;
  const auto state = g.state({StateLifecycle::kv_paged, DType::f16, 0, 0, {1, kHeadDim, kHeadDim, 0}});
  const auto mixed = g.emit<ops::MultiheadAttention>(
      {.in = {x, positions},
       .w = {weight({kWidth}), weight({kHeads * kHeadDim, kWidth}), weight({kHeadDim, kWidth}),
             weight({kHeadDim, kWidth}), weight({kWidth, kHeads * kHeadDim})},
       .state = state,
       .params = attention})[0];
  const auto sum = g.emit<ops::ResidualAdd>({.in = {x, mixed}})[0];
  const auto kept = g.emit<ops::Take>({.in = {sum, wanted}})[0];
  const auto logits =
      g.emit<ops::LmHeadLogits>({.in = {kept}, .w = {weight({kWidth}), weight({kVocabulary, kWidth})}})[0];
  g.output(exec::port::kLogits, logits);
  const auto requests = g.input(exec::port::kRequests, {DType::ui32, {rows, ops::kSampleRequestWords}});
  const auto history = g.input(exec::port::kHistory, {DType::si32, {rows, 2}});
  const auto bias_ids = g.input(exec::port::kBiasIds, {DType::si32, {rows, 2}});
  const auto bias = g.input(exec::port::kBias, {DType::f32, {rows, 2}});
  g.output(exec::port::kToken, g.emit<ops::Sample>({.in = {logits, requests, history, bias_ids, bias}})[0]);
  auto graph = g.finish();
  demand(graph.has_value());
  auto plan = plan::compile(*graph, kOps, OpSet::of(ReferenceBackend::Claims{}));
  demand(plan.has_value());
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

/// The system's memory in blocks of at most 64 KiB: with it no instruction is so large that it is only slow.
Allocator small_blocks() {
  Allocator small = system_allocator();
  small.allocate = [](void*, std::size_t bytes, std::size_t alignment) noexcept -> void* {
    return bytes > 65536 ? nullptr : system_allocator().allocate(nullptr, bytes, alignment);
  };
  return small;
}

/// Binds a plan that has a decoder's ports as an engine would, for two slots of two pages, and runs a
/// prompt step and a decode step; what the plan does to its data may be an error, never more. Tells
/// whether both steps succeeded.
bool run_as_decoder(const plan::CompiledPlan& compiled) {
  ReferenceBackend::Device device(small_blocks());
  auto executor =
      exec::Executor<ReferenceBackend>::make(plan::ModelPlans::of(compiled), *kOps.table, {}, {2, 4, 2, 4, 2}, device);
  if (!executor) {
    demand(executor.error().code() != Errc::ok);
    return false;
  }
  // A state may name any of 256 cache groups; each has the same lists.
  std::array<std::uint32_t, 256 * 2 * 2> pages{};
  for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<std::uint32_t>(i % 4);
  std::array<ops::SampleRequest, 2> requests{};
  for (ops::SampleRequest& request : requests) request.active = request.history = request.biases = 1;
  const std::array<std::int32_t, 4> history{1, 2, 3, 4};
  const std::array<std::int32_t, 4> bias_ids{0, 1, 2, 3};
  const std::array<float, 4> bias{1.0f, -1.0f, 0.5f, 0.0f};
  struct Tokens {
    std::array<std::uint32_t, 4> id, slot, position;
    std::array<std::uint32_t, 2> rows;
    std::size_t count;
  };
  static constexpr std::array<Tokens, 2> kSteps{
      {{{1, 2, 3, 4}, {0, 0, 0, 1}, {0, 1, 2, 0}, {2, 3}, 4}, {{5, 6}, {0, 1}, {3, 1}, {0, 1}, 2}}};
  bool succeeded = true;
  for (const Tokens& t : kSteps) {
    auto first = [&](const auto& all) { return std::span(all).first(t.count); };
    exec::Batch batch;
    batch.tokens = first(t.id);
    batch.slots = first(t.slot);
    batch.positions = first(t.position);
    batch.rows = t.rows;
    batch.requests = requests;
    batch.history = history;
    batch.bias_ids = bias_ids;
    batch.bias = bias;
    batch.pages = pages.data();
    batch.prefill = t.count > 2;
    const auto done = executor->step(batch);
    demand(done ? *done : done.error().code() != Errc::ok);
    succeeded = succeeded && done.has_value();
    std::array<std::int32_t, 2> chosen{};
    if (done) (void)executor->read(exec::port::kToken, 0, std::as_writable_bytes(std::span(chosen)));
  }
  return succeeded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<std::vector<std::byte>, 3> kGood{good_file(false), good_file(true), good_decoder()};
  static const bool kDecodes = run_as_decoder(*plan::read_plan(kGood[2], *kOps.table));
  demand(kDecodes);
  std::vector<std::byte> bytes;
  if (size >= 8 && std::memcmp(data, plan::file::kMagic.data(), 8) == 0) {
    bytes.resize(size);
    std::memcpy(bytes.data(), data, size);
  } else {
    bytes = kGood[size == 0 ? 0 : data[0] % kGood.size()];
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
  (void)run_as_decoder(*compiled);
  const auto mapping = plan::plan_memory(compiled->plan, compiled->liveness, *kOps.table, sizes.bounds, scratch);
  if (!mapping) return 0;
  demand(plan::check_memory(compiled->plan, *kOps.table, sizes.bounds, *mapping).has_value());
  // Larger ones are only slow.
  if (mapping->arena_bytes < 16384 && self_contained(compiled->plan)) run(*compiled, sizes);
  return 0;
}
