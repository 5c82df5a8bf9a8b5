// SPDX-License-Identifier: Apache-2.0
// zrt/exec/onnx_model_members.hpp: what an OnnxModel does, for the source that compiles one.
#pragma once

#include <zrt/exec/onnx_model.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/ir/onnx.hpp>
#include <zrt/ir/onnx/targets.hpp>

#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

template <class B> struct OnnxModel<B>::Ready {
  explicit Ready(ProgramRunner<B> made) noexcept : runner(std::move(made)) {}

  /// The model that `read` gives for options of the reader.
  template <class Read>
  [[nodiscard]] static Result<OnnxModel> make(const OnnxOptions& options, const Read& read) noexcept {
    ir::onnx::ReadOptions reading;
    reading.extents = options.extents;
    reading.lengths = options.lengths;
    reading.strings = options.strings;
    reading.allocator = options.allocator;
    Vector<ir::onnx::BoundInput> values(options.allocator);
    for (const NamedTensor& given : options.values) {
      ir::ptir::TensorType type{given.value.dtype, {}};
      for (std::size_t axis = 0; axis < given.value.shape.size(); ++axis)
        type.shape.append(ir::ptir::Dim(std::int64_t{given.value.shape[axis].extent}));
      if (auto r = values.push_back({given.name, type, given.value.data}); !r) return pass(r);
    }
    reading.values = values.span();
    const Result<ir::ptir::Program> program = read(reading);
    if (!program) return pass(program);
    Vector<ir::ptir::Shape> shapes(options.allocator);
    for (const ir::ptir::Parameter& p : program->regions[0].parameters) {
      for (std::uint8_t axis = 0; axis < p.type.shape.rank; ++axis)
        if (!p.type.shape[axis].is_constant()) {
          const std::string_view symbol = program->symbol_name(p.type.shape[axis]);
          return fail(Errc::shape_mismatch, "input ", p.name.view(), " has an open extent on axis ", unsigned{axis},
                      symbol.empty() ? ", which the file must name or give" : ", ", symbol,
                      symbol.empty() ? "" : "; name its number in OnnxOptions::extents");
        }
      if (auto r = shapes.push_back(p.type.shape); !r) return pass(r);
    }
    auto runner = ProgramRunner<B>::make(*program, shapes.span(),
                                         {.allocator = options.allocator,
                                          .threads = options.threads,
                                          .thread_hook = options.thread_hook,
                                          .keep_inputs = options.keep_inputs});
    if (!runner) return pass(runner);
    auto ready = Owned<Ready>::make(options.allocator, std::move(*runner));
    if (!ready) return pass(ready);
    return OnnxModel(std::move(*ready));
  }

  ProgramRunner<B> runner;
};

template <class B> OnnxModel<B>::OnnxModel(Owned<Ready> ready) noexcept : ready_(std::move(ready)) {}
template <class B> OnnxModel<B>::OnnxModel(OnnxModel&&) noexcept = default;
template <class B> OnnxModel<B>& OnnxModel<B>::operator=(OnnxModel&&) noexcept = default;
template <class B> OnnxModel<B>::~OnnxModel() = default;

template <class B> Result<OnnxModel<B>> OnnxModel<B>::open(std::string_view path, const OnnxOptions& options) noexcept {
  return Ready::make(options, [&](const ir::onnx::ReadOptions& o) { return ir::onnx::read_file(path, o); });
}
template <class B>
Result<OnnxModel<B>> OnnxModel<B>::read(Span<const std::byte> file, const OnnxOptions& options) noexcept {
  return Ready::make(options, [&](const ir::onnx::ReadOptions& o) { return ir::onnx::read(file, o); });
}

template <class B> std::size_t OnnxModel<B>::inputs() const noexcept { return ready_->runner.inputs(); }
template <class B> std::size_t OnnxModel<B>::outputs() const noexcept { return ready_->runner.outputs(); }
template <class B> std::string_view OnnxModel<B>::input_name(std::size_t i) const noexcept {
  return ready_->runner.input_name(i);
}
template <class B> std::string_view OnnxModel<B>::output_name(std::size_t i) const noexcept {
  return ready_->runner.output_name(i);
}
template <class B> const TensorType& OnnxModel<B>::input_type(std::size_t i) const noexcept {
  return ready_->runner.input_type(i);
}
template <class B> const TensorType& OnnxModel<B>::output_type(std::size_t i) const noexcept {
  return ready_->runner.output_type(i);
}
template <class B> Span<std::byte> OnnxModel<B>::input_memory(std::size_t i) const noexcept {
  return ready_->runner.input_memory(i);
}
template <class B> Span<std::byte> OnnxModel<B>::output_memory(std::size_t i) const noexcept {
  return ready_->runner.output_memory(i);
}
template <class B>
Result<void> OnnxModel<B>::run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) noexcept {
  return ready_->runner.run(inputs, outputs);
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
