// SPDX-License-Identifier: Apache-2.0
// tests/kernels/harness.hpp: runs an op's CPU kernels beside its reference and demands the same bits.
#pragma once

#include <gtest/gtest.h>

#include <adapters.hpp>
#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <span>
#include <support/block_scales.hpp>
#include <vector>

namespace cpu_kernels {

namespace cpu = zrt::cpu;
namespace exec = zrt::exec;
namespace ops = zrt::ops;
namespace quant = zrt::quant;
using zrt::Dim;
using zrt::DType;
using zrt::Shape;

/// The symbol that counts the rows of a step.
inline constexpr zrt::SymbolId kRows = 1;

/// The variants of the kernels that this processor runs.
const std::vector<cpu::Isa>& variants();

/// A call of one op as the tables of all ops take it.
struct AnyCall {
  zrt::Opcode opcode{};
  std::span<const zrt::HostTensor> in, out;
  std::span<const zrt::HostWeight> w;
  zrt::HostState state;
  std::uint8_t params_version = 0;
  std::span<const std::byte> params;
  std::uint32_t experts = 0;  ///< of weights with more rows than these, the first axis; 0: they have two axes
};

/// The operands of one call, in one piece of memory that is put back before each run.
class Case {
 public:
  explicit Case(std::uint32_t seed, std::uint32_t rows = 0) : random(seed), memory_(std::size_t{24} << 20) {
    step.extents.value[kRows] = step.tokens = rows;
    bounds.value[kRows] = rows + 3;
    step.status = &status_;
  }

  std::uint32_t number(std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  }
  float real(float span = 2.0f) { return std::uniform_real_distribution<float>(-span, span)(random); }

  std::byte* bytes(std::size_t size) {
    std::byte* at = memory_.data() + used_;
    used_ += (size + 127) / 64 * 64;
    EXPECT_LE(used_, memory_.size());
    return at;
  }
  /// A tensor at the size of the step, not at the bounds.
  zrt::HostTensor tensor(DType dtype, Shape shape) {
    return {bytes(zrt::bytes_of(dtype, shape.elements(step.extents).raw()) + 1), {dtype, shape}};
  }
  zrt::HostTensor reals(Shape shape, float span = 2.0f) {
    zrt::HostTensor t = tensor(DType::f32, shape);
    for (std::uint64_t i = 0; i < t.elements(step); ++i) t.as<float>()[i] = real(span);
    return t;
  }
  zrt::HostTensor integers(Shape shape, std::uint32_t high) {
    zrt::HostTensor t = tensor(DType::si32, shape);
    for (std::uint64_t i = 0; i < shape.elements(step.extents).raw(); ++i)
      t.as<std::int32_t>()[i] = static_cast<std::int32_t>(number(0, high));
    return t;
  }
  zrt::HostWeight vector(std::uint32_t size) {
    return {reals(Shape{size}).data, DType::f32, 0, size, size * sizeof(float)};
  }
  zrt::HostWeight matrix(DType dtype, std::uint32_t rows, std::uint32_t cols) {
    const std::uint64_t row_bytes = zrt::bytes_of(dtype, cols);
    std::byte* data = bytes(rows * row_bytes);
    const zrt::DTypeInfo& info = zrt::info(dtype);
    for (std::uint64_t at = 0; at < rows * row_bytes; at += info.block_bytes) {
      if (dtype == DType::f32) {
        const float x = real();
        std::memcpy(data + at, &x, 4);
        continue;
      }
      for (std::uint64_t i = 0; i < info.block_bytes; ++i) data[at + i] = static_cast<std::byte>(number(0, 255));
      const float scale = number(0, 40) == 0 ? 0.0f : real(number(0, 20) == 0 ? 1e-6f : 0.1f);
      if (info.block_elems == 1) {
        const std::uint16_t bits = dtype == DType::bf16 ? zrt::to_bf16(scale).bits : zrt::to_f16(scale).bits;
        std::memcpy(data + at, &bits, 2);
      } else {
        zrt::test::set_scales(dtype, data + at, scale, real(0.1f));
      }
    }
    return {data, dtype, rows, cols, row_bytes};
  }

  std::mt19937 random;
  zrt::ExecutionContext step;
  zrt::Extents bounds;

  /// Of calls whose weights hold matrices of so many experts.
  std::uint32_t experts = 0;

  /// Kernels of the lowest variant alone are run: for those that are the same in all.
  bool one_variant = false;

