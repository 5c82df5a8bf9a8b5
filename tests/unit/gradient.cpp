// SPDX-License-Identifier: Apache-2.0
// tests/unit/gradient.cpp: the gradient of every operation against central differences in f64.
#include <zrt/ir/gradient/differentiate.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <property/op_cases/all.hpp>
#include <set>
#include <string>
#include <support/gradient_function.hpp>
#include <support/random_function.hpp>
#include <support/slope.hpp>

namespace gradient_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using ptir::Tensor;
using Function = GradientFunction;

struct Case {
  const char* op;
  void (*build)(Function& f);
  double h = 1e-6;
  double tolerance = 1e-7;
};

template <std::size_t kKind> void unary(Function& f) {
  const bool positive = kKind == 3 || kKind == 6;  // log, rsqrt
  const Tensor x = f.real({2, 3}, positive ? 0.3 : -2, 2);
  f.result(f.b().emit("elementwise_unary", {&x, 1}, {ptir::Attribute::choice(kKind)})[0]);
}
template <std::size_t kKind> void binary(Function& f) {
  const std::array<Tensor, 2> in{f.real({2, 3}), f.real({2, 3}, 0.4, 2)};
  f.result(f.b().emit("elementwise_binary", in, {ptir::Attribute::choice(kKind)})[0]);
}
constexpr std::array<std::int64_t, 2> kWindow{2, 3}, kStrides{2, 1}, kLow{1, 0}, kHigh{0, 2}, kBase{1, 2},
    kDilated{2, 1};
constexpr std::array<std::int64_t, 2> kFar{4, 5}, kOnes{1, 1}, kZeros{0, 0};
constexpr std::array<std::int64_t, 3> kPool{1, 2, 2}, kNone{}, kOnce{1, 1, 1};

/// x y + tanh x where `first`, else y^3, by a cond; x is not read in the second branch.
Tensor chosen(Function& f, std::int64_t first, const Tensor& x, const Tensor& y) {
  ptir::Builder& b = f.b();
  const auto on_true = b.region("on_true", [&] {
    const Tensor p = b.parameter(x.type()), q = b.parameter(y.type());
    b.result(p * q + b.tanh(p));
    b.result(q);
  });
  const auto on_false = b.region("on_false", [&] {
    const Tensor p = b.parameter(x.type()), q = b.parameter(y.type());
    b.result(q * q * q);
    b.result(p);
  });
  const ptir::Results r = b.cond(b.constant(first != 0), on_true, on_false, {x, y});
  return r[0] * 2.0 + r[1];
}

