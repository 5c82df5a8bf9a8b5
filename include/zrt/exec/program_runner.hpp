// SPDX-License-Identifier: Apache-2.0
// zrt/exec/program_runner.hpp: runs a program of the portable tensor IR on a backend.
#pragma once

#include <zrt/exec/bind.hpp>
#include <zrt/exec/check_targets.hpp>
#include <zrt/exec/data_fault_error.hpp>
#include <zrt/exec/find_fault.hpp>
#include <zrt/exec/host_tensor_view.hpp>
#include <zrt/exec/step_fault.hpp>
#include <zrt/exec/thread_pool.hpp>
#include <zrt/ir/passes/pipeline.hpp>
#include <zrt/ir/ptir/lower.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/program_origins.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI {

/// How a program is made ready to run.
struct ProgramOptions {
  Allocator allocator = system_allocator();
  std::uint32_t threads = 1;  ///< workers of the default pool; unused with a hook of the host's
  ThreadHook thread_hook{};
  ir::ptir::LowerOptions lower{};
  plan::CompileOptions compile{};
  plan::Fit fit = plan::Fit::least;         ///< of what lies in the arena, in regions too
  bool optimise = true;                     ///< run the passes of ir/passes/ before compiling
  bool keep_inputs = false;                 ///< a run leaves input_memory as it is; takes more memory
  plan::ProgramOrigins* origins = nullptr;  ///< if set, receives what became of each instruction
};

