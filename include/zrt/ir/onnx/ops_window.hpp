// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_window.hpp: windows that slide over spatial axes, and convolution.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_matrix.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// How a window slides over the spatial axes of x [N, C, spatial...].
struct SlidingWindow {
  IntList extents;  ///< of x, spatial axes alone
  IntList size, strides, dilations, low, high;
  IntList over;  ///< what ceil_mode adds to `high`; never counted as padding
};

[[nodiscard]] inline std::int64_t span_of(std::int64_t size, std::int64_t dilation) noexcept {
  return (size - 1) * dilation + 1;
}
/// Reads strides, dilations, pads and auto_pad for x of shape `x` and a window of `size`.
[[nodiscard]] inline SlidingWindow window_of(NodeCall& n, const IntList& x, const IntList& size) noexcept {
  SlidingWindow w;
  w.size = size;
  const std::size_t count = size.size();
  if (x.size() != count + 2)
    n.fail(Errc::shape_mismatch, "x has ", x.size(), " axes, expected ", count + 2, " for a window of ", count);
  for (std::size_t i = 0; i < count; ++i) {
    w.extents.push(x[i + 2]);
    if (size[i] < 1 || size[i] > kMaxExtent) n.fail(Errc::invalid_params, "a window has an extent of ", size[i]);
  }
  w.strides = n.ints("strides", count, 1, 1);
  w.dilations = n.ints("dilations", count, 1, 1);
  const IntList pads = n.ints("pads", 2 * count, 0, 0);
  const std::string_view automatic = n.text("auto_pad", "NOTSET");
  w.over = IntList::of(count, 0);
  w.low = w.over;
  w.high = w.over;
  if (n.failed()) return w;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t span = span_of(size[i], w.dilations[i]);
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::int64_t places = (w.extents[i] + w.strides[i] - 1) / w.strides[i];
      const std::int64_t lacking = (places - 1) * w.strides[i] + span - w.extents[i];
      const std::int64_t all = lacking > 0 ? lacking : 0;
      w.low[i] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      w.high[i] = all - w.low[i];
      if (all > kMaxExtent) n.fail(Errc::limit_exceeded, "the pads of axis ", i + 2, " are ", all, " together");
    } else if (automatic == "NOTSET" || automatic.empty()) {
      w.low[i] = pads[i];
      w.high[i] = pads[i + count];
    } else if (automatic != "VALID") {
      n.fail(Errc::invalid_params, "auto_pad is ", zrt::slice(automatic, 0, 20));
    }
    const std::int64_t room = w.extents[i] + w.low[i] + w.high[i] - span;
    if (n.integer("ceil_mode", 0) != 0 && room >= 0 && room % w.strides[i] != 0) {
      // A last window counts only if it begins within x or its lower padding.
      const std::int64_t start = (room / w.strides[i] + 1) * w.strides[i];
      if (start < w.extents[i] + w.low[i]) w.over[i] = w.strides[i] - room % w.strides[i];
    }
  }
  return w;
}
[[nodiscard]] inline IntList places_of(NodeCall& n, const SlidingWindow& w) noexcept {
  IntList places;
  for (std::size_t i = 0; i < w.size.size(); ++i) {
    const std::int64_t room = w.extents[i] + w.low[i] + w.high[i] + w.over[i] - span_of(w.size[i], w.dilations[i]);
    if (room < 0) n.fail(Errc::shape_mismatch, "the window is larger than the padded axis ", i + 2);
    places.push(room < 0 || w.strides[i] < 1 ? 1 : room / w.strides[i] + 1);
  }
  return places;
}

