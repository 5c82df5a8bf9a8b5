// SPDX-License-Identifier: Apache-2.0
// examples/train/byte_transformer.hpp: a transformer over bytes with its loss, as a fused program that trains itself.
#pragma once

#include <zrt/ir/gradient/differentiate.hpp>
#include <zrt/ir/train/optimizer.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace example {

namespace fused = zrt::ir::fused;
using zrt::DType;
using zrt::ir::ptir::Shape;
using zrt::ir::ptir::Tensor;

struct TransformerSizes {
  std::int64_t batch = 8, length = 64, width = 64, heads = 4, layers = 2;
  double dropout = 0;
};

/// Numbers that a Python script draws as well: splitmix64, counted from `seed`.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [-scale, scale).
  float real(float scale) { return (static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f) * scale; }

 private:
  std::uint64_t state_;
};

/// A feed of the program: a parameter, or state of the optimizer, with its first value.
struct Variable {
  fused::FeedType feed;
  std::vector<float> data;
};

/// Program, feeds and outputs: `loss`, `logits`, and then the variables after the step.
struct Transformer {
  TransformerSizes sizes{};
  fused::FusedProgram program{};
  fused::FeedType tokens{}, targets{};
  std::vector<Variable> variables{};  ///< first the parameters
};

/// Builds the model; a block is x + attention(norm(x)), then x + mlp(norm(x)).
class TransformerBuilder {
 public:
  TransformerBuilder(const TransformerSizes& sizes, std::uint64_t seed) : s_(sizes), draws_(seed), graft_(empty_, {}) {}

