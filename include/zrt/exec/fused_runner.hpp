// SPDX-License-Identifier: Apache-2.0
// zrt/exec/fused_runner.hpp: runs a fused program on a backend, in training and in evaluation.
#pragma once

#include <zrt/exec/fused_steps.hpp>
#include <zrt/exec/program_runner.hpp>

namespace zrt::inline ZRT_ABI {

/// A feed as a run binds it.
struct BoundFeed {
  ir::fused::ValueId id = 0;
  ConstTensorView tensor{};
};

/// A fused program on backend B for feeds of one set of types: one plan for each mode, both in step order.
/// `run` allocates nothing.
///
/// One caller at a time. The program need not outlive it.
template <class B, class Catalog = ops::Catalog> class FusedRunner {
 public:
  FusedRunner(FusedRunner&&) noexcept = default;
  FusedRunner& operator=(FusedRunner&&) noexcept = default;

  /// Verifies `program` and makes both plans. The passes do not run, whatever `options` say: they would
  /// change the order of the steps.
  ///
  /// Errors: those of ir::fused::instantiate and of ProgramRunner::make; Errc::unsupported_opcode for a step
  /// that B does not run. `cut`, where given, tells the place.
  [[nodiscard]] static Result<FusedRunner> make(const ir::fused::FusedProgram& program,
                                                Span<const ir::fused::FeedType> feeds,
                                                const ProgramOptions& options = {},
                                                ir::fused::CutWire* cut = nullptr) noexcept {
    ProgramOptions in_order = options;
    in_order.optimise = false;
    in_order.compile.ordering = plan::Ordering::program;
    Vector<std::size_t> evaluation_steps(options.allocator), training_steps(options.allocator);
    auto evaluation = make_mode(program, feeds, in_order, false, cut, evaluation_steps);
    if (!evaluation) return pass(evaluation);
    auto training = make_mode(program, feeds, in_order, true, cut, training_steps);
    if (!training) return pass(training);
    FusedRunner runner(std::move(*evaluation), std::move(*training), options.allocator);
    runner.evaluation_steps_ = std::move(evaluation_steps);
    runner.training_steps_ = std::move(training_steps);
    if (auto r = runner.feeds_.append(program.feeds.span()); !r) return pass(r);
    if (auto r = runner.ordered_.resize(program.feeds.size() + 1); !r) return pass(r);
    return runner;
  }

  /// Runs the program once. `feeds` bind each feed exactly once, in any order; `outputs` are the program's
  /// outputs in their order and then the values of state_out, which may be the memory of the feeds: feeds are
  /// read before outputs are written. `seed` is the key of the draws that have none of their own: another
  /// seed, other numbers; the same seed, the same numbers.
  ///
  /// Errors: Errc::invalid_argument for a feed that is bound not at all, twice, or is none; those of
  /// ProgramRunner::run. `cut`, where given, tells the place: the feed, or the step whose data broke its op's contract.
  [[nodiscard]] Result<void> run(Span<const BoundFeed> feeds, Span<const TensorView> outputs, bool training,
                                 std::uint64_t seed = 0, const StopPoll& stop = {},
                                 ir::fused::CutWire* cut = nullptr) noexcept {
    ir::fused::CutWire unasked;
    ir::fused::CutWire& at = cut != nullptr ? *cut : unasked;
    at = {};
    at.backend = B::name;
    for (std::size_t f = 0; f < feeds_.size(); ++f) {
      const BoundFeed* found = nullptr;
      for (const BoundFeed& feed : feeds) {
        if (feed.id != feeds_[f]) continue;
        at.value = feed.id;
        if (found != nullptr) return fail(Errc::invalid_argument, "feed ", feeds_[f], " is bound twice");
        found = &feed;
      }
      at.value.reset();
      if (found == nullptr) {
        at.unbound = feeds_[f];
        return fail(Errc::invalid_argument, "feed ", feeds_[f], " is not bound");
      }
      ordered_[f] = found->tensor;
    }
    // Each feed was found once: anything more is none.
    if (feeds.size() != feeds_.size())
      return fail(Errc::invalid_argument, feeds.size(), " feeds are bound, expected ", feeds_.size());
    ordered_[feeds_.size()] = {DType::si64, {}, as_bytes(Span(&seed, 1))};
    const std::size_t inputs = mode(training).inputs();
    auto ran = mode(training).run(Span<const ConstTensorView>(ordered_.span()).first(inputs), outputs, stop);
    const auto& steps = training ? training_steps_ : evaluation_steps_;
    if (!ran && ran.error().phase() == Phase::step && ran.error().instruction() < steps.size())
      at.step = steps[ran.error().instruction()];
    return ran;
  }

  /// The runner of one mode: what its plan, outputs and memory are.
  [[nodiscard]] ProgramRunner<B, Catalog>& mode(bool training) noexcept { return training ? training_ : evaluation_; }

 private:
  FusedRunner(ProgramRunner<B, Catalog> evaluation, ProgramRunner<B, Catalog> training,
              const Allocator& allocator) noexcept
      : evaluation_(std::move(evaluation)),
        training_(std::move(training)),
        evaluation_steps_(allocator),
        training_steps_(allocator),
        feeds_(allocator),
        ordered_(allocator) {}

  [[nodiscard]] static Result<ProgramRunner<B, Catalog>> make_mode(const ir::fused::FusedProgram& program,
                                                                   Span<const ir::fused::FeedType> feeds,
                                                                   const ProgramOptions& options, bool training,
                                                                   ir::fused::CutWire* cut,
                                                                   Vector<std::size_t>& steps) noexcept {
    namespace fused = ir::fused;
    Vector<ir::ptir::ValueId> first_values(options.allocator);
    const auto in_mode = fused::instantiate(program, feeds, training, cut, &first_values);
    if (!in_mode) {
      if (cut != nullptr) cut->backend = B::name;
      return pass(in_mode);
    }
    Vector<ir::ptir::Shape> shapes(options.allocator);
    for (const auto& parameter : in_mode->regions[0].parameters)
      if (auto r = shapes.push_back(parameter.type.shape); !r) return pass(r);
    auto runner = ProgramRunner<B, Catalog>::make(*in_mode, shapes.span(), options);
    if (!runner && cut != nullptr) {
      cut->backend = B::name;
      // Of the steps of the op that the error names the first is as good as the others.
      if (const std::size_t step = exec::first_step_of(program, runner.error().opcode()); step != fused::CutWire::kNone)
        cut->step = step;
    }
    if (!runner) return runner;
    auto found = exec::plan_steps(*in_mode, first_values.span(), runner->compiled().plan, options.allocator);
    if (!found) return pass(found);
    steps = std::move(*found);
    return runner;
  }

  ProgramRunner<B, Catalog> evaluation_;
  ProgramRunner<B, Catalog> training_;
  Vector<std::size_t> evaluation_steps_;  ///< by instruction
  Vector<std::size_t> training_steps_;
  Vector<ir::fused::ValueId> feeds_;  ///< ascending, as the parameters
  Vector<ConstTensorView> ordered_;
};

}  // namespace zrt::inline ZRT_ABI