/// Convolves x [N, C, spatial...] with weights [M, C / groups, window...]: patches, then one product.
[[nodiscard]] inline Tensor convolve(NodeCall& n, const Tensor& x, const Tensor& weights, std::int64_t groups,
                                     const SlidingWindow& w) noexcept {
  Builder& b = n.b();
  const IntList xs = n.shape(x);
  const IntList ws = n.shape(weights);
  const IntList places = places_of(n, w);
  if (n.failed()) return x;
  if (groups < 1 || groups > kMaxExtent || xs[1] % groups != 0 || ws[0] % groups != 0 || ws[1] != xs[1] / groups) {
    n.fail(Errc::shape_mismatch, "x has ", xs[1], " channels, the weights take ", ws[1], " in each of ", groups,
           " groups");
    return x;
  }
  const std::int64_t elements = product(w.size);
  const std::int64_t all_places = product(places);
  const std::int64_t planes = product({xs[0], xs[1]});
  if (elements < 0 || all_places < 0 || planes < 0) {
    n.fail(Errc::size_overflow, "the patches do not fit");
    return x;
  }
  const ptir::Window window{.size = w.size.view(),
                            .strides = w.strides.view(),
                            .low = w.low.view(),
                            .high = w.high.view(),
                            .base_dilation = {},
                            .dilation = w.dilations.view()};
  const std::int64_t in_group = ws[1];
  const std::int64_t out_group = ws[0] / groups;
  const Tensor matrix = reshape(weights, {groups, out_group, in_group, elements});
  IntList result{xs[0], ws[0]};
  for (const std::int64_t place : places) result.push(place);
  if (x.dtype() == DType::f32) {
    // Channels stay planes: [group, out, channel, window] times [N, group, channel, places, window].
    IntList apart{planes};
    for (std::size_t i = 0; i < places.size(); ++i) apart.push(xs[i + 2]);
    apart.push(1);
    const Tensor patches = b.extract_patches(reshape(x, apart), window);
    const Tensor rows = reshape(patches, {xs[0], groups, in_group, all_places, elements});
    const Tensor split = dot(matrix, rows, {0}, {1}, {2, 3}, {2, 4});
    return reshape(transpose(split, {2, 0, 1, 3}), result);
  }
  IntList channels_last{0};
  for (std::size_t i = 0; i < places.size(); ++i) channels_last.push(static_cast<std::int64_t>(i + 2));
  channels_last.push(1);
  const Tensor patches = b.extract_patches(transpose(x, channels_last), window);
  // [N * places, window, group, channel] times [group, out, channel, window].
  const Tensor rows = reshape(patches, {product({xs[0], all_places}), elements, groups, in_group});
  const Tensor y = dot(rows, matrix, {2}, {0}, {1, 3}, {3, 2});
  const Tensor split = reshape(y, {groups, xs[0], all_places, out_group});
  return reshape(transpose(split, {1, 0, 3, 2}), result);
}
/// Adds a vector of one number for each channel.
[[nodiscard]] inline Tensor add_channels(NodeCall& n, const Tensor& y, const Tensor& bias) noexcept {
  IntList along = IntList::of(y.shape().size(), 1);
  along[1] = product(n.shape(bias));
  return y + reshape(bias, along);
}
[[nodiscard]] inline IntList window_extents(NodeCall& n, const Tensor& weights) noexcept {
  const IntList shape = n.shape(weights);
  IntList size;
  for (std::size_t i = 2; i < shape.size(); ++i) size.push(shape[i]);
  const IntList said = n.ints("kernel_shape");
  bool same = said.empty() || said.size() == size.size();
  for (std::size_t i = 0; same && i < said.size(); ++i) same = said[i] == size[i];
  if (!same) n.fail(Errc::shape_mismatch, "kernel_shape is not that of the weights");
  return size;
}

inline void conv(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const Tensor weights = n.in(1);
  Tensor y = convolve(n, x, weights, n.integer("group", 1), window_of(n, n.shape(x), window_extents(n, weights)));
  if (n.has(2)) y = add_channels(n, y, n.in(2));
  n.out(0, y);
}
inline void conv_integer(NodeCall& n) noexcept {
  const Tensor x = less_zero(n, 0, 2, 1);
  const Tensor weights = less_zero(n, 1, 3, 0);
  n.out(0, convolve(n, x, weights, n.integer("group", 1), window_of(n, n.shape(x), window_extents(n, weights))));
}

