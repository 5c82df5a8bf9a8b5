// SPDX-License-Identifier: Apache-2.0
// tests/unit/gradient_refusals.cpp: training of what has no gradient, no elements, or sizes beyond all bounds ends in typed errors.
#include <zrt/ir/fused/json.hpp>
#include <zrt/ir/gradient/differentiate.hpp>
#include <zrt/ir/train/optimizer.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace gradient_refusals_test {
namespace {

using namespace zrt;
namespace fused = zrt::ir::fused;
namespace gradient = zrt::ir::gradient;
namespace ptir = zrt::ir::ptir;
namespace train = zrt::ir::train;
using ptir::Tensor;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFar = std::int64_t{1} << 40;

std::string told(const Error& error) { return std::string(name(error.code())) + ": " + std::string(error.text()); }

/// The sum of what `build` makes of feeds, differentiated with respect to the floats among them.
std::string outcome(const std::vector<ptir::TensorType>& feeds,
                    const std::function<Tensor(ptir::Builder&, const std::vector<Tensor>&)>& build) {
  const fused::FusedProgram nothing;
  fused::Graft forward(nothing, {});
  std::vector<Tensor> in;
  std::vector<fused::FeedType> types;
  std::vector<fused::ValueId> of;
  for (const ptir::TensorType& type : feeds) {
    in.push_back(forward.feed(type));
    types.push_back({forward.id_of(in.back()), type});
    if (is_float(type.dtype)) of.push_back(types.back().id);
  }
  const Tensor y = build(forward.builder(), in);
  gradient::Numbers axes;
  for (std::int64_t axis = 0; axis < y.rank(); ++axis) axes.append(axis);
  const Tensor loss = gradient::Expressions::sum(y, axes, false);
  forward.output("loss", loss);
  const fused::ValueId loss_id = forward.id_of(loss);
  const auto program = forward.finish();
  if (!program) return "no program: " + told(program.error());
  fused::Graft graft(*program, types);
  const auto found = gradient::differentiate(graft, loss_id, of);
  if (!found) return told(found.error());
  for (std::size_t i = 0; i < found->size(); ++i) graft.output(Name::of("g", static_cast<unsigned>(i)), (*found)[i]);
  const auto both = graft.finish();
  if (!both) return "no gradient: " + told(both.error());
  const auto made = fused::instantiate(*both, types, true);
  return made ? "gradients" : told(made.error());
}

TEST(GradientRefusals, SizesBeyondAllBoundsEndInErrors) {
  struct Case {
    const char* what;
    std::vector<ptir::TensorType> feeds;
    std::function<Tensor(ptir::Builder&, const std::vector<Tensor>&)> build;
    std::string_view outcome;
  };
  const ptir::TensorType none{DType::f64, {0, kFar, kFar}}, four{DType::f64, {4}}, one{DType::f64, {1}};
  const std::vector<Case> cases{
      {"a maximum over windows of a trillion elements",
       {four},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const std::array<std::int64_t, 1> wide{kFar}, ones{1}, zero{0};
         return b.reduce_window(1, in[0], {wide, ones, wide, zero, ones, ones});
       },
       "limit_exceeded: step 0 (reduce_window): reduce_window has a gradient for windows of at most 4096 elements, "
       "this one has more"},
      {"patches of a trillion elements",
       {{DType::f64, {1, 4, 1}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const std::array<std::int64_t, 1> wide{1 << 24}, ones{1}, zero{0};
         return b.extract_patches(in[0], {wide, ones, wide, zero, {}, ones});
       },
       "limit_exceeded: step 0 (extract_patches): extract_patches has a gradient for windows of at most 4096 elements, "
       "this one has more"},
      {"pads that overflow",
       {four},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const std::array<std::int64_t, 1> far{kMost / 2}, ones{1};
         return b.reduce_window(0, in[0], {ones, far, far, far, ones, ones});
       },
       "size_overflow: step 0 (reduce_window): reduce_window: on axis 0 the padded extent, the window or the places "
       "are beyond 62 bits"},
      {"the widest base dilation of one element",
       {one},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const std::array<std::int64_t, 1> far{kMost}, ones{1}, zero{0};
         return b.reduce_window(0, in[0], {ones, ones, zero, zero, far, far});
       },
       "gradients"},
      {"the widest base dilation of one element, max",
       {one},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const std::array<std::int64_t, 1> far{kMost}, ones{1}, zero{0};
         return b.reduce_window(1, in[0], {ones, far, zero, zero, far, far});
       },
       "gradients"},
      {"holes between one element",
       {one},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         return b.pad(in[0], {0}, {0}, {kMost}, b.scalar(DType::f64, 0));
       },
       "gradients"},
      {"nothing, tiled",
       {none},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.tile(in[0], {2, 2, 2}); },
       "gradients"},
      {"nothing, stretched",
       {{DType::f64, {0, 1, 1}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.broadcast_to(in[0], {0, kFar, kFar}); },
       "gradients"},
      {"nothing scattered by elements",
       {{DType::f64, {0, kFar, kFar}}, {DType::si64, {0, 3}}, {DType::f64, {0}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         return b.scatter_add(in[0], in[1], in[2], {}, {0, 1, 2}, {0, 1, 2}, 1);
       },
       "gradients"},
      {"something, tiled until it is wide",
       {one},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.tile(in[0], {kFar}); },
       "gradients"},
      {"one element of a wide table",
       {{DType::f64, {kFar, 1 << 19}}, {DType::si64, {1, 2}}, {DType::f64, {1}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         return b.scatter_add(in[0], in[1], in[2], {}, {0, 1}, {0, 1}, 1);
       },
       "gradients"},
      {"nothing, taken",
       {{DType::f64, {3, 0}}, {DType::si64, {0}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.take(in[0], in[1]); },
       "gradients"},
      {"the best of nothing",
       {{DType::f64, {3, 0}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.top_k(in[0], 0)[0]; },
       "gradients"},
      {"sorted by nothing",
       {{DType::f64, {3, 2}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.top_k(in[0], 0)[0]; },
       "gradients"},
      {"segments of nothing",
       {{DType::f64, {0, 2}}, {DType::si64, {0}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.segment_reduce(1, in[0], in[1], 0); },
       "gradients"},
      {"a norm of nothing",
       {{DType::f64, {3, 0}}, {DType::f64, {0}}, {DType::f64, {0}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.layer_norm(in[0], in[1], in[2]); },
       "gradients"},
      {"a contraction over nothing",
       {{DType::f64, {3, 0}}, {DType::f64, {0, 2}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.dot(in[0], in[1]); },
       "gradients"},
      {"nothing in windows",
       {{DType::f64, {0, 4}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const std::array<std::int64_t, 2> two{1, 2}, ones{1, 1}, zero{0, 0};
         return b.reduce_window(1, in[0], {two, ones, zero, zero, ones, ones});
       },
       "gradients"},
      {"a part of nothing",
       {{DType::f64, {0, kFar, kFar}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         return b.slice(in[0], {0, 5, kFar - 1}, {0, kFar - 5, 1});
       },
       "gradients"},
      {"nothing joined to something",
       {{DType::f64, {0, 3}}, {DType::f64, {2, 3}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.concat({in[0], in[1]}, 0); },
       "gradients"},
      {"a scan over nothing that is wide",
       {{DType::f64, {}}, {DType::f64, {0, kFar}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const auto body = b.region("body", [&] {
           const Tensor h = b.parameter({DType::f64, {}}), x = b.parameter({DType::f64, {kFar}});
           b.result(h * b.reduce_max(x, {0}));
         });
         return b.scan(body, 1, 0, {in[0], in[1]})[0];
       },
       "gradients"},
      {"a scan without operands",
       {{DType::f64, {}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const auto body = b.region("body", [&] { b.result(b.parameter({DType::f64, {}}) * 2.0); });
         return b.scan(body, 1, 0, {in[0]})[0];
       },
       "no program: invalid_params: region @0, %1: scan: carry_count is 1, expected less than the 1 operands"},
      {"rows of a scan whose types are open",
       {{DType::f64, {}}, {DType::f64, {3, 2}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         const auto body = b.region("body", [&] {
           const Tensor h = b.parameter({DType::f64, {}}), x = b.parameter({DType::f64, {b.dim("N")}});
           b.result(h + b.reduce_max(x, {0}));
         });
         return b.scan(body, 1, 0, {in[0], in[1]})[0];
       },
       "gradients"},
      {"a call that the host defines",
       {four},
       [](ptir::Builder& b, const std::vector<Tensor>& in) {
         return b.custom_call("host.twice.v1", {in[0]}, {}, {{DType::f64, {4}}}, false)[0];
       },
       "unimplemented: step 0 (custom_call): it has no gradient: custom targets state none"},
      {"whole numbers alone",
       {{DType::si64, {4}}},
       [](ptir::Builder& b, const std::vector<Tensor>& in) { return b.cast(in[0], DType::f64); },
       "gradients"},
      {"complex numbers",
       {{DType::cf64, {4}}},
       [](ptir::Builder&, const std::vector<Tensor>& in) { return in[0]; },
       "shape_mismatch: the loss, value 1, is not one float"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(outcome(c.feeds, c.build), c.outcome) << c.what;
  }
}

/// A model of two feeds, w and x, whose loss is the sum of w x; value 7 is their product.
constexpr std::string_view kModel = R"({"version":1,"feeds":[0,1,5],"steps":[
{"step_id":0,"op_name":"elementwise_binary","input_ids":[0,1],"attrs":{"op":"mul"},"result_id":7,"mode_sensitive":false},
{"step_id":1,"op_name":"reduce","input_ids":[7],"attrs":{"kind":"sum","axes":[0],"keepdims":false},"result_id":8,"mode_sensitive":false}],
"outputs":{"loss":8}})";
const ptir::TensorType kVector{DType::f32, {3}};

class Model {
 public:
  explicit Model(const ptir::TensorType& third = {DType::si32, {3}})
      : program_(parsed()), types_{{0, kVector}, {1, kVector}, {5, third}}, graft_(program_, types_) {}

  fused::Graft& graft() { return graft_; }
  std::string differentiate(fused::ValueId loss, const std::vector<fused::ValueId>& of) {
    const auto found = gradient::differentiate(graft_, loss, of);
    return found ? std::to_string(found->size()) : told(found.error());
  }
  template <class O = train::AdamW>
  std::string update(const std::vector<fused::ValueId>& parameters, const std::vector<Tensor>& gradients,
                     const std::optional<Tensor>& rate = {}, const O& optimizer = {}) {
    const auto slots = train::update(graft_, optimizer, parameters, gradients, rate);
    if (!slots) return told(slots.error());
    const auto made = graft_.finish();
    return made ? std::to_string(slots->size()) + " slots" : "no program: " + told(made.error());
  }

 private:
  static fused::FusedProgram parsed() {
    auto program = fused::parse_json(kModel);
    EXPECT_TRUE(program) << program.error().text();
    return program ? std::move(*program) : fused::FusedProgram();
  }
  fused::FusedProgram program_;
  std::vector<fused::FeedType> types_;
  fused::Graft graft_;
};

TEST(GradientRefusals, LossesAndValuesThatHaveNone) {
  EXPECT_EQ(Model().differentiate(8, {0, 1, 7, 8}), "4");
  EXPECT_EQ(Model().differentiate(8, {}), "0");
  EXPECT_EQ(Model().differentiate(8, {0, 0, 0}), "3");
  EXPECT_EQ(Model().differentiate(7, {0}), "shape_mismatch: the loss, value 7, is not one float");
  EXPECT_EQ(Model().differentiate(5, {0}), "shape_mismatch: the loss, value 5, is not one float");
  EXPECT_EQ(Model().differentiate(8, {5}), "dtype_mismatch: value 5 is si32, which has no gradient");
  EXPECT_EQ(Model().differentiate(8, {0, 99}), "dangling_value: value 99 is given by nothing");
  EXPECT_EQ(Model().differentiate(99, {0}), "dangling_value: value 99 is given by nothing");
  // A graft whose feeds are wrong says so whatever is asked of it.
  EXPECT_EQ(Model({DType::f32, {ptir::Dim::any()}}).differentiate(8, {0}),
            "unimplemented: value 5 has a dynamic extent, expected constants");
}

TEST(GradientRefusals, UpdatesOfWhatIsNoParameter) {
  const auto ones = [](Model& m, const ptir::TensorType& type) {
    return gradient::Expressions::zeros(m.graft().builder(), type);
  };
  const auto refused = [&](const std::vector<fused::ValueId>& parameters,
                           const std::vector<ptir::TensorType>& gradients,
                           const std::optional<ptir::TensorType>& rate = {}) {
    Model m;
    std::vector<Tensor> given;
    for (const ptir::TensorType& type : gradients) given.push_back(ones(m, type));
    return m.update(parameters, given, rate ? std::optional(ones(m, *rate)) : std::nullopt);
  };
  const ptir::TensorType scalar{DType::f32, {}};
  EXPECT_EQ(refused({0, 1}, {kVector, kVector}, scalar), "6 slots");
  EXPECT_EQ(refused({0}, {kVector, kVector}), "invalid_argument: 1 parameters have 2 gradients");
  EXPECT_EQ(refused({0}, {scalar}), "shape_mismatch: the gradient of parameter 0 is f32[], expected f32[3]");
  EXPECT_EQ(refused({0}, {{DType::f64, {3}}}),
            "dtype_mismatch: the gradient of parameter 0 is f64[3], expected f32[3]");
  EXPECT_EQ(refused({5}, {{DType::si32, {3}}}), "dtype_mismatch: parameter 5 is si32, expected a float");
  EXPECT_EQ(refused({0, 5}, {kVector, kVector}), "dtype_mismatch: parameter 5 is si32, expected a float");
  EXPECT_EQ(refused({7}, {kVector}), "invalid_argument: parameter 7 is no feed");
  EXPECT_EQ(refused({1, 1}, {kVector, kVector}), "invalid_argument: parameter 1 is given twice");
  EXPECT_EQ(refused({99}, {kVector}), "dangling_value: value 99 is given by nothing");
  EXPECT_EQ(refused({0}, {kVector}, kVector), "shape_mismatch: the rate is f32[3], expected f32[]");
  EXPECT_EQ(refused({0}, {kVector}, ptir::TensorType{DType::f64, {}}),
            "dtype_mismatch: the rate is f64[], expected f32[]");
}

TEST(GradientRefusals, NumbersThatNoOptimizerHas) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const auto refused = [](const auto& optimizer) {
    Model m;
    return m.update({0}, {gradient::Expressions::zeros(m.graft().builder(), kVector)}, {}, optimizer);
  };
  EXPECT_EQ(refused(train::Sgd{.rate = 0}), "0 slots");
  EXPECT_EQ(refused(train::Sgd{.rate = nan}), "invalid_argument: rate is no finite number, expected one of 0 or more");
  EXPECT_EQ(refused(train::Sgd{.momentum = -0.5}), "invalid_argument: momentum is below 0, expected one of 0 or more");
  EXPECT_EQ(refused(train::Adam{.weight_decay = infinity}),
            "invalid_argument: weight_decay is no finite number, expected one of 0 or more");
  EXPECT_EQ(refused(train::Adam{.beta1 = 1}), "invalid_argument: beta1 is 1 or more, expected less");
  EXPECT_EQ(refused(train::AdamW{.beta2 = nan}),
            "invalid_argument: beta2 is no finite number, expected one of 0 or more");
  EXPECT_EQ(refused(train::AdamW{.epsilon = -1e-8}), "invalid_argument: epsilon is below 0, expected one of 0 or more");
}

}  // namespace
}  // namespace gradient_refusals_test
