// SPDX-License-Identifier: Apache-2.0
// examples/zrt/tensor_program.hpp: a tensor program made ready on a backend that the command line names, or as C.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/exec/host_tensor_view.hpp>
#include <zrt/ir/fused/instantiate.hpp>
#include <zrt/ir/ptir/program.hpp>
#include <zrt/plan/c/module.hpp>
#include <zrt/plan/program_origins.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace program {

/// A zrt::ProgramRunner with its backend hidden.
class TensorProgram {
 public:
  TensorProgram() = default;
  TensorProgram(const TensorProgram&) = delete;
  TensorProgram& operator=(const TensorProgram&) = delete;
  virtual ~TensorProgram() = default;

  [[nodiscard]] virtual std::string_view backend() const = 0;
  [[nodiscard]] virtual std::string_view isa() const = 0;
  [[nodiscard]] virtual const zrt::plan::CompiledPlan& plan() const = 0;
  [[nodiscard]] virtual std::uint64_t arena_bytes() const = 0;
  /// By how much the backend's op may be off the reference's bits, relative.
  [[nodiscard]] virtual float bound(zrt::Opcode opcode) const = 0;
  [[nodiscard]] virtual zrt::Result<void> run(std::span<const zrt::ConstTensorView> inputs,
                                              std::span<const zrt::TensorView> outputs) = 0;
};

using ReadyProgram = zrt::Result<std::unique_ptr<TensorProgram>>;

/// How a program is made ready, by the names of the command line.
struct ProgramChoices {
  std::string_view backend;
  std::uint32_t threads = 1;
  std::string_view ordering = "program";
  std::string_view fit = "least";
  /// Where these are asked for, the instructions stay as they stand, without the passes.
  zrt::plan::ProgramOrigins* origins = nullptr;
  std::optional<std::uint64_t> trip_limit{};  ///< trips that a loop makes at most, where not the library's own limit
};

/// Makes `source` ready for inputs of `shapes`.
[[nodiscard]] ReadyProgram ready_program(const zrt::ir::ptir::Program& source,
                                         std::span<const zrt::ir::ptir::Shape> shapes, const ProgramChoices& choices);

/// A file of C99 with `source` as its one function, for feeds of these types; `cut` tells where it breaks.
[[nodiscard]] zrt::Result<zrt::String> c_source(const zrt::ir::fused::FusedProgram& source,
                                                std::span<const zrt::ir::fused::FeedType> feeds,
                                                zrt::ir::fused::CutWire& cut);
/// A file of C99 with `source` as its one function, for inputs of `shapes`; its loops make at most `trip_limit` trips,
/// where that is given.
[[nodiscard]] zrt::Result<zrt::String> c_source(const zrt::ir::ptir::Program& source,
                                                std::span<const zrt::ir::ptir::Shape> shapes,
                                                std::optional<std::uint64_t> trip_limit);

/// A program whose inputs have constant extents as the files of a package of C.
[[nodiscard]] zrt::Result<zrt::plan::c::Package> c_package(const zrt::ir::ptir::Program& source, std::string_view name,
                                                           bool thread_hook);
/// `source` as it stands, as C under this name: no pass changes what an instruction computes.
[[nodiscard]] zrt::Result<zrt::String> c_source_as_is(const zrt::ir::ptir::Program& source,
                                                      std::span<const zrt::ir::ptir::Shape> shapes,
                                                      std::string_view name);
/// By how much an op in C may be off the reference's bits, relative.
[[nodiscard]] float c_bound(zrt::Opcode opcode);

}  // namespace program
