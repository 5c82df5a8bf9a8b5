// SPDX-License-Identifier: Apache-2.0
// zrt/ops/patches.hpp: the patches under a sliding window as a view of what it slides over.
#pragma once

#include <zrt/ops/extract_patches.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Where the elements of extract_patches' result lie in x, in one step.
struct Patches {
  ExtractPatchesParams params;
  RowMajor x;
  RowMajor window;
  RowMajor places;             ///< of the result, its last axis being one place
  std::uint64_t channels = 0;  ///< of x
  std::uint64_t elements = 0;  ///< of a patch

  /// `shape` is that of the result.
  Patches(const ExtractPatchesParams& p, const HostTensor& from, const Shape& shape,
          const ExecutionContext& step) noexcept
      : params(p),
        x(from, step),
        window(Span(p.window).first(p.spatial)),
        places(places_of(shape, step)),
        channels(x.extent[x.rank - 1u]),
        elements(window.elements * channels) {}

  /// Elements of x from `from` on that are as many of the result, or padding.
  struct Run {
    std::uint64_t from = 0;
    std::uint64_t count = 0;
    bool inside = false;
  };
  /// Those from element `index` of the result on, `most` at most; there is one.
  [[nodiscard]] Run at(std::uint64_t index, std::uint64_t most) const noexcept {
    const std::uint64_t within = index % elements;
    const std::uint64_t channel = within % channels;
    const ElementIndex place = ElementIndex::of(places, index / elements);
    const ElementIndex w = ElementIndex::of(window, within / channels);
    Run run{place.at[0] * x.stride[0] + channel, std::min(most, channels - channel), true};
    for (std::size_t axis = 0; axis < params.spatial && run.inside; ++axis) {
      const std::uint64_t element = params.axis(axis).source(place.at[axis + 1], w.at[axis], x.extent[axis + 1]);
      run.inside = element != WindowAxis::kPadding;
      if (run.inside) run.from += element * x.stride[axis + 1];
    }
    return run;
  }

 private:
  [[nodiscard]] static RowMajor places_of(const Shape& shape, const ExecutionContext& step) noexcept {
    HostTensor result;
    result.type.shape = shape.with_last(1);
    return {result, step};
  }
};

}  // namespace zrt::inline ZRT_ABI::ops