/// The results of a batch_norm: y, the next mean and the next variance.
Vector<Tensor> batch_norm(Function& f, const std::array<Tensor, 5>& in, std::int64_t axis, double epsilon,
                          double momentum) {
  const std::array<ptir::TensorType, 3> types{in[0].type(), in[3].type(), in[4].type()};
  Vector<Tensor> y;
  f.graft().mode_step("batch_norm", in,
                      std::array<ptir::Attribute, 3>{ptir::Attribute::integer(axis), ptir::Attribute::real(epsilon),
                                                     ptir::Attribute::real(momentum)},
                      types, y);
  return y;
}
/// Of features along `axis`; every operand has a gradient.
Vector<Tensor> batch_norm(Function& f, const ptir::Shape& shape, std::int64_t axis) {
  const ptir::Shape features{shape[static_cast<std::size_t>(axis < 0 ? axis + shape.rank : axis)]};
  const std::array<Tensor, 5> in{f.real(shape), f.real(features), f.real(features), f.real(features),
                                 f.real(features, 1, 2)};
  return batch_norm(f, in, axis, 0.01, 0.1);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"elementwise_unary", &unary<0>},
      {"elementwise_unary", &unary<1>},
      {"elementwise_unary", &unary<2>},
      {"elementwise_unary", &unary<3>},
      {"elementwise_unary", &unary<4>},
      {"elementwise_unary", &unary<5>},
      {"elementwise_unary", &unary<6>},
      {"elementwise_unary", [](Function& f) { f.result(f.b().reciprocal(f.real({4}, 0.5, 2))); }},
      {"elementwise_binary", &binary<0>},
      {"elementwise_binary", &binary<1>},
      {"elementwise_binary", &binary<2>},
      {"elementwise_binary", &binary<3>},
      {"elementwise_binary", &binary<4>},
      {"elementwise_binary", &binary<5>},
      {"elementwise_binary",
       [](Function& f) {  // one value twice
         const Tensor x = f.real({3});
         f.result(x * x + x);
       }},
      {"select",
       [](Function& f) {
         const Tensor x = f.real({4}), y = f.real({4});
         f.result(f.b().select(f.b().lt(x, y), x * 2.0, y * y));
       }},
      {"cast", [](Function& f) { f.result(f.b().cast(f.real({4}), DType::f64)); }},
      {"cast", [](Function& f) { f.result(f.b().cast(f.real({4}), DType::f32)); }, 0x1p-8, 1e-4},
      {"reduce", [](Function& f) { f.result(f.b().reduce_sum(f.real({2, 3, 2}), {1, -1})); }},
      {"reduce", [](Function& f) { f.result(f.b().reduce_sum(f.real({2, 3}), {0}, true)); }},
      {"reduce", [](Function& f) { f.result(f.b().reduce_max(f.real({2, 4}), {-1}, true)); }},
      {"reduce", [](Function& f) { f.result(f.b().reduce_min(f.real({2, 4}), {0, 1})); }},
      {"dot_general", [](Function& f) { f.result(f.b().dot(f.real({2, 3, 4}), f.real({4, 5}))); }},
      {"dot_general",
       [](Function& f) {  // batch and contracted axes anywhere, in any order
         f.result(
             f.b().dot_general(f.real({4, 2, 3, 5}), f.real({5, 3, 2, 6, 4}),
                               {.batch_lhs = {2}, .batch_rhs = {1}, .contract_lhs = {3, 0}, .contract_rhs = {0, -1}}));
       }},
      {"dot_general",
       [](Function& f) {
         f.result(f.b().dot_general(f.real({3}), f.real({3}), {.contract_lhs = {0}, .contract_rhs = {0}}));
       }},
      {"reshape", [](Function& f) { f.result(f.b().reshape(f.real({2, 6}), {3, -1})); }},
      {"transpose", [](Function& f) { f.result(f.b().transpose(f.real({2, 3, 4}), {2, 0, -2})); }},
      {"broadcast_to", [](Function& f) { f.result(f.b().broadcast_to(f.real({3, 1, 2}), {2, 3, 4, 2})); }},
      {"slice", [](Function& f) { f.result(f.b().slice(f.real({4, 3}), {1, 0}, {2, 3})); }},
      {"concat", [](Function& f) { f.result(f.b().concat({f.real({2, 1}), f.real({2, 3}), f.real({2, 2})}, -1)); }},
      {"pad",
       [](Function& f) { f.result(f.b().pad(f.real({2, 3}), {1, 0}, {0, 2}, {0, 2}, f.b().scalar(DType::f64, 7))); }},
      {"tile", [](Function& f) { f.result(f.b().tile(f.real({2, 3, 2}), {2, 1, 3})); }},
      {"take", [](Function& f) { f.result(f.b().take(f.real({4, 3}), f.whole({2, 2}, {1, 3, 1, 0}))); }},
      {"gather", [](Function& f) { f.result(f.b().gather(f.real({2, 4}), f.whole({2, 3}, {3, 3, 0, 1, 2, 1}), 1)); }},
      {"scatter_add",
       [](Function& f) {
         f.result(f.b().scatter_add(f.real({4, 3}), f.whole({3}, {1, 3, 1}), f.real({3, 3}), {1}, {0}, {0}));
       }},
      {"scatter_add",
       [](Function& f) {  // windows of parts of rows, two of them at one place, one over another
         f.result(f.b().scatter_add(f.real({4, 3}), f.whole({3, 2}, {1, 0, 2, 1, 1, 0}), f.real({3, 2, 2}), {1, 2}, {},
                                    {0, 1}, 1));
       }},
      {"scatter_add",
       [](Function& f) {  // places first in indices and in any order, windows first in updates
         f.result(f.b().scatter_add(f.real({3, 4, 5}), f.whole({2, 2, 3}, {4, 0, 1, 4, 2, 2, 0, 2, 1, 0, 1, 1}),
                                    f.real({3, 2, 3}), {0}, {0, -1}, {2, -3}, 0));
       }},
      {"scatter_add",
       [](Function& f) {  // elements, in a window over the middle axis
         f.result(
             f.b().scatter_add(f.real({2, 4, 3}), f.whole({2, 1}, {2, 0}), f.real({2, 2, 2}), {0, 2}, {0}, {1}, 1));
       }},
      {"scatter_reduce",
       [](Function& f) {
         f.result(f.b().scatter_reduce(0, f.real({2, 4}), f.whole({2, 3}, {3, 3, 0, 1, 2, 1}), f.real({2, 3}), -1));
       }},
      {"scatter_reduce",
       [](Function& f) {  // replace, twice and three times at one place
         f.result(f.b().scatter_reduce(3, f.real({2, 4}), f.whole({2, 3}, {3, 3, 0, 1, 1, 1}), f.real({2, 3}), -1));
       }},
      {"scatter_reduce",
       [](Function& f) {
         f.result(f.b().scatter_reduce(3, f.fixed({3, 2}, -1, 1), f.whole({2, 2}, {2, 0, 2, 1}), f.real({2, 2}), 0));
       }},
      {"scatter_reduce",
       [](Function& f) {
         f.result(f.b().scatter_reduce(1, f.real({2, 4}), f.whole({2, 3}, {3, 3, 0, 1, 2, 1}), f.real({2, 3}), -1));
       }},
      {"scatter_reduce",
       [](Function& f) {
         f.result(
             f.b().scatter_reduce(2, f.real({3, 2}), f.whole({4, 2}, {2, 0, 2, 1, 0, 1, 2, 1}), f.real({4, 2}), 0));
       }},
      {"scatter_reduce",  // nothing is as large as what stands there
       [](Function& f) {
         f.result(f.b().scatter_reduce(1, f.fixed({3}, 4, 5), f.whole({2}, {1, 1}), f.real({2}), 0));
       }},
      {"dynamic_slice",
       [](Function& f) { f.result(f.b().dynamic_slice(f.real({4, 3}), f.whole({2}, {1, 5}), {2, 2})); }},
      {"dynamic_update_slice",
       [](Function& f) { f.result(f.b().dynamic_update_slice(f.real({4, 3}), f.real({2, 2}), f.whole({2}, {1, 0}))); }},
      {"layer_norm", [](Function& f) { f.result(f.b().layer_norm(f.real({2, 3, 4}), f.real({4}), f.real({4}))); }},
      {"layer_norm", [](Function& f) { f.result(f.b().layer_norm(f.real({2, 3}), f.real({2}), f.real({2}), 0.1, 0)); }},
      {"clamp", [](Function& f) { f.result(f.b().clamp(f.real({12}), f.real({12}, -1, 0), f.real({12}, 0.1, 1))); }},
      {"clamp",  // the upper bound below the lower one: it is what leaves
       [](Function& f) { f.result(f.b().clamp(f.real({12}), f.real({12}, 0.1, 1), f.real({12}, -1, 0))); }},
      {"reduce_window",
       [](Function& f) {
         f.result(f.b().reduce_window(0, f.real({5, 4}), {kWindow, kStrides, kLow, kHigh, kBase, kDilated}));
       }},
      {"reduce_window",
       [](Function& f) {  // padding wider than the window
         f.result(f.b().reduce_window(0, f.real({2, 3}), {kWindow, kStrides, kFar, kFar, kBase, kOnes}));
       }},
      {"reduce_window",
       [](Function& f) {
         f.result(f.b().reduce_window(1, f.real({5, 4}), {kWindow, kStrides, kLow, kHigh, kBase, kDilated}));
       }},
      {"reduce_window",
       [](Function& f) {
         f.result(f.b().reduce_window(2, f.real({2, 4, 5}), {kPool, kPool, kNone, kNone, kOnce, kOnce}));
       }},
      {"extract_patches",
       [](Function& f) {
         f.result(f.b().extract_patches(f.real({2, 5, 4, 2}), {kWindow, kStrides, kLow, kHigh, {}, kDilated}));
       }},
      {"cond", [](Function& f) { f.result(chosen(f, 1, f.real({3}), f.real({3}))); }},
      {"cond", [](Function& f) { f.result(chosen(f, 0, f.real({3}), f.real({3}))); }},
      {"scan",
       [](Function& f) {  // what is carried, what is given, and a count that is no float
         ptir::Builder& b = f.b();
         const auto body = b.region("body", [&] {
           const Tensor h = b.parameter({DType::f64, {2}}), n = b.parameter({DType::si64, {}});
           const Tensor x = b.parameter({DType::f64, {2}}), w = b.parameter({DType::f64, {}});
           const Tensor next = b.tanh(h * w + x) * b.cast(n, DType::f64);
           b.result(next);
           b.result(n + 1.0);
           b.result(next * h);
           b.result(x * x);
         });
         const ptir::Results y = b.scan(body, 2, 2, {f.real({2}), f.whole({}, {1}), f.real({4, 2}), f.real({4})});
         f.result(b.concat({b.reshape(y[0], {1, 2}), y[2]}, 0));
       }},
      {"scan",
       [](Function& f) {  // without what is carried, and a choice within
         ptir::Builder& b = f.b();
         const auto body = b.region("body", [&] {
           const Tensor x = b.parameter({DType::f64, {3}}), y = b.parameter({DType::f64, {3}});
           b.result(chosen(f, 0, x, y));
           b.result(y);
         });
         f.result(b.scan(body, 0, 2, {f.real({5, 3}), f.real({5, 3})})[0]);
       }},
      {"scan",
       [](Function& f) {  // only what is carried leaves; no step at all
         ptir::Builder& b = f.b();
         const auto body = b.region("body", [&] {
           const Tensor h = b.parameter({DType::f64, {}}), x = b.parameter({DType::f64, {}});
           b.result(h * x);
         });
         const Tensor none = b.slice(f.real({2}), {0}, {0});
         f.result(b.scan(body, 1, 0, {f.real({}), f.real({3})})[0] * b.scan(body, 1, 0, {f.real({}), none})[0]);
       }},
      {"top_k", [](Function& f) { f.result(f.b().top_k(f.real({2, 5}), 3, -1)[0]); }},
      {"segment_reduce",
       [](Function& f) { f.result(f.b().segment_reduce(0, f.real({5, 2}), f.whole({5}, {2, 0, 2, 2, 0}), 3)); }},
      {"segment_reduce",
       [](Function& f) { f.result(f.b().segment_reduce(1, f.real({5, 2}), f.whole({5}, {1, 0, 1, 1, 0}), 2)); }},
      {"dropout",
       [](Function& f) {
         const Tensor x = f.real({30});
         Vector<Tensor> y;
         f.graft().mode_step(
             "dropout", {&x, 1},
             std::array<ptir::Attribute, 3>{ptir::Attribute::real(0.4), ptir::Attribute::integer(7), {}},
             {&x.type(), 1}, y);
         const Tensor first = y[0];  // dropped twice, by the run's seed now
         f.graft().mode_step("dropout", {&first, 1}, std::array<ptir::Attribute, 3>{ptir::Attribute::real(0.2), {}, {}},
                             {&x.type(), 1}, y);
         f.result(y[1] * y[0]);
       }},
      {"dropout",
       [](Function& f) {  // of an element of a tuple
         const Tensor x = f.b().top_k(f.real({3, 7}), 4, -1)[0];
         Vector<Tensor> y;
         f.graft().mode_step(
             "dropout", {&x, 1},
             std::array<ptir::Attribute, 3>{ptir::Attribute::real(0.4), ptir::Attribute::integer(7), {}},
             {&x.type(), 1}, y);
         f.result(y[0] * x);
       }},
      {"batch_norm", [](Function& f) { f.result(batch_norm(f, {4, 3}, -1)[0]); }},
      {"batch_norm",
       [](Function& f) {  // the next mean and variance alone
         const Vector<Tensor> y = batch_norm(f, {3, 2, 2}, 1);
         f.result(f.b().concat({y[1], y[2]}, 0));
       }},
      {"batch_norm", [](Function& f) { f.result(batch_norm(f, {5, 2}, 1)[2]); }},
      {"batch_norm",
       [](Function& f) {  // all three; one value for each feature
         const Vector<Tensor> y = batch_norm(f, {2, 3, 2}, 1), one = batch_norm(f, {1, 3}, 1);
         f.result(y[0] * f.b().reshape(y[1] + one[2] + one[1], {1, 3, 1}) + f.b().reshape(y[2], {3, 1}));
       }},
  };
  return all;
}

