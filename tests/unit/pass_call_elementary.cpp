// SPDX-License-Identifier: Apache-2.0
// tests/unit/pass_call_elementary.cpp: sines, cosines and powers that ONNX files call become a primitive where they are f32.
#include <algorithm>
#include <support/fusion_program.hpp>

namespace pass_call_elementary_test {
namespace {

using namespace zrt;
using namespace zrt::test;

FusionResult called(const char* target, DType dtype) {
  return fuse({{4, 100}}, [&](PtirBuilder& b, const std::vector<PtirTensor>& in) {
    const PtirTensor x = b.cast(in[0] * 3.0, dtype);
    return b.cast(b.custom_call(target, {x}, {}, {x.type()}, false)[0], DType::f32);
  });
}

TEST(CallElementary, SinesAndCosinesOfF32) {
  for (const char* target : {"zrt.onnx.sin.v1", "zrt.onnx.cos.v1"}) {
    SCOPED_TRACE(target);
    const FusionResult r = called(target, DType::f32);
    EXPECT_EQ(r.count("custom_call"), 0u);
    EXPECT_EQ(r.count("elementwise_unary"), 1u);
    EXPECT_LE(r.worst, 0x1p-22);
    EXPECT_EQ(std::count(r.plain.begin(), r.plain.end(), "custom_call"), 1);
  }
}

TEST(CallElementary, PowersOfF32) {
  const auto power = [](DType dtype) {
    return fuse({{4, 100}, {4, 100}}, [&](PtirBuilder& b, const std::vector<PtirTensor>& in) {
      const PtirTensor x = b.cast(b.abs(in[0]) + 0.25, dtype);
      return b.cast(b.custom_call("zrt.onnx.pow.v1", {x, b.cast(in[1], dtype)}, {}, {x.type()}, false)[0], DType::f32);
    });
  };
  const FusionResult r = power(DType::f32);
  EXPECT_EQ(r.count("custom_call"), 0u);
  EXPECT_LE(r.worst, 0x1p-23);
  EXPECT_EQ(std::count(r.plain.begin(), r.plain.end(), "custom_call"), 1);
  EXPECT_EQ(power(DType::f64).count("custom_call"), 1u);
}

TEST(CallElementary, OtherTypesAndFunctionsStayCalls) {
  for (const DType dtype : {DType::f64, DType::f16}) {
    const FusionResult r = called("zrt.onnx.sin.v1", dtype);
    EXPECT_EQ(r.count("custom_call"), 1u);
    EXPECT_EQ(r.worst, 0.0);
  }
  EXPECT_EQ(called("zrt.onnx.tan.v1", DType::f32).count("custom_call"), 1u);
}

}  // namespace
}  // namespace pass_call_elementary_test