  /// Compares reference and kernels over the variants and several numbers of workers.
  template <class O> void check(const zrt::HostCall<O>& call) {
    std::array<std::byte, zrt::kMaxParamBytes> params{};
    zrt::encode_params(call.params, zrt::Span<std::byte>(params));
    check(AnyCall{O::opcode,
                  {call.in.data(), call.in.size()},
                  {call.out.data(), call.out.size()},
                  call.w,
                  call.state,
                  O::Params::version,
                  std::span(params).first(zrt::kParamBytes<typename O::Params>),
                  experts});
  }
  void check(const AnyCall& call);

 private:
  /// Runs the call on a device of backend B.
  template <class B> void run(typename B::Device device, const AnyCall& call);
  /// The first byte that differs from `wanted`, elements that are NaN in both being equal; used_ if none does. `wanted`
  /// takes the bits of such NaNs.
  [[nodiscard]] std::size_t difference(std::vector<std::byte>& wanted, const AnyCall& call) const;
  /// Fills the outputs that are no inputs.
  void soil(const AnyCall& call, std::byte pattern);

  std::vector<std::byte> memory_;
  std::size_t used_ = 0;
  zrt::StepStatus status_;
};

/// Slots with pages in random places, and a ragged batch over them.
struct Pages {
  std::vector<std::uint32_t> slots, positions, list;

  /// Gives `c` rows at ascending positions of `slot_count` slots; returns a cache of random contents
  /// whose positions that no slot has reached are NaN.
  zrt::HostState make(Case& c, std::uint32_t slot_count, const std::vector<std::uint32_t>& lengths, DType dtype,
                      std::uint32_t heads, std::uint32_t key_dim, std::uint32_t value_dim) {
    const std::uint32_t rows = c.step.tokens;
    std::uint32_t longest = 1;
    for (std::uint32_t s = 0; s < slot_count; ++s) {
      const std::uint32_t mine = rows / slot_count + (s < rows % slot_count ? 1u : 0u);
      for (std::uint32_t i = 0; i < mine; ++i) {
        slots.push_back(s);
        positions.push_back(lengths[s] + i);
        longest = std::max(longest, lengths[s] + i + 1);
      }
    }
    const std::uint32_t per_slot = (longest + 15) / 16 + 1;
    std::vector<std::uint32_t> ids(slot_count * per_slot);
    for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
    std::shuffle(ids.begin(), ids.end(), c.random);
    // Group 1 of two, so that the group is not ignored.
    list.assign(2 * ids.size(), ~0u);
    std::copy(ids.begin(), ids.end(), list.begin() + static_cast<std::ptrdiff_t>(ids.size()));
    zrt::HostState state;
    state.info.lifecycle = zrt::StateLifecycle::kv_paged;
    state.info.dtype = dtype;
    state.info.group = 1;
    state.info.extents = {heads, key_dim, value_dim, 0};
    state.unit_bytes = zrt::unit_bytes(state.info).raw();
    state.units = slot_count * per_slot;
    state.data = c.bytes(state.unit_bytes * state.units);
    const zrt::KvPage page = zrt::KvPage::of(state.info);
    const std::vector<float> nothing(std::max(key_dim, value_dim), std::numeric_limits<float>::quiet_NaN());
    for (std::uint32_t i = 0; i < state.units * zrt::kPageTokens; ++i)
      for (std::uint32_t head = 0; head < heads; ++head) {
        page.store_key(state.unit(i / zrt::kPageTokens), head, i % zrt::kPageTokens, nothing.data());
        page.store_value(state.unit(i / zrt::kPageTokens), head, i % zrt::kPageTokens, nothing.data());
      }
    std::vector<float> drawn(nothing.size());
    for (std::uint32_t s = 0; s < slot_count; ++s) {
      std::uint32_t reached = lengths[s];
      for (std::size_t i = 0; i < slots.size(); ++i)
        if (slots[i] == s) reached = std::max(reached, positions[i] + 1);
      for (std::uint32_t p = 0; p < reached; ++p)
        for (std::uint32_t head = 0; head < heads; ++head) {
          std::byte* at = state.unit(ids[s * per_slot + p / 16]);
          for (std::uint32_t i = 0; i < key_dim; ++i) drawn[i] = c.real();
          page.store_key(at, head, p % 16, drawn.data());
          for (std::uint32_t i = 0; i < value_dim; ++i) drawn[i] = c.real();
          page.store_value(at, head, p % 16, drawn.data());
        }
    }
    c.step.slots = slots.data();
    c.step.positions = positions.data();
    c.step.pages = list.data();
    c.step.pages_per_slot = per_slot;
    c.step.slot_count = slot_count;
    return state;
  }
};

}  // namespace cpu_kernels
