// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/kernels_image.hpp: determinants, and samples of planes at places that data gives.
#pragma once

#include <zrt/ir/onnx/kernels_elementwise.hpp>

#include <algorithm>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::ir::onnx::kernels {

/// Element `index` of a tensor of floats as f64.
[[nodiscard]] inline double load_real(const HostTensor& x, std::uint64_t index) noexcept {
  double value = 0;
  cast_elements(x.type.dtype, element(x, index), DType::f64, reinterpret_cast<std::byte*>(&value), 0, 1);
  return value;
}
inline void store_real(const HostTensor& x, std::uint64_t index, double value) noexcept {
  cast_elements(DType::f64, reinterpret_cast<const std::byte*>(&value), x.type.dtype, element(x, index), 0, 1);
}

/// The determinants of x [count, n, n], by elimination with pivots, in f64. The first worker computes them all.
struct Determinant {
  static constexpr std::string_view target = "zrt.onnx.det.v1";
  static constexpr auto attributes = ops::kNoCustomAttributes;
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 1, 1); !r) return r;
    const TensorType& x = c.in[0].type;
    if (!is_float(x.dtype) || x.shape.rank != 3 || !(x.shape[1] == x.shape[2]) ||
        !(c.out[0].type == TensorType{x.dtype, Shape{x.shape[0].extent}}))
      return bad_call(target, "x must be floats [count, n, n] and y [count] of its type");
    return {};
  }
  static CheckedSize scratch(const TypeCall<ops::CustomCall>& c, const Extents&) noexcept {
    if (c.in.size() != 1 || c.in[0].type.shape.rank != 3) return 0;
    const CheckedSize n = c.in[0].type.shape[1].extent;
    return n * n * CheckedSize(sizeof(double));
  }
  static void run(const CustomCallArgs& c, const ExecutionContext&, const Worker& worker) noexcept {
    if (worker.index != 0) return;
    const std::uint64_t n = c.in[0].type.shape[1].extent;
    auto* m = reinterpret_cast<double*>(worker.scratch.data());
    for (std::uint64_t matrix = 0; matrix < c.in[0].type.shape[0].extent; ++matrix) {
      for (std::uint64_t i = 0; i < n * n; ++i) m[i] = load_real(c.in[0], matrix * n * n + i);
      double det = 1;
      for (std::uint64_t k = 0; k < n; ++k) {
        std::uint64_t pivot = k;
        for (std::uint64_t i = k + 1; i < n; ++i)
          if (__builtin_fabs(m[i * n + k]) > __builtin_fabs(m[pivot * n + k])) pivot = i;
        if (pivot != k) {
          for (std::uint64_t j = 0; j < n; ++j) std::swap(m[k * n + j], m[pivot * n + j]);
          det = -det;
        }
        det *= m[k * n + k];
        if (m[k * n + k] == 0) break;
        for (std::uint64_t i = k + 1; i < n; ++i) {
          const double factor = m[i * n + k] / m[k * n + k];
          for (std::uint64_t j = k; j < n; ++j) m[i * n + j] = __builtin_fma(-factor, m[k * n + j], m[i * n + j]);
        }
      }
      store_real(c.out[0], matrix, det);
    }
  }
};

