// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/operators.hpp: every operator of ONNX that is translated, by name.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_attention.hpp>
#include <zrt/ir/onnx/ops_cast.hpp>
#include <zrt/ir/onnx/ops_control.hpp>
#include <zrt/ir/onnx/ops_grams.hpp>
#include <zrt/ir/onnx/ops_image.hpp>
#include <zrt/ir/onnx/ops_index.hpp>
#include <zrt/ir/onnx/ops_label.hpp>
#include <zrt/ir/onnx/ops_layout.hpp>
#include <zrt/ir/onnx/ops_loss.hpp>
#include <zrt/ir/onnx/ops_microsoft.hpp>
#include <zrt/ir/onnx/ops_norm.hpp>
#include <zrt/ir/onnx/ops_pool.hpp>
#include <zrt/ir/onnx/ops_quantize.hpp>
#include <zrt/ir/onnx/ops_recurrent.hpp>
#include <zrt/ir/onnx/ops_reduce.hpp>
#include <zrt/ir/onnx/ops_resize.hpp>
#include <zrt/ir/onnx/ops_selection.hpp>
#include <zrt/ir/onnx/ops_sequence.hpp>
#include <zrt/ir/onnx/ops_signal.hpp>
#include <zrt/ir/onnx/ops_string.hpp>
#include <zrt/ir/onnx/ops_training.hpp>
#include <zrt/ir/onnx/ops_window.hpp>
#include <zrt/ir/onnx/reader.hpp>
#include <zrt/ir/onnx/schemas.hpp>
#include <zrt/ir/onnx/targets.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// What an operator does with tensors of strings. Their numbers tell which are equal and nothing else, so that an
/// operator that computes with elements must not meet them.
enum class StringUse : std::uint8_t {
  refused,
  moved,     ///< operands are all strings or none; so are then the results
  compared,  ///< operands are all strings or none; results are none
  looked_at  ///< the translation looks which of the operands are
};
/// The operands that may be strings.
struct StringOperands {
  StringUse use = StringUse::refused;
  std::uint32_t operands = 0;  ///< a bit for each, the highest for all from 31 on

  [[nodiscard]] constexpr bool has(std::size_t i) const noexcept { return operands >> (i < 31 ? i : 31) & 1u; }
};
inline constexpr StringOperands kMovesStrings{StringUse::moved, 1};
inline constexpr StringOperands kMovesAllStrings{StringUse::moved, ~0u};
inline constexpr StringOperands kMovesChosenStrings{StringUse::moved, 0b110};
inline constexpr StringOperands kComparesStrings{StringUse::compared, ~0u};
inline constexpr StringOperands kLooksAtStrings{StringUse::looked_at, ~0u};

/// How one operator becomes instructions.
struct OperatorRow {
  std::string_view name;
  std::int64_t first;  ///< the first opset in which the operator means what is translated
  void (*translate)(NodeCall&) noexcept;
  StringOperands strings{};
  std::int64_t last = kNewestOpset;  ///< the last such opset
};

