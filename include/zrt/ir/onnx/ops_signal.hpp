// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_signal.hpp: window functions and Fourier transforms.
#pragma once

#include <zrt/ir/onnx/ops_shape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

inline constexpr double kTurn = 6.28318530717958647693;

/// a0 - a1 cos(t) + a2 cos(2 t) over one turn of `size` places, or of one less if it is not periodic.
inline void cosine_window(NodeCall& n, double a0, double a1, double a2) noexcept {
  const std::int64_t size = n.int_in(0, "size");
  const auto type = dtype_of(n.integer("output_datatype", 1));
  if (!type) return n.fail(type.error());
  if (n.failed()) return;
  if (size < 1 || size > kMaxTableElements || !is_float(*type)) return n.fail(Errc::invalid_params, "size is ", size);
  const auto places = static_cast<double>(n.integer("periodic", 1) != 0 ? size : size - 1);
  Vector<double> values(n.allocator());
  for (std::int64_t i = 0; i < size; ++i) {
    const double t = places == 0 ? 0 : kTurn * static_cast<double>(i) / places;
    const double first = math::sealed(a1 * math::cos64(t));
    const double second = math::sealed(a2 * math::cos64(2 * t));
    if (auto r = values.push_back(a0 - first + second); !r) return n.fail(r.error());
  }
  Vector<std::byte> bytes(n.allocator());
  if (auto r = bytes.resize(static_cast<std::size_t>(bytes_of(*type, values.size()))); !r) return n.fail(r.error());
  cast_elements(DType::f64, as_bytes(values.span()).data(), *type, bytes.data(), 0, values.size());
  n.out_known(0, {*type, {Dim(size)}}, bytes.span());
}
inline void hann_window(NodeCall& n) noexcept { cosine_window(n, 0.5, 0.5, 0); }
inline void hamming_window(NodeCall& n) noexcept { cosine_window(n, 25.0 / 46, 21.0 / 46, 0); }
inline void blackman_window(NodeCall& n) noexcept { cosine_window(n, 0.42, 0.5, 0.08); }

