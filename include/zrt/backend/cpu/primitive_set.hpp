// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/primitive_set.hpp: the table of one variant's kernels for tensor programs.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/dot_shape.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/attention.hpp>
#include <zrt/ops/clamp.hpp>
#include <zrt/ops/compare.hpp>
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
  exec::HostKernel<HostCall<ops::ElementwiseUnary>> unary = nullptr;
  exec::HostKernel<HostCall<ops::ElementwiseBinary>> binary = nullptr;
  exec::HostKernel<HostCall<ops::Compare>> compare = nullptr;
  exec::HostKernel<HostCall<ops::Select>> select = nullptr;
  exec::HostKernel<HostCall<ops::Clamp>> clamp = nullptr;
  exec::HostKernel<HostCall<ops::LayerNorm>> layer_norm = nullptr;  ///< features are the last axis
  exec::HostKernel<HostCall<ops::Reduce>> reduce = nullptr;         ///< over the last axes
  exec::HostKernel<HostCall<ops::DotGeneral>> dot_general = nullptr;
  exec::HostKernel<HostCall<ops::Attention>> attention = nullptr;  ///< heads of at most kAttentionDim
};

/// Elements of a head that the attention kernel keeps on the stack.
inline constexpr std::uint32_t kAttentionDim = 128;

/// An op with kernels in the PrimitiveSet: its adapter's `record` takes the set too.
template <class O>
concept RecordsPrimitive = requires(Recorder& recorder, const HostCall<O>& call, const PrimitiveSet& set) {
  { Adapter<O>::record(recorder, call, set) } noexcept -> std::same_as<Result<void>>;
};

}  // namespace zrt::inline ZRT_ABI::cpu
