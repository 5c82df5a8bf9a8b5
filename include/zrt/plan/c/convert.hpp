// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/convert.hpp: programs of the portable tensor IR and fused programs as files of C99.
#pragma once

#include <zrt/ir/fused/instantiate.hpp>
#include <zrt/ir/fused/output_name.hpp>
#include <zrt/ir/passes/pipeline.hpp>
#include <zrt/plan/c/module.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/conversion.hpp>
#include <zrt/plan/fused_origins.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// How programs are converted.
struct Options {
  std::string_view name{};  ///< of the function; empty: the program's entry_point_name
  bool optimise = true;     ///< run the passes of ir/passes/; a fused program never does
  ir::ptir::LowerOptions lower{};
};

namespace detail {

/// The plan of a program, made of what C has a form for. What nobody reads must have a form too.
[[nodiscard]] inline Result<CompiledPlan> plan_for_c(const ir::ptir::Program& program,
                                                     Span<const ir::ptir::Shape> shapes, const Options& options,
                                                     bool optimise, ProgramOrigins* origins = nullptr) noexcept {
  static constexpr ir::Ops kOps = ir::Ops::of<ops::Catalog>();
  ir::ptir::LowerOptions lower = options.lower;
  if (origins != nullptr) lower.trace = &origins->nodes;
  auto graph = ir::ptir::lower(program, shapes, *kOps.table, lower);
  if (!graph) return pass(graph);
  if (auto r = check_custom_forms(*graph); !r) return pass(r);
  if (optimise)
    if (auto r = ir::optimise(*graph, {kOps, kClaims, &ir::Evaluations<ops::Catalog>::table()}); !r) return pass(r);
  auto compiled = compile(*graph, kOps, kClaims);
  if (compiled && origins != nullptr && !optimise)
    if (auto r = origins->follow(*graph, *kOps.table, *compiled, Ordering::program); !r) return pass(r);
  return compiled;
}

/// A fused program in one mode as a plan, with the step that an error of it is about.
class FusedMode {
 public:
  FusedMode(const ir::fused::FusedProgram& program, ir::fused::CutWire& cut) noexcept
      : program_(program), cut_(cut), in_mode_(program.store.allocator), origins_(program.store.allocator) {}

  [[nodiscard]] Result<CompiledPlan> plan(Span<const ir::fused::FeedType> feeds, bool training,
                                          const Options& options) noexcept {
    auto in_mode = ir::fused::instantiate(program_, feeds, training, &cut_, &origins_.first_values);
    cut_.backend = "c";
    if (!in_mode) return pass(in_mode);
    in_mode_ = std::move(*in_mode);
    Vector<ir::ptir::Shape> shapes(program_.store.allocator);
    for (const auto& parameter : in_mode_.regions[0].parameters)
      if (auto r = shapes.push_back(parameter.type.shape); !r) return pass(r);
    auto made = plan_for_c(in_mode_, shapes.span(), options, false, &origins_.program);
    if (!made) return std::unexpected<Error>(told(made.error()));
    for (std::size_t i = 0; i < made->plan.outputs.size(); ++i)
      made->plan.outputs[i].name = ir::fused::output_name(program_, i);
    return made;
  }
  [[nodiscard]] Error told(const Error& error) noexcept { return at_step(program_, in_mode_, origins_, error, cut_); }

 private:
  const ir::fused::FusedProgram& program_;
  ir::fused::CutWire& cut_;
  ir::ptir::Program in_mode_;
  FusedOrigins origins_;
};

}  // namespace detail

/// Adds `program` to a module under `name`, for inputs of `shapes` in the order of its parameters.
///
/// Errors: those of ir::ptir::lower, compile and Module::add.
[[nodiscard]] inline Result<void> add_program(Module& module, std::string_view name, const ir::ptir::Program& program,
                                              Span<const ir::ptir::Shape> shapes,
                                              const Options& options = {}) noexcept {
  const auto plan = detail::plan_for_c(program, shapes, options, options.optimise);
  if (!plan) return pass(plan);
  return module.add(name, plan->plan);
}

/// Adds a fused program, with `training` as the function's argument: the steps in their order, in the form
/// that they have in each mode. Inputs are the feeds in ascending order, then the run's seed where a step draws
/// from it; outputs those of the program, then the values of state_out.
///
/// Errors: those of ir::fused::instantiate and of add_program; `cut`, where given, tells the place.
[[nodiscard]] inline Result<void> add_program(Module& module, std::string_view name,
                                              const ir::fused::FusedProgram& program,
                                              Span<const ir::fused::FeedType> feeds, const Options& options = {},
                                              ir::fused::CutWire* cut = nullptr) noexcept {
  ir::fused::CutWire unasked(program.store.allocator);
  ir::fused::CutWire& at = cut != nullptr ? *cut : unasked;
  detail::FusedMode evaluation(program, at), training(program, at);
  const auto quiet = evaluation.plan(feeds, false, options);
  if (!quiet) return pass(quiet);
  const auto learning = training.plan(feeds, true, options);
  if (!learning) return pass(learning);
  auto added = module.add(name, quiet->plan, learning->plan);
  if (added) return added;
  // Which of the two it was shows when one is written alone.
  Module probe(program.store.allocator);
  const bool in_evaluation = !probe.add(name, quiet->plan);
  return std::unexpected<Error>((in_evaluation ? evaluation : training).told(added.error()));
}

/// A file with `program` as its one function.
///
/// Errors: those of add_program.
[[nodiscard]] inline Result<String> to_c(const ir::ptir::Program& program, Span<const ir::ptir::Shape> shapes,
                                         const Options& options = {}) noexcept {
  const auto own = entry_point_name(program);
  if (!own) return pass(own);
  Module module(program.allocator);
  if (auto r = add_program(module, options.name.empty() ? own->view() : options.name, program, shapes, options); !r)
    return pass(r);
  return module.finish();
}

/// `program` as the files of a package named after its one function, with weights apart and, where asked for, threads.
///
/// Errors: those of add_program.
[[nodiscard]] inline Result<Package> to_package(const ir::ptir::Program& program, Span<const ir::ptir::Shape> shapes,
                                                bool threads, const Options& options = {}) noexcept {
  const auto own = entry_point_name(program);
  if (!own) return pass(own);
  const std::string_view name = options.name.empty() ? own->view() : options.name;
  Module module(ModuleForm{.weights_apart = true, .threads = threads}, program.allocator);
  if (auto r = add_program(module, name, program, shapes, options); !r) return pass(r);
  return module.finish_package(name);
}

/// A file with a fused program as its one function, named after both modes.
///
/// Errors: those of add_program.
[[nodiscard]] inline Result<String> to_c(const ir::fused::FusedProgram& program, Span<const ir::fused::FeedType> feeds,
                                         const Options& options = {}, ir::fused::CutWire* cut = nullptr) noexcept {
  String both(program.store.allocator);
  for (const bool training : {false, true}) {
    const auto in_mode = ir::fused::instantiate(program, feeds, training, cut);
    if (cut != nullptr) cut->backend = "c";
    if (!in_mode) return pass(in_mode);
    const auto text = ir::ptir::print(*in_mode);
    if (!text) return pass(text);
    if (auto r = both.append(text->view()); !r) return pass(r);
  }
  const Name own = entry_point_name("fused", both.view());
  Module module(program.store.allocator);
  if (auto r = add_program(module, options.name.empty() ? own.view() : options.name, program, feeds, options, cut); !r)
    return pass(r);
  return module.finish();
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
