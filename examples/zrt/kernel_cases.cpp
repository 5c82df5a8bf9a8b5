// SPDX-License-Identifier: Apache-2.0
// examples/zrt/kernel_cases.cpp: launches of pm4's kernels on random operands, with the results of the ops' references.
#include "kernel_cases.hpp"
#include <zrt/backend/pm4/upload/types.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/greedy_token.hpp>
#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/projection.hpp>
#include <zrt/ops/residual_rms_norm.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/ops/take.hpp>

#include <cstring>
#include <random>

namespace program {
namespace {

using Floats = std::vector<float>;

template <class T> std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}
template <class T> CaseBuffer reads(const std::vector<T>& values) { return {bytes_of(values), {}}; }
template <class T> CaseBuffer gives(const std::vector<T>& values) {
  return {std::vector<std::byte>(values.size() * sizeof(T), std::byte{0xee}), bytes_of(values)};
}
/// In place.
template <class T> CaseBuffer becomes(const std::vector<T>& before, const std::vector<T>& after) {
  return {bytes_of(before), bytes_of(after)};
}
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

template <class T> zrt::HostTensor tensor(std::vector<T>& values, zrt::DType dtype, const zrt::Shape& shape) {
  return {reinterpret_cast<std::byte*>(values.data()), {dtype, shape}};
}
zrt::HostWeight row(const Floats& values) {
  const auto cols = static_cast<std::uint32_t>(values.size());
  return {reinterpret_cast<const std::byte*>(values.data()), zrt::DType::f32, 1, cols, cols * 4};
}
template <class O> void reference(const zrt::HostCall<O>& call) {
  O::reference(call, zrt::ExecutionContext{}, zrt::Worker{});
}

/// A random matrix of any type, as files have it and in the parts that kernels read.
struct Matrix {
  const zrt::pm4::UploadFunctions& type;
  std::uint32_t rows, cols;
  std::vector<std::byte> file;
  std::vector<std::vector<std::byte>> parts;

  Matrix(std::mt19937& random, const zrt::pm4::UploadFunctions& of, std::uint32_t row_count, std::uint32_t col_count)
      : type(of), rows(row_count), cols(col_count), file(rows * row_bytes()) {
    // Without that bit no f16 and no f32 is larger than 2, whichever bytes a scale is in.
    for (std::byte& b : file) b = static_cast<std::byte>(random() & 0xbfu);
    const std::uint32_t blocks = cols / zrt::info(type.dtype).block_elems;
    std::array<std::byte*, zrt::pm4::kMaxParts> to{};
    for (const auto& part : type.parts) parts.emplace_back(part.bytes(rows, blocks).raw());
    for (std::size_t p = 0; p < parts.size(); ++p) to[p] = parts[p].data();
    type.write(file.data(), row_bytes(), rows, blocks, to.data());
  }
  [[nodiscard]] std::size_t row_bytes() const { return zrt::bytes_of(type.dtype, cols); }
  [[nodiscard]] zrt::HostWeight weight() const { return {file.data(), type.dtype, rows, cols, row_bytes()}; }
  [[nodiscard]] std::string named(std::string_view kernel) const {
    return std::string(kernel) + "_" + std::string(name(type.dtype));
  }
  [[nodiscard]] std::vector<CaseBuffer> buffers() const {
    std::vector<CaseBuffer> all;
    for (const auto& part : parts) all.push_back(reads(part));
    return all;
  }
};

class Cases {
 public:
  std::vector<KernelCase> all() {
    for (const zrt::pm4::UploadFunctions& type : zrt::pm4::kUploads) {
      embedding(type);
      products(type);
    }
    rows_by_index();
    rounding(zrt::quant::Act::q8_32);
    rounding(zrt::quant::Act::q8_256);
    norms();
    elementwise();
    argmax();
    for (const zrt::DType dtype : {zrt::DType::f32, zrt::DType::f16}) attention(dtype);
    return std::move(cases_);
  }

 private:
  Floats reals(std::size_t count, float scale = 1.0f) {
    Floats values(count);
    for (float& v : values) v = scale * (static_cast<float>(random_() >> 8) * 0x1p-23f - 1.0f);
    return values;
  }

