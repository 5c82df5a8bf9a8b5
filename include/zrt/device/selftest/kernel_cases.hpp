// SPDX-License-Identifier: Apache-2.0
// zrt/device/selftest/kernel_cases.hpp: a small launch of each kernel on random operands, with the results of the ops' references.
#pragma once

#include <zrt/device/selftest/kernel_case.hpp>
#include <zrt/device/upload/types.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/greedy_token.hpp>
#include <zrt/ops/head_columns.hpp>
#include <zrt/ops/layer_norm_runs.hpp>
#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/mla_kv_write.hpp>
#include <zrt/ops/moe_down_acc.hpp>
#include <zrt/ops/moe_gate_topk.hpp>
#include <zrt/ops/projection.hpp>
#include <zrt/ops/residual_rms_norm.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/ops/sample.hpp>
#include <zrt/ops/shared_expert.hpp>
#include <zrt/ops/ssm_conv1d.hpp>
#include <zrt/ops/ssm_delta_net.hpp>
#include <zrt/ops/ssm_gated_norm.hpp>
#include <zrt/ops/ssm_scan.hpp>
#include <zrt/ops/take.hpp>
#include <zrt/ops/weight_scale.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::device {

/// Makes the cases one after the other; each is good until the next is made.
class KernelCases {
 public:
  KernelCases(CaseData& data, const CaseVisitor& visit) noexcept : data_(&data), visit_(visit) {}

