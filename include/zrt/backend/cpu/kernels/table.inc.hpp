// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/table.inc.hpp: textual fragment: the table of this variant's kernels.

// A row is instantiated where a table lists its type, and with it the functions that it names.
template <DType kType, class W> struct PlainType {
  static constexpr WeightKernels kRow{kType, &widen_row<W>, &dot16_rows<W>, nullptr};
};
template <DType kType, class W, class Rows> struct BlockType {
  static constexpr WeightKernels kRow{kType, &widen_row<W>, &dot16_rows<W>, &block_rows<Rows>, quant::Act::q8_32};
};
template <DType kType, class K> struct KType {
  static constexpr WeightKernels kRow{kType, &widen_k_row<K>, &dot16_k_rows<K>, &k_products<K>, quant::Act::q8_256};
};

/// What this variant does with a weight type: one line per type of quant/types.hpp.
template <DType kType> struct KernelsOf;
// clang-format off
template <> struct KernelsOf<DType::f32> : PlainType<DType::f32, F32Row> {};
template <> struct KernelsOf<DType::f16> : PlainType<DType::f16, F16Row> {};
template <> struct KernelsOf<DType::bf16> : PlainType<DType::bf16, Bf16Row> {};
template <> struct KernelsOf<DType::q4_0> : BlockType<DType::q4_0, Q4Row, Q4Rows> {};
template <> struct KernelsOf<DType::q8_0> : BlockType<DType::q8_0, Q8Row, Q8Rows> {};
template <> struct KernelsOf<DType::q4_k> : KType<DType::q4_k, Q4KBlock> {};
template <> struct KernelsOf<DType::q5_k> : KType<DType::q5_k, Q5KBlock> {};
template <> struct KernelsOf<DType::q6_k> : KType<DType::q6_k, Q6KBlock> {};
// clang-format on

template <DType... kTypes>
inline constexpr std::array<WeightKernels, sizeof...(kTypes)> kWeightKernels{KernelsOf<kTypes>::kRow...};

template <DType... kTypes>
inline constexpr KernelSet kKernels{
    .isa = kIsa,
    .weights = kWeightKernels<kTypes...>,
    .pages = {kPageKernels<F32Row>, kPageKernels<F16Row>, kPageKernels<Bf16Row>},
    .rms_norm = &rms_norm,
    .embedding = &embedding,
    .residual_add = &residual_add,
    .residual_rms_norm = &residual_rms_norm,
    .round_rows = &round_rows,
    .norm_round_rows = &norm_round_rows,
    .linear = &linear,
    .qkv = &qkv,
    .gate_up = &gate_up,
    .gated_act = &gated_act,
    .rope = &rope,
    .rope_kv_write = &rope_kv_write,
    .kv_write = &kv_write,
    .flash_attn = &flash_attn,
    .softmax = &softmax,
    .greedy_token = &greedy_token,
    .sample = &sample,
    .take = &take,
    .reshape = &reshape,
};