/// Averages or maxima of bilinear samples of x [N, C, H, W] under a grid over each region: rois [R, 4] as
/// x1 y1 x2 y2, batches [R] si64; y [R, C, height, width]. A batch index outside x is an error of the data.
struct RoiAlign {
  static constexpr std::string_view target = "zrt.onnx.roi_align.v1";
  static constexpr auto attributes = std::to_array<ops::CustomAttributeField>({{"scale", ops::CustomKind::real},
                                                                               {"samples", ops::CustomKind::integer},
                                                                               {"half_pixel", ops::CustomKind::boolean},
                                                                               {"maximum", ops::CustomKind::boolean}});
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 3, 1); !r) return r;
    const TensorType& x = c.in[0].type;
    const TensorType& rois = c.in[1].type;
    const TensorType& batches = c.in[2].type;
    const TensorType& y = c.out[0].type;
    if (!is_float(x.dtype) || x.shape.rank != 4 || !is_float(rois.dtype) || rois.shape.rank != 2 ||
        rois.shape[1].extent != 4 || batches.dtype != DType::si64 || batches.shape.rank != 1 ||
        !(batches.shape[0] == rois.shape[0]) || y.dtype != x.dtype || y.shape.rank != 4 ||
        !(y.shape[0] == rois.shape[0]) || !(y.shape[1] == x.shape[1]))
      return bad_call(target, "operands must be x [N, C, H, W], rois [R, 4] and batches [R]");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const auto given = ops::CustomCall::attributes_of(c);
    const double scale = given.find("scale")->real();
    const std::int64_t fixed = given.find("samples")->integer();
    const bool half_pixel = given.find("half_pixel")->boolean();
    const bool maximum = given.find("maximum")->boolean();
    const Shape& xs = c.in[0].type.shape;
    const Shape& ys = c.out[0].type.shape;
    const std::uint64_t h = xs[2].extent;
    const std::uint64_t w = xs[3].extent;
    const ElementShare share = share_of(c.out[0].elements(step), worker);
    for (std::uint64_t out = share.first; out < share.first + share.count; ++out) {
      const std::uint64_t column = out % ys[3].extent;
      const std::uint64_t row = out / ys[3].extent % ys[2].extent;
      const std::uint64_t channel = out / ys[3].extent / ys[2].extent % ys[1].extent;
      const std::uint64_t roi = out / ys[3].extent / ys[2].extent / ys[1].extent;
      const std::int64_t batch = c.in[2].as<std::int64_t>()[roi];
      if (batch < 0 || batch >= static_cast<std::int64_t>(xs[0].extent)) {
        step.violated(worker);
        store_real(c.out[0], out, 0);
        continue;
      }
      const std::uint64_t plane = (static_cast<std::uint64_t>(batch) * xs[1].extent + channel) * h * w;
      const double shift = half_pixel ? 0.5 : 0;
      const auto corner = [&](std::uint64_t i) {
        return math::sealed(load_real(c.in[1], roi * 4 + i) * scale) - shift;
      };
      double width = corner(2) - corner(0);
      double height = corner(3) - corner(1);
      if (!half_pixel) {
        width = width > 1 ? width : 1;
        height = height > 1 ? height : 1;
      }
      const double bin_w = width / ys[3].extent;
      const double bin_h = height / ys[2].extent;
      // An adaptive grid has a sample for each element; a region far larger than x does not make it endless.
      const auto samples = [&](double bin, std::uint64_t extent) {
        if (fixed > 0) return fixed;
        const double wanted = -scalar_math::floor(-bin);
        return wanted >= 1
                   ? static_cast<std::int64_t>(
                         wanted < static_cast<double>(4 * extent + 4) ? wanted : static_cast<double>(4 * extent + 4))
                   : std::int64_t{1};
      };
      const std::int64_t across = samples(bin_w, w);
      const std::int64_t down = samples(bin_h, h);
      double sum = 0;
      bool first = true;
      for (std::int64_t i = 0; i < down; ++i)
        for (std::int64_t k = 0; k < across; ++k) {
          const double in_y = (static_cast<double>(i) + 0.5) / static_cast<double>(down) + static_cast<double>(row);
          const double in_x =
              (static_cast<double>(k) + 0.5) / static_cast<double>(across) + static_cast<double>(column);
          const double y = corner(1) + math::sealed(in_y * bin_h);
          const double x = corner(0) + math::sealed(in_x * bin_w);
          const double value = sample(c.in[0], plane, y, x, h, w, maximum);
          sum = maximum ? (first || value > sum ? value : sum) : sum + value;
          first = false;
        }
      store_real(c.out[0], out, maximum ? sum : sum / static_cast<double>(across * down));
    }
  }

 private:
  /// The bilinear value at (y, x); with `largest` the largest of its weighted neighbours, as the standard has it.
  static double sample(const HostTensor& from, std::uint64_t plane, double y, double x, std::uint64_t h,
                       std::uint64_t w, bool largest) noexcept {
    if (!(y >= -1 && y <= static_cast<double>(h) && x >= -1 && x <= static_cast<double>(w)) || h == 0 || w == 0)
      return 0;
    y = y > 0 ? y : 0;
    x = x > 0 ? x : 0;
    std::uint64_t top = static_cast<std::uint64_t>(y);
    std::uint64_t left = static_cast<std::uint64_t>(x);
    if (top >= h - 1) y = static_cast<double>(top = h - 1);
    if (left >= w - 1) x = static_cast<double>(left = w - 1);
    const std::uint64_t bottom = top + 1 < h ? top + 1 : top;
    const std::uint64_t right = left + 1 < w ? left + 1 : left;
    const double dy = y - static_cast<double>(top);
    const double dx = x - static_cast<double>(left);
    double result = 0;
    bool first = true;
    for (const bool low : {false, true})
      for (const bool far : {false, true}) {
        const double weight = (low ? dy : 1 - dy) * (far ? dx : 1 - dx);
        const double value = load_real(from, plane + (low ? bottom : top) * w + (far ? right : left));
        const double part = math::sealed(weight * value);
        result = largest ? (first || part > result ? part : result) : result + part;
        first = false;
      }
    return result;
  }
};