  void embedding(const zrt::pm4::UploadFunctions& type) {
    const Matrix table(random_, type, 10, 512);
    std::vector<std::int32_t> ids{3, 9, 0};
    Floats y(ids.size() * table.cols);
    reference(zrt::HostCall<zrt::ops::Embedding>{{tensor(ids, zrt::DType::si32, zrt::Shape{3})},
                                                 {tensor(y, zrt::DType::f32, zrt::Shape{3, table.cols})},
                                                 {table.weight()},
                                                 {},
                                                 {1.5f}});
    KernelCase c{table.named("embedding"), {reads(ids)}, {table.rows, table.cols, bits(1.5f)}, {2, 3, 1}};
    for (CaseBuffer& part : table.buffers()) c.buffers.push_back(std::move(part));
    c.buffers.push_back(gives(y));
    const std::vector<std::uint32_t> no_fault{0};
    c.buffers.push_back(becomes(no_fault, no_fault));
    cases_.push_back(std::move(c));
  }

  void rows_by_index() {
    constexpr std::uint32_t rows = 4, cols = 300;
    Floats x = reals(rows * cols), y(2 * cols);
    std::vector<std::int32_t> indices{3, 1};
    reference(zrt::HostCall<zrt::ops::Take>{
        {tensor(x, zrt::DType::f32, zrt::Shape{rows, cols}), tensor(indices, zrt::DType::si32, zrt::Shape{2})},
        {tensor(y, zrt::DType::f32, zrt::Shape{2, cols})},
        {},
        {},
        {}});
    const std::vector<std::uint32_t> no_fault{0};
    cases_.push_back(
        {"take_rows_f32", {reads(indices), reads(x), gives(y), becomes(no_fault, no_fault)}, {rows, cols}, {2, 2, 1}});
  }

  /// The vector kernel with a bias, the matrix kernel without.
  void products(const zrt::pm4::UploadFunctions& type) {
    constexpr std::uint32_t tokens = 3;
    const Matrix w(random_, type, 32, 512);
    const zrt::quant::Act act = zrt::quant::facts(type.dtype)->act;
    const bool rounded = act != zrt::quant::Act::none;
    const Floats x = reals(tokens * w.cols, 4.0f), bias = reals(w.rows);
    const std::uint32_t group = rounded ? zrt::quant::group_elems(act) : 1;
    std::vector<std::int8_t> q(x.size());
    Floats d(x.size() / group), y, scratch(zrt::projection_scratch(w.cols).raw() / 4 + 1);
    if (rounded) zrt::quant::round_activation(x.data(), x.size(), group, q.data(), d.data());
    const std::span<std::byte> room = std::as_writable_bytes(std::span(scratch));
    for (std::uint32_t t = 0; t < tokens; ++t) {
      const zrt::ActivationRow of = zrt::round_row(&x[t * w.cols], w.cols, act, room);
      for (std::uint32_t r = 0; r < w.rows; ++r) y.push_back(zrt::project(w.weight(), r, of, room));
    }
    Floats biased = y;
    for (std::size_t i = 0; i < y.size(); ++i) biased[i] += bias[i % w.rows];

    KernelCase vector{w.named("matvec"), w.buffers(), {w.rows, w.cols, tokens}};
    KernelCase matrix{w.named("matmul"), w.buffers(), {w.rows, w.cols, tokens}};
    for (KernelCase* c : {&vector, &matrix}) {
      if (rounded) {
        c->buffers.push_back(reads(q));
        c->buffers.push_back(reads(d));
      } else {
        c->buffers.push_back(reads(x));
      }
      c->buffers.push_back(c == &vector ? reads(bias) : CaseBuffer{});
      c->buffers.push_back(gives(c == &vector ? biased : y));
      cases_.push_back(std::move(*c));
    }
  }

  /// A whole number between -limit and limit.
  float small(float limit) {
    return static_cast<float>(static_cast<int>(random_() % static_cast<unsigned>(2 * limit)) - static_cast<int>(limit));
  }

  void rounding(zrt::quant::Act act) {
    const std::uint32_t group = zrt::quant::group_elems(act), groups = 3;
    const Floats x = reals(group * groups, 3.0f);
    std::vector<std::int8_t> q(x.size());
    Floats d(groups);
    zrt::quant::round_activation(x.data(), x.size(), group, q.data(), d.data());
    const bool wide = act == zrt::quant::Act::q8_256;
    KernelCase c{wide ? "round_activation_q8_256" : "round_activation_q8_32", {reads(x), gives(q), gives(d)}};
    if (wide)
      c.grid = {groups, 1, 1};
    else
      c.values = {groups};
    cases_.push_back(std::move(c));
  }

  void norms() {
    constexpr std::uint32_t dim = 72, rows = 2;
    const zrt::Shape shape{rows * dim};
    const Floats weight = reals(dim);
    const zrt::ops::RmsNormParams params{1e-5f, 1.0f, dim};
    Floats x = reals(rows * dim, 4.0f), branch = reals(rows * dim), y(rows * dim), sum(rows * dim), both(rows * dim);
    reference(zrt::HostCall<zrt::ops::RmsNorm>{
        {tensor(x, zrt::DType::f32, shape)}, {tensor(y, zrt::DType::f32, shape)}, {row(weight)}, {}, params});
    reference(zrt::HostCall<zrt::ops::ResidualRmsNorm>{
        {tensor(x, zrt::DType::f32, shape), tensor(branch, zrt::DType::f32, shape)},
        {tensor(sum, zrt::DType::f32, shape), tensor(both, zrt::DType::f32, shape)},
        {row(weight)},
        {},
        {{0.5f}, params}});
    const std::vector<std::uint32_t> values{dim, bits(params.eps), bits(params.weight_offset)};
    cases_.push_back({"rms_norm", {reads(x), reads(weight), gives(y)}, values, {rows, 1, 1}});
    KernelCase c{
        "residual_rms_norm", {reads(x), reads(branch), reads(weight), gives(sum), gives(both)}, values, {rows, 1, 1}};
    c.values.push_back(bits(0.5f));
    cases_.push_back(std::move(c));
  }

  void elementwise() {
    constexpr std::uint32_t count = 300;
    const zrt::Shape shape{count};
    Floats x = reals(count, 40.0f), other = reals(count), sum(count), gated(count), capped(count);
    reference(
        zrt::HostCall<zrt::ops::ResidualAdd>{{tensor(x, zrt::DType::f32, shape), tensor(other, zrt::DType::f32, shape)},
                                             {tensor(sum, zrt::DType::f32, shape)},
                                             {},
                                             {},
                                             {0.3f}});
    cases_.push_back({"residual_add", {reads(x), reads(other), gives(sum)}, {count, bits(0.3f)}, {2, 1, 1}});
    constexpr zrt::Activation act = zrt::Activation::silu;
    reference(
        zrt::HostCall<zrt::ops::GatedAct>{{tensor(x, zrt::DType::f32, shape), tensor(other, zrt::DType::f32, shape)},
                                          {tensor(gated, zrt::DType::f32, shape)},
                                          {},
                                          {},
                                          {act}});
    cases_.push_back(
        {"gated_act", {reads(x), reads(other), gives(gated)}, {count, static_cast<std::uint32_t>(act)}, {2, 1, 1}});
    for (std::size_t i = 0; i < count; ++i)
      capped[i] = zrt::ops::LmHead::finish({.scale = 0.3f, .soft_cap = 30.0f}, x[i]);
    cases_.push_back({"soft_cap", {becomes(x, capped)}, {count, bits(0.3f), bits(30.0f)}, {2, 1, 1}});
  }

  void argmax() {
    constexpr std::uint32_t rows = 2, cols = 1000;
    Floats logits(rows * cols);
    // Few values, so that the largest comes often: the first counts.
    for (float& x : logits) x = small(4);
    std::vector<std::int32_t> first(rows);
    reference(zrt::HostCall<zrt::ops::GreedyToken>{{tensor(logits, zrt::DType::f32, zrt::Shape{rows, cols})},
                                                   {tensor(first, zrt::DType::si32, zrt::Shape{rows})},
                                                   {},
                                                   {},
                                                   {}});
    cases_.push_back({"argmax", {reads(logits), gives(first)}, {cols}, {rows, 1, 1}});
  }

