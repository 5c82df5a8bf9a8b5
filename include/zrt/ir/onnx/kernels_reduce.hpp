// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/kernels_reduce.hpp: products of rows, cumulative sums and products.
#pragma once

#include <zrt/ir/onnx/kernels_elementwise.hpp>

namespace zrt::inline ZRT_ABI::ir::onnx::kernels {

/// The product of each row of x [rows, n]; one chain in index order in the domain of x.
struct RowProduct {
  static constexpr std::string_view target = "zrt.onnx.row_product.v1";
  static constexpr auto attributes = ops::kNoCustomAttributes;
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 1, 1); !r) return r;
    const TensorType& x = c.in[0].type;
    if (x.shape.rank != 2 || !(c.out[0].type == TensorType{x.dtype, Shape{x.shape[0].extent}}))
      return bad_call(target, "x must be [rows, n] and y [rows] of its type");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    const std::uint64_t n = c.in[0].cols(step);
    const ElementShare share = share_of(c.out[0].elements(step), worker);
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      const auto& f = element_functions<T>(dtype);
      for (std::uint64_t row = share.first; row < share.first + share.count; ++row) {
        std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, T> product = 1;
        for (std::uint64_t i = 0; i < n; ++i) {
          T value{};
          f.unpack(c.in[0].data, row * n + i, 1, &value);
          product *= static_cast<decltype(product)>(value);
        }
        const T result = static_cast<T>(product);
        f.pack(&result, row, 1, c.out[0].data);
      }
    });
  }
};

/// Sums or products of x [outer, n, inner] along the middle axis up to each element, one chain in index order.
template <bool kProduct> struct Cumulative {
  static constexpr std::string_view target = kProduct ? "zrt.onnx.cum_prod.v1" : "zrt.onnx.cum_sum.v1";
  static constexpr auto attributes = std::to_array<ops::CustomAttributeField>(
      {{"exclusive", ops::CustomKind::boolean}, {"reverse", ops::CustomKind::boolean}});
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 1, 1); !r) return r;
    if (c.in[0].type.shape.rank != 3 || !(c.out[0].type == c.in[0].type))
      return bad_call(target, "x must be [outer, n, inner] and y of its type");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext&, const Worker& worker) noexcept {
    const auto given = ops::CustomCall::attributes_of(c);
    const bool exclusive = given.find("exclusive")->boolean();
    const bool backward = given.find("reverse")->boolean();
    const DType dtype = c.in[0].type.dtype;
    const Shape& shape = c.in[0].type.shape;
    const std::uint64_t n = shape[1].extent;
    const std::uint64_t inner = shape[2].extent;
    // Lines side by side are one run where they are neighbours, else the elements along one are.
    const ElementShare share = share_of(shape[0].extent * inner, worker);
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      for (std::uint64_t line = share.first; line < share.first + share.count;) {
        const std::uint64_t beside = std::min({inner - line % inner, share.first + share.count - line, kElementRun});
        along<T>(c, line / inner * n * inner + line % inner, n, inner, beside, exclusive, backward);
        line += beside;
      }
    });
  }

 private:
  /// Lines of `n` elements `inner` apart, `beside` of them next to each other, the first from element `first` on.
  template <class T>
  static void along(const CustomCallArgs& c, std::uint64_t first, std::uint64_t n, std::uint64_t inner,
                    std::uint64_t beside, bool exclusive, bool backward) noexcept {
    using Sum = std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, T>;
    const auto& f = element_functions<T>(c.in[0].type.dtype);
    T values[kElementRun];
    Sum sums[kElementRun];
    for (std::uint64_t k = 0; k < beside; ++k) sums[k] = kProduct ? 1 : 0;
    const auto take = [&](Sum& sum, T& value) noexcept {
      const Sum before = sum;
      if constexpr (kProduct)
        sum *= static_cast<Sum>(value);
      else
        sum += static_cast<Sum>(value);
      value = static_cast<T>(exclusive ? before : sum);
    };
    const std::uint64_t together = inner == 1 ? kElementRun : 1;
    for (std::uint64_t i = 0; i < n; i += together) {
      const std::uint64_t count = std::min(n - i, together);
      const std::uint64_t at = first + (backward ? n - i - count : i) * inner;
      f.unpack(c.in[0].data, at, count * beside, values);
      if (inner != 1)
        for (std::uint64_t k = 0; k < beside; ++k) take(sums[k], values[k]);
      else if (backward)
        for (std::uint64_t k = count; k-- > 0;) take(sums[0], values[k]);
      else
        for (std::uint64_t k = 0; k < count; ++k) take(sums[0], values[k]);
      f.pack(values, at, count * beside, c.out[0].data);
    }
  }
};
using CumSum = Cumulative<false>;
using CumProd = Cumulative<true>;

}  // namespace zrt::inline ZRT_ABI::ir::onnx::kernels
