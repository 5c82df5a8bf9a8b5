// SPDX-License-Identifier: Apache-2.0
// tests/support/random_function.hpp: random functions of tensors, composed of the operations that have gradients.
#pragma once

#include <random>
#include <support/gradient_function.hpp>
#include <vector>

namespace zrt::test {

/// Builds functions of a few inputs by three to ten operations, each of which takes results of those before it.
/// What may grow is squashed, so that differences are exact enough; every value is part of the function.
class RandomFunction {
 public:
  RandomFunction(GradientFunction& f, unsigned seed) : f_(f), b_(f.b()), random_(seed) {}

  void make() {
    for (std::size_t inputs = 2 + pick(3); inputs > 0; --inputs) values_.push_back(f_.real(any_shape()));
    for (std::size_t steps = 3 + pick(8); steps > 0; --steps) values_.push_back(step());
    Tensor all = flat(values_[0]);
    for (std::size_t i = 1; i < values_.size(); ++i) all = b_.concat({all, flat(values_[i])}, 0);
    f_.result(b_.tanh(all));
  }

 private:
  using Tensor = ptir::Tensor;
  using Shape = ptir::Shape;
  using Attribute = ptir::Attribute;

  [[nodiscard]] std::size_t pick(std::size_t count) { return random_() % count; }
  [[nodiscard]] bool coin() { return pick(2) == 0; }
  [[nodiscard]] Shape any_shape() {
    static const std::array<Shape, 7> shapes{Shape{2, 3}, {3}, {3, 2}, {2, 2, 3}, {}, {1, 3}, {4}};
    return shapes[pick(shapes.size())];
  }
  [[nodiscard]] static std::int64_t extent(const Tensor& x, std::int64_t axis) {
    return static_cast<std::int64_t>(x.shape()[static_cast<std::size_t>(axis)].constant());
  }
  [[nodiscard]] static std::uint64_t elements(const Tensor& x) { return x.shape().constant_elements().raw(); }
  [[nodiscard]] Tensor flat(const Tensor& x) { return b_.reshape(x, {-1}); }
  /// x behind an axis of two.
  [[nodiscard]] Tensor doubled(const Tensor& x) {
    Shape shape{2};
    for (const ptir::Dim dim : x.shape().view()) shape.append(dim);
    return b_.broadcast_to(x, shape);
  }

  /// A value, more often one of the last three.
  [[nodiscard]] Tensor any() {
    const std::size_t count = values_.size();
    return values_[pick(3) == 0 ? pick(count) : count - 1 - pick(std::min<std::size_t>(3, count))];
  }
  /// A value of at least this rank.
  [[nodiscard]] Tensor of_rank(std::int64_t least) {
    for (int attempt = 0; attempt < 40; ++attempt)
      if (const Tensor x = any(); x.rank() >= least) return x;
    return values_.emplace_back(f_.real({2, 3}));
  }
  /// A value of the shape of x, x itself at times.
  [[nodiscard]] Tensor like(const Tensor& x) {
    std::vector<Tensor> fit;
    for (const Tensor& y : values_)
      if (y.shape() == x.shape()) fit.push_back(y);
    return fit.size() > 1 ? fit[pick(fit.size())] : f_.real(x.shape());
  }

  [[nodiscard]] Tensor step() {
    switch (pick(26)) {
      case 0:
        return b_.exp(b_.tanh(any()));
      case 1:
        return b_.log(positive(any()));
      case 2:
        return b_.erf(any());
      case 3:
        return b_.rsqrt(positive(any()));
      case 4:
        return b_.reciprocal(positive(any()));
      case 5: {
        const Tensor x = any();
        return b_.tanh(x * like(x));
      }
      case 6: {
        const Tensor x = any();
        return x / positive(like(x));
      }
      case 7: {
        const Tensor x = any(), y = like(x);
        return coin() ? b_.maximum(x, y) : b_.minimum(x, y);
      }
      case 8: {
        const Tensor x = any(), y = like(x);
        return b_.select(b_.lt(x, y * 0.7), b_.tanh(x) * y, x - y);
      }
      case 9:
        return b_.reduce_sum(of_rank(1), {-1}, coin());
      case 10:
        return coin() ? b_.reduce_max(of_rank(1), {0}, coin()) : b_.reduce_min(of_rank(1), {-1}, coin());
      case 11: {
        const Tensor x = of_rank(2);
        return b_.tanh(b_.dot(x, f_.real({extent(x, x.rank() - 1), 3})));
      }
      case 12:
        return flat(any());
      case 13: {
        const Tensor x = of_rank(2);
        if (x.rank() > 3) return x * 2.0;
        return x.rank() == 2 ? b_.transpose(x, {1, 0}) : b_.transpose(x, {2, 0, 1});
      }
      case 14: {
        const Tensor x = of_rank(1);
        return elements(x) > 20 ? b_.tanh(x) : b_.concat({x, like(x), x}, -1);
      }
      case 15: {
        const Tensor x = any();
        return x.rank() > 3 || elements(x) > 30 ? x * 2.0 : doubled(x);
      }
      case 16: {
        const Tensor x = of_rank(1);
        const auto row = [&] { return static_cast<std::int64_t>(pick(static_cast<std::size_t>(extent(x, 0)))); };
        return b_.take(x, f_.whole({3}, {0, row(), row()}));
      }
      case 17: {
        const Tensor x = of_rank(1);
        const std::int64_t most = extent(x, x.rank() - 1);
        return b_.top_k(x, 1 + static_cast<std::int64_t>(pick(static_cast<std::size_t>(most))), -1, coin())[0];
      }
      case 18: {
        const Tensor x = of_rank(1);
        const Shape features{extent(x, x.rank() - 1)};
        return b_.layer_norm(x, f_.real(features), f_.real(features), 0.3);
      }
      case 19: {
        const Tensor x = any();
        return b_.clamp(x, x * 0.5 - 0.7, x * x + 0.3);
      }
      case 20:
        return branches();
      case 21:
        return recurrence();
      case 22:
        return dropout();
      case 23:
        return batch_norm();
      case 24:
        return scatter();
      default: {
        const Tensor x = any();
        return b_.tanh(x) * x;
      }
    }
  }
  [[nodiscard]] Tensor positive(const Tensor& x) { return x * x + 0.5; }

