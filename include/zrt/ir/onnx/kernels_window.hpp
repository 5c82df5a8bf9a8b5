// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/kernels_window.hpp: where the largest element under a window lies.
#pragma once

#include <zrt/ir/onnx/kernels_elementwise.hpp>

namespace zrt::inline ZRT_ABI::ir::onnx::kernels {

/// For x [N, C, spatial...] and each place of a window the index of its first largest element in x, counted over
/// all of x, row-major, or with the first spatial axis fastest.
struct MaxPlace {
  static constexpr std::string_view target = "zrt.onnx.max_place.v1";
  static constexpr auto attributes =
      std::to_array<ops::CustomAttributeField>({{"size", ops::CustomKind::integers},
                                                {"strides", ops::CustomKind::integers},
                                                {"dilations", ops::CustomKind::integers},
                                                {"low", ops::CustomKind::integers},
                                                {"column_major", ops::CustomKind::boolean}});
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 1, 1); !r) return r;
    const auto given = ops::CustomCall::attributes_of(c);
    const TensorType& x = c.in[0].type;
    const TensorType& y = c.out[0].type;
    if (x.shape.rank < 3 || y.shape.rank != x.shape.rank || y.dtype != DType::si64 || !(x.shape[0] == y.shape[0]) ||
        !(x.shape[1] == y.shape[1]))
      return bad_call(target, "x must be [N, C, spatial...] and y si64 of [N, C, places...]");
    for (const std::string_view key : {"size", "strides", "dilations", "low"}) {
      const auto a = given.find(key);
      if (a->size() + 2 != x.shape.rank)
        return bad_call(target, "size, strides, dilations and low must be integers, one for each spatial axis");
      for (std::uint32_t i = 0; i < a->size(); ++i)
        if (a->integer(i) < (key == "low" ? 0 : 1) || a->integer(i) > 0x7fffffff)
          return bad_call(target, "a window's number is out of range");
    }
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const auto given = ops::CustomCall::attributes_of(c);
    const auto size = *given.find("size");
    const auto strides = *given.find("strides");
    const auto dilations = *given.find("dilations");
    const auto low = *given.find("low");
    const bool column_major = given.find("column_major")->boolean();
    const Shape& xs = c.in[0].type.shape;
    const Shape& ys = c.out[0].type.shape;
    const std::uint32_t spatial = xs.rank - 2u;
    std::uint64_t plane = 1;
    std::uint64_t places = 1;
    std::uint64_t window = 1;
    for (std::uint32_t i = 0; i < spatial; ++i) {
      plane *= xs[i + 2].extent;
      places *= ys[i + 2].extent;
      window *= static_cast<std::uint64_t>(size.integer(i));
    }
    const DType dtype = c.in[0].type.dtype;
    const ElementShare share = share_of(c.out[0].elements(step), worker);
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      const auto& f = element_functions<T>(dtype);
      for (std::uint64_t out = share.first; out < share.first + share.count; ++out) {
        const std::uint64_t base = out / places * plane;
        std::int64_t best = -1;
        T most{};
        for (std::uint64_t k = 0; k < window; ++k) {
          std::uint64_t rest_place = out % places;
          std::uint64_t rest_window = k;
          std::uint64_t at = 0;
          std::uint64_t stride = 1;
          std::uint64_t column = 0;
          bool inside = true;
          std::array<std::int64_t, kMaxRank> index{};
          for (std::uint32_t i = spatial; i > 0; --i) {
            const std::uint32_t axis = i - 1;
            const std::uint64_t extent = ys[axis + 2].extent;
            const auto width = static_cast<std::uint64_t>(size.integer(axis));
            index[axis] = static_cast<std::int64_t>(rest_place % extent) * strides.integer(axis) +
                          static_cast<std::int64_t>(rest_window % width) * dilations.integer(axis) - low.integer(axis);
            rest_place /= extent;
            rest_window /= width;
            inside = inside && index[axis] >= 0 && index[axis] < static_cast<std::int64_t>(xs[axis + 2].extent);
            at += static_cast<std::uint64_t>(index[axis]) * stride;
            stride *= xs[axis + 2].extent;
          }
          if (!inside) continue;
          T value{};
          f.unpack(c.in[0].data, base + at, 1, &value);
          if (best >= 0 && !(value > most)) continue;
          most = value;
          stride = 1;
          for (std::uint32_t i = 0; i < spatial; ++i) {
            column += static_cast<std::uint64_t>(index[i]) * stride;
            stride *= xs[i + 2].extent;
          }
          best = static_cast<std::int64_t>(base + (column_major ? column : at));
        }
        c.out[0].as<std::int64_t>()[out] = best;
      }
    });
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx::kernels
