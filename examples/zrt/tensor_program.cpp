// SPDX-License-Identifier: Apache-2.0
// examples/zrt/tensor_program.cpp: the choice of a backend for a tensor program.
#include "tensor_program.hpp"

#include <c_programs.hpp>
#include <programs.hpp>
#include <vector>

namespace program {
namespace {

template <class B> class On final : public TensorProgram {
 public:
  explicit On(zrt::ProgramRunner<B> runner) : runner_(std::move(runner)) {}

  std::string_view backend() const override { return B::name; }
  std::string_view isa() const override {
    if constexpr (requires(const typename B::Device& device) { device.isa(); })
      return name(runner_.device().isa());
    else
      return "plain loops";
  }
  const zrt::plan::CompiledPlan& plan() const override { return runner_.compiled(); }
  std::uint64_t arena_bytes() const override { return runner_.mapping().arena_bytes; }
  float bound(zrt::Opcode opcode) const override { return zrt::exec::kCapabilities<B>[zrt::number(opcode)].bound; }
  zrt::Result<void> run(std::span<const zrt::ConstTensorView> inputs,
                        std::span<const zrt::TensorView> outputs) override {
    return runner_.run(inputs, outputs);
  }

 private:
  zrt::ProgramRunner<B> runner_;
};

/// The entry of that name; the command line has checked it.
template <class List> auto named(const List& list, std::string_view text) {
  auto found = list[0];
  for (const auto entry : list)
    if (name(entry) == text) found = entry;
  return found;
}

template <class B>
ReadyProgram ready_on(const zrt::ir::ptir::Program& source, std::span<const zrt::ir::ptir::Shape> shapes,
                      const ProgramChoices& choices) {
  zrt::ProgramOptions options;
  options.optimise = choices.origins == nullptr;
  options.origins = choices.origins;
  options.compile.ordering = named(zrt::plan::kOrderings, choices.ordering);
  if (choices.trip_limit) options.lower.trip_limit = *choices.trip_limit;
  options.fit = named(zrt::plan::kFits, choices.fit);
  options.threads = choices.threads;
  auto runner = zrt::ProgramRunner<B>::make(source, shapes, options);
  if (!runner) return zrt::pass(runner);
  return std::make_unique<On<B>>(std::move(*runner));
}

}  // namespace

ReadyProgram ready_program(const zrt::ir::ptir::Program& source, std::span<const zrt::ir::ptir::Shape> shapes,
                           const ProgramChoices& choices) {
  if (choices.backend == "cpu") return ready_on<engines::CpuPrograms>(source, shapes, choices);
  if (choices.backend == "reference") return ready_on<engines::ReferencePrograms>(source, shapes, choices);
  return zrt::fail(zrt::Errc::invalid_argument, "no backend is called ", choices.backend);
}

zrt::Result<zrt::String> c_source(const zrt::ir::fused::FusedProgram& source,
                                  std::span<const zrt::ir::fused::FeedType> feeds, zrt::ir::fused::CutWire& cut) {
  return engines::to_c(source, feeds, &cut);
}
zrt::Result<zrt::String> c_source(const zrt::ir::ptir::Program& source, std::span<const zrt::ir::ptir::Shape> shapes,
                                  std::optional<std::uint64_t> trip_limit) {
  zrt::plan::c::Options options;
  if (trip_limit) options.lower.trip_limit = *trip_limit;
  return engines::to_c(source, shapes, options);
}
zrt::Result<zrt::plan::c::Package> c_package(const zrt::ir::ptir::Program& source, std::string_view name,
                                             bool thread_hook) {
  std::vector<zrt::ir::ptir::Shape> shapes;
  for (const zrt::ir::ptir::Parameter& p : source.regions[0].parameters) shapes.push_back(p.type.shape);
  return engines::to_c_package(source, shapes, thread_hook, {.name = name, .optimise = true, .lower = {}});
}
zrt::Result<zrt::String> c_source_as_is(const zrt::ir::ptir::Program& source,
                                        std::span<const zrt::ir::ptir::Shape> shapes, std::string_view name) {
  return engines::to_c(source, shapes, {.name = name, .optimise = false, .lower = {}});
}
float c_bound(zrt::Opcode opcode) { return engines::c_bound(opcode); }

}  // namespace program