/// The gradients times a direction, against the function along it, in three directions. Returns in how many the
/// function has no slope.
int expect_slopes(Function& f, const Case& c, bool training) {
  const auto both = f.run(true, 0, {}, training);
  EXPECT_GT(both.size(), 1u);
  int kinks = 0;
  for (int trial = 0; trial < 3 && both.size() > 1; ++trial) {
    const std::vector<double> v = f.direction();
    double found = 0, size = 1;
    std::size_t next = 0;
    for (std::size_t i = 1; i < both.size(); ++i)
      for (const double g : both[i]) {
        size += std::abs(g * v[next]);
        found += g * v[next++];
      }
    EXPECT_EQ(next, v.size());
    const auto along = [&](double h) {
      const auto out = f.run(false, h, v, training);
      EXPECT_FALSE(out.empty());
      return out.empty() ? 0.0 : out[0][0];
    };
    const Slope slope = judge_slope(found, along, c.h, c.tolerance * size, 1e-3 * size);
    EXPECT_NE(slope, Slope::wrong) << c.op << " in " << (training ? "training" : "evaluation") << ": " << found
                                   << " is not the slope in direction " << trial;
    kinks += slope == Slope::kink;
  }
  return kinks;
}

/// The outputs after the loss are these.
void expect_gradients(const std::vector<std::vector<double>>& outputs, const std::vector<std::vector<double>>& wanted) {
  ASSERT_EQ(outputs.size(), wanted.size() + 1);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(outputs[i + 1].size(), wanted[i].size());
    for (std::size_t e = 0; e < wanted[i].size(); ++e)
      EXPECT_NEAR(outputs[i + 1][e], wanted[i][e], 1e-14) << "element " << e << " of gradient " << i;
  }
}

