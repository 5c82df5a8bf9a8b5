// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/operators.hpp: every operator of ONNX that is translated, by name.
#pragma once

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

namespace zrt::inline ZRT_ABI::ir::onnx {

/// How one operator becomes instructions.
struct OperatorRow {
  std::string_view name;
  void (*translate)(NodeCall&) noexcept;
};

inline constexpr auto kOperators = std::to_array<OperatorRow>({
    {"Abs", &translate::unary<&Builder::abs>},
    {"Acos", &translate::kernel_unary<FloatUnary<kernels::Acos>>},
    {"Acosh", &translate::kernel_unary<FloatUnary<kernels::Acosh>>},
    {"Add", &translate::arithmetic<&Builder::add, '+'>},
    {"And", &translate::binary<&Builder::mul>},
    {"ArgMax", &translate::arg_max},
    {"ArgMin", &translate::arg_min},
    {"Asin", &translate::kernel_unary<FloatUnary<kernels::Asin>>},
    {"Asinh", &translate::kernel_unary<FloatUnary<kernels::Asinh>>},
    {"Atan", &translate::kernel_unary<FloatUnary<kernels::Atan>>},
    {"Atanh", &translate::kernel_unary<FloatUnary<kernels::Atanh>>},
    {"AveragePool", &translate::average_pool},
    {"BatchNormalization", &translate::batch_normalization},
    {"BitShift", &translate::bit_shift},
    {"BlackmanWindow", &translate::blackman_window},
    {"Cast", &translate::cast},
    {"CastLike", &translate::cast_like},
    {"Ceil", &translate::kernel_unary<FloatUnary<kernels::Ceil>>},
    {"Celu", &translate::celu},
    {"Clip", &translate::clip},
    {"Concat", &translate::concat_},
    {"Constant", &translate::constant},
    {"ConstantOfShape", &translate::constant_of_shape},
    {"Conv", &translate::conv},
    {"ConvInteger", &translate::conv_integer},
    {"ConvTranspose", &translate::conv_transpose},
    {"Cos", &translate::kernel_unary<FloatUnary<kernels::Cos>>},
    {"Cosh", &translate::kernel_unary<FloatUnary<kernels::Cosh>>},
    {"CumSum", &translate::cum_sum},
    {"DFT", &translate::dft},
    {"DepthToSpace", &translate::depth_to_space},
    {"DequantizeLinear", &translate::dequantize_linear},
    {"Det", &translate::det},
    {"Div", &translate::arithmetic<&Builder::div, '/'>},
    {"Dropout", &translate::dropout},
    {"DynamicQuantizeLinear", &translate::dynamic_quantize_linear},
    {"Einsum", &translate::einsum},
    {"Elu", &translate::elu},
    {"Equal", &translate::binary<&Builder::eq>},
    {"Erf", &translate::unary<&Builder::erf>},
    {"Exp", &translate::unary<&Builder::exp>},
    {"Expand", &translate::expand},
    {"EyeLike", &translate::eye_like},
    {"Flatten", &translate::flatten},
    {"Floor", &translate::kernel_unary<FloatUnary<kernels::Floor>>},
    {"GRU", &translate::gru},
    {"Gather", &translate::gather},
    {"GatherElements", &translate::gather_elements},
    {"GatherND", &translate::gather_nd},
    {"Gemm", &translate::gemm},
    {"GlobalAveragePool", &translate::global_average_pool},
    {"GlobalMaxPool", &translate::global_max_pool},
    {"Greater", &translate::binary<&Builder::gt>},
    {"GreaterOrEqual", &translate::binary<&Builder::ge>},
    {"GridSample", &translate::grid_sample},
    {"HammingWindow", &translate::hamming_window},
    {"HannWindow", &translate::hann_window},
    {"HardSigmoid", &translate::hard_sigmoid},
    {"HardSwish", &translate::hard_swish},
    {"Hardmax", &translate::hardmax},
    {"Identity", &translate::identity},
    {"If", &translate::if_},
    {"InstanceNormalization", &translate::instance_normalization},
    {"IsInf", &translate::is_inf},
    {"IsNaN", &translate::is_nan},
    {"LRN", &translate::lrn},
    {"LSTM", &translate::lstm},
    {"LayerNormalization", &translate::layer_normalization},
    {"LeakyRelu", &translate::leaky_relu},
    {"Less", &translate::binary<&Builder::lt>},
    {"LessOrEqual", &translate::binary<&Builder::le>},
    {"Log", &translate::unary<&Builder::log>},
    {"LogSoftmax", &translate::log_softmax},
    {"Loop", &translate::loop},
    {"MatMul", &translate::mat_mul},
    {"MatMulInteger", &translate::mat_mul_integer},
    {"Max", &translate::variadic<&Builder::maximum>},
    {"MaxPool", &translate::max_pool},
    {"MaxUnpool", &translate::max_unpool},
    {"Mean", &translate::mean},
    {"MeanVarianceNormalization", &translate::mean_variance_normalization},
    {"Min", &translate::variadic<&Builder::minimum>},
    {"Mod", &translate::mod},
    {"Mul", &translate::arithmetic<&Builder::mul, '*'>},
    {"Neg", &translate::neg},
    {"NegativeLogLikelihoodLoss", &translate::negative_log_likelihood_loss},
    {"Not", &translate::not_},
    {"OneHot", &translate::one_hot},
    {"Or", &translate::binary<&Builder::maximum>},
    {"PRelu", &translate::prelu},
    {"Pad", &translate::pad_},
    {"Pow", &translate::pow},
    {"QLinearConv", &translate::q_linear_conv},
    {"QLinearMatMul", &translate::q_linear_mat_mul},
    {"QuantizeLinear", &translate::quantize_linear},
    {"RNN", &translate::rnn},
    {"Range", &translate::range},
    {"Reciprocal", &translate::unary<&Builder::reciprocal>},
    {"ReduceL1", &translate::reduce_l1},
    {"ReduceL2", &translate::reduce_l2},
    {"ReduceLogSum", &translate::reduce_log_sum},
    {"ReduceLogSumExp", &translate::reduce_log_sum_exp},
    {"ReduceMax", &translate::reduce_order<kMax>},
    {"ReduceMean", &translate::reduce_mean},
    {"ReduceMin", &translate::reduce_order<kMin>},
    {"ReduceProd", &translate::reduce_prod},
    {"ReduceSum", &translate::reduce_sum},
    {"ReduceSumSquare", &translate::reduce_sum_square},
    {"Relu", &translate::relu},
    {"Reshape", &translate::reshape_},
    {"Resize", &translate::resize},
    {"ReverseSequence", &translate::reverse_sequence},
    {"RoiAlign", &translate::roi_align},
    {"Round", &translate::kernel_unary<FloatUnary<kernels::Round>>},
    {"STFT", &translate::stft},
    {"Scan", &translate::scan},
    {"Scatter", &translate::scatter_elements},
    {"ScatterElements", &translate::scatter_elements},
    {"ScatterND", &translate::scatter_nd},
    {"Selu", &translate::selu},
    {"Shape", &translate::shape_},
    {"Shrink", &translate::shrink},
    {"Sigmoid", &translate::sigmoid},
    {"Sign", &translate::sign},
    {"Sin", &translate::kernel_unary<FloatUnary<kernels::Sin>>},
    {"Sinh", &translate::kernel_unary<FloatUnary<kernels::Sinh>>},
    {"Size", &translate::size},
    {"Slice", &translate::slice_},
    {"Softmax", &translate::softmax},
    {"SoftmaxCrossEntropyLoss", &translate::softmax_cross_entropy_loss},
    {"Softplus", &translate::softplus},
    {"Softsign", &translate::softsign},
    {"SpaceToDepth", &translate::space_to_depth},
    {"Split", &translate::split},
    {"Sqrt", &translate::sqrt},
    {"Squeeze", &translate::squeeze},
    {"Sub", &translate::arithmetic<&Builder::sub, '-'>},
    {"Sum", &translate::variadic<&Builder::add>},
    {"Tan", &translate::kernel_unary<FloatUnary<kernels::Tan>>},
    {"Tanh", &translate::unary<&Builder::tanh>},
    {"ThresholdedRelu", &translate::thresholded_relu},
    {"Tile", &translate::tile_},
    {"TopK", &translate::top_k},
    {"Transpose", &translate::transpose_},
    {"Trilu", &translate::trilu},
    {"Unsqueeze", &translate::unsqueeze},
    {"Upsample", &translate::resize},
    {"Where", &translate::where},
    {"Xor", &translate::xor_},
});

/// Those of the domain ai.onnx.preview.training.
inline constexpr auto kTrainingOperators = std::to_array<OperatorRow>({
    {"Adagrad", &translate::adagrad},
    {"Adam", &translate::adam},
    {"Momentum", &translate::momentum},
});

inline void Reader::translate(NodeCall& call) noexcept {
  const std::string_view domain = call.node().domain;
  std::span<const OperatorRow> rows;
  if (domain.empty() || domain == "ai.onnx") rows = kOperators;
  if (domain == "ai.onnx.preview.training") rows = kTrainingOperators;
  for (const OperatorRow& row : rows)
    if (row.name == call.node().op) return row.translate(call);
  call.unsupported("operator ", domain.substr(0, 40), domain.empty() ? "" : ".", call.node().op.substr(0, 40),
                   " is not translated");
}

/// Every kernel that programs from ONNX files call: the Targets of a backend that runs them.
using Targets = boost::mp11::mp_push_back<ElementwiseTargets, kernels::RowProduct, kernels::CumSum, kernels::MaxPlace,
                                          kernels::Determinant, kernels::RoiAlign, kernels::GridSample>;

}  // namespace zrt::inline ZRT_ABI::ir::onnx