/// Those of ai.onnx.
inline constexpr auto kOperators = std::to_array<OperatorRow>({
    {"Abs", 6, &translate::unary<&Builder::abs>},
    {"Acos", 7, &translate::kernel_unary<FloatUnary<kernels::Acos>>},
    {"Acosh", 9, &translate::kernel_unary<FloatUnary<kernels::Acosh>>},
    {"Add", 7, &translate::arithmetic<&Builder::add, translate::KnownOp::add>},
    {"AffineGrid", 20, &translate::affine_grid},
    {"And", 7, &translate::arithmetic<&Builder::mul, translate::KnownOp::multiply>},
    {"ArgMax", 1, &translate::arg_max},
    {"ArgMin", 1, &translate::arg_min},
    {"Asin", 7, &translate::kernel_unary<FloatUnary<kernels::Asin>>},
    {"Asinh", 9, &translate::kernel_unary<FloatUnary<kernels::Asinh>>},
    {"Atan", 7, &translate::kernel_unary<FloatUnary<kernels::Atan>>},
    {"Atanh", 9, &translate::kernel_unary<FloatUnary<kernels::Atanh>>},
    {"Attention", 23, &translate::attention},
    {"AveragePool", 7, &translate::average_pool},
    {"BatchNormalization", 9, &translate::batch_normalization},
    {"BitCast", 26, &translate::bit_cast},
    {"BitShift", 11, &translate::bit_shift},
    {"BitwiseAnd", 18, &translate::kernel_binary<SameBinary<kernels::BitAnd>>},
    {"BitwiseNot", 18, &translate::bitwise_not},
    {"BitwiseOr", 18, &translate::kernel_binary<SameBinary<kernels::BitOr>>},
    {"BitwiseXor", 18, &translate::kernel_binary<SameBinary<kernels::BitXor>>},
    {"BlackmanWindow", 17, &translate::blackman_window},
    {"Cast", 6, &translate::cast, kLooksAtStrings},
    {"CastLike", 15, &translate::cast_like, kLooksAtStrings},
    {"Ceil", 6, &translate::kernel_unary<FloatUnary<kernels::Ceil>>},
    {"Celu", 12, &translate::celu},
    {"CenterCropPad", 18, &translate::center_crop_pad},
    {"Clip", 6, &translate::clip},
    {"Col2Im", 18, &translate::col2im},
    {"Compress", 9, &translate::compress, kMovesStrings},
    {"Concat", 4, &translate::concat_, kMovesAllStrings},
    {"ConcatFromSequence", 11, &translate::concat_from_sequence, kMovesStrings},
    {"Constant", 1, &translate::constant, kLooksAtStrings},
    {"ConstantOfShape", 9, &translate::constant_of_shape},
    {"Conv", 1, &translate::conv},
    {"ConvInteger", 10, &translate::conv_integer},
    {"ConvTranspose", 1, &translate::conv_transpose},
    {"Cos", 7, &translate::kernel_unary<FloatUnary<kernels::Cos>>},
    {"Cosh", 9, &translate::kernel_unary<FloatUnary<kernels::Cosh>>},
    {"CumProd", 26, &translate::cumulative<kernels::CumProd>},
    {"CumSum", 11, &translate::cumulative<kernels::CumSum>},
    {"DFT", 17, &translate::dft},
    {"DepthToSpace", 1, &translate::depth_to_space, kMovesStrings},
    {"DequantizeLinear", 10, &translate::dequantize_linear},
    {"Det", 11, &translate::det},
    {"Div", 7, &translate::arithmetic<&Builder::div, translate::KnownOp::divide>},
    {"Dropout", 7, &translate::dropout},
    {"DynamicQuantizeLinear", 11, &translate::dynamic_quantize_linear},
    {"Einsum", 12, &translate::einsum},
    {"Elu", 6, &translate::elu},
    {"Equal", 7, &translate::arithmetic<&Builder::eq, translate::KnownOp::equal>, kComparesStrings},
    {"Erf", 9, &translate::unary<&Builder::erf>},
    {"Exp", 6, &translate::unary<&Builder::exp>},
    {"Expand", 8, &translate::expand, kMovesStrings},
    {"EyeLike", 9, &translate::eye_like},
    {"Flatten", 1, &translate::flatten, kMovesStrings},
    {"Floor", 6, &translate::kernel_unary<FloatUnary<kernels::Floor>>},
    {"GRU", 7, &translate::gru},
    {"Gather", 1, &translate::gather, kMovesStrings},
    {"GatherElements", 11, &translate::gather_elements, kMovesStrings},
    {"GatherND", 11, &translate::gather_nd, kMovesStrings},
    {"Gelu", 20, &translate::gelu},
    {"Gemm", 7, &translate::gemm},
    {"GlobalAveragePool", 1, &translate::global_average_pool},
    {"GlobalLpPool", 2, &translate::global_lp_pool},
    {"GlobalMaxPool", 1, &translate::global_max_pool},
    {"Greater", 7, &translate::arithmetic<&Builder::gt, translate::KnownOp::greater>},
    {"GreaterOrEqual", 12, &translate::arithmetic<&Builder::ge, translate::KnownOp::greater_or_equal>},
    {"GridSample", 16, &translate::grid_sample},
    {"GroupNormalization", 21, &translate::group_normalization},
    {"HammingWindow", 17, &translate::hamming_window},
    {"HannWindow", 17, &translate::hann_window},
    {"HardSigmoid", 6, &translate::hard_sigmoid},
    {"HardSwish", 14, &translate::hard_swish},
    {"Hardmax", 1, &translate::along_axes_from<&translate::hardmax_of>, {}, 12},
    {"Hardmax", 13, &translate::along_axis<&translate::hardmax_of>},
    {"Identity", 1, &translate::identity, kLooksAtStrings},
    {"If", 1, &translate::if_},
    {"InstanceNormalization", 6, &translate::instance_normalization},
    {"IsInf", 10, &translate::is_inf},
    {"IsNaN", 9, &translate::is_nan},
    {"LRN", 1, &translate::lrn},
    {"LSTM", 7, &translate::lstm},
    {"LayerNormalization", 17, &translate::layer_normalization},
    {"LeakyRelu", 6, &translate::leaky_relu},
    {"Less", 7, &translate::arithmetic<&Builder::lt, translate::KnownOp::less>},
    {"LessOrEqual", 12, &translate::arithmetic<&Builder::le, translate::KnownOp::less_or_equal>},
    {"Log", 6, &translate::unary<&Builder::log>},
    {"LogSoftmax", 1, &translate::along_axes_from<&translate::log_softmax_of>, {}, 12},
    {"LogSoftmax", 13, &translate::along_axis<&translate::log_softmax_of>},
    {"Loop", 1, &translate::loop},
    {"LpNormalization", 1, &translate::lp_normalization},
    {"LpPool", 2, &translate::lp_pool},
    {"MatMul", 1, &translate::mat_mul},
    {"MatMulInteger", 10, &translate::mat_mul_integer},
    {"Max", 6, &translate::variadic<&Builder::maximum, translate::KnownOp::maximum>},
    {"MaxPool", 1, &translate::max_pool},
    {"MaxUnpool", 9, &translate::max_unpool},
    {"Mean", 6, &translate::mean},
    {"MeanVarianceNormalization", 9, &translate::mean_variance_normalization},
    {"MelWeightMatrix", 17, &translate::mel_weight_matrix},
    {"Min", 6, &translate::variadic<&Builder::minimum, translate::KnownOp::minimum>},
    {"Mish", 18, &translate::mish},
    {"Mod", 10, &translate::mod},
    {"Mul", 7, &translate::arithmetic<&Builder::mul, translate::KnownOp::multiply>},
    {"Neg", 6, &translate::neg},
    {"NegativeLogLikelihoodLoss", 12, &translate::negative_log_likelihood_loss},
    {"NonMaxSuppression", 10, &translate::non_max_suppression},
    {"NonZero", 9, &translate::non_zero},
    {"Not", 1, &translate::not_},
    {"OneHot", 9, &translate::one_hot},
    {"Optional", 15, &translate::optional_, kLooksAtStrings},
    {"OptionalGetElement", 15, &translate::optional_get_element, kLooksAtStrings},
    {"OptionalHasElement", 15, &translate::optional_has_element, kLooksAtStrings},
    {"Or", 7, &translate::arithmetic<&Builder::maximum, translate::KnownOp::maximum>},
    {"PRelu", 7, &translate::prelu},
    {"Pad", 2, &translate::pad_},
    {"Pow", 7, &translate::pow},
    {"QLinearConv", 10, &translate::q_linear_conv},
    {"QLinearMatMul", 10, &translate::q_linear_mat_mul},
    {"QuantizeLinear", 10, &translate::quantize_linear},
    {"RMSNormalization", 23, &translate::rms_normalization},
    {"RNN", 7, &translate::rnn},
    {"Range", 11, &translate::range},
    {"Reciprocal", 6, &translate::unary<&Builder::reciprocal>},
    {"ReduceL1", 1, &translate::reduce_l1},
    {"ReduceL2", 1, &translate::reduce_l2},
    {"ReduceLogSum", 1, &translate::reduce_log_sum},
    {"ReduceLogSumExp", 1, &translate::reduce_log_sum_exp},
    {"ReduceMax", 1, &translate::reduce_order<kMax>},
    {"ReduceMean", 1, &translate::reduce_mean},
    {"ReduceMin", 1, &translate::reduce_order<kMin>},
    {"ReduceProd", 1, &translate::reduce_prod},
    {"ReduceSum", 1, &translate::reduce_sum},
    {"ReduceSumSquare", 1, &translate::reduce_sum_square},
    {"Relu", 6, &translate::relu},
    {"Reshape", 5, &translate::reshape_, kMovesStrings},
    {"Resize", 11, &translate::resize},
    {"ReverseSequence", 10, &translate::reverse_sequence, kMovesStrings},
    {"RoiAlign", 10, &translate::roi_align},
    {"RotaryEmbedding", 23, &translate::rotary_embedding},
    {"Round", 11, &translate::kernel_unary<FloatUnary<kernels::Round>>},
    {"STFT", 17, &translate::stft},
    {"Scan", 8, &translate::scan_batches, {}, 8},
    {"Scan", 9, &translate::scan},
    {"Scatter", 9, &translate::scatter_elements},
    {"ScatterElements", 11, &translate::scatter_elements},
    {"ScatterND", 11, &translate::scatter_nd},
    {"Selu", 6, &translate::selu},
    {"SequenceAt", 11, &translate::sequence_at, kLooksAtStrings},
    {"SequenceConstruct", 11, &translate::sequence_construct, kLooksAtStrings},
    {"SequenceEmpty", 11, &translate::sequence_empty, kLooksAtStrings},
    {"SequenceErase", 11, &translate::sequence_erase, kLooksAtStrings},
    {"SequenceInsert", 11, &translate::sequence_insert, kLooksAtStrings},
    {"SequenceLength", 11, &translate::sequence_length, kLooksAtStrings},
    {"SequenceMap", 17, &translate::sequence_map, kLooksAtStrings},
    {"Shape", 1, &translate::shape_, kComparesStrings},
    {"Shrink", 9, &translate::shrink},
    {"Sigmoid", 6, &translate::sigmoid},
    {"Sign", 9, &translate::sign},
    {"Sin", 7, &translate::kernel_unary<FloatUnary<kernels::Sin>>},
    {"Sinh", 9, &translate::kernel_unary<FloatUnary<kernels::Sinh>>},
    {"Size", 1, &translate::size, kComparesStrings},
    {"Slice", 1, &translate::slice_, kMovesStrings},
    {"Softmax", 1, &translate::along_axes_from<&translate::softmax_of>, {}, 12},
    {"Softmax", 13, &translate::along_axis<&translate::softmax_of>},
    {"SoftmaxCrossEntropyLoss", 12, &translate::softmax_cross_entropy_loss},
    {"Softplus", 1, &translate::softplus},
    {"Softsign", 1, &translate::softsign},
    {"SpaceToDepth", 1, &translate::space_to_depth, kMovesStrings},
    {"Split", 2, &translate::split, kMovesStrings},
    {"SplitToSequence", 11, &translate::split_to_sequence},
    {"Sqrt", 6, &translate::sqrt},
    {"Squeeze", 1, &translate::squeeze, kMovesStrings},
    {"StringConcat", 20, &translate::string_concat, kLooksAtStrings},
    {"StringNormalizer", 10, &translate::string_normalizer, kLooksAtStrings},
    {"StringSplit", 20, &translate::string_split, kLooksAtStrings},
    {"Sub", 7, &translate::arithmetic<&Builder::sub, translate::KnownOp::subtract>},
    {"Sum", 6, &translate::variadic<&Builder::add, translate::KnownOp::add>},
    {"Swish", 24, &translate::swish},
    {"Tan", 7, &translate::kernel_unary<FloatUnary<kernels::Tan>>},
    {"Tanh", 6, &translate::unary<&Builder::tanh>},
    {"TensorScatter", 24, &translate::tensor_scatter},
    {"TfIdfVectorizer", 9, &translate::tf_idf_vectorizer, kLooksAtStrings},
    {"ThresholdedRelu", 10, &translate::thresholded_relu},
    {"Tile", 6, &translate::tile_, kMovesStrings},
    {"TopK", 1, &translate::top_k},
    {"Transpose", 1, &translate::transpose_, kMovesStrings},
    {"Trilu", 14, &translate::trilu},
    {"Unique", 11, &translate::unique},
    {"Unsqueeze", 1, &translate::unsqueeze, kMovesStrings},
    {"Upsample", 9, &translate::upsample},
    {"Where", 9, &translate::where, kMovesChosenStrings},
    {"Xor", 7, &translate::xor_},
});

