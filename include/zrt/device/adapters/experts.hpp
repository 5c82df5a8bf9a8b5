// SPDX-License-Identifier: Apache-2.0
// zrt/device/adapters/experts.hpp: products with the matrices that tokens choose of a stack.
#pragma once

#include <zrt/device/adapters/projection.hpp>
#include <zrt/ops/experts.hpp>

namespace zrt::inline ZRT_ABI::device {

/// Which rows of a stack of matrices a product takes, and where its results go.
struct ExpertProduct {
  std::uint32_t rows = 0;  ///< of each expert
  std::uint32_t used = 0;  ///< experts of a token
  std::uint32_t experts = 0;
  std::uint32_t stride = 0;    ///< rows of an expert in the weight
  std::uint32_t first = 0;     ///< among them, where the product's begin
  bool by_pair = false;        ///< activations have a row for each pair of a token and its expert, else for each token
  std::uint32_t y_stride = 0;  ///< floats from one pair's results to the next's
};

/// Records y = W_e a + bias_e for each pair, e being its id; without ids, a token has all experts. The bias may be
/// absent. `beside`: as KernelCall::beside. A step's prompt takes the same way: one workgroup for each 32 rows of a pair.
[[nodiscard]] inline Result<void> project_experts(Recorder& recorder, const Weight& weight, const Weight& bias,
                                                  const Tensor& ids, const ActivationRows& a, const StepCount& pairs,
                                                  const ExpertProduct& of, std::uint64_t y, bool beside) noexcept {
  const auto kernels = find_product(weight, a.act);
  if (!kernels) return pass(kernels);
  const Name kernel = Name::of("experts_", name(weight.dtype));
  KernelCall call(kernel.view());
  call.matrix(weight);
  if (a.act == quant::Act::none)
    call.buffer(a.x);
  else
    call.buffer(a.q).buffer(a.d);
  call.buffer(bias).buffer(ids).buffer(y);
  if (ids.present())
    call.fault();
  else
    call.buffer(std::uint64_t{0});
  call.value(of.rows).value(weight.cols).value(of.used).value(of.experts).value(of.stride).value(of.first);
  call.value(of.by_pair ? 1u : 0u).value(of.y_stride);
  call.grid(StepCount(of.rows).over(kVectorRows), pairs);
  if (beside) call.beside();
  return recorder.push(call);
}

}  // namespace zrt::inline ZRT_ABI::device
