// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/kernels_bits.hpp: the same bits as another type.
#pragma once

#include <zrt/ir/onnx/kernels_elementwise.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ir::onnx::kernels {

/// y has the bits of x; both types have as many bytes for an element.
struct BitCast {
  static constexpr std::string_view target = "zrt.onnx.bit_cast.v1";
  static constexpr auto attributes = ops::kNoCustomAttributes;
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 1, 1); !r) return r;
    const TensorType& x = c.in[0].type;
    const TensorType& y = c.out[0].type;
    if (!(x.shape == y.shape) || info(x.dtype).block_bytes != info(y.dtype).block_bytes ||
        info(y.dtype).block_elems != 1)
      return bad_call(target, "x and y must be of one shape, their types of one size");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const ElementShare share = share_of(c.in[0].elements(step), worker);
    if (share.count != 0)
      std::memcpy(element(c.out[0], share.first), element(c.in[0], share.first),
                  static_cast<std::size_t>(share.count * info(c.in[0].type.dtype).block_bytes));
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx::kernels