/// The functions that the cases of ops bring.
template <class... O> void add_cases_of(boost::mp11::mp_list<O...>, std::vector<Case>& all) {
  const auto add = [&]<class Op>(std::type_identity<Op>) {
    if constexpr (requires(Function& f) { op_cases::OpCases<Op>::differentiate(f); })
      all.push_back({Op::name.data(), [](Function& f) { op_cases::OpCases<Op>::differentiate(f); }});
  };
  (add(std::type_identity<O>{}), ...);
}

TEST(Gradient, OfEveryOperationIsTheSlope) {
  std::set<std::string> seen;
  unsigned seed = 1;
  std::vector<Case> all = cases();
  add_cases_of(op_cases::CatalogWithCases{}, all);
  for (const Case& c : all) {
    SCOPED_TRACE(std::string(c.op) + " " + std::to_string(seed));
    seen.insert(c.op);
    Function f(seed++);
    c.build(f);
    f.finish();
    ASSERT_EQ(f.refused, "");
    EXPECT_EQ(expect_slopes(f, c, true), 0);
    if (fused::find_mode_op(c.op) != nullptr) {
      EXPECT_EQ(expect_slopes(f, c, false), 0);
    }
  }
  for (const gradient::GradientRule& row : gradient::kGradientRules)
    EXPECT_EQ(seen.contains(std::string(row.op)), row.passage == gradient::Passage::rule) << row.op;
}