  zrt::Result<Transformer> build(const zrt::ir::train::AdamW* optimizer) {
    zrt::ir::ptir::Builder& b = graft_.builder();
    const Shape places{s_.batch, s_.length};
    const Tensor tokens = graft_.feed({DType::si32, places}), targets = graft_.feed({DType::si32, places});
    made_.tokens = {graft_.id_of(tokens), tokens.type()};
    made_.targets = {graft_.id_of(targets), targets.type()};
    // Each parameter in a statement of its own, since the order of draws counts.
    const Tensor embedding = parameter({256, s_.width}, 0.1f);
    const Tensor position = parameter({s_.length, s_.width}, 0.1f);
    Tensor x = b.take(embedding, tokens) + position;
    x = dropout(x);
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      x = x + dropout(attention(norm(x)));
      const Tensor wide = project(norm(x), 4 * s_.width);
      const Tensor gelu = wide * 0.5 * (b.erf(wide * 0x1.6a09e667f3bcdp-1) + 1.0);
      x = x + dropout(project(gelu, s_.width));
    }
    const Tensor logits = project(norm(x), 256);
    // Cross-entropy; the greatest logit only keeps exp small.
    const Tensor shifted = logits - b.stop_gradient(b.reduce_max(logits, {-1}, true));
    const Tensor chosen = b.gather(shifted, b.reshape(targets, {s_.batch, s_.length, 1}), -1);
    const Tensor losses = b.log(b.reduce_sum(b.exp(shifted), {-1}, true)) - chosen;
    const Tensor loss = b.reduce_sum(losses, {0, 1, 2}) / static_cast<double>(s_.batch * s_.length);
    graft_.output("loss", loss);
    graft_.output("logits", logits);
    const fused::ValueId loss_id = graft_.id_of(loss);
    auto program = graft_.finish();
    if (!program) return zrt::pass(program);
    made_.sizes = s_;
    made_.program = std::move(*program);
    if (optimizer != nullptr)
      if (auto r = train(*optimizer, loss_id); !r) return zrt::pass(r);
    return std::move(made_);
  }

 private:
  Tensor variable(const Shape& shape, auto&& value) {
    const Tensor made = graft_.feed({DType::f32, shape});
    made_.variables.push_back({{graft_.id_of(made), made.type()}, {}});
    std::vector<float>& data = made_.variables.back().data;
    data.resize(static_cast<std::size_t>(shape.constant_elements().raw()));
    for (float& number : data) number = value();
    return made;
  }
  Tensor parameter(const Shape& shape, float scale) {
    return variable(shape, [&] { return draws_.real(scale); });
  }
  Tensor project(const Tensor& x, std::int64_t cols) {
    const auto rows = static_cast<std::int64_t>(x.shape()[x.shape().size() - 1].constant());
    return graft_.builder().dot(x, parameter({rows, cols}, 1.0f / std::sqrt(static_cast<float>(rows))));
  }
  Tensor norm(const Tensor& x) {
    const Tensor gamma = variable({s_.width}, [] { return 1.0f; }), beta = variable({s_.width}, [] { return 0.0f; });
    return graft_.builder().layer_norm(x, gamma, beta);
  }
  Tensor dropout(const Tensor& x) {
    if (s_.dropout == 0) return x;
    const std::array<zrt::ir::ptir::Attribute, 3> attributes{zrt::ir::ptir::Attribute::real(s_.dropout), {}, {}};
    zrt::Vector<Tensor> given;
    graft_.mode_step("dropout", {&x, 1}, attributes, {&x.type(), 1}, given);
    return given[0];
  }
  Tensor attention(const Tensor& x) {
    zrt::ir::ptir::Builder& b = graft_.builder();
    const Shape split{s_.batch, s_.length, s_.heads, s_.width / s_.heads}, square{s_.length, s_.length};
    const auto heads = [&] { return b.reshape(project(x, s_.width), split); };
    const Tensor q = heads(), k = heads(), v = heads();
    const Tensor scores =
        b.dot_general(q, k, {.batch_lhs = {0, 2}, .batch_rhs = {0, 2}, .contract_lhs = {3}, .contract_rhs = {3}}) *
        (1.0 / std::sqrt(static_cast<double>(s_.width / s_.heads)));
    const Tensor seen = b.ge(b.iota(square, DType::si32, 0), b.iota(square, DType::si32, 1));
    const Tensor mask = b.select(seen, b.scalar(DType::f32, 0), b.scalar(DType::f32, -1e30));
    const Tensor mixed =
        b.dot_general(b.softmax(scores + mask), v,
                      {.batch_lhs = {0, 1}, .batch_rhs = {0, 2}, .contract_lhs = {3}, .contract_rhs = {1}});
    const Tensor joined = b.reshape(b.transpose(mixed, {0, 2, 1, 3}), {s_.batch, s_.length, s_.width});
    return project(joined, s_.width);
  }
  /// Adds gradients and optimizer; the parameters become states.
  zrt::Result<void> train(const zrt::ir::train::AdamW& optimizer, fused::ValueId loss) {
    std::vector<fused::FeedType> feeds{made_.tokens, made_.targets};
    std::vector<fused::ValueId> parameters;
    for (const Variable& v : made_.variables) {
      feeds.push_back(v.feed);
      parameters.push_back(v.feed.id);
    }
    fused::Graft graft(made_.program, feeds);
    const auto gradients = zrt::ir::gradient::differentiate(graft, loss, parameters);
    if (!gradients) return zrt::pass(gradients);
    const auto slots = zrt::ir::train::update(graft, optimizer, parameters, gradients->span());
    if (!slots) return zrt::pass(slots);
    for (const auto& slot : *slots) {
      const auto count = static_cast<std::size_t>(slot.type.shape.constant_elements().raw());
      made_.variables.push_back({{slot.id, slot.type}, std::vector<float>(count)});
    }
    auto program = graft.finish();
    if (!program) return zrt::pass(program);
    made_.program = std::move(*program);
    return {};
  }

  TransformerSizes s_;
  Draws draws_;
  fused::FusedProgram empty_;
  fused::Graft graft_;
  Transformer made_;
};

}  // namespace example
