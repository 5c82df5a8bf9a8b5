// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/extract_patches.hpp: the elements under a window at each of its places.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/extract_patches.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ExtractPatches> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::ExtractPatches>& c) noexcept {
    return r.push(&patches, c);
  }

 private:
  /// Patches are split, two together where two elements share a byte; the channels of an element are one run.
  static void patches(const HostCall<ops::ExtractPatches>& c, const ExecutionContext& step,
                      const Worker& worker) noexcept {
    const ops::ExtractPatchesParams& p = c.params;
    const DType dtype = c.in[0].type.dtype;
    const DTypeInfo& type = info(dtype);
    const ops::RowMajor x(c.in[0], step);
    const ops::RowMajor window(Span(p.window).first(p.spatial));
    const std::uint64_t channels = x.extent[x.rank - 1u];
    ops::RowMajor places(c.out[0], step);
    places.rank = static_cast<std::uint8_t>(places.rank - 1u);
    if (places.elements == 0) return;
    const std::uint64_t patch = window.elements * channels;
    const Range part = split(places.elements / patch, type.block_elems, worker);
    ops::ElementIndex at = ops::ElementIndex::of(places, part.first * patch);
    std::uint64_t to = part.first * patch;
    for (std::uint64_t row = part.first; row < part.last; ++row, at.advance(places)) {
      ops::ElementIndex w;
      for (std::uint64_t i = 0; i < window.elements; ++i, w.advance(window), to += channels) {
        std::uint64_t from = at.at[0] * x.stride[0];
        bool inside = true;
        for (std::size_t axis = 0; axis < p.spatial && inside; ++axis) {
          const std::uint64_t element = p.axis(axis).source(at.at[axis + 1], w.at[axis], x.extent[axis + 1]);
          inside = element != ops::WindowAxis::kPadding;
          if (inside) from += element * x.stride[axis + 1];
        }
        if (inside)
          copy_elements(dtype, c.in[0].data, from, c.out[0].data, to, channels);
        else
          for (std::uint64_t k = 0; k < channels; ++k)
            copy_elements(dtype, reinterpret_cast<const std::byte*>(p.pad_value.data()), 0, c.out[0].data, to + k, 1);
      }
    }
  }
};
static_assert(Records<ops::ExtractPatches>);

}  // namespace zrt::inline ZRT_ABI::cpu