// The values are those of PyTorch 1.13's autograd in f64, mean and variance in evaluation written out.
TEST(Gradient, OfBatchNormIsPyTorchs) {
  const auto gradients = [](bool training) {
    Function f(1);
    const std::array<Tensor, 5> in{f.real({3, 2}, {1, -2, 3, 0.5, 0.25, 4}), f.real({2}, {2, -0.5}),
                                   f.real({2}, {0.5, 1}), f.real({2}, {0.5, 1}), f.real({2}, {2, 0.75})};
    const Vector<Tensor> y = batch_norm(f, in, -1, 0.25, 0.25);
    if (training)
      f.result(f.b().concat({f.b().reshape(y[0], {6}), y[1], y[2]}, 0), {1, 2, -3, 0.5, 2, 1.5, 1, -2, 3, 0.5});
    else
      f.result(y[0], {1, 2, -3, 0.5, 2, 1.5});
    f.finish();
    EXPECT_EQ(f.refused, "");
    return f.run(true, 0, {}, training);
  };
  expect_gradients(gradients(false),
                   {{4.0 / 3, -1, -4, -0.25, 8.0 / 3, -0.75}, {-5, -1.75}, {0, 4}, {0, 2}, {20.0 / 9, -0.4375}});
  expect_gradients(gradients(true), {{0.32127268503764195, -0.6212689974454877, 0.4451743057768707,
                                      -0.03860144682065328, -0.5164469908145133, 0.15987044426614092},
                                     {-5.934424260562084, -0.43142015253998206},
                                     {0, 4},
                                     {0.75, -1.5},
                                     {2.25, 0.375}});
}

