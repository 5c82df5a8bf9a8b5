// SPDX-License-Identifier: Apache-2.0
// zrt/exec/fused_runner.hpp: runs a fused program on a backend, in training and in evaluation.
#pragma once

#include <zrt/exec/fused_steps.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/plan/fused_origins.hpp>

namespace zrt::inline ZRT_ABI {

/// A feed as a run binds it.
struct BoundFeed {
  ir::fused::ValueId id = 0;
  ConstTensorView tensor{};
};

/// A fused program on backend B for feeds of one set of types: one plan for each mode, both in step order.
/// `run` allocates nothing, but for what it tells of a break.
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
    ir::fused::CutWire unasked(options.allocator);
    ir::fused::CutWire& at = cut != nullptr ? *cut : unasked;
    ProgramOptions in_order = options;
    in_order.optimise = false;
    in_order.compile.ordering = plan::Ordering::program;
    Vector<std::size_t> evaluation_steps(options.allocator), training_steps(options.allocator);
    auto evaluation = make_mode(program, feeds, in_order, false, at, evaluation_steps);
    if (!evaluation) return pass(evaluation);
    auto training = make_mode(program, feeds, in_order, true, at, training_steps);
    if (!training) return pass(training);
    FusedRunner runner(std::move(*evaluation), std::move(*training), options.allocator);
    runner.evaluation_steps_ = std::move(evaluation_steps);
    runner.training_steps_ = std::move(training_steps);
    if (auto r = runner.types_.append(at.types.span()); !r) return pass(r);
    if (auto r = runner.feeds_.append(program.feeds.span()); !r) return pass(r);
    for (const ir::fused::ValueId id : program.feeds)
      if (auto r = runner.readers_.push_back(ir::fused::first_reader_of(program, id)); !r) return pass(r);
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
    if (cut != nullptr) cut->clear();
    auto ran = bind_and_run(feeds, outputs, training, seed, stop, cut);
    if (ran || cut == nullptr) return ran;
    // What is told of a break takes memory; without any, the error is all that there is.
    cut->backend = B::name;
    cut->binds = true;
    (void)note_wires(feeds, *cut);
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
        types_(allocator),
        feeds_(allocator),
        readers_(allocator),
        ordered_(allocator) {}

  [[nodiscard]] Result<void> bind_and_run(Span<const BoundFeed> feeds, Span<const TensorView> outputs, bool training,
                                          std::uint64_t seed, const StopPoll& stop, ir::fused::CutWire* cut) noexcept {
    ir::fused::CutWire unasked(types_.allocator());
    ir::fused::CutWire& at = cut != nullptr ? *cut : unasked;
    const auto& plan = mode(training).compiled().plan;
    for (std::size_t f = 0; f < feeds_.size(); ++f) {
      const BoundFeed* found = nullptr;
      for (const BoundFeed& feed : feeds) {
        if (feed.id != feeds_[f]) continue;
        at.value = feed.id;
        if (found != nullptr) return fail(Errc::invalid_argument, "feed ", feeds_[f], " is bound twice");
        found = &feed;
      }
      if (found == nullptr) {
        at.value.reset();
        at.step = readers_[f];
        return fail(Errc::invalid_argument, "feed ", feeds_[f], " is not bound");
      }
      at.value = feeds_[f];
      const plan::PlanPort& port = plan.inputs[f];
      const TensorType& expected = plan.registers[plan::index(port.reg)];
      if (auto r = check_tensor("feed", feeds_[f], port.name.view(), found->tensor, expected); !r) {
        at.step = readers_[f];
        at.actual = ptir_type({found->tensor.dtype, found->tensor.shape});
        at.expected = ptir_type(expected);
        return r;
      }
      ordered_[f] = found->tensor;
    }
    at.value.reset();
    for (const BoundFeed& feed : feeds)
      if (!std::binary_search(feeds_.begin(), feeds_.end(), feed.id)) {
        at.value = feed.id;
        return fail(Errc::invalid_argument, "value ", feed.id, " is bound, but it is no feed");
      }
    ordered_[feeds_.size()] = {DType::si64, {}, as_bytes(Span(&seed, 1))};
    const std::size_t inputs = mode(training).inputs();
    auto ran = mode(training).run(Span<const ConstTensorView>(ordered_.span()).first(inputs), outputs, stop);
    if (ran) return ran;
    return std::unexpected<Error>(
        exec::at_step((training ? training_steps_ : evaluation_steps_).span(), ran.error(), at));
  }
  [[nodiscard]] static ir::ptir::TensorType ptir_type(const TensorType& type) noexcept {
    ir::ptir::TensorType made{type.dtype, {}};
    for (std::uint8_t axis = 0; axis < type.shape.rank; ++axis) made.shape.append(type.shape[axis].extent);
    return made;
  }
  /// What this run has on each wire.
  [[nodiscard]] Result<void> note_wires(Span<const BoundFeed> feeds, ir::fused::CutWire& cut) const noexcept {
    for (const ir::fused::FeedType& row : types_) {
      ir::fused::FeedType known = row;
      if (std::binary_search(feeds_.begin(), feeds_.end(), row.id)) {
        const auto is = [&](const BoundFeed& feed) { return feed.id == row.id; };
        const auto given = std::find_if(feeds.begin(), feeds.end(), is);
        if (given == feeds.end()) {
          if (auto r = cut.unbound.push_back(row.id); !r) return r;
          continue;
        }
        known.type = ptir_type({given->tensor.dtype, given->tensor.shape});
      }
      if (auto r = cut.types.push_back(known); !r) return r;
    }
    return {};
  }

  [[nodiscard]] static Result<ProgramRunner<B, Catalog>> make_mode(const ir::fused::FusedProgram& program,
                                                                   Span<const ir::fused::FeedType> feeds,
                                                                   const ProgramOptions& options, bool training,
                                                                   ir::fused::CutWire& cut,
                                                                   Vector<std::size_t>& steps) noexcept {
    namespace fused = ir::fused;
    plan::FusedOrigins origins(options.allocator);
    const auto in_mode = fused::instantiate(program, feeds, training, &cut, &origins.first_values);
    cut.backend = B::name;
    if (!in_mode) return pass(in_mode);
    Vector<ir::ptir::Shape> shapes(options.allocator);
    for (const auto& parameter : in_mode->regions[0].parameters)
      if (auto r = shapes.push_back(parameter.type.shape); !r) return pass(r);
    ProgramOptions traced = options;
    traced.origins = &origins.program;
    auto runner = ProgramRunner<B, Catalog>::make(*in_mode, shapes.span(), traced);
    if (!runner) return std::unexpected<Error>(plan::at_step(program, *in_mode, origins, runner.error(), cut));
    if (auto r = origins.follow(*in_mode); !r) return pass(r);
    steps = std::move(origins.steps);
    return runner;
  }

  ProgramRunner<B, Catalog> evaluation_;
  ProgramRunner<B, Catalog> training_;
  Vector<std::size_t> evaluation_steps_;  ///< by instruction
  Vector<std::size_t> training_steps_;
  Vector<ir::fused::FeedType> types_;  ///< of every value, ascending
  Vector<ir::fused::ValueId> feeds_;   ///< ascending, as the parameters
  Vector<std::size_t> readers_;        ///< the first step that reads each of them
  Vector<ConstTensorView> ordered_;
};

}  // namespace zrt::inline ZRT_ABI