/// Runs a tensor program on backend B, for one set of input shapes. Dynamic extents are part of the plan, so other
/// shapes need another runner. `run` allocates nothing.
///
/// One caller at a time. The program need not outlive it.
template <class B, class Catalog = ops::Catalog> class ProgramRunner {
 public:
  ProgramRunner(ProgramRunner&&) noexcept = default;
  ProgramRunner& operator=(ProgramRunner&&) noexcept = default;

  /// Makes a runner with a device of its own, which uses the options' memory and threads; else as below.
  ///
  /// Errors: also Errc::invalid_argument for threads outside 1..1024, and the device's own.
  [[nodiscard]] static Result<ProgramRunner> make(const ir::ptir::Program& program, Span<const ir::ptir::Shape> shapes,
                                                  const ProgramOptions& options = {}) noexcept {
    ThreadHook threads = options.thread_hook;
    Owned<exec::ThreadPool> pool;
    if (threads.run == nullptr && options.threads != 1) {
      if (options.threads == 0 || options.threads > 1024)
        return fail(Errc::invalid_argument, "threads is ", options.threads, ", expected 1..1024");
      auto made = Owned<exec::ThreadPool>::make(options.allocator, options.allocator);
      if (!made) return pass(made);
      if (auto r = (*made)->start(options.threads); !r) return pass(r);
      pool = std::move(*made);
      threads = pool->hook();
    }
    auto device = Owned<typename B::Device>::make(options.allocator, options.allocator, threads);
    if (!device) return pass(device);
    if constexpr (requires { (*device)->ready(); })
      if (auto r = (*device)->ready(); !r) return pass(r);
    auto runner = make(program, shapes, **device, options);
    if (!runner) return runner;
    runner->pool_ = std::move(pool);
    runner->own_device_ = std::move(*device);
    return runner;
  }

  /// Verifies `program`, lowers it for inputs of `shapes` in the order of its parameters, runs the passes of
  /// ir/passes/ unless `options` say otherwise, compiles it for what B claims, plans its memory and records
  /// it on `device`, which must outlive the runner.
  ///
  /// Errors: those of ir::ptir::lower and plan::compile (Errc::unsupported_opcode for an op that B does not
  /// run), and of bind.
  [[nodiscard]] static Result<ProgramRunner> make(const ir::ptir::Program& program, Span<const ir::ptir::Shape> shapes,
                                                  typename B::Device& device, const ProgramOptions& options) noexcept;

  /// Runs the program once: `inputs` in the order of the parameters, `outputs` in that of the results.
  ///
  /// Errors: Errc::invalid_argument for another number of tensors, those of check_tensor,
  /// Errc::spec_violation and limit_exceeded with the instruction where data broke an op's contract (the
  /// outputs are then left alone), Errc::cancelled when `stop` ended it, and the device's own. Where a file's node is
  /// known, a fault bears its name; on the host, what is before the instruction is run once more, on the calling thread
  /// alone, to find the element. Where `stop` ends that, the fault is told without the element.
  [[nodiscard]] Result<void> run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs,
                                 const StopPoll& stop = {}) noexcept;

  [[nodiscard]] std::size_t inputs() const noexcept { return plan().inputs.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept { return plan().outputs.size(); }
  [[nodiscard]] std::string_view input_name(std::size_t i) const noexcept { return plan().inputs[i].name.view(); }
  [[nodiscard]] std::string_view output_name(std::size_t i) const noexcept { return plan().outputs[i].name.view(); }
  [[nodiscard]] const TensorType& input_type(std::size_t i) const noexcept { return type(plan().inputs[i]); }
  [[nodiscard]] const TensorType& output_type(std::size_t i) const noexcept { return type(plan().outputs[i]); }

  /// The runner's own memory of an input, where the host can write it: a tensor that lies there is not copied when it
  /// is given to `run`, which may write over it unless ProgramOptions::keep_inputs says otherwise. Empty where B's
  /// memory is not the host's.
  [[nodiscard]] Span<std::byte> input_memory(std::size_t i) const noexcept { return memory(plan().inputs[i]); }
  /// The same of an output, whose value stays there until the next run. That takes its inputs one after the other: an
  /// output that is handed to it may have been written over by an input before, unless inputs are kept.
  [[nodiscard]] Span<std::byte> output_memory(std::size_t i) const noexcept { return memory(plan().outputs[i]); }

  [[nodiscard]] const typename B::Device& device() const noexcept { return *device_; }
  [[nodiscard]] const plan::CompiledPlan& compiled() const noexcept { return compiled_; }
  /// Where the plan's registers lie, and the bytes of its arena.
  [[nodiscard]] const plan::PhysicalMapping& mapping() const noexcept { return bound_.mapping(); }

 private:
  ProgramRunner(plan::CompiledPlan compiled, exec::WeightSet<B> weights, exec::BoundPlan<B> bound,
                typename B::Device& device, ir::ptir::Origins origins) noexcept
      : compiled_(std::move(compiled)),
        weights_(std::move(weights)),
        bound_(std::move(bound)),
        device_(&device),
        origins_(std::move(origins)) {}

  [[nodiscard]] const plan::ExecutionPlan& plan() const noexcept { return compiled_.plan; }
  [[nodiscard]] const TensorType& type(const plan::PlanPort& port) const noexcept {
    return plan().registers[plan::index(port.reg)];
  }

  [[nodiscard]] Span<std::byte> memory(const plan::PlanPort& port) const noexcept {
    if constexpr (std::is_same_v<typename B::Tensor, HostTensor>) {
      const HostTensor& tensor = bound_.tensor(port.reg);
      return {tensor.data, bytes_of(tensor.type.dtype, tensor.type.shape.elements({}).raw())};
    } else {
      return {};
    }
  }

  template <class View>
  [[nodiscard]] Result<void> check(std::string_view what, Span<const View> tensors,
                                   Span<const plan::PlanPort> ports) const noexcept {
    if (tensors.size() != ports.size())
      return fail(Errc::invalid_argument, "the program has ", ports.size(), " ", what, "s, ", tensors.size(),
                  " were given");
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (auto r = check_tensor(what, i, ports[i].name.view(), tensors[i], type(ports[i])); !r) return r;
    return {};
  }

  /// The error of a step of these inputs with the node and the element that it is about, as far as they can be known.
  [[nodiscard]] Error explained(const Error& error, Span<const ConstTensorView> inputs, const StopPoll& stop) noexcept;

  // Before what lies on the device: destroyed last.
  Owned<exec::ThreadPool> pool_;
  Owned<typename B::Device> own_device_;
  plan::CompiledPlan compiled_;
  exec::WeightSet<B> weights_;
  exec::BoundPlan<B> bound_;
  typename B::Device* device_;
  ir::ptir::Origins origins_;
};

