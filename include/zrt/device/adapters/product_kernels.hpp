// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/product_kernels.hpp: which kernels multiply which weight types, and what a workgroup takes.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/device/operands.hpp>
#include <zrt/quant/activation.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::device {

/// The kernels that multiply a weight type with rows of activations: matvec_<type> for generated tokens, matmul_<type>
/// where a step may hold a prompt. Both have the same bits, so tokens of both kinds may be in one step.
struct ProductKernels {
  DType dtype;
  quant::Act act;        ///< what its activations are rounded to
  std::uint32_t tokens;  ///< that one workgroup of matvec_<type> multiplies with the weights it reads
};
/// Every weight type that kernels read.
inline constexpr auto kProductKernels = [] {
  std::array<ProductKernels, kAllUploads.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const DType dtype = kAllUploads[i].dtype;
    all[i] = {dtype, quant::facts<quant::OwnTypes>(dtype)->act, info(dtype).block_elems == 1 ? 4u : 8u};
  }
  return all;
}();
/// Rows of one workgroup of matvec_<type>.
inline constexpr std::uint32_t kVectorRows = 32;
/// Rows and tokens of one workgroup of a matrix kernel.
inline constexpr std::uint32_t kMatrixTile = 64;

/// Demands rows of whole pieces, as kernels that take a row at once load them.
///
/// Errors: Errc::unimplemented.
[[nodiscard]] inline Result<void> expect_pieces(const Weight& weight) noexcept {
  const UploadFunctions* const layout = upload_of(weight.dtype);
  if (layout == nullptr || weight.cols % layout->columns() == 0) return {};
  return fail(Errc::unimplemented, "a weight has rows of ", weight.cols, " elements of ", name(weight.dtype),
              ", the device loads whole pieces of ", layout->columns());
}

/// The kernels for a weight whose activations the plan rounds so.
///
/// Errors: Errc::unsupported_weight_type; those of expect_pieces().
[[nodiscard]] inline Result<const ProductKernels*> find_product(const Weight& weight, quant::Act act) noexcept {
  if (auto r = expect_pieces(weight); !r) return pass(r);
  for (const ProductKernels& kernels : kProductKernels)
    if (kernels.dtype == weight.dtype && kernels.act == act) return &kernels;
  return fail(Errc::unsupported_weight_type, "the device has no matrix product for ", name(weight.dtype),
              " with activations ", act == quant::Act::none ? "that are not rounded" : "that are rounded");
}

}  // namespace zrt::inline ZRT_ABI::device
