// SPDX-License-Identifier: Apache-2.0
// tests/support/gradient_function.hpp: a function of tensors, its gradient, and both at points nearby.
#pragma once

#include <zrt/ir/gradient/differentiate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <support/run_program.hpp>
#include <vector>

namespace zrt::test {

namespace fused = zrt::ir::fused;
namespace gradient = zrt::ir::gradient;
namespace ptir = zrt::ir::ptir;

/// A function of random f64 tensors, built as a fused program whose one output is a weighted sum.
class GradientFunction {
 public:
  using Tensor = ptir::Tensor;

  explicit GradientFunction(unsigned seed) : random_(seed), graft_(empty_, {}) {}

  ptir::Builder& b() { return graft_.builder(); }
  fused::Graft& graft() { return graft_; }
  double number(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  /// An input that gradients are asked of.
  Tensor real(const ptir::Shape& shape, double low = -2, double high = 2) {
    reals_.push_back(feeds_.size());
    return fixed(shape, low, high);
  }
  Tensor fixed(const ptir::Shape& shape, double low, double high) {
    std::vector<double> values(static_cast<std::size_t>(shape.constant_elements().raw()));
    for (double& x : values) x = number(low, high);
    return feed({DType::f64, shape}, std::as_bytes(std::span(values)));
  }
  /// An input of these values, whose gradient is asked for.
  Tensor real(const ptir::Shape& shape, const std::vector<double>& values) {
    reals_.push_back(feeds_.size());
    return feed({DType::f64, shape}, std::as_bytes(std::span(values)));
  }
  Tensor whole(const ptir::Shape& shape, const std::vector<std::int64_t>& values) {
    return feed({DType::si64, shape}, std::as_bytes(std::span(values)));
  }
  /// The output: the sum of `y` times a number for each element.
  void result(const Tensor& y) {
    std::vector<double> weights(static_cast<std::size_t>(y.shape().constant_elements().raw()));
    for (double& w : weights) w = number(-1, 1);
    result(y, weights);
  }
  /// The output: the sum of `y` times these.
  void result(const Tensor& y, const std::vector<double>& weights) {
    const Tensor w = b().constant({DType::f64, y.shape()}, std::as_bytes(std::span(weights)));
    const Tensor weighted = (y.dtype() == DType::f64 ? y : b().cast(y, DType::f64)) * w;
    gradient::Numbers axes;
    for (std::int64_t axis = 0; axis < y.rank(); ++axis) axes.append(axis);
    const Tensor sum = gradient::Expressions::sum(weighted, axes, false);
    loss_ = graft_.id_of(sum);
    graft_.output("loss", sum);
  }

  /// The program, then the same with the gradients of the real inputs as outputs.
  void finish() {
    auto made = graft_.finish();
    ASSERT_TRUE(made) << made.error().text();
    forward_ = std::move(*made);
    fused::Graft back(forward_, types());
    std::vector<fused::ValueId> of;
    for (const std::size_t i : reals_) of.push_back(feeds_[i].id);
    const auto found = gradient::differentiate(back, loss_, of);
    refused =
        found ? std::string() : std::string(name(found.error().code())) + ": " + std::string(found.error().text());
    if (!found) return;
    for (std::size_t i = 0; i < found->size(); ++i) {
      EXPECT_TRUE((*found)[i].type() == feeds_[reals_[i]].type);
      back.output(Name::of("gradient", static_cast<unsigned>(i)), (*found)[i]);
    }
    auto both = back.finish();
    ASSERT_TRUE(both) << both.error().text();
    backward_ = std::move(*both);
  }
  /// The outputs of the program or of that with gradients, the reals moved by `h` along `direction`.
  std::vector<std::vector<double>> run(bool gradients, double h, const std::vector<double>& direction,
                                       bool training = true) {
    std::vector<HostValue> inputs;
    std::size_t next = 0;
    for (std::size_t i = 0; i < feeds_.size(); ++i) {
      TensorType type{feeds_[i].type.dtype, {}};
      for (const ptir::Dim dim : feeds_[i].type.shape.view())
        type.shape = type.shape.appended(static_cast<std::uint32_t>(dim.constant()));
      inputs.push_back({type, data_[i]});
      if (h == 0 || std::find(reals_.begin(), reals_.end(), i) == reals_.end()) continue;
      for (std::size_t e = 0; e < data_[i].size(); e += sizeof(double)) {
        double x = 0;
        std::memcpy(&x, data_[i].data() + e, sizeof x);
        x += h * direction[next++];
        std::memcpy(inputs.back().bytes.data() + e, &x, sizeof x);
      }
    }
    const auto program = fused::instantiate(gradients ? backward_ : forward_, types(), training);
    EXPECT_TRUE(program) << program.error().text();
    if (!program) return {};
    if (program->regions[0].parameters.size() > inputs.size())
      inputs.push_back({{DType::si64, {}}, std::vector<std::byte>(8, std::byte{3})});
    const ProgramRun ran = run_program(*program, inputs, 1, 1000, false);
    EXPECT_FALSE(ran.refused) << ran.refused->text();
    EXPECT_FALSE(ran.failed) << ran.failed->text();
    std::vector<std::vector<double>> out;
    for (const HostValue& value : ran.outputs) {
      out.emplace_back(value.bytes.size() / sizeof(double));
      if (!value.bytes.empty()) std::memcpy(out.back().data(), value.bytes.data(), value.bytes.size());
    }
    return out;
  }
  std::vector<double> direction() {
    std::vector<double> made;
    for (const std::size_t i : reals_)
      for (std::size_t e = 0; e < data_[i].size(); e += sizeof(double)) made.push_back(number(-1, 1));
    return made;
  }

  std::string refused{};  ///< why there is no gradient

 private:
  Tensor feed(const ptir::TensorType& type, std::span<const std::byte> bytes) {
    const Tensor made = graft_.feed(type);
    feeds_.push_back({graft_.id_of(made), type});
    data_.emplace_back(bytes.begin(), bytes.end());
    return made;
  }
  std::span<const fused::FeedType> types() const { return feeds_; }

  std::mt19937 random_;
  fused::FusedProgram empty_, forward_, backward_;
  fused::Graft graft_;
  fused::ValueId loss_ = 0;
  std::vector<fused::FeedType> feeds_;
  std::vector<std::vector<std::byte>> data_;
  std::vector<std::size_t> reals_;
};

}  // namespace zrt::test
