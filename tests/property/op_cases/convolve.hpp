// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/convolve.hpp: random cases of convolve.
#pragma once

#include <zrt/ops/convolve.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Convolve> {
  using Op = zrt::ops::Convolve;
  // The same operations in the same order.
  static constexpr Tolerance tolerance{0, 0};

  /// Channels that lie as planes, in groups or not, as ONNX has them: w [group, row, channel, window] times
  /// [image, group, channel, place, window].
  static Typed<Op> make_planes(Random& r, const Batch& b) {
    // So deep that a panel leaves the second-level cache.
    const bool deep = r.between(0, 15) == 0;
    const std::uint32_t spatial = deep ? 2 : r.between(1, 3);
    const std::uint32_t images = deep ? 1 : r.between(1, 2);
    const std::uint32_t groups = deep ? 1 : r.between(1, 3);
    const std::uint32_t channels = deep ? r.between(260, 300) : r.between(1, r.chance() ? 4 : 20);
    const std::uint32_t rows = deep ? r.between(9, 12) : r.between(1, r.chance() ? 4 : 20);
    Typed<Op> c;
    auto& p = c.params.patches;
    p.spatial = spatial;
    Shape shape{images * groups * channels};
    std::uint32_t window = 1;
    for (std::uint32_t i = 0; i < spatial; ++i) {
      window *= p.window[i] = deep ? 2 : r.between(1, spatial == 1 ? 7 : 3);
      p.strides[i] = deep ? 1 : r.between(1, 3);
      p.pad_low[i] = r.between(0, 2);
      p.pad_high[i] = r.between(0, 2);
      p.dilation[i] = r.between(1, 2);
      const std::uint32_t span = (p.window[i] - 1) * p.dilation[i] + 1;
      shape = shape.appended(span + (deep ? 16 : r.between(0, spatial == 3 ? 4 : r.chance() ? 6 : 36)));
    }
    if (r.chance()) c.params.patches.pad_value[3] = 0x3f;
    // Numbers: any bits make nearly every sum of this length a NaN, and one NaN equals another.
    const bool underflow = r.between(0, 7) == 0;
    c.in[0] = underflow ? f32(r, b, shape.appended(1), 1e-30f, 2e-30f) : f32(r, b, shape.appended(1));
    const Shape patches = Op::patches_type({DType::f32, c.in[0].type.shape}, c.params).shape;
    std::uint32_t places = 1;
    for (std::uint32_t i = 0; i < spatial; ++i) places *= patches[i + 1].extent;
    c.params.rows = zrt::ShapeParams::of(Shape{images, groups, channels, places, window});
    const Shape w{groups, rows, channels, window};
    c.in[1] = underflow ? f32(r, b, w, -2e-30f, -1e-30f) : f32(r, b, w);
    c.params.patches_rhs = 1;
    auto& dot = c.params.dot;
    dot.batch_count = 1;
    dot.batch_rhs[0] = 1;
    dot.contract_count = 2;
    dot.contract_lhs[0] = dot.contract_rhs[0] = 2;
    dot.contract_lhs[1] = 3;
    dot.contract_rhs[1] = 4;
    dot.accum_dtype = dot.out_dtype = DType::f32;
    if (r.chance()) dot.alpha = r.real(-2.0f, 2.0f);
    return c;
  }
  static Typed<Op> make(Random& r, const Batch& b) {
    if (r.between(0, 2) == 0) return make_planes(r, b);
    const std::uint32_t spatial = r.between(1, 3);
    Typed<Op> c;
    auto& p = c.params.patches;
    p.spatial = spatial;
    Shape shape{r.chance() ? kRows : Dim(r.between(0, 3))};
    std::uint32_t window = 1;
    for (std::uint32_t i = 0; i < spatial; ++i) {
      shape = shape.appended(r.between(0, spatial == 3 ? 4 : 7));
      window *= p.window[i] = r.between(1, 3);
      p.strides[i] = r.between(1, 3);
      p.pad_low[i] = r.between(0, 2);
      p.pad_high[i] = r.between(0, 2);
      p.dilation[i] = r.between(1, 3);
    }
    for (std::uint8_t& byte : p.pad_value) byte = static_cast<std::uint8_t>(r.between(0, 1));
    const std::uint32_t groups = r.between(1, 3);
    const std::uint32_t channels = r.between(1, 9);
    const DType dtype = r.chance() ? DType::f32 : computed_type(r);
    c.in[0] = plain(r, b, shape.appended(channels * groups), dtype);

    // Places and the whole patch, or places, window, groups, channels, of which any sort may be any.
    const Shape patches = Op::patches_type({dtype, c.in[0].type.shape}, c.params).shape;
    auto& dot = c.params.dot;
    c.params.patches_rhs = r.between(0, 1);
    auto& batch = c.params.patches_rhs == 0 ? dot.batch_lhs : dot.batch_rhs;
    auto& contract = c.params.patches_rhs == 0 ? dot.contract_lhs : dot.contract_rhs;
    const auto last = static_cast<std::uint8_t>(patches.rank - 1);
    Shape w;
    Shape rows = patches;
    Shape depth;
    if (r.chance()) {
      dot.contract_count = 1;
      contract[0] = last;
      depth = Shape{patches.last()};
    } else {
      rows = patches.with_last(window).appended(groups).appended(channels);
      if (r.between(0, 3) != 0) {
        dot.batch_count = 1;
        batch[0] = static_cast<std::uint8_t>(last + 1);
        w = Shape{groups};
      }
      std::vector<std::uint8_t> summed{last, static_cast<std::uint8_t>(last + 2)};
      if (dot.batch_count == 0) summed.push_back(static_cast<std::uint8_t>(last + 1));
      std::shuffle(summed.begin(), summed.end(), r.engine());
      if (r.between(0, 3) == 0) summed.resize(1);
      for (const std::uint8_t axis : summed) {
        contract[dot.contract_count++] = axis;
        depth = depth.appended(rows[axis]);
      }
    }
    c.params.rows = zrt::ShapeParams::of(rows);
    if (rows.rank < 7 && r.between(0, 3) != 0) w = w.appended(r.between(1, 7));
    auto& w_contract = c.params.patches_rhs == 0 ? dot.contract_rhs : dot.contract_lhs;
    for (std::uint32_t i = 0; i < dot.contract_count; ++i) {
      w_contract[i] = w.rank;
      w = w.appended(depth[i]);
    }
    c.in[1] = plain(r, b, w, dtype);
    dot.accum_dtype = r.between(0, 3) != 0 ? zrt::default_accumulator(dtype) : computed_type(r);
    if (dot.accum_dtype == DType::i1) dot.accum_dtype = DType::ui16;
    dot.out_dtype = r.between(0, 3) != 0 ? dtype : computed_type(r);
    if (dot.accum_dtype == DType::f32 && dot.out_dtype == DType::f32 && r.chance()) dot.alpha = r.real(-2.0f, 2.0f);
    return c;
  }
  // One axis of w more is one more free axis, where none before it is named.
  static constexpr bool allows(const Mutation& m) {
    return m.kind == Mutation::more_axes || m.kind == Mutation::no_axes;
  }
};

}  // namespace op_cases
