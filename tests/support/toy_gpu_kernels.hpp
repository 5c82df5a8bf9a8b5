// SPDX-License-Identifier: Apache-2.0
// tests/support/toy_gpu_kernels.hpp: kernels of docs/kernel-abi.md as functions of the host, one workgroup at a time.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/device/kernel_signature.hpp>
#include <zrt/device/upload/types.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/greedy_token.hpp>
#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/projection.hpp>
#include <zrt/ops/residual_rms_norm.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/ops/sample.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace toy_gpu {

/// What kernels add to an address of the host. The host sees memory of the first kind, and not of the second.
inline constexpr std::uint64_t kSeenBase = std::uint64_t{1} << 56, kHiddenBase = std::uint64_t{2} << 56;

/// The byte at an address of the toy, which no code of the host may follow as it is.
[[nodiscard]] inline std::byte* byte_at(std::uint64_t address) noexcept {
  return address == 0 ? nullptr : reinterpret_cast<std::byte*>(address & (kSeenBase - 1));
}

/// One workgroup of a launch: its block of arguments and its place in the grid.
struct Group {
  const std::byte* arguments = nullptr;
  std::uint32_t buffers = 0;
  std::uint32_t x = 0, y = 0;

  template <class T> [[nodiscard]] T* buffer(std::uint32_t i) const noexcept {
    return reinterpret_cast<T*>(byte_at(zrt::read_little<std::uint64_t>(arguments + i * 8)));
  }
  [[nodiscard]] std::uint32_t value(std::uint32_t i) const noexcept {
    return zrt::read_little<std::uint32_t>(arguments + buffers * 8 + i * 4);
  }
  [[nodiscard]] float real(std::uint32_t i) const noexcept { return std::bit_cast<float>(value(i)); }
  /// The elements of `count` that a workgroup of 256 lanes has.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> elements(std::uint32_t count, std::uint32_t each = 256) const {
    return {std::min(x * each, count), std::min((x + 1) * each, count)};
  }
};

struct Kernel {
  zrt::device::KernelSignature signature;
  void (*run)(const Group& group) noexcept;
};

