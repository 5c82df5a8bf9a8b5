// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/windows.hpp: gradients of what slides a window.
#pragma once

#include <zrt/ir/gradient/call.hpp>

#include <limits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::gradient {

namespace detail {

/// The window of a call along one axis of its input.
struct PlacedWindow {
  std::int64_t window = 1, stride = 1, low = 0, high = 0, base = 1, dilation = 1, in = 0, out = 0;

  /// Extent with padding and holes.
  [[nodiscard]] constexpr std::int64_t padded() const noexcept {
    return low + high + (in == 0 ? 0 : (in - 1) * base + 1);
  }
  [[nodiscard]] constexpr std::int64_t span() const noexcept { return (window - 1) * dilation + 1; }
  [[nodiscard]] constexpr std::int64_t reach() const noexcept { return (out - 1) * stride + 1; }
  /// True when sums of two of these fit 64 bits.
  [[nodiscard]] constexpr bool fits() const noexcept {
    const auto spread = [](std::int64_t n, std::int64_t step) {
      return n == 0 ? CheckedSize(0)
                    : CheckedSize(static_cast<std::uint64_t>(n - 1)) * CheckedSize(static_cast<std::uint64_t>(step)) +
                          CheckedSize(1);
    };
    const CheckedSize padded_in =
        spread(in, base) + CheckedSize(static_cast<std::uint64_t>(low)) + CheckedSize(static_cast<std::uint64_t>(high));
    for (const CheckedSize size : {padded_in, spread(window, dilation), spread(out, stride)})
      if (!size.ok() || size.raw() >= std::uint64_t{1} << 62) return false;
    return true;
  }
};

/// Elements of a window whose gradient is one term for each of them.
inline constexpr std::int64_t kMaxTaps = 4096;

struct Windows {
  std::array<PlacedWindow, kMaxRank> axes{};
  std::size_t count = 0;

  /// Elements of a window, beyond kMaxTaps one more than that.
  [[nodiscard]] std::int64_t taps() const noexcept {
    std::int64_t all = 1;
    for (std::size_t a = 0; a < count; ++a) all = axes[a].window > kMaxTaps / all ? kMaxTaps + 1 : all * axes[a].window;
    return all;
  }
  /// Where tap number `tap`, counted row-major, stands over the padded input.
  [[nodiscard]] Numbers offset(std::int64_t tap) const noexcept {
    Numbers at = Numbers::all(count, 0);
    for (std::size_t a = count; a-- > 0; tap /= axes[a].window) at[a] = tap % axes[a].window * axes[a].dilation;
    return at;
  }
  /// What came back for one tap of every place, where it lies over the padded input.
  [[nodiscard]] Tensor spread(const Tensor& g, std::int64_t tap) const noexcept {
    Numbers low = offset(tap), high, interior;
    for (std::size_t a = 0; a < count; ++a) {
      high.append(axes[a].padded() - low[a] - axes[a].reach());
      interior.append(axes[a].stride - 1);
    }
    return Expressions::pad(g, low, high, interior, 0);
  }
  /// The input's own elements of what lies over the padded one.
  [[nodiscard]] Tensor unpadded(const Tensor& x) const noexcept {
    Numbers low, steps;
    Shape own;
    for (std::size_t a = 0; a < count; ++a) {
      low.append(axes[a].low);
      steps.append(axes[a].base);
      own.append(ptir::Dim((axes[a].in - 1) * axes[a].base + 1));
    }
    return Expressions::every(Expressions::slice(x, low, own), steps);
  }
};

/// True when the rules may compute with these sizes; else an error.
[[nodiscard]] inline bool fits(const GradientCall& c, const Windows& w) noexcept {
  for (std::size_t a = 0; a < w.count; ++a) {
    if (w.axes[a].fits()) continue;
    c.builder().set(Error::of(Errc::size_overflow, c.op(), ": on axis ", a,
                              " the padded extent, the window or the places are beyond 62 bits"));
    return false;
  }
  return true;
}

/// True when the window may have a term for each of its elements; else an error.
[[nodiscard]] inline bool fits_taps(const GradientCall& c, const Windows& w) noexcept {
  if (w.taps() <= kMaxTaps) return true;
  c.builder().set(Error::of(Errc::limit_exceeded, c.op(), " has a gradient for windows of at most ", kMaxTaps,
                            " elements, this one has more"));
  return false;
}

/// The windows of a reduce_window.
[[nodiscard]] inline Windows windows_of(const GradientCall& c) noexcept {
  Windows w;
  w.count = c.in_type(0).shape.size();
  for (std::size_t a = 0; a < w.count; ++a) {
    const auto word = [&](std::size_t f) { return c.words(f)[a]; };
    w.axes[a] = {word(ptir::field_index("reduce_window", "window")),
                 word(ptir::field_index("reduce_window", "strides")),
                 word(ptir::field_index("reduce_window", "pad_low")),
                 word(ptir::field_index("reduce_window", "pad_high")),
                 word(ptir::field_index("reduce_window", "base_dilation")),
                 word(ptir::field_index("reduce_window", "window_dilation")),
                 Expressions::extent(c.in_type(0).shape, a),
                 Expressions::extent(c.out_type().shape, a)};
  }
  return w;
}

/// Each element gets the sum of what came back for the windows over it: a sum over windows of the cotangent,
/// spread by the strides.
[[nodiscard]] inline Tensor of_window_sums(const Windows& w, const Tensor& g) noexcept {
  Numbers window, low, high, strides, dilation;
  const Numbers ones = Numbers::all(w.count, 1);
  for (std::size_t a = 0; a < w.count; ++a) {
    window.append(w.axes[a].window);
    strides.append(w.axes[a].stride);
    dilation.append(w.axes[a].dilation);
    low.append(w.axes[a].span() - 1);
    high.append(w.axes[a].padded() - w.axes[a].reach());
  }
  return w.unpadded(g.builder().reduce_window(
      ptir::choice_index("reduce_window", "kind", "sum"), g,
      {window.span(), ones.span(), low.span(), high.span(), strides.span(), dilation.span()}));
}

/// What is the largest or smallest under a window shares in equal parts what came back for it. `identity` is
/// what padding counts as.
[[nodiscard]] inline Tensor of_window_extremes(const Windows& w, const Tensor& g, const Tensor& x, const Tensor& y,
                                               double identity) noexcept {
  ptir::Builder& b = g.builder();
  Numbers low, high, holes, strides;
  Shape reach;
  for (std::size_t a = 0; a < w.count; ++a) {
    low.append(w.axes[a].low);
    high.append(w.axes[a].high);
    holes.append(w.axes[a].base - 1);
    strides.append(w.axes[a].stride);
    reach.append(ptir::Dim(w.axes[a].reach()));
  }
  const Tensor padded = Expressions::pad(x, low, high, holes, identity), zero = b.scalar(g.dtype(), 0);
  const auto found = [&](std::int64_t tap) {
    return b.eq(Expressions::every(Expressions::slice(padded, w.offset(tap), reach), strides), y);
  };
  Tensor count = Expressions::ones_where(found(0), g.dtype());
  for (std::int64_t tap = 1; tap < w.taps(); ++tap) count = count + Expressions::ones_where(found(tap), g.dtype());
  const Tensor share = g / count;
  Tensor all = w.spread(b.select(found(0), share, zero), 0);
  for (std::int64_t tap = 1; tap < w.taps(); ++tap) all = all + w.spread(b.select(found(tap), share, zero), tap);
  return w.unpadded(all);
}

}  // namespace detail