// In f16 the sum of these squares leaves the range of the type, and the statistics are f32's all the same.
TEST(Gradient, OfANarrowLayerNormIsThatOfItsWideStatistics) {
  const auto gradients = [](DType type) {
    Function f(7);
    const auto as = [&](const Tensor& x) { return type == DType::f64 ? x : f.b().cast(x, type); };
    const Tensor x = f.real({2, 768}, -40, 40), gamma = f.real({768}), beta = f.real({768});
    f.result(f.b().layer_norm(as(x), as(gamma), as(beta)));
    f.finish();
    EXPECT_EQ(f.refused, "");
    return f.run(true, 0, {});
  };
  const auto exact = gradients(DType::f64);
  for (const auto& [type, bound] : {std::pair(DType::f16, 2e-3), std::pair(DType::bf16, 2e-2)}) {
    const auto found = gradients(type);
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t i = 1; i < found.size(); ++i) {
      double most = 0;
      for (const double x : exact[i]) most = std::max(most, std::abs(x));
      ASSERT_GT(most, 0.01);
      for (std::size_t e = 0; e < found[i].size(); ++e)
        ASSERT_NEAR(found[i][e], exact[i][e], bound * most) << name(type) << ", element " << e << " of gradient " << i;
    }
  }
}

TEST(Gradient, OfScattersIsPyTorchs) {
  Function replace(1), add(2);
  const Tensor x = replace.real({2, 3}), u = replace.real({2, 2});
  replace.result(replace.b().scatter_reduce(3, x, replace.whole({2, 2}, {2, 0, 1, 2}), u, 1),
                 {1, 2, -3, 4, 0.5, -0.25});
  const Tensor to = add.real({3, 3}), windows = add.real({2, 2, 2});
  add.result(add.b().scatter_add(to, add.whole({2, 2}, {1, 0, 0, 1}), windows, {1, 2}, {}, {0, 1}, 1),
             {1, 2, 3, 4, 5, 6, 7, 8, 9});
  replace.finish();
  add.finish();
  expect_gradients(replace.run(true, 0, {}), {{0, 2, 0, 4, 0, 0}, {-3, 1, 0.5, -0.25}});
  expect_gradients(add.run(true, 0, {}), {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {4, 5, 7, 8, 2, 3, 5, 6}});
}

// What is equal shares: PyTorch 1.13's scatter_reduce of amax and amin with include_self.
TEST(Gradient, OfExtremesThatAreScatteredIsPyTorchs) {
  for (const std::uint64_t kind : {1u, 2u}) {
    const double sign = kind == 1 ? 1 : -1;
    const auto signed_of = [&](std::vector<double> numbers) {
      for (double& x : numbers) x *= sign;
      return numbers;
    };
    Function f(1);
    const Tensor x = f.real({2, 3}, signed_of({1, 5, 2, 0, 7, 3}));
    const Tensor u = f.real({2, 4}, signed_of({1, 5, 5, 4, 0, 8, 8, 3}));
    f.result(f.b().scatter_reduce(kind, x, f.whole({2, 4}, {0, 1, 1, 2, 0, 1, 1, 2}), u, 1), {1, 3, -3, 4, 0.5, -0.25});
    f.finish();
    EXPECT_EQ(f.refused, "");
    expect_gradients(f.run(true, 0, {}), {{0.5, 1, 0, 2, 0, -0.125}, {0.5, 1, 1, -3, 2, 0.25, 0.25, -0.125}});
  }
}