namespace kernels {

using namespace zrt;

[[nodiscard]] inline HostTensor tensor(void* data, const Shape& shape, DType dtype = DType::f32) noexcept {
  return {static_cast<std::byte*>(data), {dtype, shape}};
}
[[nodiscard]] inline HostWeight vector(const float* data, std::uint32_t cols) noexcept {
  return {reinterpret_cast<const std::byte*>(data), DType::f32, 1, cols, std::uint64_t{cols} * 4};
}

/// A row of a matrix as files have it, put together from its parts. Of Q8_0 the scale stands first.
template <DType T>
std::vector<std::byte> row_of(const Group& g, std::uint32_t first, std::uint32_t row, std::uint32_t cols) {
  using U = device::Upload<T>;
  const std::uint32_t blocks = cols / info(T).block_elems;
  std::vector<std::byte> file(bytes_of(T, cols));
  for (std::uint32_t b = 0; b < blocks; ++b) {
    std::byte* to = file.data() + b * info(T).block_bytes;
    for (std::uint32_t p = static_cast<std::uint32_t>(U::kParts.size()); p-- > 0;) {
      const device::UploadPart& part = U::kParts[p];
      for (std::uint32_t piece = 0; piece < part.pieces; ++piece, to += part.piece_bytes())
        std::memcpy(to, g.buffer<std::byte>(first + p) + part.place(row, b, blocks, piece), part.piece_bytes());
    }
  }
  return file;
}

template <DType T> void embedding(const Group& g) noexcept {
  constexpr auto parts = static_cast<std::uint32_t>(device::Upload<T>::kParts.size());
  std::int32_t id = g.buffer<std::int32_t>(0)[g.y];
  const std::uint32_t rows = g.value(0), cols = g.value(1);
  if (id < 0 || static_cast<std::uint32_t>(id) >= rows) {
    *g.buffer<std::uint32_t>(parts + 2) = 1;
    id = 0;
  }
  const auto file = row_of<T>(g, 1, static_cast<std::uint32_t>(id), cols);
  std::vector<float> y(cols);
  std::int32_t zero = 0;
  ops::Embedding::reference({{tensor(&zero, Shape{1}, DType::si32)},
                             {tensor(y.data(), Shape{1, cols})},
                             {HostWeight{file.data(), T, 1, cols, file.size()}},
                             {},
                             {g.real(2)}},
                            ExecutionContext{}, Worker{});
  const auto [begin, end] = g.elements(cols);
  std::copy(y.data() + begin, y.data() + end, g.buffer<float>(parts + 1) + std::uint64_t{g.y} * cols + begin);
}

/// Zeros for an index outside the table.
inline void take_rows(const Group& g) noexcept {
  const std::int32_t index = g.buffer<std::int32_t>(0)[g.y];
  const std::uint32_t rows = g.value(0), cols = g.value(1);
  const bool inside = index >= 0 && static_cast<std::uint32_t>(index) < rows;
  if (!inside) *g.buffer<std::uint32_t>(3) = 1;
  const auto [begin, end] = g.elements(cols);
  for (std::uint32_t i = begin; i < end; ++i)
    g.buffer<float>(2)[std::uint64_t{g.y} * cols + i] =
        inside ? g.buffer<float>(1)[static_cast<std::uint64_t>(index) * cols + i] : 0.0f;
}

/// `rows_each` rows and `tokens_each` tokens to a workgroup.
template <DType T, std::uint32_t rows_each, std::uint32_t tokens_each> void product(const Group& g) noexcept {
  constexpr auto parts = static_cast<std::uint32_t>(device::Upload<T>::kParts.size());
  constexpr quant::Act act = quant::facts(T)->act;
  constexpr bool rounded = act != quant::Act::none;
  constexpr std::uint32_t bias = parts + (rounded ? 2 : 1);
  const std::uint32_t rows = g.value(0), cols = g.value(1), tokens = g.value(2);
  const auto [begin, end] = g.elements(rows, rows_each);
  std::vector<std::byte> room(projection_scratch(cols).raw());
  for (std::uint32_t r = begin; r < end; ++r) {
    const auto file = row_of<T>(g, 0, r, cols);
    const HostWeight w{file.data(), T, 1, cols, file.size()};
    for (std::uint32_t t = g.y * tokens_each; t < std::min((g.y + 1) * tokens_each, tokens); ++t) {
      ActivationRow a{.cols = cols, .act = act};
      if constexpr (rounded) {
        a.q = g.buffer<std::int8_t>(parts) + std::uint64_t{t} * cols;
        a.d = g.buffer<float>(parts + 1) + std::uint64_t{t} * (cols / quant::group_elems(act));
      } else {
        a.x = g.buffer<float>(parts) + std::uint64_t{t} * cols;
      }
      const float* const added = g.buffer<float>(bias);
      const float y = project(w, 0, a, room);
      g.buffer<float>(bias + 1)[std::uint64_t{t} * rows + r] = added == nullptr ? y : y + added[r];
    }
  }
}

inline void round_q8_32(const Group& g) noexcept {
  const auto [begin, end] = g.elements(g.value(0), 8);
  for (std::uint32_t i = begin; i < end; ++i)
    quant::round_activation(g.buffer<float>(0) + i * 32, 32, 32, g.buffer<std::int8_t>(1) + i * 32,
                            g.buffer<float>(2) + i);
}

inline void residual_add(const Group& g) noexcept {
  const auto [begin, end] = g.elements(g.value(0));
  const Shape shape{end - begin};
  ops::ResidualAdd::reference({{tensor(g.buffer<float>(0) + begin, shape), tensor(g.buffer<float>(1) + begin, shape)},
                               {tensor(g.buffer<float>(2) + begin, shape)},
                               {},
                               {},
                               {g.real(1)}},
                              ExecutionContext{}, Worker{});
}

inline void rms_norm(const Group& g) noexcept {
  const std::uint32_t dim = g.value(0);
  const std::uint64_t at = std::uint64_t{g.x} * dim;
  ops::RmsNorm::reference({{tensor(g.buffer<float>(0) + at, Shape{dim})},
                           {tensor(g.buffer<float>(2) + at, Shape{dim})},
                           {vector(g.buffer<float>(1), dim)},
                           {},
                           {g.real(1), g.real(2), dim}},
                          ExecutionContext{}, Worker{});
}

inline void residual_rms_norm(const Group& g) noexcept {
  const std::uint32_t dim = g.value(0);
  const std::uint64_t at = std::uint64_t{g.x} * dim;
  const auto part = [&](std::uint32_t i) { return tensor(g.buffer<float>(i) + at, Shape{dim}); };
  ops::ResidualRmsNorm::reference({{part(0), part(1)},
                                   {part(3), part(4)},
                                   {vector(g.buffer<float>(2), dim)},
                                   {},
                                   {{g.real(3)}, {g.real(1), g.real(2), dim}}},
                                  ExecutionContext{}, Worker{});
}

inline void gated_act(const Group& g) noexcept {
  const auto [begin, end] = g.elements(g.value(0));
  const Shape shape{end - begin};
  float* const up = g.buffer<float>(1);
  ops::GatedAct::reference(
      {{tensor(g.buffer<float>(0) + begin, shape), up == nullptr ? HostTensor{} : tensor(up + begin, shape)},
       {tensor(g.buffer<float>(2) + begin, shape)},
       {},
       {},
       {static_cast<Activation>(g.value(1))}},
      ExecutionContext{}, Worker{});
}

inline void soft_cap(const Group& g) noexcept {
  const auto [begin, end] = g.elements(g.value(0));
  for (std::uint32_t i = begin; i < end; ++i)
    g.buffer<float>(0)[i] = ops::LmHead::finish({.scale = g.real(1), .soft_cap = g.real(2)}, g.buffer<float>(0)[i]);
}

inline void argmax(const Group& g) noexcept {
  const std::uint32_t cols = g.value(0);
  ops::GreedyToken::reference({{tensor(g.buffer<float>(0) + std::uint64_t{g.x} * cols, Shape{1, cols})},
                               {tensor(g.buffer<std::int32_t>(1) + g.x, Shape{1}, DType::si32)},
                               {},
                               {},
                               {}},
                              ExecutionContext{}, Worker{});
}

/// The token of one row.
inline void sample(const Group& g) noexcept {
  const std::uint32_t cols = g.value(0), histories = g.value(1), biases = g.value(2);
  const auto row = [&g](std::uint32_t buffer, std::uint32_t words, DType dtype) {
    return tensor(g.buffer<std::uint32_t>(buffer) + std::uint64_t{g.x} * words, Shape{1, words}, dtype);
  };
  ops::Sample::reference(
      {{row(0, cols, DType::f32), row(1, ops::kSampleRequestWords, DType::ui32), row(2, histories, DType::si32),
        row(3, biases, DType::si32), row(4, biases, DType::f32)},
       {tensor(g.buffer<std::int32_t>(5) + g.x, Shape{1}, DType::si32)},
       {},
       {},
       {}},
      ExecutionContext{},
      Worker{.scratch = {g.buffer<std::byte>(6) + std::uint64_t{g.x} * cols * 12, std::size_t{cols} * 12}});
}

/// What a kernel of pages knows of the step: one token of it.
[[nodiscard]] inline ExecutionContext step_of(const Group& g, std::uint32_t positions, std::uint32_t slots,
                                              std::uint32_t pages, std::uint32_t pages_per_slot) noexcept {
  ExecutionContext step;
  step.tokens = 1;
  step.positions = g.buffer<std::uint32_t>(positions) + g.y;
  step.slots = g.buffer<std::uint32_t>(slots) + g.y;
  step.pages = g.buffer<std::uint32_t>(pages);
  step.pages_per_slot = pages_per_slot;
  return step;
}
[[nodiscard]] inline HostState pages_of(const Group& g, std::uint32_t buffer, std::uint32_t bytes,
                                        const KvPage& page) noexcept {
  HostState state;
  state.data = g.buffer<std::byte>(buffer);
  state.unit_bytes = bytes;
  state.info = {StateLifecycle::kv_paged, page.dtype, 0, 0, {page.heads, page.key_dim, page.value_dim, 0}};
  return state;
}

/// A head of the queries, of the keys or of the values of one token.
template <DType T> void rope_kv_write(const Group& g) noexcept {
  const std::uint32_t heads = g.value(0), kv_heads = g.value(1), dim = g.value(2), value_dim = g.value(3);
  ops::RopeParams p;
  p.head_dim = dim;
  p.n_rot = g.value(4);
  p.style = g.value(5) != 0 ? ops::RopeStyle::neox : ops::RopeStyle{};
  const ops::RmsNormParams norm{g.real(7), g.real(8), dim};
  const ExecutionContext step = step_of(g, 4, 5, 6, g.value(9));
  const KvPage page{kv_heads, dim, value_dim, T};
  const HostState state = pages_of(g, 11, g.value(10), page);
  const std::uint32_t position = step.positions[0], token = position % kPageTokens;
  std::byte* const at = state.unit(step.page_list(0, step.slots[0])[position / kPageTokens]);
  if (g.x >= heads + kv_heads) {
    const std::uint32_t head = g.x - heads - kv_heads;
    const float* v = g.buffer<float>(2) + (std::uint64_t{g.y} * kv_heads + head) * value_dim;
    return page.store_value(at, head, token, v);
  }
  const bool query = g.x < heads;
  const std::uint32_t head = query ? g.x : g.x - heads;
  const std::uint64_t from = (std::uint64_t{g.y} * (query ? heads : kv_heads) + head) * dim;
  std::vector<float> x(g.buffer<float>(query ? 0 : 1) + from, g.buffer<float>(query ? 0 : 1) + from + dim);
  const float* const weight = g.buffer<float>(query ? 8 : 9);
  if (weight != nullptr) ops::RmsNorm::run(norm, x.data(), weight, x.data());
  ops::Rope::Angles angles;
  ops::Rope::angles(p, g.buffer<float>(7), g.real(6), g.buffer<std::uint32_t>(3)[g.y], angles);
  ops::Rope::rotate(p, angles, x.data());
  if (query)
    std::ranges::copy(x, g.buffer<float>(10) + from);
  else
    page.store_key(at, head, token, x.data());
}

/// The first workgroup of a token computes all of its heads.
template <DType T> void paged_attention(const Group& g) noexcept {
  if (g.x != 0) return;
  const std::uint32_t heads = g.value(0), kv_heads = g.value(1), dim = g.value(2), value_dim = g.value(3);
  const float* const sinks = g.buffer<float>(1);
  ops::FlashAttnBatched::reference(
      {{tensor(g.buffer<float>(0) + std::uint64_t{g.y} * heads * dim, Shape{1, heads * dim})},
       {tensor(g.buffer<float>(6) + std::uint64_t{g.y} * heads * value_dim, Shape{1, heads * value_dim})},
       {sinks == nullptr ? HostWeight{} : vector(sinks, heads)},
       pages_of(g, 5, g.value(8), {kv_heads, dim, value_dim, T}),
       {heads, kv_heads, dim, value_dim, g.real(4), g.real(5), g.value(6), g.value(9)}},
      step_of(g, 2, 3, 4, g.value(7)), Worker{});
}

}  // namespace kernels