inline void reduce_window_gradient(GradientCall& c) noexcept {
  const detail::Windows w = detail::windows_of(c);
  if (!detail::fits(c, w)) return;
  const std::string_view kind = c.choice(ptir::field_index("reduce_window", "kind"));
  const Tensor g = c.cotangent_as_input();
  if (kind == "sum") return c.give(0, detail::of_window_sums(w, g));
  if (!detail::fits_taps(c, w)) return;
  const Tensor y = c.extreme_as_input();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  c.give(0, detail::of_window_extremes(w, g, c.in(0), y, kind == "max" ? -kInfinity : kInfinity));
}

/// Each element gets the sum of what came back for its copies.
inline void extract_patches_gradient(GradientCall& c) noexcept {
  const ptir::TensorType type = c.in_type(0);
  const Shape places = c.out_type().shape;
  detail::Windows w;
  w.count = type.shape.size();
  for (std::size_t a = 0; a < w.count; ++a) {
    w.axes[a].in = Expressions::extent(type.shape, a);
    w.axes[a].out = a + 1 == w.count ? w.axes[a].in : Expressions::extent(places, a);
    if (a == 0 || a + 1 == w.count) continue;
    w.axes[a].window = c.words(ptir::field_index("extract_patches", "window"))[a - 1];
    w.axes[a].stride = c.words(ptir::field_index("extract_patches", "strides"))[a - 1];
    w.axes[a].low = c.words(ptir::field_index("extract_patches", "pad_low"))[a - 1];
    w.axes[a].high = c.words(ptir::field_index("extract_patches", "pad_high"))[a - 1];
    w.axes[a].dilation = c.words(ptir::field_index("extract_patches", "dilation"))[a - 1];
  }
  if (!detail::fits(c, w) || !detail::fits_taps(c, w)) return;
  const Tensor g = c.cotangent();
  Shape part = places;
  part.dims[w.count - 1] = type.shape[w.count - 1];
  Numbers starts = Numbers::all(w.count, 0);
  std::optional<Tensor> all;
  for (std::int64_t tap = 0; tap < w.taps(); ++tap) {
    const Tensor one = w.spread(Expressions::slice(g, starts, part), tap);
    all = all ? *all + one : one;
    starts[w.count - 1] += Expressions::extent(type.shape, w.count - 1);
  }
  c.give(0, w.unpadded(*all));
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient

ZRT_LOAD_TIME_END