/// How a transform is taken.
struct Fourier {
  std::int64_t length;
  bool inverse, onesided;
};
/// x [..., parts] times `matrix` [from, parts, places, results] along `axis` and the last axis; the axis has `places` then.
[[nodiscard]] inline Tensor by_matrix(NodeCall& n, const Tensor& x, std::size_t axis, std::int64_t from,
                                      std::int64_t places, std::int64_t results, Span<const float> matrix) noexcept {
  const IntList shape = n.shape(x);
  const std::int64_t parts = shape[shape.size() - 1];
  if (n.failed()) return x;
  Tensor roots = n.b().literal({DType::f32, {Dim(from), Dim(parts), Dim(places), Dim(results)}}, as_bytes(matrix));
  if (x.dtype() != DType::f32) roots = n.b().cast(roots, x.dtype());
  const Tensor cut = from < shape[axis] ? slice_axis(x, shape, axis, 0, from) : x;
  const auto at = static_cast<std::int64_t>(axis);
  const Tensor y = dot(cut, roots, {}, {}, {at, static_cast<std::int64_t>(shape.size()) - 1}, {0, 1});
  // The transformed axis stands last but one; put it back.
  IntList perm;
  for (std::size_t i = 0; i < shape.size(); ++i)
    perm.push(static_cast<std::int64_t>(i + 1 == shape.size() ? i
                                        : i == axis           ? shape.size() - 2
                                        : i < axis            ? i
                                                              : i - 1));
  return transpose(y, perm);
}
/// The transform of x along `axis`; its last axis holds one real part, or a real and an imaginary one, and the
/// result's both. A product with the matrix of the roots of unity.
[[nodiscard]] inline Tensor fourier(NodeCall& n, const Tensor& x, std::size_t axis, const Fourier& f) noexcept {
  const IntList shape = n.shape(x);
  const std::int64_t parts = shape[shape.size() - 1];
  const std::int64_t places = f.onesided ? f.length / 2 + 1 : f.length;
  const std::int64_t from = shape[axis] < f.length ? shape[axis] : f.length;
  if (parts < 1 || parts > 2 || axis + 1 >= shape.size() || f.length < 1 || f.length > 4096) {
    n.unsupported("a transform of ", f.length, " places, of x with ", parts, " parts");
    return x;
  }
  if (!n.fits_table(from * parts * places * 2)) return x;
  Vector<float> matrix(n.allocator());
  for (std::int64_t i = 0; i < from; ++i)
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t k = 0; k < places; ++k) {
        const double t = kTurn * static_cast<double>(i * k % f.length) / static_cast<double>(f.length);
        const double scale = f.inverse ? 1.0 / static_cast<double>(f.length) : 1.0;
        const double cosine = math::cos64(t) * scale;
        const double sine = (f.inverse ? math::sin64(t) : -math::sin64(t)) * scale;
        const bool real = part == 0;
        for (const double value : {real ? cosine : -sine, real ? sine : cosine})
          if (auto r = matrix.push_back(static_cast<float>(value)); !r) n.fail(r.error());
      }
  return by_matrix(n, x, axis, from, places, 2, matrix.span());
}
/// The real signal of `length` places whose spectrum's first half is x.
[[nodiscard]] inline Tensor signal_of_half(NodeCall& n, const Tensor& x, std::size_t axis,
                                           std::int64_t length) noexcept {
  const IntList shape = n.shape(x);
  const std::int64_t half = length / 2 + 1;
  if (shape[shape.size() - 1] != 2 || axis + 1 >= shape.size() || length < 1 || length > 4096 || shape[axis] < half) {
    n.unsupported("an inverse transform to ", length, " places of ", shape[axis], " complex numbers");
    return x;
  }
  if (!n.fits_table(half * 2 * length)) return x;
  Vector<float> matrix(n.allocator());
  for (std::int64_t k = 0; k < half; ++k)
    for (std::int64_t part = 0; part < 2; ++part)
      for (std::int64_t i = 0; i < length; ++i) {
        const double t = kTurn * static_cast<double>(i * k % length) / static_cast<double>(length);
        // All but the ends stand for their mirrored partners too.
        const double often = (k == 0 || 2 * k == length ? 1.0 : 2.0) / static_cast<double>(length);
        const double value = (part == 0 ? math::cos64(t) : -math::sin64(t)) * often;
        if (auto r = matrix.push_back(static_cast<float>(value)); !r) n.fail(r.error());
      }
  return by_matrix(n, x, axis, half, length, 1, matrix.span());
}
/// Triangles over the bins of a spectrum, at even distances on the mel scale: [bins, triangles]. As in the standard's
/// own data, the range is cut into two parts more than there are triangles, so that the last ends before its upper edge.
inline void mel_weight_matrix(NodeCall& n) noexcept {
  const std::int64_t triangles = n.int_in(0, "num_mel_bins");
  const std::int64_t length = n.int_in(1, "dft_length");
  const std::int64_t rate = n.int_in(2, "sample_rate");
  const double low = n.real_in(3, 0, "lower_edge_hertz");
  const double high = n.real_in(4, 0, "upper_edge_hertz");
  const auto type = dtype_of(n.integer("output_datatype", 1));
  if (!type) return n.fail(type.error());
  if (n.failed()) return;
  if (triangles < 1 || length < 1 || rate < 1 || triangles > kMaxTableElements || length > kMaxTableElements ||
      !(low >= 0) || !(high > low) || !is_float(*type))
    return n.fail(Errc::invalid_params, "a matrix of ", triangles, " mel bins over ", length, " places at ", rate,
                  " Hz");
  const std::int64_t bins = length / 2 + 1;
  if (!n.fits_table(product({bins, triangles}))) return;
  constexpr double kTen = 2.30258509299404568402;  // log(10)
  const auto mel = [&](double hertz) { return 2595 * math::log64(1 + hertz / 700) / kTen; };
  const double step = (mel(high) - mel(low)) / static_cast<double>(triangles + 2);
  const auto edge = [&](std::int64_t i) {
    const double hertz = 700 * (math::exp64((mel(low) + static_cast<double>(i) * step) / 2595 * kTen) - 1);
    return scalar_math::to_integer(
        scalar_math::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate)));
  };
  Vector<double> values(n.allocator());
  for (std::int64_t bin = 0; bin < bins; ++bin)
    for (std::int64_t i = 0; i < triangles; ++i) {
      const std::int64_t first = edge(i), peak = edge(i + 1), last = edge(i + 2);
      double weight = bin == peak ? 1 : 0;
      if (bin >= first && bin < peak) weight = static_cast<double>(bin - first) / static_cast<double>(peak - first);
      if (bin > peak && bin < last) weight = static_cast<double>(last - bin) / static_cast<double>(last - peak);
      if (auto r = values.push_back(weight); !r) return n.fail(r.error());
    }
  Vector<std::byte> bytes(n.allocator());
  if (auto r = bytes.resize(static_cast<std::size_t>(bytes_of(*type, values.size()))); !r) return n.fail(r.error());
  cast_elements(DType::f64, as_bytes(values.span()).data(), *type, bytes.data(), 0, values.size());
  n.out_known(0, {*type, {Dim(bins), Dim(triangles)}}, bytes.span());
}
inline void dft(NodeCall& n) noexcept {
  const IntList shape = n.shape(0);
  // From opset 20 on the axis is an operand, the last but one of x where it is left out.
  const std::size_t axis =
      n.has(2) ? n.axis_of(n.int_in(2, "axis"), shape.size()) : n.axis("axis", n.opset() < 20 ? 1 : -2, shape.size());
  const bool halved = n.integer("inverse", 0) != 0 && n.integer("onesided", 0) != 0;
  const std::int64_t length = n.has(1) ? n.int_in(1, "dft_length") : halved ? 2 * (shape[axis] - 1) : shape[axis];
  if (n.failed()) return;
  if (halved) return n.out(0, signal_of_half(n, n.in(0), axis, length));
  n.out(0, fourier(n, n.in(0), axis, {length, n.integer("inverse", 0) != 0, n.integer("onesided", 0) != 0}));
}
inline void stft(NodeCall& n) noexcept {
  Tensor x = n.in(0);
  IntList shape = n.shape(0);
  const std::int64_t step = n.int_in(1, "frame_step");
  const std::int64_t length = n.has(3) ? n.int_in(3, "frame_length") : n.has(2) ? n.shape(2)[0] : 0;
  if (n.failed()) return;
  if (shape.size() == 2) shape.push(1);
  if (shape.size() != 3 || step < 1 || length < 1 || length > shape[1])
    return n.fail(Errc::invalid_params, "frames of ", length, " every ", step, " of ", shape[1]);
  x = reshape(x, shape);
  const std::int64_t frames = (shape[1] - length) / step + 1;
  if (!n.fits_table(product({frames, length}))) return;
  Vector<std::int64_t> places(n.allocator());
  for (std::int64_t frame = 0; frame < frames; ++frame)
    for (std::int64_t i = 0; i < length; ++i)
      if (auto r = places.push_back(frame * step + i); !r) return n.fail(r.error());
  Tensor framed = reshape(pick(n, x, places.span(), 1), {shape[0], frames, length, shape[2]});
  if (n.has(2)) framed = framed * reshape(n.in(2), {length, 1});
  n.out(0, fourier(n, framed, 2, {length, false, n.integer("onesided", 1) != 0}));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