  [[nodiscard]] Tensor branches() {
    const Tensor x = any(), y = like(x);
    const auto on_true = b_.region("on_true", [&] {
      const Tensor p = b_.parameter(x.type()), q = b_.parameter(y.type());
      b_.result(p * q + b_.tanh(p));
      b_.result(q);
    });
    const auto on_false = b_.region("on_false", [&] {
      const Tensor p = b_.parameter(x.type()), q = b_.parameter(y.type());
      b_.result(q * q * q);
      b_.result(p);
    });
    const ptir::Results made = b_.cond(b_.constant(coin()), on_true, on_false, {x, y});
    return b_.tanh(made[0] * 2.0 + made[1]);
  }
  /// h = tanh(h z + x) over the rows of a value; what is stacked or what is left.
  [[nodiscard]] Tensor recurrence() {
    const Tensor x = of_rank(1);
    Shape row;
    for (std::int64_t axis = 1; axis < x.rank(); ++axis) row.append(x.shape()[static_cast<std::size_t>(axis)]);
    const auto body = b_.region("body", [&] {
      const Tensor h = b_.parameter({DType::f64, row}), z = b_.parameter({DType::f64, {}});
      const Tensor each = b_.parameter({DType::f64, row});
      b_.result(b_.tanh(h * z + each));
      b_.result(z);
      b_.result(h * each);
    });
    const ptir::Results made = b_.scan(body, 2, 1, {f_.real(row), f_.real({}), x});
    if (coin()) values_.push_back(made[coin() ? 0 : 2]);
    return made[coin() ? 0 : 2];
  }
  [[nodiscard]] Tensor dropout() {
    const Tensor x = any();
    const Attribute seed = coin() ? Attribute::integer(static_cast<std::int64_t>(pick(100))) : Attribute{};
    Vector<Tensor> made;
    f_.graft().mode_step("dropout", {&x, 1}, std::array<Attribute, 3>{Attribute::real(0.3), seed, {}}, {&x.type(), 1},
                         made);
    return made[0];
  }
  [[nodiscard]] Tensor batch_norm() {
    const Tensor x = of_rank(2);
    const Shape features{extent(x, x.rank() - 1)};
    const std::array<Tensor, 5> in{x, f_.real(features), f_.real(features), f_.real(features, -1, 1),
                                   f_.real(features, 0.5, 2)};
    const std::array<ptir::TensorType, 3> types{x.type(), in[3].type(), in[4].type()};
    Vector<Tensor> made;
    f_.graft().mode_step("batch_norm", in,
                         std::array<Attribute, 3>{Attribute::integer(-1), Attribute::real(0.3), Attribute::real(0.1)},
                         types, made);
    return b_.tanh(made[0]);
  }
  [[nodiscard]] Tensor scatter() {
    const Tensor x = of_rank(2);
    if (x.rank() != 2) return b_.tanh(x);
    std::vector<std::int64_t> columns(static_cast<std::size_t>(elements(x)));
    for (std::int64_t& c : columns) c = static_cast<std::int64_t>(pick(static_cast<std::size_t>(extent(x, 1))));
    return b_.scatter_reduce(0, x, f_.whole({extent(x, 0), extent(x, 1)}, columns), like(x), 1);
  }

  GradientFunction& f_;
  ptir::Builder& b_;
  std::mt19937 random_;
  std::vector<Tensor> values_;
};

}  // namespace zrt::test