/// Samples of x [N, C, H, W] at the places of a grid [N, h, w, 2] whose corners are -1 and 1, as x and y:
/// `mode` nearest, bilinear or bicubic; `padding` zeros, border or reflection.
struct GridSample {
  static constexpr std::string_view target = "zrt.onnx.grid_sample.v1";
  static constexpr auto attributes =
      std::to_array<ops::CustomAttributeField>({{"mode", ops::CustomKind::text},
                                                {"padding", ops::CustomKind::text},
                                                {"align_corners", ops::CustomKind::boolean}});
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 2, 1); !r) return r;
    const TensorType& x = c.in[0].type;
    const TensorType& grid = c.in[1].type;
    const TensorType& y = c.out[0].type;
    if (!is_float(x.dtype) || x.shape.rank != 4 || !is_float(grid.dtype) || grid.shape.rank != 4 ||
        grid.shape[3].extent != 2 || !(grid.shape[0] == x.shape[0]) || y.dtype != x.dtype || y.shape.rank != 4 ||
        !(y.shape[0] == x.shape[0]) || !(y.shape[1] == x.shape[1]) || !(y.shape[2] == grid.shape[1]) ||
        !(y.shape[3] == grid.shape[2]) || x.shape[2].extent == 0 || x.shape[3].extent == 0)
      return bad_call(target, "operands must be x [N, C, H, W] and grid [N, h, w, 2]");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext&, const Worker& worker) noexcept {
    const auto given = ops::CustomCall::attributes_of(c);
    const std::string_view mode = given.find("mode")->text();
    const std::string_view padding = given.find("padding")->text();
    const bool aligned = given.find("align_corners")->boolean();
    const Shape& xs = c.in[0].type.shape;
    const Shape& ys = c.out[0].type.shape;
    const auto h = static_cast<std::int64_t>(xs[2].extent);
    const auto w = static_cast<std::int64_t>(xs[3].extent);
    const std::uint64_t spots = std::uint64_t{ys[2].extent} * ys[3].extent;
    const ElementShare share = share_of(ys[0].extent * spots, worker);
    // A run of places is taken apart once for all channels.
    std::array<Taps, kRun> run;
    for (std::uint64_t first = share.first; first < share.first + share.count;) {
      const std::uint64_t image = first / spots;
      const std::uint64_t spot = first % spots;
      const std::uint64_t count = std::min({share.first + share.count - first, spots - spot, kRun});
      for (std::uint64_t i = 0; i < count; ++i)
        run[i] =
            taps(place(load_real(c.in[1], (first + i) * 2), w, aligned, padding),
                 place(load_real(c.in[1], (first + i) * 2 + 1), h, aligned, padding), h, w, mode, aligned, padding);
      for (std::uint64_t channel = 0; channel < xs[1].extent; ++channel) {
        const std::uint64_t plane = image * xs[1].extent + channel;
        gather(c, plane * static_cast<std::uint64_t>(h * w), plane * spots + spot, {run.data(), count});
      }
      first += count;
    }
  }

 private:
  static constexpr std::uint64_t kRun = 64;
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};

  /// What a sample is a sum of, in order: elements of a plane with their weights; kNothing stands for 0.
  struct Taps {
    std::uint32_t count = 0;
    double start = 0;
    std::array<std::uint64_t, 16> at;
    std::array<double, 16> weight;
  };
  static Taps taps(double x, double y, std::int64_t h, std::int64_t w, std::string_view mode, bool aligned,
                   std::string_view padding) noexcept {
    Taps all;
    const auto add = [&](double row, double column, double weight) {
      std::int64_t r = whole(row);
      std::int64_t k = whole(column);
      bool outside = false;
      if (padding == "zeros") {
        outside = r < 0 || r >= h || k < 0 || k >= w;
      } else {
        r = fold(r, h, aligned, padding);
        k = fold(k, w, aligned, padding);
      }
      all.at[all.count] = outside ? kNothing : static_cast<std::uint64_t>(r * w + k);
      all.weight[all.count++] = weight;
    };
    if (mode == "nearest") {
      // A sum that keeps the sign of a zero.
      all.start = -0.0;
      add(scalar_math::round_even(y), scalar_math::round_even(x), 1);
      return all;
    }
    const double top = scalar_math::floor(y);
    const double left = scalar_math::floor(x);
    const auto down = weights(y - top, mode == "bicubic");
    const auto across = weights(x - left, mode == "bicubic");
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 4; ++k) {
        const double weight = down[static_cast<std::size_t>(i)] * across[static_cast<std::size_t>(k)];
        if (weight != 0) add(top + i - 1, left + k - 1, weight);
      }
    return all;
  }

  /// The samples of a plane of x at `run`, from element `to` of the result on.
  static void gather(const CustomCallArgs& c, std::uint64_t plane, std::uint64_t to, Span<const Taps> run) noexcept {
    const bool f32 = c.in[0].type.dtype == DType::f32;
    const float* x = c.in[0].as<float>() + plane;
    float* y = c.out[0].as<float>() + to;
    const auto sum = [](const Taps& taps, auto&& element) noexcept {
      double value = taps.start;
      for (std::uint32_t i = 0; i < taps.count; ++i)
        value = __builtin_fma(taps.weight[i], taps.at[i] == kNothing ? 0.0 : element(taps.at[i]), value);
      return value;
    };
    for (std::size_t i = 0; i < run.size(); ++i)
      if (f32)
        y[i] = static_cast<float>(sum(run[i], [x](std::uint64_t at) noexcept { return double{x[at]}; }));
      else
        store_real(c.out[0], to + i,
                   sum(run[i], [&](std::uint64_t at) noexcept { return load_real(c.in[0], plane + at); }));
  }
  static std::array<double, 4> weights(double t, bool cubic) noexcept {
    if (!cubic) return {0, 1 - t, t, 0};
    return scalar_math::cubic_weights(t, -0.75);
  }
  /// A place as an integer; NaN and what is far outside come out far outside.
  static std::int64_t whole(double x) noexcept {
    return x > -0x1p40 && x < 0x1p40 ? static_cast<std::int64_t>(x) : -(std::int64_t{1} << 40);
  }
  static double reflect(double x, double low, double high) noexcept {
    const double range = high - low;
    if (!(range > 0)) return 0;
    double away = scalar_math::fmod(x < low ? low - x : x - low, 2 * range);
    if (away > range) away = 2 * range - away;
    return low + away;
  }
  static double place(double at, std::int64_t extent, bool aligned, std::string_view padding) noexcept {
    const auto size = static_cast<double>(extent);
    double x = aligned ? (at + 1) / 2 * (size - 1) : (math::sealed((at + 1) * size) - 1) / 2;
    if (padding == "border") x = x > 0 ? (x < size - 1 ? x : size - 1) : 0;
    if (padding == "reflection") x = aligned ? reflect(x, 0, size - 1) : reflect(x, -0.5, size - 0.5);
    return x;
  }
  static std::int64_t fold(std::int64_t at, std::int64_t extent, bool aligned, std::string_view padding) noexcept {
    if (padding == "reflection" && (at < 0 || at >= extent)) {
      const auto size = static_cast<double>(extent);
      const double x = static_cast<double>(at);
      at = whole(aligned ? reflect(x, 0, size - 1) : reflect(x, -0.5, size - 0.5));
    }
    return at < 0 ? 0 : at >= extent ? extent - 1 : at;
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx::kernels
ZRT_FP_END