TEST(Gradient, OfRandomFunctionsIsTheSlope) {
  const char* more = std::getenv("ZRT_TEST_PROGRAMS");
  const unsigned count = more != nullptr ? static_cast<unsigned>(std::atoi(more)) : 20;
  int kinks = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    Function f(seed + 1000);
    RandomFunction(f, seed).make();
    f.finish();
    ASSERT_EQ(f.refused, "");
    const Case composed{"a random function", nullptr, 1e-6, 1e-6};
    kinks += expect_slopes(f, composed, true) + expect_slopes(f, composed, false);
  }
  // What is compared may be equal but for rounding, as x and 0.7 (x / 0.7) are.
  EXPECT_LE(kinks, static_cast<int>(6 * count / 100));
}

TEST(Gradient, OnlyWhereThereIsNoSlopeNoneIsAskedFor) {
  const auto judged = [](double found, auto f) { return judge_slope(found, f, 1e-6, 1e-6, 1e-3); };
  const auto sine = [](double x) { return std::sin(2 + x); };
  EXPECT_EQ(judged(std::cos(2.0), sine), Slope::right);
  EXPECT_EQ(judged(std::cos(2.0) + 2e-6, sine), Slope::wrong);
  EXPECT_EQ(judged(0, sine), Slope::wrong);
  const auto curved = [](double x) { return 3 * x + 1000 * x * x; };
  EXPECT_EQ(judged(3, curved), Slope::right);
  EXPECT_EQ(judged(-3, curved), Slope::wrong);
  // A kink within the longer step alone excuses nothing.
  const auto bent = [](double x) { return x < 4e-7 ? x : 5 * x - 1.6e-6; };
  EXPECT_EQ(judged(1, bent), Slope::right);
  EXPECT_EQ(judged(5, bent), Slope::wrong);
  const auto stepped = [](double x) { return x < -4e-7 ? x + 1 : x; };
  EXPECT_EQ(judged(1, stepped), Slope::right);
  EXPECT_EQ(judged(0, stepped), Slope::wrong);
  EXPECT_EQ(judged(1, [](double x) { return std::abs(x); }), Slope::kink);
  EXPECT_EQ(judged(1, [](double x) { return x < 0 ? x : x + 1; }), Slope::kink);
  EXPECT_EQ(judged(1, [](double x) { return std::nan("") * x; }), Slope::wrong);
}

TEST(Gradient, StopsAtWhatIsNoFunctionToDifferentiate) {
  Function f(1);
  const Tensor x = f.real({3}), y = f.real({3});
  f.result(x + f.b().stop_gradient(y * y) + f.b().cast(f.b().gt(y, x), DType::f64));
  f.finish();
  ASSERT_EQ(f.refused, "");
  const auto out = f.run(true, 0, {});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_NE(out[1], std::vector<double>(3));
  EXPECT_EQ(out[2], std::vector<double>(3));
}

TEST(Gradient, StopsWithinARegionToo) {
  Function f(1);
  ptir::Builder& b = f.b();
  const auto body = b.region("body", [&] {
    const Tensor h = b.parameter({DType::f64, {}}), x = b.parameter({DType::f64, {}});
    b.result(h + x * b.stop_gradient(x * h));
  });
  // h: 2, then 2 + 1 * 2 = 4, then 4 + -3 * -12 = 40
  f.result(b.scan(body, 1, 0, {f.real({}, std::vector<double>{2}), f.real({2}, {1, -3})})[0], {1});
  f.finish();
  ASSERT_EQ(f.refused, "");
  expect_gradients(f.run(true, 0, {}), {{1}, {2, -12}});
}

