// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/primitive_set.hpp: the table of one variant's kernels for tensor programs.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/dot_shape.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/core/scalar.hpp>
#include <zrt/ops/attention.hpp>
#include <zrt/ops/bias_act.hpp>
#include <zrt/ops/clamp.hpp>
#include <zrt/ops/compare.hpp>
#include <zrt/ops/convolve.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/layer_norm.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/select.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// Kernels that programs of primitives use and engines of language models do not: a table of its own, so
/// that an engine does not compile them. f32 operands alone.
struct PrimitiveSet {
  Isa isa = Isa::v1;
  std::array<ElementFunctions<float>, 2> halves{};  ///< f16, bf16
  exec::HostKernel<HostCall<ops::ElementwiseUnary>> unary = nullptr;
  exec::HostKernel<HostCall<ops::ElementwiseBinary>> binary = nullptr;
  exec::HostKernel<HostCall<ops::Compare>> compare = nullptr;
  exec::HostKernel<HostCall<ops::Select>> select = nullptr;
  exec::HostKernel<HostCall<ops::Clamp>> clamp = nullptr;
  exec::HostKernel<HostCall<ops::LayerNorm>> layer_norm = nullptr;  ///< features are the last axis
  exec::HostKernel<HostCall<ops::Reduce>> reduce = nullptr;         ///< over the last axes
  /// y = lhs · rhs for each batch of a shape that fits_tiles; every worker calls it.
  void (*dot_product)(const DotShape& shape, const float* lhs, const float* rhs, float* y,
                      const Worker& worker) noexcept = nullptr;
  /// The sum of a[i] · b[i] in the order dot16.
  double (*dot_f64)(const double* a, const double* b, std::uint64_t count) noexcept = nullptr;
  exec::HostKernel<HostCall<ops::Attention>> attention = nullptr;
  exec::HostKernel<HostCall<ops::BiasAct>> bias_act = nullptr;

  /// Reads and writes runs of a float that is computed in f32.
  [[nodiscard]] const ElementFunctions<float>& floats(DType dtype) const noexcept {
    return dtype == DType::f16 ? halves[0] : dtype == DType::bf16 ? halves[1] : element_functions<float>(dtype);
  }
};

/// Elements of a head that the attention kernel keeps on the stack; larger heads need scratch.
inline constexpr std::uint32_t kAttentionDim = 128;
/// Workers that may compute larger heads at the same time, each with its own scratch.
inline constexpr std::uint32_t kAttentionLanes = 8;

/// Patches that a worker of a convolution gathers at a time, and workers that do so at the same time.
inline constexpr std::uint32_t kPatchRows = 24;
inline constexpr std::uint32_t kPatchLanes = 16;

/// An op with kernels in the PrimitiveSet: its adapter's `record` takes the set too.
template <class O>
concept RecordsPrimitive = requires(Recorder& recorder, const HostCall<O>& call, const PrimitiveSet& set) {
  { Adapter<O>::record(recorder, call, set) } noexcept -> std::same_as<Result<void>>;
};

}  // namespace zrt::inline ZRT_ABI::cpu
