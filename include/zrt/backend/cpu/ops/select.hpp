// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/select.hpp: one of two elements, by a truth value.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_SELECT)
#define ZRT_BACKEND_CPU_OPS_SELECT

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/simd/variants.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/select.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Select> {
  exec::HostKernel<HostCall<ops::Select>> words4 = nullptr;
};

template <> struct Adapter<ops::Select> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Select>& c, const Kernels<ops::Select>& k) noexcept {
    const DTypeInfo& type = info(c.out[0].type.dtype);
    if (type.block_elems != 1) return r.push(&nibbles, c);
    switch (type.block_bytes) {
      case 1:
        return r.push(&words<std::uint8_t>, c);
      case 2:
        return r.push(&words<std::uint16_t>, c);
      case 4:
        return r.push(k.words4, c);
      case 8:
        return r.push(&words<std::uint64_t>, c);
      default:
        return r.push(&words<Pair>, c);
    }
  }

 private:
  struct Pair {
    std::uint64_t half[2];
  };

  /// Elements are split. A word goes through a value, so that y may be one of the operands.
  template <class W>
  static void words(const HostCall<ops::Select>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Range part = split(c.out[0].elements(step), 64, worker);
    const std::byte* truth = c.in[0].data;
    for (std::uint64_t i = part.first; i < part.last; ++i) {
      W yes;
      W no;
      std::memcpy(&yes, c.in[1].data + i * sizeof(W), sizeof(W));
      std::memcpy(&no, c.in[2].data + i * sizeof(W), sizeof(W));
      const W chosen = truth[i] != std::byte{0} ? yes : no;
      std::memcpy(c.out[0].data + i * sizeof(W), &chosen, sizeof(W));
    }
  }
  /// 4-bit elements, two to a byte.
  static void nibbles(const HostCall<ops::Select>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const std::uint64_t elements = c.out[0].elements(step);
    const Range part = split(elements, 64, worker);
    for (std::uint64_t i = part.first; i < part.last; i += 2) {
      const auto mask = [&](std::uint64_t at, std::byte half) noexcept {
        return at < elements && c.in[0].data[at] != std::byte{0} ? half : std::byte{0};
      };
      const std::byte yes = mask(i, std::byte{0x0f}) | mask(i + 1, std::byte{0xf0});
      std::byte& y = c.out[0].data[i / 2];
      const std::byte chosen = (c.in[1].data[i / 2] & yes) | (c.in[2].data[i / 2] & ~yes);
      // Behind an odd last element, half a byte of y stays as it was.
      const std::byte kept = i + 1 < elements ? std::byte{0} : std::byte{0xf0};
      y = (y & kept) | (chosen & ~kept);
    }
  }
};
static_assert(Records<ops::Select>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/select.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Elements are split.
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

template <class L>
inline constexpr Kernels<ops::Select> kKernels<ops::Select, L>{.words4 = &select_elements<HostCall<ops::Select>>};

#endif
