// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/host.hpp: tensors, constants and regions as generated C names them.
#pragma once

#include <zrt/ops/row_major.hpp>
#include <zrt/plan/c/source.hpp>
#include <zrt/plan/execution_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// Bytes in generated code.
struct CodePlace {
  enum class Kind : std::uint8_t { arena, input, constant };

  Kind kind = Kind::arena;
  std::uint32_t index = 0;   ///< of the input or the constant
  std::uint64_t offset = 0;  ///< in bytes
  friend bool operator==(const CodePlace&, const CodePlace&) = default;

  /// A pointer to them: to unsigned char where something is added to it, else to anything.
  [[nodiscard]] Expr pointer() const noexcept {
    if (kind == Kind::arena) return offset == 0 ? Expr{"a"} : Expr{"a + ", offset};
    const Expr base = kind == Kind::input ? Expr{"inputs[", index, "]"} : Expr{"zrt_constant_", index};
    return offset == 0 ? base : Expr{"(const unsigned char *)", base, " + ", offset};
  }
};

/// A dense tensor; its extents are constants.
struct Tensor {
  CodePlace place{};
  TensorType type{};
  bool bound = false;

  [[nodiscard]] bool present() const noexcept { return bound; }
  [[nodiscard]] DType dtype() const noexcept { return type.dtype; }
  [[nodiscard]] Expr pointer() const noexcept { return place.pointer(); }
  [[nodiscard]] ops::RowMajor extents() const noexcept { return {HostTensor{nullptr, type}, ExecutionContext{}}; }
  [[nodiscard]] ops::AxisSplit split(std::size_t axis) const noexcept {
    return {HostTensor{nullptr, type}, axis, ExecutionContext{}};
  }
  [[nodiscard]] std::uint64_t elements() const noexcept { return extents().elements; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_of(type.dtype, elements()); }
};

class PlanText;

/// A region of an instruction; its parameters and results lie in the arena, results in constants too.
struct Region {
  PlanText* text = nullptr;
  void (*write_text)(PlanText& text) noexcept = nullptr;
  Span<const Tensor> params;
  Span<const Tensor> results;

  /// Writes its instructions.
  void write() const noexcept { write_text(*text); }
};

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
