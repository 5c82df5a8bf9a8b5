// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering_fold.hpp: lowering of what combines elements: reductions, contractions, windows.
#pragma once

#include <zrt/ir/ptir/lowering.hpp>
#include <zrt/ops/arg_max.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/extract_patches.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/reduce_window.hpp>
#include <zrt/ops/segment_reduce.hpp>
#include <zrt/ops/top_k.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir {

template <> struct Lowering<ops::Reduce> {
  using O = ops::Reduce;
  [[nodiscard]] static Result<ops::ReduceParams> params(const LowerCall& c) noexcept {
    const LoweredAxes axes = c.axes(field_of<O>("axes"), c.rank(0));
    unsigned set = 0;
    for (std::size_t i = 0; i < axes.count; ++i) set |= 1u << axes.axes[i];
    const DType dtype = c.dtype_of(0);
    return ops::ReduceParams{c.choice<ops::ReduceKind>(field_of<O>("kind")), c.boolean(field_of<O>("keepdims")),
                             static_cast<std::uint8_t>(set),
                             c.dtype_or(field_of<O>("accum_dtype"), default_accumulator(dtype)),
                             c.dtype_or(field_of<O>("out_dtype"), dtype)};
  }
};

template <> struct Lowering<ops::ArgMax> {
  using O = ops::ArgMax;
  [[nodiscard]] static Result<ops::ArgMaxParams> params(const LowerCall& c) noexcept {
    return ops::ArgMaxParams{c.axis(field_of<O>("axis"), c.rank(0)), c.boolean(field_of<O>("keepdims")),
                             c.dtype(field_of<O>("output_dtype"))};
  }
};

template <> struct Lowering<ops::DotGeneral> {
  using O = ops::DotGeneral;
  [[nodiscard]] static Result<ops::DotGeneralParams> params(const LowerCall& c) noexcept {
    const LoweredAxes batch = c.axes(field_of<O>("batch_lhs"), c.rank(0));
    const LoweredAxes contract = c.axes(field_of<O>("contract_lhs"), c.rank(0));
    const DType dtype = c.dtype_of(0);
    return ops::DotGeneralParams{batch.axes,
                                 c.axes(field_of<O>("batch_rhs"), c.rank(1)).axes,
                                 contract.axes,
                                 c.axes(field_of<O>("contract_rhs"), c.rank(1)).axes,
                                 batch.count,
                                 contract.count,
                                 c.dtype_or(field_of<O>("accum_dtype"), default_accumulator(dtype)),
                                 c.dtype_or(field_of<O>("out_dtype"), dtype),
                                 {},
                                 1.0f};
  }
};

template <> struct Lowering<ops::ReduceWindow> {
  using O = ops::ReduceWindow;
  [[nodiscard]] static Result<ops::ReduceWindowParams> params(const LowerCall& c) noexcept {
    ops::ReduceWindowParams p;
    if (auto r = c.numbers(field_of<O>("window"), p.window); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("strides"), p.strides); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("pad_low"), p.pad_low); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("pad_high"), p.pad_high); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("base_dilation"), p.base_dilation); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("window_dilation"), p.window_dilation); !r) return pass(r);
    p.kind = c.choice<ops::ReduceKind>(field_of<O>("kind"));
    p.accum_dtype = c.dtype_or(field_of<O>("accum_dtype"), default_accumulator(c.dtype_of(0)));
    p.out_dtype = c.dtype_or(field_of<O>("out_dtype"), c.dtype_of(0));
    p.rank = c.rank(0);
    return p;
  }
};

template <> struct Lowering<ops::ExtractPatches> {
  using O = ops::ExtractPatches;
  using P = ops::ExtractPatchesParams;
  [[nodiscard]] static Result<P> params(const LowerCall& c) noexcept {
    P p;
    if (auto r = c.numbers(field_of<O>("window"), p.window); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("strides"), p.strides); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("pad_low"), p.pad_low); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("pad_high"), p.pad_high); !r) return pass(r);
    if (auto r = c.numbers(field_of<O>("dilation"), p.dilation); !r) return pass(r);
    p.pad_value = c.element(field_of<O>("pad_value"));
    p.spatial = static_cast<std::uint32_t>(c.length(field_of<O>("window")));
    return p;
  }
};

template <> struct Lowering<ops::TopK> {
  using O = ops::TopK;
  [[nodiscard]] static Result<ops::TopKParams> params(const LowerCall& c) noexcept {
    const auto k = c.number(field_of<O>("k"));
    if (!k) return pass(k);
    return ops::TopKParams{*k, c.axis(field_of<O>("axis"), c.rank(0)), c.boolean(field_of<O>("largest")),
                           c.dtype(field_of<O>("indices_dtype")), 0};
  }
};

template <> struct Lowering<ops::SegmentReduce> {
  using O = ops::SegmentReduce;
  [[nodiscard]] static Result<ops::SegmentReduceParams> params(const LowerCall& c) noexcept {
    const auto segments = c.number(field_of<O>("num_segments"));
    if (!segments) return pass(segments);
    return ops::SegmentReduceParams{*segments, c.choice<ops::ReduceKind>(field_of<O>("kind")),
                                    c.dtype_or(field_of<O>("accum_dtype"), default_accumulator(c.dtype_of(0))),
                                    c.boolean(field_of<O>("indices_are_sorted")), c.boolean(field_of<O>("unique"))};
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir
