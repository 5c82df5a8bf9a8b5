// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/selftest/kernel_cases.hpp: a small launch of each kernel on random operands, with the results of the ops' references.
#pragma once

#include <zrt/backend/pm4/selftest/kernel_case.hpp>
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

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::pm4 {

/// Makes the cases one after the other; each is good until the next is made.
class KernelCases {
 public:
  KernelCases(CaseData& data, const CaseVisitor& visit) noexcept : data_(&data), visit_(visit) {}

  /// Visits one case of each kernel of kernels/, at least. Errors: those of the visitor.
  [[nodiscard]] Result<void> visit_all() noexcept {
    for (const UploadFunctions& type : kUploads) {
      if (auto r = embedding(type); !r) return r;
      if (auto r = products(type); !r) return r;
    }
    for (const auto group :
         {&KernelCases::rows_by_index, &KernelCases::rounding, &KernelCases::norms, &KernelCases::elementwise,
          &KernelCases::argmax, &KernelCases::attention_f32, &KernelCases::attention_f16}) {
      data_->clear();
      if (auto r = (this->*group)(); !r) return r;
    }
    return {};
  }

 private:
  using Floats = Span<float>;

  /// A random matrix of any type, as files have it and in the parts that kernels read.
  struct Matrix {
    const UploadFunctions* type = nullptr;
    std::uint32_t rows = 0, cols = 0;
    Span<std::byte> file{};
    std::array<Span<std::byte>, kMaxParts> parts{};

    [[nodiscard]] HostWeight weight() const noexcept {
      return {file.data(), type->dtype, rows, cols, bytes_of(type->dtype, cols)};
    }
    [[nodiscard]] Name named(std::string_view kernel) const noexcept {
      return Name::of(kernel, "_", zrt::name(type->dtype));
    }
    void give(KernelCase& c) const noexcept {
      for (std::size_t p = 0; p < type->parts.size(); ++p) c.reads(parts[p]);
    }
  };
  [[nodiscard]] Matrix matrix(const UploadFunctions& type, std::uint32_t rows, std::uint32_t cols) noexcept {
    Matrix m{&type, rows, cols, data_->zeros<std::byte>(rows * bytes_of(type.dtype, cols)), {}};
    // Without that bit no f16 and no f32 is larger than 2, whichever bytes a scale is in.
    for (std::byte& b : m.file) b = static_cast<std::byte>(data_->random() & 0xbfu);
    const std::uint32_t blocks = cols / info(type.dtype).block_elems;
    std::array<std::byte*, kMaxParts> to{};
    for (std::size_t p = 0; p < type.parts.size(); ++p) {
      m.parts[p] = data_->zeros<std::byte>(static_cast<std::size_t>(type.parts[p].bytes(rows, blocks).raw()));
      to[p] = m.parts[p].data();
    }
    type.write(m.file.data(), bytes_of(type.dtype, cols), rows, blocks, to.data());
    return m;
  }

  template <class T> [[nodiscard]] static HostTensor tensor(Span<T> values, DType dtype, const Shape& shape) noexcept {
    return {reinterpret_cast<std::byte*>(values.data()), {dtype, shape}};
  }
  [[nodiscard]] static HostTensor real(Floats values, const Shape& shape) noexcept {
    return tensor(values, DType::f32, shape);
  }
  [[nodiscard]] static HostWeight row(Floats values) noexcept {
    const auto cols = static_cast<std::uint32_t>(values.size());
    return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, 1, cols, std::uint64_t{cols} * 4};
  }
  template <class O> static void reference(const HostCall<O>& call) noexcept {
    O::reference(call, ExecutionContext{}, Worker{});
  }
  template <class T> void gives(KernelCase& c, Span<T> values) noexcept { c.becomes(data_->unwritten(values), values); }

  [[nodiscard]] Result<void> embedding(const UploadFunctions& type) noexcept {
    data_->clear();
    const Matrix table = matrix(type, 10, 512);
    constexpr std::uint32_t tokens = 3;
    const Span<std::int32_t> ids = data_->copy(std::array{3, 9, 0});
    const Floats y = data_->zeros<float>(tokens * table.cols);
    reference(HostCall<ops::Embedding>{
        {tensor(ids, DType::si32, Shape{tokens})}, {real(y, Shape{tokens, table.cols})}, {table.weight()}, {}, {1.5f}});
    KernelCase c(table.named("embedding"), {2, tokens, 1});
    c.reads(ids);
    table.give(c);
    gives(c, y);
    const Span<std::uint32_t> no_fault = data_->zeros<std::uint32_t>(1);
    c.becomes(no_fault, no_fault).value(table.rows).value(table.cols).value(1.5f);
    return visit_(c);
  }

  [[nodiscard]] Result<void> rows_by_index() noexcept {
    constexpr std::uint32_t rows = 4, cols = 300;
    const Floats x = data_->reals(rows * cols), y = data_->zeros<float>(2 * cols);
    const Span<std::int32_t> indices = data_->copy(std::array{3, 1});
    reference(HostCall<ops::Take>{
        {real(x, Shape{rows, cols}), tensor(indices, DType::si32, Shape{2})}, {real(y, Shape{2, cols})}, {}, {}, {}});
    KernelCase c("take_rows_f32", {2, 2, 1});
    c.reads(indices).reads(x);
    gives(c, y);
    const Span<std::uint32_t> no_fault = data_->zeros<std::uint32_t>(1);
    c.becomes(no_fault, no_fault).value(rows).value(cols);
    return visit_(c);
  }

  /// The vector kernel with a bias, the matrix kernel without.
  [[nodiscard]] Result<void> products(const UploadFunctions& type) noexcept {
    data_->clear();
    constexpr std::uint32_t tokens = 3;
    const Matrix w = matrix(type, 32, 512);
    const quant::Act act = quant::facts(type.dtype)->act;
    const bool rounded = act != quant::Act::none;
    const Floats x = data_->reals(tokens * w.cols, 4.0f), bias = data_->reals(w.rows);
    const std::uint32_t group = rounded ? quant::group_elems(act) : 1;
    const Span<std::int8_t> q = data_->zeros<std::int8_t>(x.size());
    const Floats d = data_->zeros<float>(x.size() / group);
    if (rounded) quant::round_activation(x.data(), x.size(), group, q.data(), d.data());
    const Span<std::byte> room = data_->zeros<std::byte>(static_cast<std::size_t>(projection_scratch(w.cols).raw()));
    const Floats y = data_->zeros<float>(tokens * w.rows), biased = data_->zeros<float>(tokens * w.rows);
    for (std::uint32_t t = 0; t < tokens; ++t) {
      const ActivationRow of = round_row(&x[t * w.cols], w.cols, act, room);
      for (std::uint32_t r = 0; r < w.rows; ++r) {
        y[t * w.rows + r] = project(w.weight(), r, of, room);
        biased[t * w.rows + r] = y[t * w.rows + r] + bias[r];
      }
    }
    for (const bool vector : {true, false}) {
      KernelCase c(w.named(vector ? "matvec" : "matmul"));
      w.give(c);
      if (rounded)
        c.reads(q).reads(d);
      else
        c.reads(x);
      if (vector)
        c.reads(bias);
      else
        c.absent();
      gives(c, vector ? biased : y);
      c.value(w.rows).value(w.cols).value(tokens);
      if (auto r = visit_(c); !r) return r;
    }
    return {};
  }

  [[nodiscard]] Result<void> rounding() noexcept {
    for (const quant::Act act : {quant::Act::q8_32, quant::Act::q8_256}) {
      const std::uint32_t group = quant::group_elems(act), groups = 3;
      const Floats x = data_->reals(group * groups, 3.0f), d = data_->zeros<float>(groups);
      const Span<std::int8_t> q = data_->zeros<std::int8_t>(x.size());
      quant::round_activation(x.data(), x.size(), group, q.data(), d.data());
      const bool wide = act == quant::Act::q8_256;
      KernelCase c(wide ? "round_activation_q8_256" : "round_activation_q8_32", {wide ? groups : 1, 1, 1});
      c.reads(x);
      gives(c, q);
      gives(c, d);
      if (!wide) c.value(groups);
      if (auto r = visit_(c); !r) return r;
    }
    return {};
  }

  [[nodiscard]] Result<void> norms() noexcept {
    constexpr std::uint32_t dim = 72, rows = 2;
    const Shape shape{rows * dim};
    const Floats weight = data_->reals(dim), x = data_->reals(rows * dim, 4.0f), branch = data_->reals(rows * dim);
    const Floats y = data_->zeros<float>(rows * dim), sum = data_->zeros<float>(rows * dim),
                 both = data_->zeros<float>(rows * dim);
    const ops::RmsNormParams params{1e-5f, 1.0f, dim};
    reference(HostCall<ops::RmsNorm>{{real(x, shape)}, {real(y, shape)}, {row(weight)}, {}, params});
    reference(HostCall<ops::ResidualRmsNorm>{{real(x, shape), real(branch, shape)},
                                             {real(sum, shape), real(both, shape)},
                                             {row(weight)},
                                             {},
                                             {{0.5f}, params}});
    KernelCase norm("rms_norm", {rows, 1, 1});
    norm.reads(x).reads(weight);
    gives(norm, y);
    norm.value(dim).value(params.eps).value(params.weight_offset);
    if (auto r = visit_(norm); !r) return r;
    KernelCase residual("residual_rms_norm", {rows, 1, 1});
    residual.reads(x).reads(branch).reads(weight);
    gives(residual, sum);
    gives(residual, both);
    residual.value(dim).value(params.eps).value(params.weight_offset).value(0.5f);
    return visit_(residual);
  }

  [[nodiscard]] Result<void> elementwise() noexcept {
    constexpr std::uint32_t count = 300;
    const Shape shape{count};
    const Floats x = data_->reals(count, 40.0f), other = data_->reals(count), y = data_->zeros<float>(count);
    reference(HostCall<ops::ResidualAdd>{{real(x, shape), real(other, shape)}, {real(y, shape)}, {}, {}, {0.3f}});
    KernelCase add("residual_add", {2, 1, 1});
    add.reads(x).reads(other);
    gives(add, y);
    if (auto r = visit_(add.value(count).value(0.3f)); !r) return r;
    constexpr Activation act = Activation::silu;
    reference(HostCall<ops::GatedAct>{{real(x, shape), real(other, shape)}, {real(y, shape)}, {}, {}, {act}});
    KernelCase gated("gated_act", {2, 1, 1});
    gated.reads(x).reads(other);
    gives(gated, y);
    if (auto r = visit_(gated.value(count).value(static_cast<std::uint32_t>(act))); !r) return r;
    for (std::size_t i = 0; i < count; ++i) y[i] = ops::LmHead::finish({.scale = 0.3f, .soft_cap = 30.0f}, x[i]);
    KernelCase capped("soft_cap", {2, 1, 1});
    return visit_(capped.becomes(x, y).value(count).value(0.3f).value(30.0f));
  }

  [[nodiscard]] Result<void> argmax() noexcept {
    constexpr std::uint32_t rows = 2, cols = 1000;
    const Floats logits = data_->zeros<float>(rows * cols);
    // Few values, so that the largest comes often: the first counts.
    for (float& x : logits) x = static_cast<float>(data_->random() % 8) - 4.0f;
    const Span<std::int32_t> first = data_->zeros<std::int32_t>(rows);
    reference(HostCall<ops::GreedyToken>{
        {real(logits, Shape{rows, cols})}, {tensor(first, DType::si32, Shape{rows})}, {}, {}, {}});
    KernelCase c("argmax", {rows, 1, 1});
    c.reads(logits);
    gives(c, first);
    return visit_(c.value(cols));
  }

  [[nodiscard]] Result<void> attention_f32() noexcept { return attention(DType::f32); }
  [[nodiscard]] Result<void> attention_f16() noexcept { return attention(DType::f16); }

  /// Two tokens of two slots: rotated and written to their pages, then each over its slot's pages.
  [[nodiscard]] Result<void> attention(DType dtype) noexcept {
    constexpr std::uint32_t heads = 2, kv_heads = 1, dim = 64, tokens = 2, per_slot = 2, rot = 32, page_count = 4;
    const Span<std::uint32_t> slots = data_->copy(std::array{1u, 0u}), positions = data_->copy(std::array{5u, 20u}),
                              table = data_->copy(std::array{2u, 0u, 3u, 1u});
    const KvPage page{kv_heads, dim, dim, dtype};
    constexpr std::size_t elements = std::size_t{page_count} * kPageTokens * kv_heads * 2 * dim;
    const Span<std::byte> pages = data_->zeros<std::byte>(elements * (dtype == DType::f32 ? 4 : 2));
    const Floats filled = data_->reals(elements);
    for (std::size_t i = 0; i < elements; ++i) page.store(pages.data(), i, filled[i]);
    const Span<std::byte> before = data_->copy(Span<const std::byte>(pages));
    HostState state;
    state.data = pages.data();
    state.units = page_count;
    state.unit_bytes = pages.size() / page_count;
    state.info = {StateLifecycle::kv_paged, dtype, 0, 0, {kv_heads, dim, dim, 0}};
    ExecutionContext step;
    step.tokens = step.slot_count = tokens;
    step.slots = slots.data();
    step.positions = positions.data();
    step.pages = table.data();
    step.pages_per_slot = per_slot;
    const auto page_bytes = static_cast<std::uint32_t>(state.unit_bytes);

    ops::RmsNormFusedRopeKvWriteParams params;
    params.eps = 1e-6f;
    params.weight_offset = 1.0f;
    params.kv = {kv_heads, dim, dim};
    params.rope.head_dim = dim;
    params.rope.n_rot = rot;
    params.rope.style = ops::RopeStyle::neox;
    const Floats q = data_->reals(tokens * heads * dim, 2.0f), k = data_->reals(tokens * kv_heads * dim, 2.0f),
                 v = data_->reals(tokens * kv_heads * dim), q_norm = data_->reals(dim), k_norm = data_->reals(dim);
    const Floats rotated = data_->zeros<float>(q.size()), frequencies = data_->zeros<float>(rot / 2),
                 y = data_->zeros<float>(q.size());
    for (std::uint32_t i = 0; i < frequencies.size(); ++i)
      frequencies[i] = ops::rope_frequency(params.rope, nullptr, i);
    const Shape of_heads{tokens, heads * dim}, of_kv{tokens, kv_heads * dim};
    HostCall<ops::RmsNormFusedRopeKvWrite> write{};
    write.in = {real(q, of_heads), real(k, of_kv), real(v, of_kv), tensor(positions, DType::si32, Shape{tokens})};
    write.out[0] = real(rotated, of_heads);
    write.w = {row(q_norm), row(k_norm), {}};
    write.state = state;
    write.params = params;
    ops::RmsNormFusedRopeKvWrite::reference(write, step,
                                            Worker{0, 1, 0, data_->zeros<std::byte>(std::size_t{kv_heads} * dim * 4)});
    KernelCase rope(Name::of("rope_kv_write_", zrt::name(dtype)), {heads + 2 * kv_heads, tokens, 1});
    rope.reads(q).reads(k).reads(v).reads(positions).reads(slots).reads(table).reads(frequencies);
    rope.reads(q_norm).reads(k_norm);
    gives(rope, rotated);
    rope.becomes(before, pages).value(heads).value(kv_heads).value(dim).value(dim).value(rot).value(1u);
    rope.value(params.rope.magnitude).value(params.eps).value(params.weight_offset).value(per_slot).value(page_bytes);
    if (auto r = visit_(rope); !r) return r;

    const HostCall<ops::FlashAttnBatched> attend{
        {real(rotated, of_heads)}, {real(y, of_heads)}, {}, state, {heads, kv_heads, dim, dim, 0.125f, 0.0f, 0}};
    ops::FlashAttnBatched::reference(attend, step, Worker{});
    KernelCase paged(Name::of("paged_attention_", zrt::name(dtype)), {heads, tokens, 1});
    paged.reads(rotated).absent().reads(positions).reads(slots).reads(table).reads(pages);
    gives(paged, y);
    paged.value(heads).value(kv_heads).value(dim).value(dim).value(0.125f).value(0.0f).value(0u);
    return visit_(paged.value(per_slot).value(page_bytes));
  }

  CaseData* data_;
  CaseVisitor visit_;
};

/// Visits a case of each kernel that zrt has. Errors: Errc::out_of_memory; those of the visitor.
[[nodiscard]] ZRT_COLD inline Result<void> for_each_kernel_case(const Allocator& allocator,
                                                                const CaseVisitor& visit) noexcept {
  auto data = CaseData::make(allocator);
  if (!data) return pass(data);
  return KernelCases(*data, visit).visit_all();
}

}  // namespace zrt::inline ZRT_ABI::pm4

ZRT_LOAD_TIME_END
