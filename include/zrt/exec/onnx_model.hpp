// SPDX-License-Identifier: Apache-2.0
// zrt/exec/onnx_model.hpp: an ONNX file that runs on a backend, declared alone so that its callers compile quickly.
#pragma once

#include <zrt/core/hooks.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/exec/host_tensor_view.hpp>
#include <zrt/ir/onnx/input_length.hpp>
#include <zrt/ir/onnx/named_extent.hpp>
#include <zrt/ir/onnx/strings.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI {

/// The value of an input that must be known when a model is read, because a shape depends on it.
struct NamedTensor {
  std::string_view name;
  ConstTensorView value{};
};

/// How an ONNX file is made ready to run. What it names must live as long as the call.
struct OnnxOptions {
  Span<const ir::onnx::NamedExtent> extents{};
  Span<const NamedTensor> values{};             ///< inputs that are then no inputs of the model
  Span<const ir::onnx::InputLength> lengths{};  ///< of inputs that are sequences or optional values
  /// Receives the model's strings; tensors of strings are then si64 tensors of their numbers, those of `values` too.
  /// Null refuses a model that has such tensors.
  ir::onnx::ModelStrings* strings = nullptr;
  std::uint32_t threads = 1;  ///< workers of the default pool; unused with a hook of the host's
  ThreadHook thread_hook{};
  bool keep_inputs = false;  ///< see ProgramOptions
  Allocator allocator = system_allocator();
};

/// An ONNX file, read, compiled and bound on backend B for one set of input shapes. `run` allocates nothing.
///
/// One caller at a time. The members stand in onnx_model_members.hpp, or in a library where B's are compiled.
template <class B> class OnnxModel {
 public:
  OnnxModel(OnnxModel&&) noexcept;
  OnnxModel& operator=(OnnxModel&&) noexcept;
  ~OnnxModel();

  /// Makes the file at `path` ready, with the data files beside it.
  ///
  /// Errors: those of ir::onnx::read_file and ProgramRunner::make; Errc::shape_mismatch for an extent that is open.
  [[nodiscard]] static Result<OnnxModel> open(std::string_view path, const OnnxOptions& options = {}) noexcept;
  /// The same of a file in memory, which need not outlive the call.
  [[nodiscard]] static Result<OnnxModel> read(Span<const std::byte> file, const OnnxOptions& options = {}) noexcept;

  [[nodiscard]] std::size_t inputs() const noexcept;
  [[nodiscard]] std::size_t outputs() const noexcept;
  [[nodiscard]] std::string_view input_name(std::size_t i) const noexcept;
  [[nodiscard]] std::string_view output_name(std::size_t i) const noexcept;
  [[nodiscard]] const TensorType& input_type(std::size_t i) const noexcept;
  [[nodiscard]] const TensorType& output_type(std::size_t i) const noexcept;

  /// The model's own memory of an input or output; see ProgramRunner::input_memory.
  [[nodiscard]] Span<std::byte> input_memory(std::size_t i) const noexcept;
  [[nodiscard]] Span<std::byte> output_memory(std::size_t i) const noexcept;

  /// Runs the model once; see ProgramRunner::run.
  [[nodiscard]] Result<void> run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) noexcept;

 private:
  struct Ready;
  explicit OnnxModel(Owned<Ready> ready) noexcept;

  Owned<Ready> ready_;
};

}  // namespace zrt::inline ZRT_ABI