  /// Visits one case of each kernel of a device that reads `types`, at least. Errors: those of the visitor.
  [[nodiscard]] Result<void> visit_all(Span<const UploadFunctions> types) noexcept {
    for (const UploadFunctions& type : types) {
      if (auto r = embedding(type); !r) return r;
      if (auto r = products(type); !r) return r;
      if (auto r = experts(type); !r) return r;
    }
    for (const auto group : {&KernelCases::rows_by_index, &KernelCases::rounding,      &KernelCases::norms,
                             &KernelCases::elementwise,   &KernelCases::columns,       &KernelCases::adapters,
                             &KernelCases::argmax,        &KernelCases::routing,       &KernelCases::expert_sums,
                             &KernelCases::attention_f32, &KernelCases::attention_f16, &KernelCases::attention_bf16,
                             &KernelCases::latent_f32,    &KernelCases::latent_f16,    &KernelCases::latent_bf16,
                             &KernelCases::convolution,   &KernelCases::scan,          &KernelCases::delta_net,
                             &KernelCases::gated_norm,    &KernelCases::sampling}) {
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
  /// A matrix of f32, and how a kernel has it.
  [[nodiscard]] static HostWeight table(Floats values, std::uint32_t rows) noexcept {
    const auto cols = static_cast<std::uint32_t>(values.size() / rows);
    return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, rows, cols, std::uint64_t{cols} * 4};
  }
  [[nodiscard]] Span<std::byte> uploaded(const HostWeight& w) noexcept {
    const UploadFunctions& type = *upload_of(DType::f32);
    const Span<std::byte> part =
        data_->zeros<std::byte>(static_cast<std::size_t>(type.parts[0].bytes(w.rows, w.cols).raw()));
    std::byte* to = part.data();
    type.write(w.row(0), w.row_bytes, w.rows, w.cols, &to);
    return part;
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

  /// Two tokens of two experts whose rows begin within a group.
  [[nodiscard]] Result<void> experts(const UploadFunctions& type) noexcept {
    data_->clear();
    constexpr std::uint32_t tokens = 2, all = 2, used = 2, rows = 24;
    const Matrix w = matrix(type, all * rows, 256);
    const quant::Act act = quant::facts(type.dtype)->act;
    const bool rounded = act != quant::Act::none;
    const Floats x = data_->reals(tokens * w.cols, 4.0f), bias = data_->reals(all * rows);
    const std::uint32_t group = rounded ? quant::group_elems(act) : 1;
    const Span<std::int8_t> q = data_->zeros<std::int8_t>(x.size());
    const Floats d = data_->zeros<float>(x.size() / group), y = data_->zeros<float>(tokens * used * rows);
    if (rounded) quant::round_activation(x.data(), x.size(), group, q.data(), d.data());
    const Span<std::byte> room = data_->zeros<std::byte>(static_cast<std::size_t>(projection_scratch(w.cols).raw()));
    const Span<std::int32_t> ids = data_->copy(std::array{0, 1, 1, 0});
    const Span<std::uint32_t> no_fault = data_->zeros<std::uint32_t>(1), fault = data_->copy(std::array{1u});
    // The last id does not ascend.
    for (std::uint32_t pair = 0; pair + 1 < tokens * used; ++pair) {
      const ActivationRow of = round_row(&x[pair / used * w.cols], w.cols, act, room);
      const auto e = static_cast<std::uint32_t>(ids[pair]);
      for (std::uint32_t r = 0; r < rows; ++r)
        y[pair * rows + r] = project(w.weight(), e * rows + r, of, room) + bias[e * rows + r];
    }
    KernelCase c(w.named("experts"), {1, tokens * used, 1});
    w.give(c);
    if (rounded)
      c.reads(q).reads(d);
    else
      c.reads(x);
    c.reads(uploaded(table(bias, all))).reads(ids);
    gives(c, y);
    c.becomes(no_fault, fault).value(rows).value(w.cols).value(used).value(all).value(rows).value(0u).value(0u);
    return visit_(c.value(rows));
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
    if (auto r = visit_(residual); !r) return r;
    reference(HostCall<ops::LayerNormRuns>{
        {real(x, shape)}, {real(y, shape)}, {row(weight), row(branch)}, {}, {params.eps, dim}});
    KernelCase layer("layer_norm_runs", {rows, 1, 1});
    layer.reads(x).reads(weight).reads(branch);
    gives(layer, y);
    return visit_(layer.value(dim).value(params.eps));
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
    if (auto r = visit_(capped.becomes(x, y).value(count).value(0.3f).value(30.0f)); !r) return r;
    const Floats scale = data_->reals(1);
    reference(HostCall<ops::WeightScale>{{real(x, shape)}, {real(y, shape)}, {row(scale)}, {}, {}});
    KernelCase scaled("weight_scale", {2, 1, 1});
    scaled.reads(x).reads(scale);
    gives(scaled, y);
    return visit_(scaled.value(count));
  }

  [[nodiscard]] Result<void> columns() noexcept {
    constexpr ops::HeadColumnsParams p{2, 100, 7, 80};
    const Floats x = data_->reals(p.heads * p.head_dim), gated = data_->reals(p.heads * p.count),
                 y = data_->zeros<float>(gated.size());
    reference(
        HostCall<ops::HeadColumns>{{real(x, Shape{1, p.heads * p.head_dim}), real(gated, Shape{1, p.heads * p.count})},
                                   {real(y, Shape{1, p.heads * p.count})},
                                   {},
                                   {},
                                   p});
    KernelCase c("head_columns", {2, p.heads, 1});
    c.reads(x).reads(gated);
    gives(c, y);
    return visit_(c.value(p.head_dim).value(p.first).value(p.count).value(p.count));
  }

  /// Rows of the second adapter, of none, and of one that there is not.
  [[nodiscard]] Result<void> adapters() noexcept {
    constexpr std::uint32_t all = 3, rows = 40, cols = 68, tokens = 3;
    const Floats w = data_->reals(all * rows * cols), x = data_->reals(tokens * cols), y = data_->reals(tokens * rows),
                 sum = data_->zeros<float>(y.size());
    const Span<std::int32_t> ids = data_->copy(std::array{1, -1, 3});
    for (std::uint32_t i = 0; i < sum.size(); ++i)
      sum[i] = i < rows ? y[i] + quant::dot16(&w[(rows + i) * cols], x.data(), cols) : y[i];
    KernelCase c("lora_rows", {2, tokens, 1});
    c.reads(uploaded(table(w, all * rows))).reads(x).reads(ids).reads(y);
    gives(c, sum);
    const Span<std::uint32_t> no_fault = data_->zeros<std::uint32_t>(1), fault = data_->copy(std::array{1u});
    return visit_(c.becomes(no_fault, fault).value(rows).value(cols).value(all));
  }

  /// Sigmoids with a bias, from two groups of four.
  [[nodiscard]] Result<void> routing() noexcept {
    constexpr std::uint32_t all = 8, tokens = 2;
    constexpr ops::MoeGateTopkParams p{2, 4, 2, 2.5f, ops::Gating::sigmoid, 1, {}, {}};
    // The router takes the logits as they are.
    const Floats unit = data_->zeros<float>(all * all), logits = data_->reals(tokens * all, 4.0f),
                 bias = data_->reals(all), weights = data_->zeros<float>(tokens * p.used);
    for (std::uint32_t e = 0; e < all; ++e) unit[e * all + e] = 1.0f;
    const Span<std::int32_t> ids = data_->zeros<std::int32_t>(weights.size());
    const Span<std::byte> room = data_->zeros<std::byte>(static_cast<std::size_t>(
        ops::MoeGateTopk::reference_scratch({{InputInfo{true, {DType::f32, Shape{tokens, all}}}}, {}, {}, {}, p}, {})
            .raw()));
    ops::MoeGateTopk::reference(
        {{real(logits, Shape{tokens, all})},
         {tensor(ids, DType::si32, Shape{tokens, p.used}), real(weights, Shape{tokens, p.used})},
         {table(unit, all), {}, row(bias)},
         {},
         p},
        ExecutionContext{}, Worker{0, 1, 0, room});
    KernelCase c("moe_route", {tokens, 1, 1});
    c.reads(logits).reads(bias);
    gives(c, ids);
    gives(c, weights);
    c.value(all).value(p.used).value(p.groups).value(p.groups_used).value(p.scale);
    return visit_(c.value(static_cast<std::uint32_t>(p.gating)).value(std::uint32_t{p.normalise}));
  }

  [[nodiscard]] Result<void> expert_sums() noexcept {
    constexpr std::uint32_t tokens = 2, used = 2, all = 3, cols = 300;
    const Floats branch = data_->reals(tokens * used * cols), weights = data_->reals(tokens * used),
                 scale = data_->reals(all), sum = data_->reals(tokens * cols), y = data_->zeros<float>(tokens * cols);
    // The last id does not ascend.
    const Span<std::int32_t> ids = data_->copy(std::array{0, 2, 1, 1});
    for (std::uint32_t i = 0; i < y.size(); ++i) {
      y[i] = sum[i];
      for (std::uint32_t pair = i / cols * used; pair < (i / cols + 1) * used && pair + 1 < ids.size(); ++pair)
        y[i] = __builtin_fmaf(math::sealed(weights[pair] * scale[static_cast<std::uint32_t>(ids[pair])]),
                              branch[pair * cols + i % cols], y[i]);
    }
    KernelCase c("expert_sum", {2, tokens, 1});
    c.reads(branch).reads(ids).reads(weights).reads(scale).reads(sum);
    gives(c, y);
    const Span<std::uint32_t> no_fault = data_->zeros<std::uint32_t>(1), fault = data_->copy(std::array{1u});
    c.becomes(no_fault, fault).value(cols).value(used).value(all);
    if (auto r = visit_(c); !r) return r;
    constexpr std::uint32_t dim = 72;
    const Floats x = data_->reals(tokens * dim), gate = data_->reals(dim), first = branch.first(tokens * cols);
    const Shape shape{tokens, cols};
    reference(HostCall<ops::SharedExpert>{
        {real(x, Shape{tokens, dim}), real(first, shape), real(sum, shape)}, {real(y, shape)}, {row(gate)}, {}, {}});
    KernelCase shared("shared_expert", {tokens, 1, 1});
    shared.reads(x).reads(first).reads(sum).reads(gate);
    gives(shared, y);
    return visit_(shared.value(dim).value(cols));
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
  [[nodiscard]] Result<void> attention_bf16() noexcept { return attention(DType::bf16); }
  [[nodiscard]] Result<void> latent_f32() noexcept { return latent(DType::f32); }
  [[nodiscard]] Result<void> latent_f16() noexcept { return latent(DType::f16); }
  [[nodiscard]] Result<void> latent_bf16() noexcept { return latent(DType::bf16); }

  static constexpr std::uint32_t kTokens = 2, kPagesPerSlot = 2, kPages = 4;

  /// The pages of two slots, with a token of each.
  struct Pages {
    Span<std::uint32_t> slots{}, positions{}, table{};
    Span<std::byte> bytes{}, before{};
    HostState state{};
    ExecutionContext step{};
  };
  [[nodiscard]] Pages pages_of(const KvPage& page) noexcept {
    Pages p;
    p.slots = data_->copy(std::array{1u, 0u});
    p.positions = data_->copy(std::array{5u, 20u});
    p.table = data_->copy(std::array{2u, 0u, 3u, 1u});
    p.state.info = {StateLifecycle::kv_paged, page.dtype, 0, 0, {page.heads, page.key_dim, page.value_dim, 0}};
    p.state.units = kPages;
    p.state.unit_bytes = unit_bytes(p.state.info).raw();
    p.bytes = data_->zeros<std::byte>(kPages * p.state.unit_bytes);
    p.state.data = p.bytes.data();
    for (std::uint32_t i = 0; i < kPages * kPageTokens; ++i)
      for (std::uint32_t head = 0; head < page.heads; ++head) {
        std::byte* const at = p.state.unit(i / kPageTokens);
        page.store_key(at, head, i % kPageTokens, data_->reals(page.key_dim).data());
        page.store_value(at, head, i % kPageTokens, data_->reals(page.value_dim).data());
      }
    p.before = data_->copy(Span<const std::byte>(p.bytes));
    p.step.tokens = p.step.slot_count = kTokens;
    p.step.slots = p.slots.data();
    p.step.positions = p.positions.data();
    p.step.pages = p.table.data();
    p.step.pages_per_slot = kPagesPerSlot;
    return p;
  }

  /// The latent vectors and shared keys of two tokens into their pages.
  [[nodiscard]] Result<void> latent(DType dtype) noexcept {
    constexpr std::uint32_t of_value = 40, turned = 24, rot = 16;
    const Pages cache = pages_of({1, of_value + turned, of_value, dtype});
    ops::MlaKvWriteParams params;
    params.latent = of_value;
    params.rope.head_dim = turned;
    params.rope.n_rot = rot;
    const Floats x = data_->reals(kTokens * (of_value + turned), 2.0f), norm = data_->reals(of_value),
                 frequencies = data_->zeros<float>(rot / 2);
    for (std::uint32_t i = 0; i < frequencies.size(); ++i)
      frequencies[i] = ops::rope_frequency(params.rope, nullptr, i);
    HostCall<ops::MlaKvWrite> write{};
    write.in = {real(x, Shape{kTokens, of_value + turned}), tensor(cache.positions, DType::si32, Shape{kTokens})};
    write.w = {row(norm), {}};
    write.state = cache.state;
    write.params = params;
    ops::MlaKvWrite::reference(write, cache.step, Worker{});
    KernelCase c(Name::of("mla_kv_write_", zrt::name(dtype)), {2, kTokens, 1});
    c.reads(x).reads(cache.positions).reads(cache.positions).reads(cache.slots).reads(cache.table).reads(frequencies);
    c.reads(norm).becomes(cache.before, cache.bytes, dtype).value(of_value).value(turned).value(rot).value(0u);
    c.value(params.rope.magnitude).value(params.eps).value(kPagesPerSlot);
    return visit_(c.value(static_cast<std::uint32_t>(cache.state.unit_bytes)));
  }

  /// Two tokens of two slots: rotated and written to their pages, then each over its slot's pages.
  [[nodiscard]] Result<void> attention(DType dtype) noexcept {
    constexpr std::uint32_t heads = 2, kv_heads = 1, dim = 64, tokens = kTokens, per_slot = kPagesPerSlot, rot = 32;
    const Pages cache = pages_of({kv_heads, dim, dim, dtype});
    const auto& [slots, positions, table, pages, before, state, step] = cache;
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
    rope.reads(q).reads(k).reads(v).reads(positions).reads(positions).reads(slots).reads(table).reads(frequencies);
    rope.reads(q_norm).reads(k_norm);
    gives(rope, rotated);
    rope.becomes(before, pages, dtype).value(heads).value(kv_heads).value(dim).value(dim).value(rot).value(1u);
    rope.value(params.rope.magnitude).value(params.eps).value(params.weight_offset).value(per_slot).value(page_bytes);
    if (auto r = visit_(rope); !r) return r;

    if (dtype == DType::f32) {
      HostCall<ops::Rope> alone{};
      alone.in = {real(q, of_heads), tensor(positions, DType::si32, Shape{tokens})};
      alone.out[0] = real(y, of_heads);
      alone.params = params.rope;
      ops::Rope::reference(alone, step, Worker{});
      KernelCase turn("rope", {heads, tokens, 1});
      turn.reads(q).reads(positions).reads(frequencies);
      gives(turn, y);
      turn.value(heads).value(dim).value(rot).value(1u).value(params.rope.magnitude);
      if (auto r = visit_(turn); !r) return r;
    }
    const Span<std::byte> written = data_->copy(Span<const std::byte>(pages));
    HostCall<ops::KvWriteBatched> plain{};
    plain.in = {real(k, of_kv), real(v, of_kv)};
    plain.state = state;
    plain.params = params.kv;
    ops::KvWriteBatched::reference(plain, step, Worker{});
    KernelCase kv(Name::of("kv_write_", zrt::name(dtype)), {2 * kv_heads, tokens, 1});
    kv.reads(k).reads(v).reads(positions).reads(slots).reads(table).becomes(written, pages, dtype);
    kv.value(kv_heads).value(dim).value(dim).value(per_slot).value(page_bytes);
    if (auto r = visit_(kv); !r) return r;

    const HostCall<ops::FlashAttnBatched> attend{
        {real(rotated, of_heads)}, {real(y, of_heads)}, {}, state, {heads, kv_heads, dim, dim, 0.125f, 0.0f, 0}};
    ops::FlashAttnBatched::reference(attend, step, Worker{});
    KernelCase paged(Name::of("paged_attention_", zrt::name(dtype)), {heads, tokens, 1});
    paged.reads(rotated).absent().reads(positions).reads(slots).reads(table).reads(pages);
    gives(paged, y);
    paged.value(heads).value(kv_heads).value(dim).value(dim).value(0.125f).value(0.0f).value(0u);
    return visit_(paged.value(per_slot).value(page_bytes).value(0u));
  }

  /// The blocks of two slots, the first of which has two rows of the step, and what a step says of them.
  struct Blocks {
    Span<std::uint32_t> slots{};
    Floats values{}, before{};
    HostState state{};
    ExecutionContext step{};
    std::uint32_t floats = 0;
  };
  static constexpr std::uint32_t kRows = 3;
  [[nodiscard]] Blocks blocks_of(std::uint32_t floats) noexcept {
    Blocks b;
    b.floats = floats;
    b.slots = data_->copy(std::array{1u, 1u, 0u});
    b.values = data_->reals(std::size_t{2} * floats);
    b.before = data_->copy(Span<const float>(b.values));
    b.state.data = reinterpret_cast<std::byte*>(b.values.data());
    b.state.units = 2;
    b.state.unit_bytes = std::uint64_t{floats} * 4;
    b.state.info = recurrent_block(floats);
    b.step.tokens = kRows;
    b.step.slot_count = 2;
    b.step.slots = b.slots.data();
    return b;
  }

  [[nodiscard]] Result<void> convolution() noexcept {
    constexpr std::uint32_t channels = 70, taps = 3;
    const Blocks b = blocks_of(channels * (taps - 1));
    const Shape shape{kRows, channels};
    const Floats x = data_->reals(kRows * channels), weight = data_->reals(channels * taps),
                 bias = data_->reals(channels), y = data_->zeros<float>(x.size());
    ops::SsmConv1d::reference({{real(x, shape)},
                               {real(y, shape)},
                               {table(weight, channels), row(bias)},
                               b.state,
                               {{0, b.floats}, Activation::silu, {}}},
                              b.step, Worker{});
    KernelCase c("ssm_conv1d", {2, kRows, 1});
    c.reads(x).reads(uploaded(table(weight, channels))).reads(bias).reads(b.slots).becomes(b.before, b.values);
    gives(c, y);
    c.value(kRows).value(channels).value(taps).value(0u).value(b.floats);
    return visit_(c.value(static_cast<std::uint32_t>(Activation::silu)));
  }

  /// The second form, B and C behind the channels.
  [[nodiscard]] Result<void> scan() noexcept {
    ops::SsmScanParams p;
    p.heads = 2;
    p.head_dim = 20;
    p.states = 6;
    const std::uint32_t channels = p.channels(), cols = channels + 2 * p.states;
    const Blocks b = blocks_of(channels * p.states);
    p.state = {0, b.floats};
    const Floats x = data_->reals(kRows * cols), dt = data_->reals(kRows * p.heads), a = data_->reals(p.heads),
                 d = data_->reals(p.heads), bias = data_->reals(p.heads), y = data_->zeros<float>(kRows * channels);
    ops::SsmScan::reference({{real(x, Shape{kRows, cols}), real(dt, Shape{kRows, p.heads}), {}},
                             {real(y, Shape{kRows, channels})},
                             {row(a), row(d), row(bias)},
                             b.state,
                             p},
                            b.step, Worker{});
    KernelCase c("ssm_scan", {1, kRows, 1});
    c.reads(x).reads(dt).reads(x).reads(a).reads(d).reads(bias).reads(b.slots).becomes(b.before, b.values);
    gives(c, y);
    c.value(kRows).value(p.heads).value(p.head_dim).value(p.groups).value(p.states).value(0u).value(cols).value(cols);
    return visit_(c.value(channels).value(0u).value(b.floats));
  }

  [[nodiscard]] Result<void> delta_net() noexcept {
    ops::SsmDeltaNetParams p;
    p.key_heads = 1;
    p.value_heads = 2;
    p.key_dim = 20;
    p.value_dim = 70;
    const auto cols = static_cast<std::uint32_t>(p.columns());
    const std::uint32_t values = p.value_heads * p.value_dim;
    const Blocks b = blocks_of(values * p.key_dim);
    p.state = {0, b.floats};
    const Floats qkv = data_->reals(kRows * cols), both = data_->reals(kRows * 2 * p.value_heads),
                 a = data_->reals(p.value_heads), bias = data_->reals(p.value_heads),
                 y = data_->zeros<float>(kRows * values);
    ops::SsmDeltaNet::reference({{real(qkv, Shape{kRows, cols}), real(both, Shape{kRows, 2 * p.value_heads}), {}},
                                 {real(y, Shape{kRows, values})},
                                 {row(a), row(bias)},
                                 b.state,
                                 p},
                                b.step, Worker{});
    KernelCase c("ssm_delta_net", {p.value_heads, kRows, 1});
    c.reads(qkv).reads(both).absent().reads(a).reads(bias).reads(b.slots).becomes(b.before, b.values);
    gives(c, y);
    c.value(kRows).value(p.key_heads).value(p.value_heads).value(p.key_dim).value(p.value_dim).value(0u);
    return visit_(c.value(p.norm_eps).value(0u).value(b.floats));
  }

  [[nodiscard]] Result<void> gated_norm() noexcept {
    constexpr std::uint32_t dim = 72, runs = 2;
    const Shape shape{runs * dim};
    const Floats x = data_->reals(runs * dim), z = data_->reals(runs * dim), weight = data_->reals(runs * dim),
                 y = data_->zeros<float>(x.size());
    constexpr ops::SsmGatedNormParams p{1e-5f, dim, 1, {}};
    reference(
        HostCall<ops::SsmGatedNorm>{{real(x, shape), real(z, shape)}, {real(y, shape)}, {table(weight, runs)}, {}, p});
    KernelCase c("ssm_gated_norm", {runs, 1, 1});
    c.reads(x).reads(z).reads(uploaded(table(weight, runs)));
    gives(c, y);
    return visit_(c.value(dim).value(p.eps).value(1u).value(runs));
  }

  /// A greedy row, one with penalties, biases and top-k, one of all candidates, more than a tile of them, and one that is
  /// not active.
  [[nodiscard]] Result<void> sampling() noexcept {
    constexpr std::uint32_t rows = 4, cols = 2500, entries = 8;
    const Floats logits = data_->reals(rows * cols, 6.0f), bias = data_->reals(rows * entries),
                 scratch = data_->zeros<float>(rows * cols * 3);
    const Span<ops::SampleRequest> requests = data_->zeros<ops::SampleRequest>(rows);
    for (std::uint32_t row = 0; row + 1 < rows; ++row)
      requests[row] = {.active = 1,
                       .seed_low = data_->random(),
                       .seed_high = data_->random(),
                       .generated = row,
                       .temperature = 0.75f * static_cast<float>(row),
                       .top_k = row == 1 ? 40u : 0u,
                       .top_p = row == 0 ? 1.0f : 0.9f,
                       .min_p = row == 1 ? 0.05f : 0.0f,
                       .repetition_penalty = 1.1f,
                       .frequency_penalty = 0.25f,
                       .presence_penalty = 0.5f,
                       .history = row == 1 ? entries : 0u,
                       .biases = row == 1 ? entries : 0u};
    const Span<std::int32_t> history = data_->zeros<std::int32_t>(rows * entries),
                             bias_ids = data_->zeros<std::int32_t>(rows * entries),
                             tokens = data_->zeros<std::int32_t>(rows);
    // Some tokens come twice.
    for (std::int32_t& id : history) id = static_cast<std::int32_t>(data_->random() % 6);
    for (std::int32_t& id : bias_ids) id = static_cast<std::int32_t>(data_->random() % 6);
    const Shape lists{rows, entries};
    const Span<std::byte> candidates{reinterpret_cast<std::byte*>(scratch.data()), scratch.size_bytes()};
    ops::Sample::reference(
        {{real(logits, Shape{rows, cols}), tensor(requests, DType::ui32, Shape{rows, ops::kSampleRequestWords}),
          tensor(history, DType::si32, lists), tensor(bias_ids, DType::si32, lists), real(bias, lists)},
         {tensor(tokens, DType::si32, Shape{rows})},
         {},
         {},
         {}},
        ExecutionContext{}, Worker{0, 1, 0, candidates});
    KernelCase c("sample", {rows, 1, 1});
    c.reads(logits).reads(requests).reads(history).reads(bias_ids).reads(bias);
    gives(c, tokens);
    c.works_in(scratch);
    return visit_(c.value(cols).value(entries).value(entries));
  }

  CaseData* data_;
  CaseVisitor visit_;
};

/// Visits a case of each kernel of a device that reads `types`. Errors: Errc::out_of_memory; those of the visitor.
[[nodiscard]] ZRT_COLD inline Result<void> for_each_kernel_case(const Allocator& allocator,
                                                                Span<const UploadFunctions> types,
                                                                const CaseVisitor& visit) noexcept {
  auto data = CaseData::make(allocator);
  if (!data) return pass(data);
  return KernelCases(*data, visit).visit_all(types);
}

}  // namespace zrt::inline ZRT_ABI::device

ZRT_LOAD_TIME_END
