// SPDX-License-Identifier: Apache-2.0
// tests/data/adding/primitive.cpp: an op that was added by the page: in programs, in graphs, and as its cases have it.
#include <zrt/backend/cpu.hpp>
#include <zrt/ir/ptir/builder.hpp>
#include <zrt/ir/ptir/lower.hpp>
#include <zrt/ir/ptir/parse.hpp>
#include <zrt/ir/ptir/print.hpp>

#include <cstdio>
#include <property/op_cases/cumsum.hpp>
#include <support/gradient_function.hpp>

using namespace zrt;
using ir::ptir::Attribute;

static_assert(boost::mp11::mp_contains<ops::Catalog, ops::Cumsum>::value);
static_assert(boost::mp11::mp_contains<ir::ptir::Operations, ops::Cumsum>::value);
static_assert(boost::mp11::mp_contains<CpuBackend::Unsupported, ops::Cumsum>::value);
static_assert(op_cases::StatesNoVectors<ops::Cumsum>);
static_assert(requires(op_cases::Random& r, const op_cases::Batch& b) { op_cases::OpCases<ops::Cumsum>::make(r, b); });

namespace {

int failed(const char* what) {
  std::puts(what);
  return 1;
}

/// The op's sums of 1, 2, 3 along the last axis.
bool sums(bool reverse, float a, float b, float c) {
  float x[3] = {1, 2, 3};
  HostCall<ops::Cumsum> call;
  call.in[0].type = call.out[0].type = {DType::f32, Shape{3}};
  call.in[0].data = call.out[0].data = reinterpret_cast<std::byte*>(x);
  call.params.reverse = reverse ? 1 : 0;
  ops::Cumsum::reference(call, ExecutionContext{}, Worker{});
  return x[0] == a && x[1] == b && x[2] == c;
}

}  // namespace

int main() {
  ir::ptir::Builder b;
  const auto x = b.parameter({DType::f32, {2, 3}}, "x");
  b.result(b.emit<ops::Cumsum>({x}, {Attribute::integer(-1), Attribute::boolean(true)})[0]);
  const auto program = b.finish();
  if (!program) return failed("the program is refused");
  const auto text = ir::ptir::print(*program);
  if (!text) return failed("the program is not printed");
  const auto again = ir::ptir::parse(text->view());
  if (!again || !(*again == *program)) return failed("the text is not read as it was written");
  const ir::ptir::Shape shapes[] = {{2, 3}};
  const auto graph = ir::ptir::lower(*again, shapes, kOpTable<ops::Catalog>);
  if (!graph) return failed("the program is not lowered");
  if (!sums(false, 1, 3, 6) || !sums(true, 6, 5, 3)) return failed("the sums are others");
  test::GradientFunction f(1);
  op_cases::OpCases<ops::Cumsum>::differentiate(f);
  f.finish();
  if (!f.refused.empty()) return failed("the gradient is refused");
  return 0;
}