/// Those of ai.onnx.ml.
inline constexpr auto kMlOperators = std::to_array<OperatorRow>({
    {"ArrayFeatureExtractor", 1, &translate::array_feature_extractor, kMovesStrings},
    {"CategoryMapper", 1, &translate::category_mapper, kLooksAtStrings},
    {"LabelEncoder", 2, &translate::label_encoder, kLooksAtStrings},
});

/// Those of ai.onnx.preview.training.
inline constexpr auto kTrainingOperators = std::to_array<OperatorRow>({
    {"Adagrad", 1, &translate::adagrad},
    {"Adam", 1, &translate::adam},
    {"Momentum", 1, &translate::momentum},
});

/// Those of com.microsoft. Exports put the simplified norm into the standard's domain too.
inline constexpr auto kMicrosoftOperators = std::to_array<OperatorRow>({
    {"Attention", 1, &translate::microsoft_attention},
    {"BiasGelu", 1, &translate::biased_gelu<false>},
    {"EmbedLayerNormalization", 1, &translate::embed_layer_normalization},
    {"FastGelu", 1, &translate::biased_gelu<true>},
    {"FusedMatMul", 1, &translate::fused_mat_mul},
    {"Gelu", 1, &translate::biased_gelu<false>},
    {"GroupQueryAttention", 1, &translate::group_query_attention},
    {"MatMulNBits", 1, &translate::mat_mul_n_bits},
    {"MultiHeadAttention", 1, &translate::multi_head_attention},
    {"QuickGelu", 1, &translate::quick_gelu},
    {"RotaryEmbedding", 1, &translate::microsoft_rotary_embedding},
    {"SimplifiedLayerNormalization", 1, &translate::simplified_layer_normalization},
    {"SkipLayerNormalization", 1, &translate::skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", 1, &translate::skip_simplified_layer_normalization},
});
namespace detail {

/// The first row of that name; a list without one is no constant.
template <class Rows> consteval auto row_called(const Rows& rows, std::string_view name) {
  std::size_t i = 0;
  while (rows[i].name != name) ++i;
  return rows[i];
}

}  // namespace detail
inline constexpr auto kBorrowedSchemas =
    std::to_array({detail::row_called(kMicrosoftSchemas, "SimplifiedLayerNormalization")});
inline constexpr auto kBorrowedOperators =
    std::to_array({detail::row_called(kMicrosoftOperators, "SimplifiedLayerNormalization")});

/// Operators under one name of a domain.
struct OperatorDomain {
  std::string_view name;
  Span<const Schema> schemas;
  Span<const OperatorRow> rows;
};
inline constexpr std::array<OperatorDomain, 5> kDomains{
    {{"ai.onnx", kSchemas, kOperators},
     {"ai.onnx", kBorrowedSchemas, kBorrowedOperators},
     {"ai.onnx.ml", kMlSchemas, kMlOperators},
     {"ai.onnx.preview.training", kTrainingSchemas, kTrainingOperators},
     {"com.microsoft", kMicrosoftSchemas, kMicrosoftOperators}}};

/// An operator as a model of some opset means it.
struct FoundOperator {
  const Schema* form = nullptr;
  const OperatorRow* row = nullptr;
};

namespace detail {

/// True when `list` (names with spaces between) has `name`.
[[nodiscard]] constexpr bool has_word(std::string_view list, std::string_view name) noexcept {
  while (!list.empty()) {
    const std::string_view entry = zrt::slice(list, 0, list.find(' '));
    if (entry == name) return true;
    list.remove_prefix(entry.size() < list.size() ? entry.size() + 1 : entry.size());
  }
  return false;
}

/// The form of an operator that holds at `opset`; null where it came later. `later` receives the next one.
[[nodiscard]] constexpr const Schema* form_at(Span<const Schema> schemas, std::string_view op, std::int64_t opset,
                                              const Schema*& later) noexcept {
  const Schema* form = nullptr;
  for (const Schema& schema : schemas) {
    if (schema.name != op) continue;
    if (schema.since <= opset) form = &schema;
    if (schema.since > opset && later == nullptr) later = &schema;
  }
  return form;
}

/// True when each operator that is translated has a form in the first opset for which it is. Both lists are sorted by
/// name, so one pass over both tells.
consteval bool rows_have_forms() {
  for (const OperatorDomain& domain : kDomains) {
    std::size_t at = 0;
    for (const OperatorRow& row : domain.rows) {
      while (at < domain.schemas.size() && domain.schemas[at].name < row.name) ++at;
      if (at == domain.schemas.size() || domain.schemas[at].name != row.name || domain.schemas[at].since > row.first)
        return false;
    }
  }
  return true;
}
static_assert(rows_have_forms());

}  // namespace detail

/// The form and the translation of operator `op` in a model that imports version `opset` of `domain`.
///
/// Errors: Errc::unimplemented for an operator that is not translated, Errc::unsupported_version for one that this
/// opset does not have, or whose form at this opset is not translated; the text names the nearest that is.
[[nodiscard]] inline Result<FoundOperator> find_operator(std::string_view domain, std::string_view op,
                                                         std::int64_t opset) noexcept {
  const auto name = zrt::slice(op, 0, 40);
  for (const OperatorDomain& d : kDomains) {
    if (d.name != domain && !(domain.empty() && d.name == "ai.onnx")) continue;
    const Schema* later = nullptr;
    const Schema* form = detail::form_at(d.schemas, op, opset, later);
    if (form == nullptr && later != nullptr)
      return fail(Errc::unsupported_version, "operator ", name, " came with opset ", int{later->since},
                  ", the model is of opset ", opset);
    if (form != nullptr && form->withdrawn)
      return fail(Errc::unsupported_version, "operator ", name, " was withdrawn with opset ", int{form->since},
                  ", the model is of opset ", opset);
    const OperatorRow* nearest = nullptr;
    for (const OperatorRow& row : d.rows) {
      if (row.name != op) continue;
      if (form != nullptr && row.first <= opset && opset <= row.last) return FoundOperator{form, &row};
      if (nearest == nullptr || row.first <= opset) nearest = &row;
    }
    if (nearest != nullptr)
      return fail(Errc::unsupported_version, "the model is of opset ", opset, ", operator ", name,
                  " is read in its form of ", nearest->first, " to ", nearest->last);
  }
  return fail(Errc::unimplemented, "operator ", zrt::slice(domain, 0, 40), domain.empty() ? "" : ".", name,
              " is not translated");
}

namespace detail {

/// True where an operand of the node is of strings, which the operator must take; else an error.
[[nodiscard]] inline bool meets_strings(NodeCall& call, const StringOperands& taken) noexcept {
  bool some = false, all = true;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    const Value* v = call.has(i) ? call.scope().find(call.node().inputs[i]) : nullptr;
    if (v == nullptr) continue;
    const bool strings = holds_strings(*v);
    if (strings && (taken.use == StringUse::refused || !taken.has(i)))
      call.unsupported("input ", i, " (", zrt::slice(call.node().inputs[i], 0, 60),
                       ") is of strings, of which the operator is not computed");
    some = some || strings;
    all = all && (strings || !taken.has(i));
  }
  if (some && !all && taken.use != StringUse::looked_at && !call.failed())
    call.fail(Errc::dtype_mismatch, "some operands are of strings and others are not");
  return some && !call.failed();
}

}  // namespace detail