/// Adds columns of patches [N, C * window, places] up to the planes that they were taken from.
inline void col2im(NodeCall& n) noexcept {
  Builder& b = n.b();
  const IntList xs = n.shape(0);
  const IntList image = n.ints_in(1, "image_shape");
  const IntList size = n.ints_in(2, "block_shape");
  if (n.failed()) return;
  if (xs.size() != 3 || image.size() != size.size() || image.empty() || product(size) < 1 || xs[1] % product(size) != 0)
    return n.fail(Errc::shape_mismatch, "x must be [N, C * elements of a block, places]");
  for (const std::int64_t extent : image)
    if (extent < 1 || extent > kMaxExtent) return n.fail(Errc::invalid_params, "image_shape has an extent of ", extent);
  IntList shape{xs[0], xs[1] / product(size)};
  for (const std::int64_t extent : image) shape.push(extent);
  const SlidingWindow w = window_of(n, shape, size);
  const IntList places = places_of(n, w);
  if (n.failed()) return;
  IntList padded;
  for (std::size_t i = 0; i < image.size(); ++i) padded.push(image[i] + w.low[i] + w.high[i]);
  const std::int64_t count = product({product(size), product(places)});
  if (product(places) != xs[2] || count < 0 || product(padded) < 0)
    return n.fail(Errc::shape_mismatch, "the image has ", product(places), " places of a block, x has ", xs[2]);
  if (!n.fits_table(count)) return;
  // Where element k of the block lies at place p, in a plane with its pads.
  Vector<std::int64_t> at(n.allocator());
  for (std::int64_t k = 0; k < product(size); ++k)
    for (std::int64_t p = 0; p < product(places); ++p) {
      std::int64_t index = 0;
      for (std::size_t i = 0; i < size.size(); ++i) {
        const std::int64_t in_block = k / product(size, i + 1, size.size()) % size[i];
        const std::int64_t place = p / product(places, i + 1, places.size()) % places[i];
        index = index * padded[i] + place * w.strides[i] + in_block * w.dilations[i];
      }
      if (auto r = at.push_back(index); !r) return n.fail(r.error());
    }
  const std::int64_t planes = shape[0] * shape[1];
  const Tensor columns = transpose(reshape(n.in(0), {planes, count}), {1, 0});
  const Tensor rows = b.broadcast_to(reshape(integers(b, at.span()), {count, 1}), shape_of(b, {count, planes}));
  const Tensor zeros = b.broadcast_to(scalar_like(columns, 0), shape_of(b, {product(padded), planes}));
  const Tensor sum = b.scatter_reduce(choice_index("scatter_reduce", "reduce", "add"), zeros, rows, columns, 0);
  IntList full{shape[0], shape[1]}, first{0, 0};
  for (std::size_t i = 0; i < image.size(); ++i) full.push(padded[i]), first.push(w.low[i]);
  n.out(0, slice(reshape(transpose(sum, {1, 0}), full), first, shape));
}

/// What a transposed convolution without dilation gives before its pads are cut off, extents `whole` along the spatial
/// axes: one convolution for each phase of the strides, with every stride-th element of the window.
///
/// `weights` are [M, C / groups, window...] with the window turned around.
[[nodiscard]] inline Tensor transposed_phases(NodeCall& n, const Tensor& x, const Tensor& weights, std::int64_t groups,
                                              const IntList& strides, const IntList& whole) noexcept {
  const IntList xs = n.shape(x);
  const IntList ws = n.shape(weights);
  const std::size_t spatial = strides.size();
  IntList phase_shape{1, xs[0], ws[0]};
  IntList apart = strides;
  IntList joined{xs[0], ws[0]};
  IntList order{static_cast<std::int64_t>(spatial), static_cast<std::int64_t>(spatial + 1)};
  for (std::size_t i = 0; i < spatial; ++i) phase_shape.push((whole[i] + strides[i] - 1) / strides[i]);
  for (std::size_t i = 1; i < phase_shape.size(); ++i) apart.push(phase_shape[i]);
  for (std::size_t i = 0; i < spatial; ++i) {
    joined.push(phase_shape[i + 3] * strides[i]);
    order.push(static_cast<std::int64_t>(spatial + 2 + i));
    order.push(static_cast<std::int64_t>(i));
  }
  Vector<Tensor> phases(n.allocator());
  for (std::int64_t phase = 0; phase < product(strides) && !n.failed(); ++phase) {
    SlidingWindow w;
    Tensor taps = weights;
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::int64_t at = phase / product(strides, i + 1, spatial) % strides[i];
      const std::int64_t size = at < ws[i + 2] ? (ws[i + 2] - 1 - at) / strides[i] + 1 : 0;
      w.extents.push(xs[i + 2]);
      w.size.push(size);
      w.low.push(size - 1);
      w.high.push(phase_shape[i + 3] - xs[i + 2]);
      if (size == 0 || strides[i] == 1) continue;
      Vector<std::int64_t> places(n.allocator());
      for (std::int64_t k = ws[i + 2] - 1 - at - (size - 1) * strides[i]; k < ws[i + 2]; k += strides[i])
        if (auto r = places.push_back(k); !r) n.fail(r.error());
      if (!n.failed()) taps = pick(n, taps, places.span(), i + 2);
    }
    w.strides = w.dilations = IntList::of(spatial, 1);
    w.over = IntList::of(spatial, 0);
    const Tensor y = product(w.size) == 0 ? broadcast(scalar_like(x, 0), phase_shape)
                                          : reshape(convolve(n, x, taps, groups, w), phase_shape);
    if (auto r = phases.push_back(y); !r) n.fail(r.error());
  }
  if (n.failed()) return x;
  return reshape(transpose(reshape(concat(phases.span(), 0, n.b()), apart), order), joined);
}

