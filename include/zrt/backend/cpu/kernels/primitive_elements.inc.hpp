// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/primitive_elements.inc.hpp: textual fragment: element-wise primitives of f32.

/// ElementFunctions::unpack and pack of f16 and bf16.
template <class Row>
void unpack_halves(const std::byte* data, std::uint64_t first, std::uint64_t count, float* out) noexcept {
  const std::byte* row = data + 2 * first;
  std::uint64_t i = 0;
  for (; i + 16 <= count; i += 16) store(out + i, Row::load16(row, i));
  const auto rest = static_cast<std::size_t>(count - i);
  if (rest != 0) store_first(out + i, Row::load_rest(row, i, rest), rest);
}
template <DType kType>
void pack_halves(const float* in, std::uint64_t first, std::uint64_t count, std::byte* data) noexcept {
  const auto put = [](std::byte* to, F32 v) ZRT_UNROLLED {
    if constexpr (kType == DType::f16)
      store_f16(to, v);
    else
      store_bf16(to, v);
  };
  std::byte* row = data + 2 * first;
  std::uint64_t i = 0;
  for (; i + 16 <= count; i += 16) put(row + 2 * i, load(in + i));
  const auto rest = static_cast<std::size_t>(count - i);
  if (rest == 0) return;
  std::byte last[32];
  put(last, load_first(in + i, rest));
  std::memcpy(row + 2 * i, last, 2 * rest);
}

/// Elements are split, in all kernels below.
template <class Call> void unary_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  using ops::UnaryKind;
  const Range part = split(c.in[0].elements(step), 64, worker);
  const float* x = c.in[0].template as<float>();
  float* y = c.out[0].template as<float>();
  const auto by = [&](auto f) noexcept { map(x, y, part.first, part.last, f); };
  switch (c.params.kind) {
    case UnaryKind::neg:
      return by([](F32 v) noexcept { return -v; });
    case UnaryKind::abs:
      return by([](F32 v) noexcept { return abs(v); });
    case UnaryKind::exp:
      return by([](F32 v) noexcept { return exp(v); });
    case UnaryKind::log:
      return by([](F32 v) noexcept { return log(v); });
    case UnaryKind::tanh:
      return by([](F32 v) noexcept { return tanh(v); });
    case UnaryKind::erf:
      return by([](F32 v) noexcept { return erf(v); });
    case UnaryKind::rsqrt:
      return by([](F32 v) noexcept { return splat(1.0f) / sqrt(v); });
    case UnaryKind::reciprocal:
      return by([](F32 v) noexcept { return splat(1.0f) / v; });
    case UnaryKind::sin:
      return by([](F32 v) noexcept { return sin(v); });
    case UnaryKind::cos:
      return by([](F32 v) noexcept { return cos(v); });
  }
}

/// NaN where either is NaN, a where they are equal.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 maximum(F32 a, F32 b) noexcept {
  return select(either(less(a, b), is_nan(b)), b, a);
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 minimum(F32 a, F32 b) noexcept {
  return select(either(less(b, a), is_nan(b)), b, a);
}

template <class Call> void binary_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  using ops::BinaryKind;
  const Range part = split(c.in[0].elements(step), 64, worker);
  const auto by = [&](auto f) noexcept {
    map(c.in[0].template as<float>(), c.in[1].template as<float>(), c.out[0].template as<float>(), part.first,
        part.last, f);
  };
  switch (c.params.kind) {
    case BinaryKind::add:
      return by([](F32 a, F32 b) noexcept { return a + b; });
    case BinaryKind::sub:
      return by([](F32 a, F32 b) noexcept { return a - b; });
    case BinaryKind::mul:
      return by([](F32 a, F32 b) noexcept { return a * b; });
    case BinaryKind::div:
      return by([](F32 a, F32 b) noexcept { return a / b; });
    case BinaryKind::maximum:
      return by([](F32 a, F32 b) noexcept { return maximum(a, b); });
    case BinaryKind::minimum:
      return by([](F32 a, F32 b) noexcept { return minimum(a, b); });
  }
}

/// Bytes 0 or 1 for bits 0..7.
[[nodiscard]] ZRT_ALWAYS_INLINE std::uint64_t truth_bytes(std::uint32_t bits) noexcept {
  const std::uint64_t each = (bits & 0xffu) * std::uint64_t{0x0101010101010101} & 0x8040201008040201;
  return (each + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101;
}

template <class Call>
void compare_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  using ops::CompareKind;
  const Range part = split(c.in[0].elements(step), 64, worker);
  const float* a = c.in[0].template as<float>();
  const float* b = c.in[1].template as<float>();
  std::byte* y = c.out[0].data;
  const auto by = [&](auto f) noexcept {
    for (std::uint64_t i = part.first; i < part.last; i += 16) {
      const std::size_t count = part.last - i < 16 ? static_cast<std::size_t>(part.last - i) : 16;
      const std::uint32_t bits =
          lane_bits(count == 16 ? f(load(a + i), load(b + i)) : f(load_first(a + i, count), load_first(b + i, count)));
      const std::uint64_t truth[2] = {truth_bytes(bits), truth_bytes(bits >> 8)};
      std::memcpy(y + i, truth, count);
    }
  };
  switch (c.params.kind) {
    case CompareKind::lt:
      return by([](F32 x, F32 z) noexcept { return less(x, z); });
    case CompareKind::le:
      return by([](F32 x, F32 z) noexcept { return less_equal(x, z); });
    case CompareKind::eq:
      return by([](F32 x, F32 z) noexcept { return equal(x, z); });
    case CompareKind::ge:
      return by([](F32 x, F32 z) noexcept { return less_equal(z, x); });
    case CompareKind::gt:
      return by([](F32 x, F32 z) noexcept { return less(z, x); });
    case CompareKind::ne:
      return by([](F32 x, F32 z) noexcept { return invert(equal(x, z)); });
  }
}

template <class Call> void select_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(c.out[0].elements(step), 64, worker);
  const float* yes = c.in[1].template as<float>();
  const float* no = c.in[2].template as<float>();
  float* y = c.out[0].template as<float>();
  const I32 zero = splat_i32(0);
  for (std::uint64_t i = part.first; i < part.last; i += 16) {
    const std::size_t count = part.last - i < 16 ? static_cast<std::size_t>(part.last - i) : 16;
    std::int8_t truth[16]{};
    std::memcpy(truth, c.in[0].data + i, count);
    const Mask chosen = invert(iequal(load_i8(truth), zero));
    if (count == 16)
      store(y + i, select(chosen, load(yes + i), load(no + i)));
    else
      store_first(y + i, select(chosen, load_first(yes + i, count), load_first(no + i, count)), count);
  }
}

template <class Call> void clamp_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(c.out[0].elements(step), 64, worker);
  const float* x = c.in[0].template as<float>();
  const float* low = c.in[1].template as<float>();
  const float* high = c.in[2].template as<float>();
  float* y = c.out[0].template as<float>();
  std::uint64_t i = part.first;
  for (; i + 16 <= part.last; i += 16) store(y + i, minimum(maximum(load(x + i), load(low + i)), load(high + i)));
  const auto rest = static_cast<std::size_t>(part.last - i);
  if (rest != 0)
    store_first(y + i, minimum(maximum(load_first(x + i, rest), load_first(low + i, rest)), load_first(high + i, rest)),
                rest);
}

/// Sums of this many elements stay in the first-level cache until their activation is taken.
inline constexpr std::uint64_t kBiasBlock = 1024;

template <class Call>
void bias_act_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::AxisSplit by(c.in[0], c.params.axis, step);
  const Range part = split(c.in[0].elements(step), 64, worker);
  const float* x = c.in[0].template as<float>();
  const float* bias = c.in[1].template as<float>();
  float* y = c.out[0].template as<float>();
  for (std::uint64_t first = part.first; first < part.last; first += kBiasBlock) {
    const std::uint64_t last = std::min(first + kBiasBlock, part.last);
    std::uint64_t run = 0;
    for (std::uint64_t i = first; i < last; i += run) {
      const std::uint64_t at = i / by.inner % by.extent;
      if (by.inner == 1) {
        run = std::min(by.extent - at, last - i);
        map(x + i, bias + at, y + i, 0, run, [](F32 v, F32 b) ZRT_UNROLLED { return v + b; });
      } else {
        run = std::min(by.inner - i % by.inner, last - i);
        const F32 b = splat(bias[at]);
        map(x + i, y + i, 0, run, [&](F32 v) ZRT_UNROLLED { return v + b; });
      }
    }
    gate_elements(c.params.act, y, nullptr, y, first, last);
  }
}
