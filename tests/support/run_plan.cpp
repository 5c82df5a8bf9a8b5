// SPDX-License-Identifier: Apache-2.0
// tests/support/run_plan.cpp: runs plans on the oracle.
#include <zrt/exec/executor.hpp>

#include <programs.hpp>
#include <support/run_plan.hpp>
#include <support/run_with.hpp>

namespace zrt {

namespace test {

/// The reference backend with the targets of ONNX; its adapters are compiled once for all tests.
using Reference = engines::ReferencePrograms;

/// Runs whole instructions on one worker after the other, so that neighbours run at the same time.
struct SpreadBackend : ReferenceBackend {
  static constexpr std::string_view name = "spread";
  using Claims = boost::mp11::mp_list<ops::ElementwiseUnary, ops::ElementwiseBinary, ops::Reshape, ops::Concat,
                                      ops::Slice, ops::Linear, ops::RmsNorm, ops::ResidualAdd, ops::ResidualRmsNorm,
                                      ops::Softmax, ops::Reduce, ops::GatedAct>;
};

}  // namespace test

template <class O> struct Adapter<test::SpreadBackend, O> {
  static CheckedSize scratch(const TypeCall<O>& call, const Extents& bounds) noexcept {
    return Adapter<ReferenceBackend, O>::scratch(call, bounds);
  }
  static Result<void> record(reference::Recorder& recorder, const Call<test::SpreadBackend, O>& c) noexcept {
    return recorder.push(&run, HostCall<O>{c.in, c.out, c.w, c.state, c.params});
  }
  static void run(const HostCall<O>& call, const ExecutionContext& step, const Worker& worker) noexcept {
    if (worker.index == worker.instruction % worker.count) O::reference(call, step, worker);
  }
};

namespace test {

const ir::Ops& catalog_ops() noexcept {
  static constexpr ir::Ops kOps = ir::Ops::of<ops::Catalog>();
  return kOps;
}

const OpSet& reference_claims() noexcept {
  static constexpr OpSet kClaims = OpSet::of(Reference::Claims{});
  return kClaims;
}

Bytes random_floats(std::size_t count, std::mt19937& random) {
  Bytes bytes(count * 4);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(random() % 2000) / 1000.0f - 1.0f;
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

void Weights::add_random(std::string name, DType dtype, std::uint32_t rows, std::uint32_t cols, std::mt19937& random) {
  const Shape shape = rows == 0 ? Shape{cols} : Shape{rows, cols};
  const std::size_t elements = static_cast<std::size_t>(shape.elements({}).raw());
  if (dtype == DType::f32) return add(std::move(name), dtype, shape, random_floats(elements, random));
  Bytes bytes(static_cast<std::size_t>(bytes_of(dtype, elements)));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  // The f16 scale that starts each block: about 0.01.
  for (std::size_t at = 0; at < bytes.size(); at += info(dtype).block_bytes) {
    bytes[at] = static_cast<std::byte>(random());
    bytes[at + 1] = std::byte{0x21};
  }
  add(std::move(name), dtype, shape, std::move(bytes));
}

StepData random_step(const plan::ExecutionPlan& plan, const Extents& bounds, const Extents& actual,
                     std::mt19937& random) {
  StepData run{{}, bounds, actual, {}};
  for (const plan::PlanPort& port : plan.inputs)
    run.inputs.push_back(random_floats(
        static_cast<std::size_t>(plan.registers[plan::index(port.reg)].shape.elements(actual).raw()), random));
  return run;
}

Result<std::vector<Bytes>> run_planned(const plan::CompiledPlan& compiled, const exec::WeightSource& weights,
                                       const StepData& run) {
  Reference::Device device;
  return run_with<Reference>(compiled, weights, run, device);
}

Result<std::vector<Bytes>> run_spread(const plan::CompiledPlan& compiled, const exec::WeightSource& weights,
                                      const StepData& run, const ThreadHook& threads) {
  Reference::Device device(system_allocator(), threads);
  return run_with<SpreadBackend>(compiled, weights, run, device);
}

std::vector<std::uint64_t> reference_scratch(const plan::CompiledPlan& compiled, const Extents& bounds) {
  std::vector<std::uint64_t> scratch;
  OperandStorage storage;
  for (std::size_t i = 0; i < compiled.plan.instructions.size(); ++i) {
    const plan::Instruction insn = compiled.plan.instruction(i);
    const auto bytes = exec::AllAdapters<Reference>::table()[number(insn.opcode)].scratch(
        compiled.plan.operand_info(insn, storage), bounds);
    scratch.push_back(bytes ? *bytes : 0);
  }
  return scratch;
}

Result<std::vector<float>> run_decoder(const plan::CompiledPlan& compiled, const exec::WeightSource& weights,
                                       std::span<const std::int32_t> tokens, std::size_t prompt) {
  const auto count = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t pages = (count + kPageTokens - 1) / kPageTokens;
  Reference::Device device;
  auto executor = exec::Executor<Reference>::make(
      plan::ModelPlans::of(compiled), *catalog_ops().table, weights,
      {.slots = 1, .prefill_tokens = count, .prefill_rows = count, .pages = pages, .pages_per_slot = pages}, device);
  if (!executor) return pass(executor);
  std::vector<std::uint32_t> ids(tokens.begin(), tokens.end()), positions(count), slots(count), page_list;
  for (std::uint32_t i = 0; i < count; ++i) positions[i] = i;
  for (std::size_t group = 0; group < executor->cache_groups().size(); ++group)
    for (std::uint32_t i = 0; i < pages; ++i) page_list.push_back(i);
  const plan::RegisterRef reg = compiled.plan.output(exec::port::kLogits);
  const std::size_t columns = compiled.plan.registers[plan::index(reg)].shape.last().extent;
  std::vector<float> logits(count * columns);
  for (std::size_t at = 0; at < count;) {
    const std::size_t rows = at == 0 ? prompt : 1;
    exec::Batch batch;
    batch.tokens = std::span(ids).subspan(at, rows);
    batch.slots = std::span(slots).first(rows);
    batch.positions = std::span(positions).subspan(at, rows);
    batch.rows = std::span(positions).first(rows);
    batch.pages = page_list.data();
    batch.prefill = at == 0;
    if (auto done = executor->step(batch); !done) return pass(done);
    const auto to = std::as_writable_bytes(std::span(logits).subspan(at * columns, rows * columns));
    if (auto r = executor->read(exec::port::kLogits, 0, to); !r) return pass(r);
    at += rows;
  }
  return logits;
}

Result<std::vector<Bytes>> run_apart(const plan::CompiledPlan& compiled, const exec::WeightSource& source,
                                     const StepData& run) {
  const plan::ExecutionPlan& plan = compiled.plan;
  Reference::Device device;
  auto weights = exec::bind_weights<Reference>(plan, source, device);
  if (!weights) return pass(weights);
  std::vector<Bytes> memory;
  std::vector<exec::TensorHandle<Reference>> registers;
  for (const TensorType& type : plan.registers) {
    // One byte more, so that a register of no elements has an address too.
    memory.emplace_back(static_cast<std::size_t>(bytes_of(type.dtype, type.shape.elements(run.bounds).raw())) + 1);
    registers.push_back({.tensor = {memory.back().data(), type}});
  }
  for (std::size_t i = 0; i < plan.inputs.size(); ++i)
    std::copy(run.inputs[i].begin(), run.inputs[i].end(), registers[plan::index(plan.inputs[i].reg)].tensor.data);
  const auto scratch_bytes = reference_scratch(compiled, run.bounds);
  std::vector<Buffer> scratch;
  reference::Program program(device);
  reference::Recorder recorder(program, device);
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const plan::Instruction insn = plan.instruction(i);
    auto buffer = Buffer::zeroed(system_allocator(), static_cast<std::size_t>(scratch_bytes[i]));
    if (!buffer) return pass(buffer);
    scratch.push_back(std::move(*buffer));
    if (auto r = recorder.begin({static_cast<std::uint32_t>(i), insn.opcode, scratch.back().span()}); !r)
      return pass(r);
    std::array<exec::TensorHandle<Reference>, kMaxOperands> in{};
    std::array<exec::TensorHandle<Reference>, kMaxOperands> out{};
    std::array<HostWeight, kMaxOperands> w{};
    for (std::size_t k = 0; k < insn.inputs.size(); ++k)
      if (insn.inputs[k] != plan::kNoRegister) in[k] = registers[plan::index(insn.inputs[k])];
    for (std::size_t k = 0; k < insn.outputs.size(); ++k) out[k] = registers[plan::index(insn.outputs[k])];
    for (std::size_t k = 0; k < insn.weights.size(); ++k)
      if (insn.weights[k] != plan::kNoWeight) w[k] = weights->own[plan::index(insn.weights[k])];
    const exec::BoundOperands<Reference> operands{{in.data(), insn.inputs.size()},
                                                  {out.data(), insn.outputs.size()},
                                                  {w.data(), insn.weights.size()},
                                                  nullptr,
                                                  plan.param_block(*insn.param_block_id)};
    if (auto r = exec::AllAdapters<Reference>::table()[number(insn.opcode)].record(recorder, operands); !r)
      return pass(r);
  }
  ExecutionContext step;
  step.extents = run.actual;
  if (auto done = program.launch(device, step, {}); !done) return pass(done);
  std::vector<Bytes> outputs;
  for (const plan::PlanPort& port : plan.outputs) {
    const TensorType& type = plan.registers[plan::index(port.reg)];
    const std::byte* data = registers[plan::index(port.reg)].tensor.data;
    outputs.emplace_back(data, data + bytes_of(type.dtype, type.shape.elements(run.actual).raw()));
  }
  return outputs;
}

}  // namespace test
}  // namespace zrt