inline void Reader::translate(NodeCall& call) noexcept {
  const NodeView& node = call.node();
  const auto found = find_operator(node.domain, node.op, call.opset());
  if (!found) return call.fail(found.error());
  const Schema& form = *found->form;
  for (const AttributeView& a : node.attributes)
    if (!detail::has_word(form.attributes, a.name))
      return call.fail(Errc::invalid_file, "attribute ", zrt::slice(a.name, 0, 40),
                       " is none that the operator has at opset ", call.opset());
  if (form.inputs.most != kAnyNumber && call.inputs() > form.inputs.most)
    return call.fail(Errc::invalid_file, "the node has ", call.inputs(), " inputs, at opset ", call.opset(),
                     " the operator has at most ", int{form.inputs.most});
  if (form.outputs.most != kAnyNumber && call.outputs() > form.outputs.most)
    return call.fail(Errc::invalid_file, "the node has ", call.outputs(), " outputs, at opset ", call.opset(),
                     " the operator has at most ", int{form.outputs.most});
  const bool strings = detail::meets_strings(call, found->row->strings);
  if (call.failed()) return;
  found->row->translate(call);
  if (strings && found->row->strings.use == StringUse::moved)
    for (std::size_t i = 0; i < call.outputs(); ++i) call.mark_strings(i);
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
