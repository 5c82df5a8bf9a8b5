// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/operators.hpp: every operator of ONNX that is translated, by name.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_control.hpp>
#include <zrt/ir/onnx/ops_image.hpp>
#include <zrt/ir/onnx/ops_index.hpp>
#include <zrt/ir/onnx/ops_layout.hpp>
#include <zrt/ir/onnx/ops_loss.hpp>
#include <zrt/ir/onnx/ops_norm.hpp>
#include <zrt/ir/onnx/ops_pool.hpp>
#include <zrt/ir/onnx/ops_quantize.hpp>
#include <zrt/ir/onnx/ops_recurrent.hpp>
#include <zrt/ir/onnx/ops_reduce.hpp>
#include <zrt/ir/onnx/ops_resize.hpp>
#include <zrt/ir/onnx/ops_signal.hpp>
#include <zrt/ir/onnx/ops_training.hpp>
#include <zrt/ir/onnx/ops_window.hpp>
#include <zrt/ir/onnx/reader.hpp>
#include <zrt/ir/onnx/targets.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// The newest version of the standard operators that is read.
inline constexpr std::int64_t kNewestOpset = 17;

/// How one operator becomes instructions.
struct OperatorRow {
  std::string_view name;
  /// The first opset in which the operator has the operands and the meaning that are translated.
  std::int64_t since;
  /// Every attribute that it has, `name@opset` for one that came later.
  std::string_view attributes;
  void (*translate)(NodeCall&) noexcept;
  std::int64_t until = kNewestOpset;  ///< the last opset that has it
};