// Both stand outside of the class: a source that declares the runner as compiled elsewhere (`extern template`)
// then compiles neither.
template <class B, class Catalog>
Result<ProgramRunner<B, Catalog>> ProgramRunner<B, Catalog>::make(const ir::ptir::Program& program,
                                                                  Span<const ir::ptir::Shape> shapes,
                                                                  typename B::Device& device,
                                                                  const ProgramOptions& options) noexcept {
  static constexpr ir::Ops kOps = ir::Ops::of<Catalog>();
  constexpr OpSet kClaims = OpSet::of(typename B::Claims{});
  ir::ptir::LowerOptions lower = options.lower;
  if (options.origins != nullptr) lower.trace = &options.origins->nodes;
  auto graph = ir::ptir::lower(program, shapes, *kOps.table, lower);
  if (!graph) return pass(graph);
  // Before anything is dropped: what nobody reads must have its target too.
  if (auto r = exec::check_targets<B>(*graph); !r) return pass(r);
  if (options.optimise)
    if (auto r = ir::optimise(*graph, {kOps, kClaims, &ir::Evaluations<Catalog>::table()}); !r) return pass(r);
  auto compiled = plan::compile(*graph, kOps, kClaims, options.compile);
  if (!compiled) return pass(compiled);
  if (options.origins != nullptr && !options.optimise)
    if (auto r = options.origins->follow(*graph, *kOps.table, *compiled, options.compile.ordering); !r) return pass(r);
  if (options.keep_inputs)
    for (const plan::PlanPort& port : compiled->plan.inputs)
      compiled->liveness.register_last_read[plan::index(port.reg)] = plan::LivenessMap::kReadAfterEnd;
  auto weights = exec::bind_weights<B>(compiled->plan, {}, device);
  if (!weights) return pass(weights);
  auto states = exec::StateStore<B>::make(compiled->plan, device, 0, 0);
  if (!states) return pass(states);
  auto bound = exec::bind<B>(*compiled, exec::OpAdapters<B>::template of<Catalog>(), *weights, *states,
                             {.bounds = {}, .fit = options.fit}, device);
  if (!bound) return pass(bound);
  auto origins = program.origins.clone();
  if (!origins) return pass(origins);
  return ProgramRunner(std::move(*compiled), std::move(*weights), std::move(*bound), device, std::move(*origins));
}

template <class B, class Catalog>
Error ProgramRunner<B, Catalog>::explained(const Error& error, Span<const ConstTensorView> inputs,
                                           const StopPoll& stop) noexcept {
  const plan::Instruction insn = plan().instruction(error.instruction());
  std::optional<DataFault> found;
  const exec::FindFault find = exec::kFaultTable<Catalog>[number(insn.opcode)];
  if constexpr (std::is_same_v<typename B::Tensor, HostTensor>) {
    if (find != nullptr && error.code() == Errc::spec_violation && insn.param_block_id) {
      // What the step left in the arena may lie over the operands.
      bool there = true;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const plan::RegisterRef reg = plan().inputs[i].reg;
        // An input in the runner's own memory is not what it was, unless it is kept.
        const bool gone = inputs[i].data.data() == bound_.tensor(reg).data &&
                          compiled_.liveness.register_last_read[plan::index(reg)] != plan::LivenessMap::kReadAfterEnd;
        there = there && !gone && device_->write(bound_.tensor(reg), inputs[i].data).has_value();
      }
      ExecutionContext step;
      StepStatus status;
      step.status = &status;
      step.stop = &stop;
      there = there && bound_.program().host_program().launch_before(step, error.instruction());
      Room<HostTensor, kMaxOperands> in;
      for (std::size_t i = 0; i < insn.inputs.size(); ++i)
        in.make(i, insn.inputs[i] == plan::kNoRegister ? HostTensor{} : bound_.tensor(insn.inputs[i]));
      if (there) found = find(plan().param_block(*insn.param_block_id), {in.data(), insn.inputs.size()}, step);
    }
  }
  const OpRow* row = (*ir::Ops::of<Catalog>().table)[number(insn.opcode)];
  const std::uint32_t at = found ? found->input : 0;
  const TensorType operand = found ? plan().registers[plan::index(insn.inputs[at])] : TensorType{};
  return exec::data_fault_error(error, plan(), origins_, found, operand,
                                row == nullptr || !found ? std::string_view() : row->input(at).name);
}

template <class B, class Catalog>
Result<void> ProgramRunner<B, Catalog>::run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs,
                                            const StopPoll& stop) noexcept {
  if (auto r = check("input", inputs, plan().inputs.span()); !r) return r;
  if (auto r = check("output", outputs, plan().outputs.span()); !r) return r;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (auto r = device_->write(bound_.tensor(plan().inputs[i].reg), inputs[i].data); !r) return r;
  StepStatus status;
  ExecutionContext step;
  step.status = &status;
  const auto completed = bound_.launch(*device_, step, stop);
  if (!completed) return pass(completed);
  if (auto fault = exec::step_fault(status, plan(), ir::Ops::of<Catalog>().table); !fault)
    return std::unexpected<Error>(explained(fault.error(), inputs, stop));
  if (!*completed) return fail(Errc::cancelled, "the program was stopped");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& to = outputs[i];
    if (auto r = device_->read(bound_.tensor(plan().outputs[i].reg), 0, to.data); !r) return r;
    // The half of the last byte that belongs to no element.
    if (info(to.dtype).block_elems == 2 && to.shape.elements({}).raw() % 2 != 0) to.data.back() &= std::byte{0x0f};
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI
