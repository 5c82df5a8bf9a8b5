// SPDX-License-Identifier: Apache-2.0
// tests/data/adding/fused.cpp: a fused op that was added by the page, with two kernels for the CPU.
#include <zrt/backend/cpu/claims.hpp>
#include <zrt/ops/catalog.hpp>

#include <array>
#include <cstdio>
#include <property/op_cases/scaled_square.hpp>

using namespace zrt;

static_assert(boost::mp11::mp_contains<ops::Catalog, ops::ScaledSquare>::value);
static_assert(boost::mp11::mp_contains<cpu::Claims, ops::ScaledSquare>::value);
static_assert(requires(op_cases::Random& r, const op_cases::Batch& b) {
  op_cases::OpCases<ops::ScaledSquare>::make(r, b);
});

namespace {

constexpr std::uint32_t kElements = 77;

/// What `run` makes of the numbers from 0 on.
template <class Run> std::array<float, kElements> of(float scale, const Run& run) {
  std::array<float, kElements> x{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.25f * static_cast<float>(i);
  HostCall<ops::ScaledSquare> call;
  call.in[0].type = call.out[0].type = {DType::f32, Shape{kElements}};
  call.in[0].data = call.out[0].data = reinterpret_cast<std::byte*>(x.data());
  call.params.scale = scale;
  run(call, ExecutionContext{}, Worker{});
  return x;
}

}  // namespace

int main() {
  const auto& kernels = cpu::v1::kKernels<ops::ScaledSquare>;
  const auto& reference = ops::ScaledSquare::reference;
  if (of(3.0f, kernels.elements) == of(3.0f, reference) && of(1.0f, kernels.unscaled) == of(1.0f, reference)) return 0;
  std::puts("the kernels give other numbers than the reference");
  return 1;
}