/// The kernels of a dense decoder with weights of these types: name, buffers, bytes of values, lanes.
inline constexpr auto kKernels = [] {
  using namespace kernels;
  using enum zrt::DType;
  return std::to_array<Kernel>({
      {{"embedding_f32", 4, 12, 256}, &embedding<f32>},
      {{"embedding_q8_0", 5, 12, 256}, &embedding<q8_0>},
      {{"take_rows_f32", 4, 8, 256}, &take_rows},
      {{"residual_add", 3, 8, 256}, &residual_add},
      {{"rms_norm", 3, 12, 256}, &rms_norm},
      {{"residual_rms_norm", 5, 16, 256}, &residual_rms_norm},
      {{"gated_act", 3, 8, 256}, &gated_act},
      {{"soft_cap", 1, 12, 256}, &soft_cap},
      {{"argmax", 2, 4, 1024}, &argmax},
      {{"sample", 7, 12, 1024}, &sample},
      {{"round_activation_q8_32", 3, 4, 256}, &round_q8_32},
      {{"matvec_f32", 4, 12, 32}, &product<f32, 32, 4>},
      {{"matvec_q8_0", 6, 12, 32}, &product<q8_0, 32, 8>},
      {{"matmul_f32", 4, 12, 512}, &product<f32, 64, 64>},
      {{"matmul_q8_0", 6, 12, 128}, &product<q8_0, 64, 64>},
      {{"rope_kv_write_f32", 12, 44, 32}, &rope_kv_write<f32>},
      {{"rope_kv_write_f16", 12, 44, 32}, &rope_kv_write<f16>},
      {{"paged_attention_f32", 7, 40, 128}, &paged_attention<f32>},
      {{"paged_attention_f16", 7, 40, 128}, &paged_attention<f16>},
  });
}();

}  // namespace toy_gpu
