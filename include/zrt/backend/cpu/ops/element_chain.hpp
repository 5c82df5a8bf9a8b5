// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/element_chain.hpp: steps of single elements, block by block in the first-level cache.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_ELEMENT_CHAIN)
#define ZRT_BACKEND_CPU_OPS_ELEMENT_CHAIN

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/kernels/elements.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/element_chain.hpp>

#include <algorithm>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::ElementChain> {
  exec::HostKernel<HostCall<ops::ElementChain>> elements = nullptr;
};

template <> struct Adapter<ops::ElementChain> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::ElementChain>& c,
                             const Kernels<ops::ElementChain>& k) noexcept {
    return r.push(k.elements, c);
  }
};
static_assert(Records<ops::ElementChain>);

/// Elements of a block. Of the eighteen values that a chain may have, the few that are in use at a time stay in the
/// first-level cache.
inline constexpr std::uint64_t kChainBlock = 512;

/// An input of a chain in a step.
struct ChainInput {
  const float* data = nullptr;
  ops::SpreadOperand spread{};
  bool whole = false;                      ///< every element of the result has its own
  std::uint64_t held = ~std::uint64_t{0};  ///< the element that the input's room is filled with

  ChainInput() = default;
  ChainInput(const HostTensor& x, const HostTensor& y, const ExecutionContext& step) noexcept
      : data(x.as<float>()), spread(x.type.shape, y.type.shape, step), whole(x.elements(step) == y.elements(step)) {}
};

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/element_chain.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

inline void fill_chain(float* to, std::uint64_t count, float value) noexcept {
  const F32 v = splat(value);
  std::uint64_t i = 0;
  for (; i + 16 <= count; i += 16) store(to + i, v);
  if (i < count) store_first(to + i, v, static_cast<std::size_t>(count - i));
}

/// Elements [first, first + count) of an input as the result has them: where they lie, or in `room`, which holds
/// kChainBlock elements and is the same in each call.
template <class Input>
[[nodiscard]] const float* chain_operand(Input& x, std::uint64_t first, std::uint64_t count, float* room) noexcept {
  if (x.whole) return x.data + first;
  const std::uint64_t inner = x.spread.inner;
  const std::uint64_t extent = x.spread.extent;
  std::uint64_t at = x.spread.at(first);
  std::uint64_t into = first % inner;
  if (inner == 1 && at + count <= extent) return x.data + at;
  if (into + count <= inner) {
    if (x.held != at) fill_chain(room, kChainBlock, x.data[at]);
    x.held = at;
    return room;
  }
  x.held = ~std::uint64_t{0};
  for (std::uint64_t i = 0; i < count;) {
    const std::uint64_t run = std::min(inner == 1 ? extent - at : inner - into, count - i);
    if (inner == 1)
      map(x.data + at, room + i, 0, run, [](F32 v) ZRT_UNROLLED { return v; });
    else
      fill_chain(room + i, run, x.data[at]);
    i += run;
    into = 0;
    at = inner == 1 || at + 1 == extent ? 0 : at + 1;
  }
  return room;
}

/// Elements are split.
template <class Call> void chain_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  using ops::kChainInputs, ops::kChainSteps, ops::ChainFamily;
  const HostTensor& y = c.out[0];
  const Range part = split(y.elements(step), 64, worker);
  ChainInput inputs[kChainInputs];
  for (std::size_t k = 0; k < kChainInputs; ++k)
    if (c.in[k].present()) inputs[k] = ChainInput(c.in[k], y, step);
  alignas(64) float room[kChainInputs + kChainSteps][kChainBlock];
  const float* value[kChainInputs + kChainSteps];
  for (std::uint64_t first = part.first; first < part.last; first += kChainBlock) {
    const std::uint64_t count = std::min(kChainBlock, part.last - first);
    for (std::size_t k = 0; k < kChainInputs; ++k)
      if (inputs[k].data != nullptr) value[k] = chain_operand(inputs[k], first, count, room[k]);
    for (std::size_t s = 0; s < c.params.count; ++s) {
      const ops::ChainStep each = c.params.step(s);
      float* const to = s + 1 == c.params.count ? y.template as<float>() + first : room[kChainInputs + s];
      const float* const a = value[each.lhs];
      switch (each.family) {
        case ChainFamily::unary:
          apply_unary(static_cast<ops::UnaryKind>(each.kind), a, to, 0, count);
          break;
        case ChainFamily::binary:
          apply_binary(static_cast<ops::BinaryKind>(each.kind), a, value[each.rhs], to, 0, count);
          break;
        case ChainFamily::activation:
          gate_elements(static_cast<Activation>(each.kind), a, nullptr, to, 0, count);
          break;
      }
      value[kChainInputs + s] = to;
    }
  }
}

template <class L>
inline constexpr Kernels<ops::ElementChain> kKernels<ops::ElementChain, L>{
    .elements = &chain_elements<HostCall<ops::ElementChain>>};

#endif
