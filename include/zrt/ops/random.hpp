// SPDX-License-Identifier: Apache-2.0
// zrt/ops/random.hpp: what rng_uniform and rng_normal share: parameters, shape rule, and the words of an element.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/core/elementary64.hpp>
#include <zrt/core/map_elements.hpp>
#include <zrt/core/philox.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/shape_params.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

struct RandomParams {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  ShapeParams shape{};
  DType dtype = DType::f32;
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&RandomParams::seed, "seed"}, Member{&RandomParams::stream, "stream"},
                 Member{&RandomParams::shape, "shape"}, Member{&RandomParams::dtype, "dtype"},
                 Member{&RandomParams::reserved, "reserved"});
};

inline constexpr auto kRandomAttributes =
    attribute_list(attribute::shape("shape", &RandomParams::shape), attribute::dtype("dtype", &RandomParams::dtype),
                   attribute::optional_number("seed", &RandomParams::seed),
                   attribute::optional_number("stream", &RandomParams::stream));

/// The type rule of both: any shape of floats; where there is a seed, it is a scalar of si64.
template <class O, class D> [[nodiscard]] constexpr Result<void> infer_random(RuleCall<D>& c) noexcept {
  if (!c.in.empty()) {
    if (c.in[0].dtype != DType::si64) return c.wrong(Errc::dtype_mismatch, 0, "a scalar of si64");
    if (c.in[0].shape.rank != 0) return c.wrong(Errc::shape_mismatch, 0, "a scalar of si64");
    if (c.has(at<O>("seed"))) return c.no(Errc::invalid_params, "seed is both an operand and an attribute");
  }
  const DType dtype = c.dtype(at<O>("dtype"));
  if (!is_float(dtype)) return c.no(Errc::dtype_mismatch, "dtype is ", zrt::name(dtype), ", expected a float dtype");
  return c.give(dtype, c.shape(at<O>("shape")));
}

/// The parameters of a call with its seed, which may be an operand.
template <class O> [[nodiscard]] RandomParams keyed(const HostCall<O>& c) noexcept {
  RandomParams p = c.params;
  if (c.in[0].present()) std::memcpy(&p.seed, c.in[0].data, sizeof p.seed);
  return p;
}

/// Philox's counter of element `index`: the index and `stream`, and its key: `seed`; lower words first.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> random_counter(const RandomParams& p,
                                                                    std::uint64_t index) noexcept {
  return {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
          static_cast<std::uint32_t>(p.stream), static_cast<std::uint32_t>(p.stream >> 32)};
}
[[nodiscard]] constexpr std::array<std::uint32_t, 2> random_key(const RandomParams& p) noexcept {
  return {static_cast<std::uint32_t>(p.seed), static_cast<std::uint32_t>(p.seed >> 32)};
}

/// The random words of element `index`: Philox4x32-10.
[[nodiscard]] constexpr std::array<std::uint32_t, 4> random_words(const RandomParams& p, std::uint64_t index) noexcept {
  return philox4x32(random_counter(p, index), random_key(p));
}

/// The upper 53 bits of two words, the higher first.
[[nodiscard]] constexpr std::uint64_t upper_53(std::uint32_t high, std::uint32_t low) noexcept {
  return (std::uint64_t{high} << 32 | low) >> 11;
}

/// Writes `number(p, words)` for the words of every element of the call's result.
template <std::floating_point T, class O, class F>
void fill_random(const HostCall<O>& c, const ExecutionContext& step, F&& number) noexcept {
  const HostTensor& tensor = c.out[0];
  const RandomParams p = keyed(c);
  const std::uint64_t elements = tensor.elements(step);
  T values[kElementRun];
  for (std::uint64_t first = 0; first < elements; first += kElementRun) {
    const std::uint64_t run = std::min(elements - first, kElementRun);
    for (std::uint64_t i = 0; i < run; ++i) values[i] = number(p, random_words(p, first + i));
    element_functions<T>(p.dtype).pack(values, first, run, tensor.data);
  }
}

}  // namespace zrt::inline ZRT_ABI::ops
