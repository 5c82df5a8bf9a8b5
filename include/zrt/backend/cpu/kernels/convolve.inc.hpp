// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/convolve.inc.hpp: textual fragment: convolution of f32, a block of patches at a time.

/// Writes the patch of `group` at a row of y, given by its index on every axis. `outer` is the window without its
/// innermost axis, whose elements are one copy where they lie side by side.
template <class Call>
void write_patch(const Call& c, const ops::Convolve::Extents& e, const ops::RowMajor& outer,
                 const ops::ElementIndex& row, std::uint64_t group, float* to) noexcept {
  const ops::ExtractPatchesParams& p = c.params.patches;
  const std::size_t last = p.spatial - 1u;
  const ops::WindowAxis inner = p.axis(last);
  const std::uint64_t extent = e.x.extent[last + 1];
  const std::uint64_t stride = e.x.stride[last + 1];
  const std::uint64_t begin = row.at[last + 1] * inner.stride;
  // The window's elements [first, end) lie in x, the others in the padding.
  const auto from_place = [&](std::uint64_t place) noexcept {
    const std::uint64_t w = place <= begin ? 0 : (place - begin + inner.dilation - 1) / inner.dilation;
    return w < inner.window ? w : inner.window;
  };
  const std::uint64_t first = from_place(inner.low);
  const std::uint64_t end = from_place(inner.low + extent);
  const bool together = inner.dilation == 1 && stride == e.channels;
  float padding = 0;
  std::memcpy(&padding, p.pad_value.data(), sizeof padding);
  const auto pad = [&](std::uint64_t elements) noexcept {
    for (std::uint64_t k = 0; k < elements * e.channels; ++k) *to++ = padding;
  };
  const auto copy = [&](const float* from, std::uint64_t elements) noexcept {
    if (elements * e.channels != 0) std::memcpy(to, from, elements * e.channels * sizeof(float));
    to += elements * e.channels;
  };
  ops::ElementIndex w;
  for (std::uint64_t i = 0; i < outer.elements; ++i, w.advance(outer)) {
    const float* x = c.in[0].template as<float>() + group * e.channels + row.at[0] * e.x.stride[0];
    bool inside = true;
    for (std::size_t axis = 0; axis < last && inside; ++axis) {
      const std::uint64_t element = p.axis(axis).source(row.at[axis + 1], w.at[axis], e.x.extent[axis + 1]);
      inside = element != ops::WindowAxis::kPadding;
      if (inside) x += element * e.x.stride[axis + 1];
    }
    if (!inside) {
      pad(inner.window);
      continue;
    }
    pad(first);
    if (together && first != end) {
      copy(x + (begin + first - inner.low) * stride, end - first);
    } else {
      for (std::uint64_t k = first; k < end; ++k) copy(x + (begin + k * inner.dilation - inner.low) * stride, 1);
    }
    pad(inner.window - end);
  }
}

/// Blocks of rows are split. A block's patches of one group are brought together, then multiplied as any matrix is.
template <class Call> void convolve(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  if (worker.index >= kPatchLanes) return;
  const ops::Convolve::Extents e(c, step);
  const ops::RowMajor outer(Span(c.params.patches.window).first(c.params.patches.spatial - 1u));
  const std::uint64_t rows = e.places.elements;
  const std::uint64_t columns = e.out_channels * c.params.groups;
  Worker lane = worker;
  lane.count = worker.count < kPatchLanes ? worker.count : kPatchLanes;
  auto* const patches = reinterpret_cast<float*>(worker.scratch.data()) + worker.index * kPatchRows * e.depth;
  const Range part = split(rows, kPatchRows, lane);
  for (std::uint64_t first = part.first; first < part.last; first += kPatchRows) {
    const std::uint64_t count = part.last - first < kPatchRows ? part.last - first : kPatchRows;
    // Rows of the product lie as far from each other as those of y.
    DotShape s;
    s.rows = count;
    s.cols = columns;
    s.depth = s.lhs_row = s.rhs_col = e.depth;
    s.lhs_depth = s.rhs_depth = 1;
    for (std::uint64_t group = 0; group < c.params.groups; ++group) {
      for (std::uint64_t i = 0; i < count; ++i) {
        ops::ElementIndex row;
        std::uint64_t rest = first + i;
        for (std::size_t axis = 0; axis < e.places.rank; ++axis) {
          row.at[axis] = rest / e.places.stride[axis];
          rest %= e.places.stride[axis];
        }
        write_patch(c, e, outer, row, group, patches + i * e.depth);
      }
      const float* w = c.in[1].template as<float>() + group * e.out_channels * e.depth;
      float* y = c.out[0].template as<float>() + first * columns + group * e.out_channels;
      inner_block<kTileActivations, kTileWeights>(s, patches, w, {0, count}, {0, e.out_channels}, y);
    }
  }
}
