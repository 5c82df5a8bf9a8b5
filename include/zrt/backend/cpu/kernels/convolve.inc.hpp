// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/convolve.inc.hpp: textual fragment: convolution of f32, a block of patches at a time.

/// Blocks of rows are split. A block's patches of one group are gathered, then multiplied as any matrix is.
template <class Call> void convolve(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  if (worker.index >= kPatchLanes) return;
  const ops::Convolve::Extents e(c, step);
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
        ops::Convolve::gather(c, e, row, group, patches + i * e.depth);
      }
      const float* w = c.in[1].template as<float>() + group * e.out_channels * e.depth;
      float* y = c.out[0].template as<float>() + first * columns + group * e.out_channels;
      inner_block<kTileActivations, kTileWeights>(s, patches, w, {0, count}, {0, e.out_channels}, y);
    }
  }
}