/// By the phases of its strides, or, with more than three axes, dilation or pads that add elements, a convolution over
/// x with holes between its elements; the window is turned around.
inline void conv_transpose(NodeCall& n) noexcept {
  Tensor x = n.in(0);
  Tensor weights = n.in(1);
  const IntList xs = n.shape(x);
  const IntList ws = n.shape(weights);
  const std::int64_t groups = n.integer("group", 1);
  if (xs.size() < 3 || ws.size() != xs.size() || groups < 1 || groups > kMaxExtent || ws[0] % groups != 0)
    return n.fail(Errc::shape_mismatch, "weights must be [C, M / group, window...] for x [N, C, spatial...]");
  const std::size_t spatial = xs.size() - 2;
  const IntList size = window_extents(n, weights);
  const IntList strides = n.ints("strides", spatial, 1, 1);
  const IntList dilations = n.ints("dilations", spatial, 1, 1);
  const IntList extra = n.ints("output_padding", spatial, 0, 0);
  const IntList pads = n.ints("pads", 2 * spatial, 0, 0);
  const IntList wanted = n.ints("output_shape");
  for (const std::int64_t extent : wanted)
    if (extent < 0 || extent > kMaxExtent)
      return n.fail(Errc::limit_exceeded, "output_shape has an extent of ", extent, ", expected 0 to ", kMaxExtent);
  const std::string_view automatic = n.text("auto_pad", "NOTSET");
  if (n.failed()) return;
  IntList low = IntList::of(xs.size(), 0);
  IntList high = low;
  IntList holes = low;
  IntList first = low;
  IntList sizes = xs;
  IntList extents;
  // Phases have an axis of their own for each stride.
  bool by_phases = 2 * spatial + 2 <= kMaxRank && product(strides) >= 1 && product(strides) <= 64;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t span = span_of(size[i], dilations[i]);
    const std::int64_t whole = (xs[i + 2] - 1) * strides[i] + span + extra[i];
    std::int64_t before = pads[i];
    std::int64_t after = pads[i + spatial];
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (same || wanted.size() >= spatial) {
      const std::int64_t target =
          wanted.size() >= spatial ? wanted[wanted.size() - spatial + i] : xs[i + 2] * strides[i];
      const std::int64_t all = whole - target;
      // The larger half stands behind for SAME_UPPER, before for all else.
      const std::int64_t cut = all > 0 ? all : 0;
      before = automatic == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      after = all - before;
    }
    low[i + 2] = span - 1;
    high[i + 2] = span - 1 + extra[i];
    holes[i + 2] = strides[i] - 1;
    first[i + 2] = before > 0 ? before : 0;
    sizes[i + 2] = whole - first[i + 2] - (after > 0 ? after : 0);
    extents.push(whole);
    by_phases = by_phases && dilations[i] == 1 && before >= 0 && after >= 0 && whole >= 1 && whole <= kMaxExtent;
    // What an output_shape asks for beyond the window's is within its own bound.
    if (before < 0) low[i + 2] -= before;
    if (after < 0) high[i + 2] -= after;
    sizes[i + 2] += (before < 0 ? -before : 0) + (after < 0 ? -after : 0);
    if (sizes[i + 2] < 0) return n.fail(Errc::invalid_params, "the pads leave nothing of axis ", i + 2);
    if (sizes[i + 2] > kMaxExtent || whole > kMaxExtent || low[i + 2] > kMaxExtent || high[i + 2] > kMaxExtent)
      return n.fail(Errc::limit_exceeded, "axis ", i + 2, " becomes ", sizes[i + 2], ", expected at most ", kMaxExtent);
    weights = reverse(n, weights, i + 2);
  }
  // [C, M / group, ...] to [M, C / group, ...].
  const std::int64_t in_group = ws[0] / groups;
  const std::int64_t window = product(size);
  const Tensor grouped = reshape(weights, {groups, in_group, ws[1], window});
  IntList turned{groups * ws[1], in_group};
  for (const std::int64_t extent : size) turned.push(extent);
  weights = reshape(transpose(grouped, {0, 2, 1, 3}), turned);
  if (n.failed()) return;
  sizes[0] = xs[0];
  sizes[1] = groups * ws[1];
  const auto give = [&](Tensor y) noexcept {
    if (n.failed()) return;
    y = slice(y, first, sizes);
    if (n.has(2)) y = add_channels(n, y, n.in(2));
    n.out(0, y);
  };
  if (by_phases) return give(transposed_phases(n, x, weights, groups, strides, extents));
  x = pad(x, low, high, holes, scalar_like(x, 0));
  if (n.failed()) return;
  SlidingWindow w;
  const IntList padded = n.shape(x);
  for (std::size_t i = 0; i < spatial; ++i) w.extents.push(padded[i + 2]);
  w.size = size;
  w.dilations = dilations;
  w.strides = IntList::of(spatial, 1);
  w.low = w.high = w.over = IntList::of(spatial, 0);
  give(convolve(n, x, weights, groups, w));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
