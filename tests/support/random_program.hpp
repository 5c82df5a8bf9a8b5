// SPDX-License-Identifier: Apache-2.0
// tests/support/random_program.hpp: random programs of the portable tensor IR, valid by construction.
#pragma once

#include <zrt/ir/ptir/builder.hpp>

#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace zrt::test {

/// Builds programs out of every operation. What `Random`, a function of no arguments, gives decides; with one
/// compiler the same numbers give the same program.
template <class Random = std::mt19937> class RandomProgram {
 public:
  explicit RandomProgram(Random random) : random_(std::move(random)) {}

  /// A program whose main region has about `instructions` instructions.
  [[nodiscard]] Result<ir::ptir::Program> make(std::size_t instructions) {
    const std::size_t inputs = 1 + pick(3);
    for (std::size_t i = 0; i < inputs; ++i)
      values_.push_back(b_.parameter({any_dtype(), any_shape()}, name(pick(kNames.size()))));
    for (std::size_t i = 0; i < instructions; ++i) step();
    const std::size_t results = pick(4);
    for (std::size_t i = 0; i < results; ++i) b_.result(value());
    return b_.finish();
  }

 private:
  using Tensor = ir::ptir::Tensor;
  using Shape = ir::ptir::Shape;
  using Dim = ir::ptir::Dim;

  static constexpr std::array<std::string_view, 8> kNames{"", "", "", "x", "h.0", "return", "two words", "\"\\\n\x01"};
  [[nodiscard]] static Name name(std::size_t i) { return Name(kNames[i]); }

  [[nodiscard]] std::size_t pick(std::size_t count) { return random_() % count; }
  [[nodiscard]] bool coin() { return pick(2) == 0; }
  [[nodiscard]] DType any_dtype() { return static_cast<DType>(pick(19)); }
  [[nodiscard]] Dim any_dim() {
    static constexpr std::array<std::string_view, 3> kSymbols{"N", "batch.size", "a b"};
    const std::size_t kind = pick(6);
    if (kind == 0) return b_.dim(kSymbols[pick(kSymbols.size())]);
    return kind == 1 ? Dim::any() : Dim(static_cast<std::int64_t>(pick(5)));
  }
  [[nodiscard]] Shape any_shape(std::size_t least = 0) {
    Shape shape;
    for (std::size_t rank = least + pick(4); rank > 0; --rank) shape.append(any_dim());
    return shape;
  }
  [[nodiscard]] Shape constant_shape(std::size_t least = 0) {
    Shape shape;
    for (std::size_t rank = least + pick(3); rank > 0; --rank)
      shape.append(Dim(static_cast<std::int64_t>(1 + pick(4))));
    return shape;
  }
  [[nodiscard]] Tensor value() { return values_[pick(values_.size())]; }
  void keep(const Tensor& x) { values_.push_back(coin() ? b_.name(x, name(pick(kNames.size()))) : x); }

  /// A literal of random bits, as the type allows them.
  [[nodiscard]] Tensor constant(const ir::ptir::TensorType& type) {
    std::vector<std::byte> data(static_cast<std::size_t>(ir::ptir::literal_bytes(type).raw()));
    for (std::byte& byte : data) byte = static_cast<std::byte>(type.dtype == DType::i1 ? pick(2) : pick(256));
    const bool half = info(type.dtype).block_elems == 2 && type.shape.constant_elements().raw() % 2 != 0;
    if (half) data.back() &= std::byte{0x0f};
    return coin() ? b_.constant(type, data) : b_.literal(type, data);
  }
  [[nodiscard]] Tensor constant(DType dtype, const Shape& shape) { return constant({dtype, shape}); }
  /// A fresh input of exactly this type.
  [[nodiscard]] Tensor input(DType dtype, const Shape& shape) { return b_.parameter({dtype, shape}); }

  void step() {
    switch (pick(27)) {
      case 0:
        return keep(constant(any_dtype(), constant_shape()));
      case 1: {
        // Larger than what is printed as numbers.
        return keep(constant(any_dtype(), {Dim(static_cast<std::int64_t>(60 + pick(40)))}));
      }
      case 2: {
        const Tensor x = input(DType::f32, any_shape());
        const std::array all{&ir::ptir::Builder::neg,   &ir::ptir::Builder::abs,       &ir::ptir::Builder::exp,
                             &ir::ptir::Builder::log,   &ir::ptir::Builder::tanh,      &ir::ptir::Builder::erf,
                             &ir::ptir::Builder::rsqrt, &ir::ptir::Builder::reciprocal};
        return keep((b_.*all[pick(all.size())])(x));
      }
      case 3: {
        const Shape shape = any_shape();
        const Tensor x = input(DType::f16, shape);
        const std::array all{&ir::ptir::Builder::add, &ir::ptir::Builder::sub,     &ir::ptir::Builder::mul,
                             &ir::ptir::Builder::div, &ir::ptir::Builder::maximum, &ir::ptir::Builder::minimum,
                             &ir::ptir::Builder::lt,  &ir::ptir::Builder::le,      &ir::ptir::Builder::eq,
                             &ir::ptir::Builder::ge,  &ir::ptir::Builder::gt,      &ir::ptir::Builder::ne};
        const Tensor y = coin() ? x : b_.scalar(DType::f16, 0.1);
        return keep((b_.*all[pick(all.size())])(x, y));
      }
      case 4: {
        const Tensor x = value();
        return keep(b_.select(b_.ne(x, x), x, b_.stop_gradient(x)));
      }
      case 5: {
        const Tensor x = value();
        const bool complex = is_complex(x.dtype());
        return keep(b_.cast(x, complex ? DType::cf64 : any_dtype()));
      }
      case 6: {
        const Tensor x = input(DType::bf16, any_shape(1));
        const ir::ptir::FoldTypes types{coin() ? std::optional(DType::f64) : std::nullopt,
                                        coin() ? std::optional(DType::f32) : std::nullopt};
        keep(b_.reduce_sum(x, {0}, coin(), types));
        keep(b_.reduce_max(x, {-1}, coin()));
        return keep(b_.reduce_min(x, {}, coin()));
      }
      case 7:
        return keep(b_.arg_max(input(DType::f32, constant_shape(1)), -1, coin(), coin() ? DType::si32 : DType::si64));
      case 8: {
        const Dim batch = any_dim(), shared = any_dim();
        const Tensor l = input(DType::f16, {batch, any_dim(), shared});
        const Tensor r = input(DType::f16, {batch, shared, any_dim()});
        return keep(b_.dot_general(
            l, r, {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {-1}, .contract_rhs = {1}}, {DType::f32, {}}));
      }
      case 9:
        keep(b_.reshape(input(any_dtype(), {2, any_dim(), 6}), {4, -1, 3}));
        return keep(b_.transpose(input(any_dtype(), {any_dim(), any_dim(), any_dim()}), {2, 0, -2}));
      case 10: {
        const Tensor x = value();
        Shape wide = x.shape();
        if (wide.rank < kMaxRank) {
          wide = {any_dim()};
          for (const Dim dim : x.shape().view()) wide.append(dim);
        }
        return keep(b_.broadcast_to(x, wide));
      }
      case 11:
        keep(b_.slice(input(any_dtype(), {4, any_dim()}), {1, 0}, {3, 0}));
        return keep(b_.concat({input(DType::ui8, {any_dim(), 2}), input(DType::ui8, {any_dim(), 2})}, -2));
      case 12:
        return keep(b_.pad(input(DType::f16, {any_dim(), 3}), {1, 0}, {0, 2}, {1, 3}, b_.scalar(DType::f16, -2.5)));
      case 13:
        return keep(b_.tile(input(any_dtype(), {any_dim(), any_dim()}), {1, 3}));
      case 14:
        return keep(b_.iota({any_dim(), any_dim()}, DType::cf32, -1));
      case 15:
        keep(b_.take(input(any_dtype(), any_shape(1)), input(DType::si64, any_shape())));
        return keep(b_.gather(input(any_dtype(), {3, 5}), input(DType::si32, {3, any_dim()}), 1));
      case 16: {
        const Tensor x = input(DType::f32, {6, 4, 5});
        keep(b_.scatter_add(x, input(DType::si32, {any_dim(), 2}), input(DType::f32, {Dim::any(), 3}), {1}, {0, 1},
                            {0, 1}, 1));
        return keep(b_.scatter_reduce(pick(4), x, input(DType::si64, {2, 4, 5}), input(DType::f32, {2, 4, 5}), 0));
      }
      case 17: {
        const Tensor x = input(any_dtype(), {5, any_dim()});
        const Tensor start = input(DType::si32, {2});
        keep(b_.dynamic_slice(x, start, {3, 0}));
        return keep(b_.dynamic_update_slice(x, input(x.dtype(), {2, 0}), start));
      }
      case 18: {
        const Dim features = any_dim();
        const Tensor x = input(DType::f64, {features, 2});
        return keep(b_.layer_norm(x, input(DType::f64, {features}), input(DType::f64, {features}), 0x1p-40, 0));
      }
      case 19: {
        const Tensor x = input(DType::si8, any_shape());
        return keep(b_.clamp(x, b_.scalar(DType::si8, -128), b_.scalar(DType::si8, 127)));
      }
      case 20:
        return control();
      case 21: {
        static constexpr std::array<std::int64_t, 2> kTwo{2, 1}, kOne{1, 1}, kPad{0, 3};
        const ir::ptir::Window w{kTwo, kOne, kPad, kOne, kTwo, kOne};
        keep(b_.reduce_window(pick(3), input(DType::f32, {any_dim(), 7}), w));
        return keep(b_.extract_patches(input(any_dtype(), {any_dim(), 9, 8, any_dim()}), w));
      }
      case 22:
        return custom();
      case 23:
        keep(b_.rng_uniform(any_shape(), DType::f32, static_cast<std::int64_t>(random_()), -1));
        keep(b_.rng_normal(any_shape(), DType::f32, input(DType::si64, {}), 5));
        return keep(b_.rng_normal(any_shape(), DType::fp8_e4m3, INT64_MIN, INT64_MAX));
      case 24: {
        const auto both = b_.top_k(input(DType::bf16, {any_dim(), 5}), 3, 1, coin());
        keep(both[0]);
        return keep(both[1]);
      }
      case 25: {
        const Dim rows = any_dim();
        return keep(b_.segment_reduce(pick(3), input(DType::si32, {rows, 2}), input(DType::si64, {rows}), 4));
      }
      default: {
        const Dim channels = any_dim();
        const Tensor scale = input(DType::f32, {channels}), zero = input(DType::si32, {channels});
        const Tensor q = b_.quantize(input(DType::f32, {2, channels}), scale, zero, DType::si4, -1);
        keep(b_.dequantize(q, scale, zero, DType::f16, 1));
        return keep(b_.requantize(q, scale, zero, scale, zero, DType::ui4, 1));
      }
    }
  }

  void control() {
    const Shape shape = any_shape();
    const Tensor x = input(DType::f32, shape);
    const auto same = b_.region(name(pick(kNames.size())), [&] { b_.result(b_.parameter({DType::f32, shape}, "x")); });
    const auto twice = b_.region("twice", [&] {
      const Tensor p = b_.parameter({DType::f32, shape});
      b_.result(p + p);
    });
    keep(b_.cond(b_.constant(coin()), same, twice, {x})[0]);
    const auto until = b_.region("until", [&] {
      const Tensor i = b_.parameter({DType::si32, {}}, "i");
      const Tensor p = b_.parameter({DType::f32, shape});
      b_.result(b_.lt(i, b_.scalar(DType::si32, 3)));
      b_.result(i);
      b_.result(p);
    });
    const auto next = b_.region("next", [&] {
      const Tensor i = b_.parameter({DType::si32, {}}, "i");
      const Tensor p = b_.parameter({DType::f32, shape});
      // Control flow inside a region.
      b_.result(i + 1);
      b_.result(b_.cond(b_.constant(true), same, twice, {p})[0]);
    });
    keep(b_.while_loop(until, next, {b_.constant(std::int32_t{0}), x})[1]);
    const auto fold = b_.region("fold", [&] {
      const Tensor sum = b_.parameter({DType::f32, {}});
      const Tensor row = b_.parameter({DType::f32, {}});
      b_.result(sum + row);
      b_.result(row);
    });
    keep(b_.scan(fold, 1, 1, {b_.constant(0.0f), input(DType::f32, {any_dim()})})[1]);
  }

  void custom() {
    const Tensor x = value();
    static constexpr std::array<bool, 2> kBools{true, false};
    static constexpr std::array<double, 4> kReals{0.0, -0.0, 1e-310, __builtin_inf()};
    static constexpr std::array<std::string_view, 3> kTexts{"", "a\"b", "\xc3\xa9\x7f"};
    const auto all = b_.custom_call(
        "zrt.test.kernel.v12", {x, constant(DType::si16, {2})},
        {b_.entry("count", ir::ptir::Attribute::integer(-7)), b_.entry("scale", ir::ptir::Attribute::real(3.0)),
         b_.entry("two words", ir::ptir::Attribute::boolean(coin())), b_.entry("text", b_.string("line\nend")),
         b_.entry("ints", b_.ints({1, -2})), b_.entry("none", b_.ints({})), b_.entry("reals", b_.reals(kReals)),
         b_.entry("bools", b_.booleans(kBools)), b_.entry("texts", b_.strings(kTexts))},
        {x.type(), {DType::cf64, {Dim::any()}}}, true);
    keep(all[1]);
    if (coin()) keep(b_.custom_call("zrt.none.v1", {}, {}, {x.type()}, coin())[0]);
  }

  Random random_;
  ir::ptir::Builder b_;
  std::vector<Tensor> values_;
};

[[nodiscard]] inline Result<ir::ptir::Program> random_program(std::uint32_t seed, std::size_t instructions) {
  return RandomProgram(std::mt19937(seed)).make(instructions);
}

}  // namespace zrt::test