  /// Two tokens of two slots: rotated and written to their pages, then each over its slot's pages.
  void attention(zrt::DType dtype) {
    constexpr std::uint32_t heads = 2, kv_heads = 1, dim = 64, tokens = 2, per_slot = 2, rot = 32;
    const std::vector<std::uint32_t> slots{1, 0}, positions{5, 20}, table{2, 0, 3, 1};
    const zrt::KvPage page{kv_heads, dim, dim, dtype};
    const std::size_t elements = table.size() * zrt::kPageTokens * kv_heads * 2 * dim;
    std::vector<std::byte> pages(elements * (dtype == zrt::DType::f32 ? 4 : 2));
    const Floats filled = reals(elements);
    for (std::size_t i = 0; i < elements; ++i) page.store(pages.data(), i, filled[i]);
    const std::vector<std::byte> before = pages;
    zrt::HostState state;
    state.data = pages.data();
    state.units = static_cast<std::uint32_t>(table.size());
    state.unit_bytes = pages.size() / table.size();
    state.info = {zrt::StateLifecycle::kv_paged, dtype, 0, 0, {kv_heads, dim, dim, 0}};
    zrt::ExecutionContext step;
    step.tokens = step.slot_count = tokens;
    step.slots = slots.data();
    step.positions = positions.data();
    step.pages = table.data();
    step.pages_per_slot = per_slot;
    const auto page_bytes = static_cast<std::uint32_t>(state.unit_bytes);
    const std::string suffix = "_" + std::string(name(dtype));

    zrt::ops::RmsNormFusedRopeKvWriteParams params;
    params.eps = 1e-6f;
    params.weight_offset = 1.0f;
    params.kv = {kv_heads, dim, dim};
    params.rope.head_dim = dim;
    params.rope.n_rot = rot;
    params.rope.style = zrt::ops::RopeStyle::neox;
    Floats q = reals(tokens * heads * dim, 2.0f), k = reals(tokens * kv_heads * dim, 2.0f),
           v = reals(tokens * kv_heads * dim), rotated(q.size()), frequencies(rot / 2), y(q.size());
    const Floats q_norm = reals(dim), k_norm = reals(dim);
    for (std::uint32_t i = 0; i < frequencies.size(); ++i)
      frequencies[i] = zrt::ops::rope_frequency(params.rope, nullptr, i);
    const zrt::Shape of_heads{tokens, heads * dim}, of_kv{tokens, kv_heads * dim};
    std::vector<std::int32_t> signed_positions(positions.begin(), positions.end());
    std::vector<std::byte> scratch(kv_heads * dim * 4);
    zrt::HostCall<zrt::ops::RmsNormFusedRopeKvWrite> write{};
    write.in = {tensor(q, zrt::DType::f32, of_heads), tensor(k, zrt::DType::f32, of_kv),
                tensor(v, zrt::DType::f32, of_kv), tensor(signed_positions, zrt::DType::si32, zrt::Shape{tokens})};
    write.out[0] = tensor(rotated, zrt::DType::f32, of_heads);
    write.w = {row(q_norm), row(k_norm), {}};
    write.state = state;
    write.params = params;
    zrt::ops::RmsNormFusedRopeKvWrite::reference(write, step, zrt::Worker{0, 1, 0, scratch});
    cases_.push_back({"rope_kv_write" + suffix,
                      {reads(q), reads(k), reads(v), reads(positions), reads(slots), reads(table), reads(frequencies),
                       reads(q_norm), reads(k_norm), gives(rotated), becomes(before, pages)},
                      {heads, kv_heads, dim, dim, rot, 1, bits(params.rope.magnitude), bits(params.eps),
                       bits(params.weight_offset), per_slot, page_bytes},
                      {heads + 2 * kv_heads, tokens, 1}});
    zrt::HostCall<zrt::ops::FlashAttnBatched> attend{{tensor(rotated, zrt::DType::f32, of_heads)},
                                                     {tensor(y, zrt::DType::f32, of_heads)},
                                                     {},
                                                     state,
                                                     {heads, kv_heads, dim, dim, 0.125f, 0.0f, 0}};
    zrt::ops::FlashAttnBatched::reference(attend, step, zrt::Worker{});
    cases_.push_back({"paged_attention" + suffix,
                      {reads(rotated), {}, reads(positions), reads(slots), reads(table), reads(pages), gives(y)},
                      {heads, kv_heads, dim, dim, bits(0.125f), bits(0.0f), 0, per_slot, page_bytes},
                      {heads, tokens, 1}});
  }

  std::mt19937 random_{1};
  std::vector<KernelCase> cases_;
};

}  // namespace

std::vector<KernelCase> kernel_cases() { return Cases().all(); }

}  // namespace program
