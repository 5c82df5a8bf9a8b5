// SPDX-License-Identifier: Apache-2.0
// examples/square.hpp: an op of the host's: what it is, and how the CPU computes it on each instruction set.
#if !defined(ZRT_VARIANT) && !defined(EXAMPLES_SQUARE)
#define EXAMPLES_SQUARE
#include <zrt/backend/cpu.hpp>

/// y = x * x. An op says its number and name, its operands, its shape rule and its meaning.
struct Square {
  using Params = zrt::NoParams;
  static constexpr zrt::Opcode opcode{127};
  static constexpr std::string_view name = "square";
  static constexpr zrt::Rung rung = zrt::Rung::fused;
  static constexpr std::array input_roles{zrt::Role{"x"}};
  static constexpr std::array output_roles{zrt::Role{"y"}};
  static constexpr auto weight_roles = zrt::kNoRoles;
  static constexpr std::array may_alias{zrt::Alias{0, 0}};
  static constexpr zrt::StateLifecycle lifecycle = zrt::StateLifecycle::none;
  static constexpr zrt::Result<void> infer(const zrt::TypeCall<Square>& c, zrt::OutputTypes<Square>& out) noexcept {
    out[0] = c.in[0].type;
    return {};
  }
  static void reference(const zrt::HostCall<Square>& c, const zrt::ExecutionContext& step,
                        const zrt::Worker&) noexcept {
    for (std::uint64_t i = 0; i < c.in[0].elements(step); ++i)
      c.out[0].as<float>()[i] = c.in[0].as<float>()[i] * c.in[0].as<float>()[i];
  }
};

/// Its kernels, as pointers that each instruction set fills in below.
template <> struct zrt::cpu::Kernels<Square> {
  exec::HostKernel<HostCall<Square>> elements = nullptr;
};
template <> struct zrt::cpu::Adapter<Square> {
  static Result<void> record(Recorder& r, const HostCall<Square>& c, const Kernels<Square>& k) noexcept {
    return r.push(k.elements, c);
  }
};

#define ZRT_KERNELS_FRAGMENT <square.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)  // in zrt::cpu::v1, v3 and v4: sixteen lanes at a time

/// Every worker calls it and computes its own part.
inline void square(const HostCall<Square>& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(c.in[0].elements(step), 16, worker);
  map(c.in[0].as<float>(), c.out[0].as<float>(), part.first, part.last, [](F32 x) ZRT_UNROLLED { return x * x; });
}
template <> inline constexpr Kernels<Square> kKernels<Square>{.elements = &square};

#endif