inline constexpr auto kOperators = std::to_array<OperatorRow>({
    {"Abs", 6, "", &translate::unary<&Builder::abs>},
    {"Acos", 7, "", &translate::kernel_unary<FloatUnary<kernels::Acos>>},
    {"Acosh", 9, "", &translate::kernel_unary<FloatUnary<kernels::Acosh>>},
    {"Add", 7, "", &translate::arithmetic<&Builder::add, '+'>},
    {"And", 7, "", &translate::binary<&Builder::mul>},
    {"ArgMax", 12, "axis keepdims select_last_index", &translate::arg_max},
    {"ArgMin", 12, "axis keepdims select_last_index", &translate::arg_min},
    {"Asin", 7, "", &translate::kernel_unary<FloatUnary<kernels::Asin>>},
    {"Asinh", 9, "", &translate::kernel_unary<FloatUnary<kernels::Asinh>>},
    {"Atan", 7, "", &translate::kernel_unary<FloatUnary<kernels::Atan>>},
    {"Atanh", 9, "", &translate::kernel_unary<FloatUnary<kernels::Atanh>>},
    {"AveragePool", 10, "auto_pad ceil_mode count_include_pad kernel_shape pads strides", &translate::average_pool},
    {"BatchNormalization", 9, "epsilon momentum training_mode@14", &translate::batch_normalization},
    {"BitShift", 11, "direction", &translate::bit_shift},
    {"BlackmanWindow", 17, "output_datatype periodic", &translate::blackman_window},
    {"Cast", 6, "to", &translate::cast},
    {"CastLike", 15, "", &translate::cast_like},
    {"Ceil", 6, "", &translate::kernel_unary<FloatUnary<kernels::Ceil>>},
    {"Celu", 12, "alpha", &translate::celu},
    {"Clip", 11, "", &translate::clip},
    {"Concat", 4, "axis", &translate::concat_},
    {"Constant", 1,
     "sparse_value@11 value value_float@12 value_floats@12 value_int@12 value_ints@12 value_string@12 value_strings@12",
     &translate::constant},
    {"ConstantOfShape", 9, "value", &translate::constant_of_shape},
    {"Conv", 1, "auto_pad dilations group kernel_shape pads strides", &translate::conv},
    {"ConvInteger", 10, "auto_pad dilations group kernel_shape pads strides", &translate::conv_integer},
    {"ConvTranspose", 1, "auto_pad dilations group kernel_shape output_padding output_shape pads strides",
     &translate::conv_transpose},
    {"Cos", 7, "", &translate::kernel_unary<FloatUnary<kernels::Cos>>},
    {"Cosh", 9, "", &translate::kernel_unary<FloatUnary<kernels::Cosh>>},
    {"CumSum", 11, "exclusive reverse", &translate::cum_sum},
    {"DFT", 17, "axis inverse onesided", &translate::dft},
    {"DepthToSpace", 11, "blocksize mode", &translate::depth_to_space},
    {"DequantizeLinear", 10, "axis@13", &translate::dequantize_linear},
    {"Det", 11, "", &translate::det},
    {"Div", 7, "", &translate::arithmetic<&Builder::div, '/'>},
    {"Dropout", 12, "seed", &translate::dropout},
    {"DynamicQuantizeLinear", 11, "", &translate::dynamic_quantize_linear},
    {"Einsum", 12, "equation", &translate::einsum},
    {"Elu", 6, "alpha", &translate::elu},
    {"Equal", 7, "", &translate::equal},
    {"Erf", 9, "", &translate::unary<&Builder::erf>},
    {"Exp", 6, "", &translate::unary<&Builder::exp>},
    {"Expand", 8, "", &translate::expand},
    {"EyeLike", 9, "dtype k", &translate::eye_like},
    {"Flatten", 1, "axis", &translate::flatten},
    {"Floor", 6, "", &translate::kernel_unary<FloatUnary<kernels::Floor>>},
    {"GRU", 7, "activation_alpha activation_beta activations clip direction hidden_size layout@14 linear_before_reset",
     &translate::gru},
    {"Gather", 1, "axis", &translate::gather},
    {"GatherElements", 11, "axis", &translate::gather_elements},
    {"GatherND", 11, "batch_dims@12", &translate::gather_nd},
    {"Gemm", 7, "alpha beta transA transB", &translate::gemm},
    {"GlobalAveragePool", 1, "", &translate::global_average_pool},
    {"GlobalMaxPool", 1, "", &translate::global_max_pool},
    {"Greater", 7, "", &translate::binary<&Builder::gt>},
    {"GreaterOrEqual", 12, "", &translate::binary<&Builder::ge>},
    {"GridSample", 16, "align_corners mode padding_mode", &translate::grid_sample},
    {"HammingWindow", 17, "output_datatype periodic", &translate::hamming_window},
    {"HannWindow", 17, "output_datatype periodic", &translate::hann_window},
    {"HardSigmoid", 6, "alpha beta", &translate::hard_sigmoid},
    {"HardSwish", 14, "", &translate::hard_swish},
    {"Hardmax", 13, "axis", &translate::hardmax},
    {"Identity", 1, "", &translate::identity},
    {"If", 1, "else_branch then_branch", &translate::if_},
    {"InstanceNormalization", 6, "epsilon", &translate::instance_normalization},
    {"IsInf", 10, "detect_negative detect_positive", &translate::is_inf},
    {"IsNaN", 9, "", &translate::is_nan},
    {"LRN", 1, "alpha beta bias size", &translate::lrn},
    {"LSTM", 7, "activation_alpha activation_beta activations clip direction hidden_size input_forget layout@14",
     &translate::lstm},
    {"LayerNormalization", 17, "axis epsilon stash_type", &translate::layer_normalization},
    {"LeakyRelu", 6, "alpha", &translate::leaky_relu},
    {"Less", 7, "", &translate::binary<&Builder::lt>},
    {"LessOrEqual", 12, "", &translate::binary<&Builder::le>},
    {"Log", 6, "", &translate::unary<&Builder::log>},
    {"LogSoftmax", 13, "axis", &translate::log_softmax},
    {"Loop", 1, "body", &translate::loop},
    {"MatMul", 1, "", &translate::mat_mul},
    {"MatMulInteger", 10, "", &translate::mat_mul_integer},
    {"Max", 6, "", &translate::variadic<&Builder::maximum>},
    {"MaxPool", 10, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", &translate::max_pool},
    {"MaxUnpool", 9, "kernel_shape pads strides", &translate::max_unpool},
    {"Mean", 6, "", &translate::mean},
    {"MeanVarianceNormalization", 9, "axes", &translate::mean_variance_normalization},
    {"Min", 6, "", &translate::variadic<&Builder::minimum>},
    {"Mod", 10, "fmod", &translate::mod},
    {"Mul", 7, "", &translate::arithmetic<&Builder::mul, '*'>},
    {"Neg", 6, "", &translate::neg},
    {"NegativeLogLikelihoodLoss", 12, "ignore_index reduction", &translate::negative_log_likelihood_loss},
    {"Not", 1, "", &translate::not_},
    {"OneHot", 9, "axis", &translate::one_hot},
    {"Or", 7, "", &translate::binary<&Builder::maximum>},
    {"PRelu", 7, "", &translate::prelu},
    {"Pad", 11, "mode", &translate::pad_},
    {"Pow", 7, "", &translate::pow},
    {"QLinearConv", 10, "auto_pad dilations group kernel_shape pads strides", &translate::q_linear_conv},
    {"QLinearMatMul", 10, "", &translate::q_linear_mat_mul},
    {"QuantizeLinear", 10, "axis@13", &translate::quantize_linear},
    {"RNN", 7, "activation_alpha activation_beta activations clip direction hidden_size layout@14", &translate::rnn},
    {"Range", 11, "", &translate::range},
    {"Reciprocal", 6, "", &translate::unary<&Builder::reciprocal>},
    {"ReduceL1", 1, "axes keepdims", &translate::reduce_l1},
    {"ReduceL2", 1, "axes keepdims", &translate::reduce_l2},
    {"ReduceLogSum", 1, "axes keepdims", &translate::reduce_log_sum},
    {"ReduceLogSumExp", 1, "axes keepdims", &translate::reduce_log_sum_exp},
    {"ReduceMax", 1, "axes keepdims", &translate::reduce_order<kMax>},
    {"ReduceMean", 1, "axes keepdims", &translate::reduce_mean},
    {"ReduceMin", 1, "axes keepdims", &translate::reduce_order<kMin>},
    {"ReduceProd", 1, "axes keepdims", &translate::reduce_prod},
    {"ReduceSum", 13, "keepdims noop_with_empty_axes", &translate::reduce_sum},
    {"ReduceSumSquare", 1, "axes keepdims", &translate::reduce_sum_square},
    {"Relu", 6, "", &translate::relu},
    {"Reshape", 5, "allowzero@14", &translate::reshape_},
    {"Resize", 11, "coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value mode nearest_mode",
     &translate::resize},
    {"ReverseSequence", 10, "batch_axis time_axis", &translate::reverse_sequence},
    {"RoiAlign", 10, "coordinate_transformation_mode@16 mode output_height output_width sampling_ratio spatial_scale",
     &translate::roi_align},
    {"Round", 11, "", &translate::kernel_unary<FloatUnary<kernels::Round>>},
    {"STFT", 17, "onesided", &translate::stft},
    {"Scan", 9, "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions",
     &translate::scan},
    {"Scatter", 9, "axis", &translate::scatter_elements, 10},
    {"ScatterElements", 11, "axis reduction@16", &translate::scatter_elements},
    {"ScatterND", 11, "reduction@16", &translate::scatter_nd},
    {"Selu", 6, "alpha gamma", &translate::selu},
    {"Shape", 1, "end@15 start@15", &translate::shape_},
    {"Shrink", 9, "bias lambd", &translate::shrink},
    {"Sigmoid", 6, "", &translate::sigmoid},
    {"Sign", 9, "", &translate::sign},
    {"Sin", 7, "", &translate::kernel_unary<FloatUnary<kernels::Sin>>},
    {"Sinh", 9, "", &translate::kernel_unary<FloatUnary<kernels::Sinh>>},
    {"Size", 1, "", &translate::size},
    {"Slice", 10, "", &translate::slice_},
    {"Softmax", 13, "axis", &translate::softmax},
    {"SoftmaxCrossEntropyLoss", 12, "ignore_index reduction", &translate::softmax_cross_entropy_loss},
    {"Softplus", 1, "", &translate::softplus},
    {"Softsign", 1, "", &translate::softsign},
    {"SpaceToDepth", 1, "blocksize", &translate::space_to_depth},
    {"Split", 13, "axis", &translate::split},
    {"Sqrt", 6, "", &translate::sqrt},
    {"Squeeze", 13, "", &translate::squeeze},
    {"Sub", 7, "", &translate::arithmetic<&Builder::sub, '-'>},
    {"Sum", 6, "", &translate::variadic<&Builder::add>},
    {"Tan", 7, "", &translate::kernel_unary<FloatUnary<kernels::Tan>>},
    {"Tanh", 6, "", &translate::unary<&Builder::tanh>},
    {"ThresholdedRelu", 10, "alpha", &translate::thresholded_relu},
    {"Tile", 6, "", &translate::tile_},
    {"TopK", 11, "axis largest sorted", &translate::top_k},
    {"Transpose", 1, "perm", &translate::transpose_},
    {"Trilu", 14, "upper", &translate::trilu},
    {"Unsqueeze", 13, "", &translate::unsqueeze},
    {"Upsample", 9, "mode", &translate::upsample, 9},
    {"Where", 9, "", &translate::where},
    {"Xor", 7, "", &translate::xor_},
});

/// Those of the domain ai.onnx.preview.training.
inline constexpr auto kTrainingOperators = std::to_array<OperatorRow>({
    {"Adagrad", 1, "decay_factor epsilon norm_coefficient", &translate::adagrad},
    {"Adam", 1, "alpha beta epsilon norm_coefficient norm_coefficient_post", &translate::adam},
    {"Momentum", 1, "alpha beta mode norm_coefficient", &translate::momentum},
});

namespace detail {

/// True when `list` (names with spaces between, each perhaps with `@opset`) has `name` at `opset`.
[[nodiscard]] constexpr bool has_attribute(std::string_view list, std::string_view name, std::int64_t opset) noexcept {
  while (!list.empty()) {
    const std::string_view entry = zrt::slice(list, 0, list.find(' '));
    list.remove_prefix(entry.size() < list.size() ? entry.size() + 1 : entry.size());
    const std::size_t at = entry.find('@');
    if (zrt::slice(entry, 0, at) != name) continue;
    std::int64_t first = 0;
    for (std::size_t i = at; i < entry.size(); ++i)
      if (entry[i] != '@') first = first * 10 + (entry[i] - '0');
    return opset >= first;
  }
  return false;
}

}  // namespace detail

inline void Reader::translate(NodeCall& call) noexcept {
  const std::string_view domain = call.node().domain;
  Span<const OperatorRow> rows;
  if (domain.empty() || domain == "ai.onnx") rows = kOperators;
  if (domain == "ai.onnx.preview.training") rows = kTrainingOperators;
  for (const OperatorRow& row : rows) {
    if (row.name != call.node().op) continue;
    const std::int64_t opset = rows.data() == kOperators.data() ? call.opset() : row.since;
    if (opset < row.since || opset > row.until)
      return call.fail(Errc::unsupported_version, "the model is of opset ", opset,
                       ", the operator is read in its form of ", row.since, " to ", row.until);
    for (const AttributeView& a : call.node().attributes)
      if (!detail::has_attribute(row.attributes, a.name, opset))
        return call.fail(Errc::invalid_file, "attribute ", zrt::slice(a.name, 0, 40),
                         " is none that the operator has at opset ", opset);
    return row.translate(call);
  }
  call.unsupported("operator ", zrt::slice(domain, 0, 40), domain.empty() ? "" : ".", zrt::slice(call.node().op, 0, 40),
                   " is not translated");
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