// Of a fold that gives another type than it takes, gradients are of the type that it takes.
TEST(Gradient, OfAFoldIntoAnotherTypeIsOfTheTypeThatIsFolded) {
  constexpr ptir::FoldTypes kNarrow{.result = DType::f32};
  const auto expect = [](const auto& fold, const std::vector<std::vector<double>>& wanted) {
    Function f(1);
    const Tensor x = f.real({2, 3}, {0.1, 0.4, -0.2, 0.8, 0.05, 0.8});  // none of f32's
    f.result(fold(f, x), {3, 5});
    f.finish();
    ASSERT_EQ(f.refused, "");
    expect_gradients(f.run(true, 0, {}), wanted);
  };
  const std::vector<double> of_sum{3, 3, 3, 5, 5, 5}, of_max{0, 3, 0, 2.5, 0, 2.5};
  constexpr std::array<std::int64_t, 2> kRow{1, 3};
  const ptir::Window rows{kRow, kOnes, kZeros, kZeros, kOnes, kOnes};
  expect([&](Function& f, const Tensor& x) { return f.b().reduce_sum(x, {1}, false, kNarrow); }, {of_sum});
  expect([&](Function& f, const Tensor& x) { return f.b().reduce_max(x, {1}, false, kNarrow); }, {of_max});
  expect([&](Function& f, const Tensor& x) { return f.b().reduce_window(0, x, rows, kNarrow); }, {of_sum});
  expect([&](Function& f, const Tensor& x) { return f.b().reduce_window(1, x, rows, kNarrow); }, {of_max});
  // Rows here are columns there, so that each id has elements of both.
  expect(
      [&](Function& f, const Tensor& x) {
        const Tensor ids = f.whole({3}, {0, 1, 0}), columns = f.b().transpose(x, {1, 0});
        const ptir::Attribute narrow = ptir::Attribute::dtype(DType::f32), sorted = ptir::Attribute::boolean(false);
        const std::array<Tensor, 2> in{columns, ids};
        const Tensor y = f.b().emit(
            "segment_reduce", in, {ptir::Attribute::choice(1), ptir::Attribute::integer(2), narrow, sorted, sorted})[0];
        return f.b().reduce_sum(y, {0});
      },
      {{3, 3, 0, 2.5, 5, 2.5}});
  expect([&](Function& f, const Tensor& x) { return f.b().dot(x, f.real({3}, {1, 2, -1}), kNarrow); },
         {{3, 6, -3, 5, 10, -5}, {4.3, 1.45, 3.4}});
}

TEST(Gradient, RefusesByNameWhatIsNotBuilt) {
  const auto refusal = [](const std::function<void(Function&)>& build) {
    Function f(1);
    build(f);
    f.finish();
    return f.refused;
  };
  const auto has = [](const std::string& text, std::string_view piece) {
    return text.find(piece) != std::string::npos;
  };
  const auto halves = [](Function& f, const Tensor& x) {
    ptir::Builder& b = f.b();
    const auto more = b.region("more", [&] {
      const Tensor p = b.parameter({DType::f64, {}});
      b.result(b.gt(p, b.scalar(DType::f64, 1)));
      b.result(p);
    });
    const auto half = b.region("half", [&] { b.result(b.parameter({DType::f64, {}}) * 0.5); });
    return b.while_loop(more, half, {x})[0];
  };
  std::string text = refusal([halves](Function& f) { f.result(halves(f, f.real({}))); });
  EXPECT_TRUE(has(text, "unimplemented") && has(text, "(while_loop)") && has(text, "only the run knows")) << text;
  // Within a region the step that holds it is named, and the op.
  text = refusal([halves](Function& f) {
    ptir::Builder& b = f.b();
    const auto body = b.region("body", [&] {
      const Tensor h = b.parameter({DType::f64, {}}), x = b.parameter({DType::f64, {}});
      b.result(halves(f, h * x));
    });
    f.result(b.scan(body, 1, 0, {f.real({}), f.real({3})})[0]);
  });
  EXPECT_TRUE(has(text, "unimplemented") && has(text, "(scan)") && has(text, "(while_loop)")) << text;
}

}  // namespace
}  // namespace gradient_test
