// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_verify.cpp: for every operation of the IR what it accepts, what it gives and what it refuses.
#include <zrt/ir/ptir/text.hpp>
#include <zrt/ir/ptir/verify.hpp>
#include <zrt/ops/catalog.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ptir_verify_test {
namespace {

using namespace zrt;
namespace ptir = zrt::ir::ptir;

/// One instruction over parameters: what it gives, or the error.
struct Case {
  std::string_view op;
  std::string_view parameters;
  std::string_view operands;
  std::string_view attributes;
  std::string_view type;  ///< of the result; empty when the case is an error
  Errc code = Errc::ok;
  std::string_view piece{};  ///< of the error's text
};

// Regions that control flow names: @1 adds, @2 counts, @3 asks, @4 folds.
constexpr std::string_view kRegions = R"(
region @1 add(%0: f32[2], %1: f32[2]) {
  %2 = elementwise_binary(%0, %1) {op = add}: f32[2]
  return %2: f32[2]
}
region @2 first(%0: f32[2], %1: f32[2]) { return %0: f32[2] }
region @3 step(%0: si32[], %1: f32[2]) {
  %2 = elementwise_binary(%0, si32[] {1}) {op = add}: si32[]
  return %2: si32[], %1: f32[2]
}
region @4 ask(%0: si32[], %1: f32[2]) {
  %2 = compare(%0, si32[] {9}) {op = lt}: i1[]
  return %2: i1[], %0: si32[], %1: f32[2]
}
region @5 fold(%0: f32[2], %1: f32[2]) {
  %2 = elementwise_binary(%0, %1) {op = add}: f32[2]
  return %2: f32[2], %1: f32[2]
}
)";

std::string text_of(const Case& c, std::string_view type) {
  std::string text = "spec_version = ptir.v0.4\nregion @0 main(";
  text.append(c.parameters).append(") {\n  %100 = ").append(c.op).append("(").append(c.operands).append(")");
  if (!c.attributes.empty()) text.append(" {").append(c.attributes).append("}");
  return text.append(": ").append(type).append("\n  return\n}\n").append(kRegions);
}

const std::vector<Case>& cases() {
  using enum Errc;
  static const std::vector<Case> all{
      {"constant", "", "", "value = si8[2] {1, -2}", "si8[2]"},
      {"constant", "", "", "value = i1[2] x\"0102\"", "", invalid_params, "bits that no element holds"},
      {"constant", "", "", "value = ui4[1] x\"f1\"", "", invalid_params, "bits that no element holds"},

      {"elementwise_unary", "%0: f16[?N, 2]", "%0", "op = erf", "f16[?N, 2]"},
      {"elementwise_unary", "%0: cf32[2]", "%0", "op = exp", "cf32[2]"},
      {"elementwise_unary", "%0: ui8[2]", "%0", "op = neg", "ui8[2]"},
      {"elementwise_unary", "%0: si32[2]", "%0", "op = exp", "", dtype_mismatch,
       "operand x is si32[2], expected a dtype that exp is defined for"},
      {"elementwise_unary", "%0: cf64[2]", "%0", "op = erf", "", dtype_mismatch, "erf"},
      {"elementwise_unary", "%0: i1[2]", "%0", "op = abs", "", dtype_mismatch, "abs"},

      {"elementwise_binary", "%0: f32[?, 4], %1: f32[3, ?N]", "%0, %1", "op = add", "f32[3, 4]"},
      {"elementwise_binary", "%0: i1[2]", "%0, i1[2] {0, 1}", "op = mul", "i1[2]"},
      {"elementwise_binary", "%0: f32[2], %1: f16[2]", "%0, %1", "op = add", "", dtype_mismatch,
       "operand rhs is f16[2], expected f32[2]"},
      {"elementwise_binary", "%0: f32[2], %1: f32[1]", "%0, %1", "op = mul", "", shape_mismatch,
       "operand rhs is f32[1], expected f32[2]"},
      {"elementwise_binary", "%0: i1[2]", "%0, %0", "op = add", "", dtype_mismatch, "add"},
      {"elementwise_binary", "%0: cf32[2]", "%0, %0", "op = maximum", "", dtype_mismatch, "maximum"},

      {"compare", "%0: si64[?N], %1: si64[?N]", "%0, %1", "op = le", "i1[?N]"},
      {"compare", "%0: cf32[2]", "%0, %0", "op = ne", "i1[2]"},
      {"compare", "%0: cf32[2]", "%0, %0", "op = lt", "", dtype_mismatch, "an order"},
      {"compare", "%0: si64[2], %1: si64[2, 1]", "%0, %1", "op = le", "", shape_mismatch, "operand rhs"},

      {"select", "%0: i1[2], %1: ui4[2]", "%0, %1, %1", "", "ui4[2]"},
      {"select", "%0: f32[2]", "%0, %0, %0", "", "", dtype_mismatch, "operand pred is f32[2], expected i1"},
      {"select", "%0: i1[], %1: f32[2]", "%0, %1, %1", "", "", shape_mismatch, "operand pred"},

      {"cast", "%0: f32[2, ?]", "%0", "dtype = si4", "si4[2, ?]"},
      {"cast", "%0: cf32[2]", "%0", "dtype = f32", "", dtype_mismatch, "a real dtype to cast to f32"},

      {"stop_gradient", "%0: bf16[]", "%0", "", "bf16[]"},
      {"stop_gradient", "%0: bf16[]", "%0, %0", "", "", invalid_params, "has 2 operands, expected 1"},

      {"reduce", "%0: f16[2, ?N, 4]", "%0", "kind = sum, axes = [-1, 0], keepdims = false, out_dtype = f32", "f32[?N]"},
      {"reduce", "%0: f16[2, ?N, 4]", "%0", "kind = max, axes = [1], keepdims = true", "f16[2, 1, 4]"},
      {"reduce", "%0: i1[2]", "%0", "kind = sum, axes = [0], keepdims = false, accum_dtype = si32, out_dtype = si32",
       "si32[]"},
      {"reduce", "%0: f16[2, 3]", "%0", "kind = sum, axes = [1, -1], keepdims = false", "", invalid_params,
       "axes names axis 1 twice"},
      {"reduce", "%0: f16[2, 3]", "%0", "kind = sum, axes = [2], keepdims = false", "", invalid_params,
       "axes is 2, expected an axis of 2 axes"},
      {"reduce", "%0: f16[2, 3]", "%0", "kind = sum, axes = [-3], keepdims = false", "", invalid_params, "axes is -3"},
      {"reduce", "%0: i1[2]", "%0", "kind = sum, axes = [0], keepdims = false", "", dtype_mismatch,
       "accumulates in i1"},
      {"reduce", "%0: cf32[2]", "%0", "kind = min, axes = [0], keepdims = false", "", dtype_mismatch, "an order"},
      {"reduce", "%0: cf32[2]", "%0", "kind = sum, axes = [0], keepdims = false, out_dtype = f32", "", dtype_mismatch,
       "complex to real"},

      {"arg_max", "%0: f32[2, 3]", "%0", "axis = -2, keepdims = true, output_dtype = si64", "si64[1, 3]"},
      {"arg_max", "%0: f32[2, 0]", "%0", "axis = 1, keepdims = false, output_dtype = si32", "", shape_mismatch,
       "1 or more on axis 1"},
      {"arg_max", "%0: f32[2]", "%0", "axis = 0, keepdims = false, output_dtype = ui32", "", dtype_mismatch,
       "si32 or si64"},
      {"arg_max", "%0: f32[]", "%0", "axis = 0, keepdims = false, output_dtype = si32", "", invalid_params,
       "an axis of 0"},

      {"dot_general", "%0: f16[?B, 3, 4], %1: f16[5, ?B, 4]", "%0, %1",
       "batch_lhs = [0], batch_rhs = [1], contract_lhs = [2], contract_rhs = [-1], accum_dtype = f32, out_dtype = f32",
       "f32[?B, 3, 5]"},
      {"dot_general", "%0: f32[3, 4], %1: f32[5, 6]", "%0, %1",
       "batch_lhs = [], batch_rhs = [], contract_lhs = [1], contract_rhs = [0]", "", shape_mismatch,
       "operand rhs is f32[5, 6], expected 4 on axis 0"},
      {"dot_general", "%0: f32[3, 4], %1: f16[4]", "%0, %1",
       "batch_lhs = [], batch_rhs = [], contract_lhs = [1], contract_rhs = [0]", "", dtype_mismatch, "operand rhs"},
      {"dot_general", "%0: f32[4, 4], %1: f32[4]", "%0, %1",
       "batch_lhs = [0], batch_rhs = [0], contract_lhs = [0], contract_rhs = [0]", "", invalid_params,
       "both batched and contracted"},
      {"dot_general", "%0: f32[4, 4], %1: f32[4]", "%0, %1",
       "batch_lhs = [], batch_rhs = [], contract_lhs = [0, 1], contract_rhs = [0]", "", invalid_params,
       "contract_lhs has 2 axes"},
      {"dot_general", "%0: f32[1, 1, 1, 1, 1], %1: f32[1, 1, 1, 1]", "%0, %1",
       "batch_lhs = [], batch_rhs = [], contract_lhs = [], contract_rhs = []", "", unsupported_tensor_rank, "9 axes"},

      {"reshape", "%0: f32[4, 6]", "%0", "new_shape = [3, -1, 2]", "f32[3, 4, 2]"},
      {"reshape", "%0: f32[?N, 4]", "%0", "new_shape = [2, 2, -1]", "f32[2, 2, ?N]"},
      {"reshape", "%0: f32[?N, 4]", "%0", "new_shape = [?N, -1]", "f32[?N, 4]"},
      {"reshape", "%0: f32[?N, 4]", "%0", "new_shape = [-1]", "f32[?]"},
      {"reshape", "%0: f32[?N, ?M]", "%0", "new_shape = [-1]", "f32[?]"},
      {"reshape", "%0: f32[?N, ?M]", "%0", "new_shape = [-1, ?N]", "f32[?M, ?N]"},
      {"reshape", "%0: f32[?N, 4]", "%0", "new_shape = [8]", "f32[8]"},
      {"reshape", "%0: f32[0, 4]", "%0", "new_shape = [7, 0]", "f32[7, 0]"},
      {"reshape", "%0: f32[4, 6]", "%0", "new_shape = [5, -1]", "", shape_mismatch, "a multiple of 5 elements"},
      {"reshape", "%0: f32[4, 6]", "%0", "new_shape = [25]", "", shape_mismatch,
       "operand x is f32[4, 6], expected 25 elements"},
      {"reshape", "%0: f32[?N, 4]", "%0", "new_shape = [2, ?N]", "", shape_mismatch, "expected 2 elements"},
      {"reshape", "%0: f32[4]", "%0", "new_shape = [-1, -1]", "", invalid_params, "more than one inferred"},
      {"reshape", "%0: f32[0]", "%0", "new_shape = [0, -1]", "", invalid_params, "not determined"},

      {"transpose", "%0: f32[2, ?N, 4]", "%0", "perm = [2, 0, -2]", "f32[4, 2, ?N]"},
      {"transpose", "%0: f32[2, 3]", "%0", "perm = [0]", "", invalid_params, "perm has 1 entries, expected 2"},
      {"transpose", "%0: f32[2, 3]", "%0", "perm = [0, 0]", "", invalid_params, "twice"},

      {"broadcast_to", "%0: f32[3, 1, ?N]", "%0", "result_shape = [2, 3, 5, ?N]", "f32[2, 3, 5, ?N]"},
      {"broadcast_to", "%0: f32[3]", "%0", "result_shape = [?]", "f32[3]"},
      {"broadcast_to", "%0: f32[2]", "%0", "result_shape = [3]", "", shape_mismatch, "1 or 3 on axis 0"},
      {"broadcast_to", "%0: f32[2]", "%0", "result_shape = [1]", "", shape_mismatch, "expected 1 on axis 0"},
      {"broadcast_to", "%0: f32[2, 3]", "%0", "result_shape = [3]", "", shape_mismatch, "at most 1 axes"},
      {"broadcast_to", "%0: f32[1]", "%0", "result_shape = [-1]", "", invalid_params, "extent of -1"},

      {"slice", "%0: f32[5, ?N]", "%0", "starts = [1, 7], sizes = [4, ?M]", "f32[4, ?M]"},
      {"slice", "%0: f32[5]", "%0", "starts = [2], sizes = [4]", "", shape_mismatch, "start + size = 2 + 4"},
      {"slice", "%0: f32[5]", "%0", "starts = [-1], sizes = [4]", "", invalid_params, "starts holds -1"},
      {"slice", "%0: f32[5]", "%0", "starts = [0, 0], sizes = [4]", "", invalid_params,
       "starts has 2 entries, expected 1"},
      {"slice", "%0: f32[5]", "%0", "starts = [9223372036854775807], sizes = [9223372036854775807]", "", shape_mismatch,
       "axis 0"},

      {"concat", "%0: f32[2, 3], %1: f32[2, 4]", "%0, %1, %0", "axis = -1", "f32[2, 10]"},
      {"concat", "%0: f32[2, ?N], %1: f32[?, 4]", "%1, %0", "axis = 1", "f32[2, ?]"},
      {"concat", "%0: f32[2, 3], %1: f32[3, 3]", "%0, %1", "axis = 1", "", shape_mismatch,
       "operand x 1 is f32[3, 3], expected f32[2, 3]"},
      {"concat", "%0: f32[2], %1: f16[2]", "%0, %1", "axis = 0", "", dtype_mismatch, "operand x 1"},
      {"concat", "%0: f32[]", "%0", "axis = 0", "", invalid_params, "an axis of 0"},
      {"concat", "%0: ui4[9223372036854775807]", "%0, %0", "axis = 0", "", size_overflow, "63 bits"},

      {"pad", "%0: f16[3, ?N]", "%0", "low = [1, 0], high = [2, 0], interior = [2, 0], pad_value = f16[] {0.5}",
       "f16[10, ?N]"},
      {"pad", "%0: f16[0, ?N]", "%0", "low = [1, 0], high = [2, 0], interior = [2, 1], pad_value = f16[] {0.5}",
       "f16[3, ?]"},
      {"pad", "%0: f16[3]", "%0", "low = [1], high = [2], interior = [2], pad_value = f32[] {0.5}", "", dtype_mismatch,
       "pad_value is f32[], expected f16[]"},
      {"pad", "%0: f16[3]", "%0", "low = [-1], high = [2], interior = [2], pad_value = f16[] {0.5}", "", invalid_params,
       "low holds -1"},
      {"pad", "%0: f16[3]", "%0", "low = [1], high = [2], interior = [9223372036854775807], pad_value = f16[] {0.5}",
       "", size_overflow, "63 bits"},

      {"tile", "%0: f32[2, ?N, ?M]", "%0", "repeats = [3, 1, 2]", "f32[6, ?N, ?]"},
      {"tile", "%0: f32[2]", "%0", "repeats = [3, 1]", "", invalid_params, "repeats has 2 entries"},
      {"tile", "%0: ui4[4611686018427387904]", "%0", "repeats = [3]", "", size_overflow, ""},

      {"iota", "", "", "shape = [?N, 3], dtype = f32, axis = -1", "f32[?N, 3]"},
      {"iota", "", "", "shape = [], dtype = f32, axis = 0", "", invalid_params, "an axis of 0"},
      {"iota", "", "", "shape = [2], dtype = i1, axis = 0", "", dtype_mismatch, "i1"},

      {"take", "%0: f16[9, 4, ?N], %1: si32[2, 3]", "%0, %1", "", "f16[2, 3, 4, ?N]"},
      {"take", "%0: f16[9], %1: ui32[2]", "%0, %1", "", "", dtype_mismatch,
       "operand indices is ui32[2], expected si32 or si64"},
      {"take", "%0: f16[], %1: si32[2]", "%0, %1", "", "", shape_mismatch, "at least one axis"},

      {"gather", "%0: f32[2, 9], %1: si64[2, 4]", "%0, %1", "axis = -1", "f32[2, 4]"},
      {"gather", "%0: f32[2, 9], %1: si64[3, 4]", "%0, %1", "axis = 1", "", shape_mismatch,
       "operand indices is si64[3, 4], expected but on axis 1 the extents of x, f32[2, 9]"},
      {"gather", "%0: f32[2, 9], %1: si64[2]", "%0, %1", "axis = 1", "", shape_mismatch, "operand indices"},

      {"scatter_add", "%0: f32[9, 4, 5], %1: si32[?N, 1], %2: f32[?N, 4, 3]", "%0, %1, %2",
       "update_window_dims = [1, 2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim "
       "= 1",
       "f32[9, 4, 5]"},
      {"scatter_add", "%0: f32[9], %1: si32[3], %2: f32[3]", "%0, %1, %2",
       "update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]", "f32[9]"},
      {"scatter_add", "%0: f32[9], %1: si32[3], %2: f32[4]", "%0, %1, %2",
       "update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]", "", shape_mismatch,
       "operand updates is f32[4], expected 3 on axis 0"},
      {"scatter_add", "%0: f32[9, 4], %1: si32[3], %2: f32[3, 5]", "%0, %1, %2",
       "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]", "", shape_mismatch,
       "at most 4 on axis 1"},
      {"scatter_add", "%0: f32[9, 4], %1: si32[3], %2: f32[3, 4]", "%0, %1, %2",
       "update_window_dims = [1], inserted_window_dims = [], scatter_dims_to_operand_dims = [0]", "", invalid_params,
       "1 entries, expected 2"},
      {"scatter_add", "%0: f32[9, 4], %1: si32[3, 2], %2: f32[3]", "%0, %1, %2",
       "update_window_dims = [], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0], index_vector_dim = "
       "1",
       "", invalid_params, "expected 2"},
      {"scatter_add", "%0: f32[9, 4], %1: si32[3], %2: f32[3, 4]", "%0, %1, %2",
       "update_window_dims = [1, 0], inserted_window_dims = [], scatter_dims_to_operand_dims = [0]", "", invalid_params,
       "must ascend"},
      {"scatter_add", "%0: f32[9], %1: si32[3], %2: f32[3]", "%0, %1, %2",
       "update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2",
       "", invalid_params, "index_vector_dim is 2"},

      {"scatter_reduce", "%0: f32[9, 4], %1: si32[2, 4], %2: f32[2, ?]", "%0, %1, %2", "axis = 0, reduce = replace",
       "f32[9, 4]"},
      {"scatter_reduce", "%0: f32[9, 4], %1: si32[2, 4], %2: f32[3, 4]", "%0, %1, %2", "axis = 0, reduce = add", "",
       shape_mismatch, "operand updates"},
      {"scatter_reduce", "%0: cf32[9], %1: si32[2], %2: cf32[2]", "%0, %1, %2", "axis = 0, reduce = max", "",
       dtype_mismatch, "max"},
      {"scatter_reduce", "%0: f32[9, 4], %1: si32[2, 4], %2: f16[2, 4]", "%0, %1, %2", "axis = 0, reduce = add", "",
       dtype_mismatch, "operand updates"},

      {"dynamic_slice", "%0: f32[9, ?N], %1: si32[2]", "%0, %1", "sizes = [4, 3]", "f32[4, 3]"},
      {"dynamic_slice", "%0: f32[9], %1: si32[1]", "%0, %1", "sizes = [10]", "", shape_mismatch,
       "at least 10 on axis 0"},
      {"dynamic_slice", "%0: f32[9], %1: si32[2]", "%0, %1", "sizes = [3]", "", shape_mismatch, "operand start"},
      {"dynamic_slice", "%0: f32[9], %1: f32[1]", "%0, %1", "sizes = [3]", "", dtype_mismatch, "operand start"},

      {"dynamic_update_slice", "%0: f32[9, 4], %1: f32[2, 4], %2: si64[2]", "%0, %1, %2", "sizes = [2, 4]",
       "f32[9, 4]"},
      {"dynamic_update_slice", "%0: f32[9, 4], %1: f32[2, 3], %2: si64[2]", "%0, %1, %2", "sizes = [2, 4]", "",
       shape_mismatch, "operand update"},
      {"dynamic_update_slice", "%0: f32[9], %1: f16[2], %2: si64[1]", "%0, %1, %2", "sizes = [2]", "", dtype_mismatch,
       "operand update"},

      {"layer_norm", "%0: f16[?N, 4], %1: f16[4]", "%0, %1, %1", "epsilon = 1e-05, feature_axis = -1", "f16[?N, 4]"},
      {"layer_norm", "%0: f16[?N, 4], %1: f16[5]", "%0, %1, %1", "epsilon = 1e-05, feature_axis = -1", "",
       shape_mismatch, "operand gamma"},
      {"layer_norm", "%0: si32[4], %1: si32[4]", "%0, %1, %1", "epsilon = 1e-05, feature_axis = 0", "", dtype_mismatch,
       "a float dtype"},
      {"layer_norm", "%0: f32[4]", "%0, %0, %0", "epsilon = 0x7ff8000000000000, feature_axis = 0", "", invalid_params,
       "epsilon"},

      {"clamp", "%0: ui8[2], %1: ui8[?]", "%0, %1, %0", "", "ui8[2]"},
      {"clamp", "%0: ui8[2], %1: ui8[3]", "%0, %0, %1", "", "", shape_mismatch, "operand hi"},
      {"clamp", "%0: cf32[2]", "%0, %0, %0", "", "", dtype_mismatch, "an order"},

      {"cond", "%0: i1[], %1: f32[2]", "%0, %1, %1", "true_region = @1, false_region = @2", "f32[2]"},
      {"cond", "%0: i1[1], %1: f32[2]", "%0, %1, %1", "true_region = @1, false_region = @2", "", shape_mismatch,
       "operand pred"},
      {"cond", "%0: f32[], %1: f32[2]", "%0, %1, %1", "true_region = @1, false_region = @2", "", dtype_mismatch,
       "operand pred"},
      {"cond", "%0: i1[], %1: f32[2]", "%0, %1", "true_region = @1, false_region = @2", "", invalid_params,
       "true_region has 2 parameters, expected 1"},
      {"cond", "%0: i1[], %1: f32[3]", "%0, %1, %1", "true_region = @1, false_region = @2", "", shape_mismatch,
       "parameter 0 of true_region is f32[2], expected f32[3]"},
      {"cond", "%0: i1[], %1: f32[2]", "%0, %1, %1", "true_region = @1, false_region = @5", "", invalid_params,
       "false_region has 2 results, expected 1"},
      {"cond", "%0: i1[], %1: f32[2]", "%0, %1, %1", "true_region = @1, false_region = @6", "", invalid_params,
       "false_region names no region"},

      {"while_loop", "%0: si32[], %1: f32[2]", "%0, %1", "cond_region = @4, body_region = @3", "tuple<si32[], f32[2]>"},
      {"while_loop", "%0: si32[], %1: f32[2]", "%0, %1", "cond_region = @3, body_region = @3", "", invalid_params,
       "cond_region has 2 results, expected 3"},
      {"while_loop", "%0: si32[], %1: f32[2]", "%0, %1", "cond_region = @4, body_region = @4", "", invalid_params,
       "body_region has 3 results, expected 2"},
      {"while_loop", "%0: si64[], %1: f32[2]", "%0, %1", "cond_region = @4, body_region = @3", "", dtype_mismatch,
       "parameter 0 of cond_region"},

      {"scan", "%0: f32[2], %1: f32[?T, 2]", "%0, %1", "body_region = @5, carry_count = 1, scan_output_count = 1",
       "tuple<f32[2], f32[?T, 2]>"},
      {"scan", "%0: f32[2], %1: f32[7, 2]", "%0, %1", "body_region = @1, carry_count = 1, scan_output_count = 0",
       "f32[2]"},
      {"scan", "%0: f32[2], %1: f32[7, 2]", "%0, %1", "body_region = @5, carry_count = 1, scan_output_count = 2", "",
       invalid_params, "scan_output_count = 2"},
      {"scan", "%0: f32[2], %1: f32[7, 2]", "%0, %1", "body_region = @5, carry_count = 2, scan_output_count = 0", "",
       invalid_params, "carry_count is 2"},
      {"scan", "%0: f32[2], %1: f32[7, 3]", "%0, %1", "body_region = @5, carry_count = 1, scan_output_count = 1", "",
       shape_mismatch, "parameter 1 of body_region is f32[2], expected f32[3]"},
      {"scan", "%0: f32[6, 2], %1: f32[7, 2]", "%0, %1", "body_region = @5, carry_count = 0, scan_output_count = 2", "",
       shape_mismatch, "6 time steps"},
      {"scan", "%0: f32[2], %1: f32[]", "%0, %1", "body_region = @5, carry_count = 1, scan_output_count = 1", "",
       shape_mismatch, "a leading time axis"},

      {"reduce_window", "%0: f32[?N, 7]", "%0",
       "kind = max, window = [1, 2], strides = [1, 2], pad_low = [0, 1], pad_high = [0, 1], base_dilation = [1, 1], "
       "window_dilation = [1, 2]",
       "f32[?N, 4]"},
      {"reduce_window", "%0: f32[3, 1]", "%0",
       "kind = sum, window = [2, 3], strides = [1, 1], pad_low = [0, 0], pad_high = [0, 0], base_dilation = [2, 1], "
       "window_dilation = [1, 1], out_dtype = f64",
       "f64[4, 0]"},
      {"reduce_window", "%0: f32[?N, 7]", "%0",
       "kind = max, window = [1], strides = [1, 2], pad_low = [0, 1], pad_high = [0, 1], base_dilation = [1, 1], "
       "window_dilation = [1, 2]",
       "", invalid_params, "window has 1 entries, expected 2"},
      {"reduce_window", "%0: f32[7]", "%0",
       "kind = max, window = [1], strides = [0], pad_low = [0], pad_high = [0], base_dilation = [1], window_dilation = "
       "[1]",
       "", invalid_params, "strides holds 0, expected 1 or more"},
      {"reduce_window", "%0: f32[7]", "%0",
       "kind = max, window = [9223372036854775807], strides = [1], pad_low = [0], pad_high = [0], base_dilation = [1], "
       "window_dilation = [9223372036854775807]",
       "", size_overflow, ""},

      {"extract_patches", "%0: f32[?N, 8, 9, 3]", "%0",
       "window = [3, 2], strides = [1, 2], pad_low = [1, 0], pad_high = [1, 0], dilation = [1, 1], pad_value = f32[] "
       "{0.0}",
       "f32[?N, 8, 4, 18]"},
      {"extract_patches", "%0: f32[8, 3]", "%0",
       "window = [], strides = [], pad_low = [], pad_high = [], dilation = []", "", shape_mismatch,
       "[N, spatial..., C]"},
      {"extract_patches", "%0: f32[1, 8, 3]", "%0",
       "window = [2], strides = [1], pad_low = [0], pad_high = [0], dilation = [0]", "", invalid_params,
       "dilation holds 0"},
      {"extract_patches", "%0: f32[1, 8, 3]", "%0",
       "window = [2], strides = [1], pad_low = [0], pad_high = [0], dilation = [1], pad_value = f16[] {0.0}", "",
       dtype_mismatch, "pad_value"},

      {"custom_call", "%0: f32[?N]", "%0, si32[] {3}",
       "target = \"zrt.test.f32.v1\", attrs = {a = 1, b = [0.5], c = true, d = \"x\", e = []}",
       "tuple<f32[?N], i1[?]>"},
      {"custom_call", "", "", "target = \"conv.v1\", attrs = {}", "", invalid_params, "expected namespace.name.v1"},
      {"custom_call", "", "", "target = \"zrt.conv\", attrs = {}", "", invalid_params, "target is zrt.conv"},

      {"rng_uniform", "", "", "shape = [?N, 2], dtype = bf16, seed = -1", "bf16[?N, 2]"},
      {"rng_uniform", "", "", "shape = [2], dtype = si32", "", dtype_mismatch, "a float dtype"},
      {"rng_normal", "", "", "shape = [], dtype = f64, seed = 1, stream = 2", "f64[]"},
      {"rng_uniform", "%0: si64[]", "%0", "shape = [2], dtype = f32, stream = 2", "f32[2]"},
      {"rng_uniform", "%0: si64[], %1: si64[]", "%0, %1", "shape = [2], dtype = f32", "", invalid_params, "at most 1"},
      {"rng_uniform", "%0: si32[]", "%0", "shape = [2], dtype = f32", "", dtype_mismatch, "a scalar of si64"},
      {"rng_normal", "%0: si64[1]", "%0", "shape = [2], dtype = f32", "", shape_mismatch, "a scalar of si64"},
      {"rng_normal", "%0: si64[]", "%0", "shape = [2], dtype = f32, seed = 0", "", invalid_params, "both"},
      {"rng_normal", "", "", "shape = [2], dtype = cf32", "", dtype_mismatch, "a float dtype"},

      {"top_k", "%0: f32[2, ?N]", "%0", "k = 3, axis = 1, largest = true, indices_dtype = si32",
       "tuple<f32[2, 3], si32[2, 3]>"},
      {"top_k", "%0: f32[2]", "%0", "k = 3, axis = 0, largest = true, indices_dtype = si32", "", shape_mismatch,
       "at least k = 3"},
      {"top_k", "%0: f32[2]", "%0", "k = -1, axis = 0, largest = true, indices_dtype = si32", "", invalid_params,
       "k is -1"},
      {"top_k", "%0: f32[2]", "%0", "k = 1, axis = 0, largest = true, indices_dtype = f32", "", dtype_mismatch,
       "indices_dtype"},

      {"segment_reduce", "%0: f32[?N, 3], %1: si32[?N]", "%0, %1",
       "kind = sum, num_segments = 5, indices_are_sorted = true, unique = false", "f32[5, 3]"},
      {"segment_reduce", "%0: f32[4, 3], %1: si32[5]", "%0, %1",
       "kind = sum, num_segments = 5, indices_are_sorted = true, unique = false", "", shape_mismatch,
       "one id for each row"},
      {"segment_reduce", "%0: f32[4], %1: si32[4]", "%0, %1",
       "kind = sum, num_segments = -5, indices_are_sorted = true, unique = false", "", invalid_params,
       "num_segments is -5"},

      {"quantize", "%0: f32[4, 2], %1: f32[2], %2: si32[2]", "%0, %1, %2", "output_dtype = si4, axis = -1",
       "si4[4, 2]"},
      {"quantize", "%0: f32[4, 2], %1: f32[], %2: si32[]", "%0, %1, %2", "output_dtype = ui8", "ui8[4, 2]"},
      {"quantize", "%0: f32[4, 2], %1: f32[4], %2: si32[4]", "%0, %1, %2", "output_dtype = si4, axis = -1", "",
       shape_mismatch, "operand scale is f32[4], expected f32[2]"},
      {"quantize", "%0: f32[4], %1: f32[], %2: si8[]", "%0, %1, %2", "output_dtype = si4", "", dtype_mismatch,
       "operand zero_point"},
      {"quantize", "%0: f32[4], %1: f32[], %2: si32[]", "%0, %1, %2", "output_dtype = f16", "", dtype_mismatch,
       "output_dtype"},

      {"dequantize", "%0: ui8[4], %1: f32[], %2: si32[]", "%0, %1, %2", "output_dtype = f16", "f16[4]"},
      {"dequantize", "%0: f32[4], %1: f32[], %2: si32[]", "%0, %1, %2", "output_dtype = f16", "", dtype_mismatch,
       "an integer dtype"},

      {"requantize", "%0: si32[?N, 4], %1: f32[4], %2: si32[4]", "%0, %1, %2, %1, %2", "output_dtype = si8, axis = 1",
       "si8[?N, 4]"},
      {"requantize", "%0: si32[4], %1: f32[], %2: si32[]", "%0, %1, %2, %1, %1", "output_dtype = si8", "",
       dtype_mismatch, "operand to_zero_point"},
  };
  return all;
}

ptir::Program parsed(std::string_view text) {
  auto program = ptir::parse(text);
  EXPECT_TRUE(program) << program.error().text() << "\n" << text;
  return program ? std::move(*program) : ptir::Program();
}

void expect_error(const ptir::Program& program, Errc code, std::string_view piece) {
  const auto r = ptir::verify(program);
  ASSERT_FALSE(r) << piece;
  EXPECT_EQ(name(r.error().code()), name(code)) << r.error().text();
  EXPECT_NE(r.error().text().find(piece), std::string_view::npos) << piece << " in: " << r.error().text();
}

TEST(PtirVerify, TheTableNamesTheOpsOfTheCatalog) {
  boost::mp11::mp_for_each<boost::mp11::mp_transform<boost::mp11::mp_identity, ops::Catalog>>([](auto op) {
    using O = typename decltype(op)::type;
    if (O::rung != Rung::primitive) return;
    const ptir::OpInfo* row = ptir::find_op(O::opcode);
    ASSERT_NE(row, nullptr) << O::name;
    EXPECT_EQ(row->name, O::name);
  });
}

TEST(PtirVerify, EveryOperationIsAcceptedAndRefused) {
  std::array<int, ptir::kOps.size()> good{}, bad{};
  for (const Case& c : cases()) {
    const ptir::OpInfo* op = ptir::find_op(c.op);
    ASSERT_NE(op, nullptr) << c.op;
    const auto row = static_cast<std::size_t>(op - ptir::kOps.data());
    const std::string text = text_of(c, c.type.empty() ? "f32[]" : c.type);
    const auto program = parsed(text);
    if (!c.type.empty()) {
      ++good[row];
      const auto r = ptir::verify(program);
      EXPECT_TRUE(r) << r.error().text() << "\n" << text;
    } else {
      ++bad[row];
      SCOPED_TRACE(text);
      expect_error(program, c.code, c.piece);
      const auto r = ptir::verify(program);
      ASSERT_FALSE(r);
      EXPECT_TRUE(r.error().text().starts_with("region @0, %100: ")) << r.error().text();
      EXPECT_EQ(r.error().instruction(), 0u);
      EXPECT_EQ(r.error().opcode(), number(op->opcode));
    }
  }
  for (std::size_t row = 0; row < ptir::kOps.size(); ++row) {
    EXPECT_GT(good[row], 0) << ptir::kOps[row].name;
    EXPECT_GT(bad[row], 0) << ptir::kOps[row].name;
  }
}

TEST(PtirVerify, WhatIsDeclaredIsWhatIsInferred) {
  for (const Case& c : cases()) {
    if (c.type.empty() || c.op == "custom_call") continue;
    // A type that no case gives, as a tensor and in a tuple, and a tuple of nothing.
    for (const std::string_view other : {"cf64[3, 1, 4]", "tuple<cf64[3, 1, 4]>", "tuple<>"}) {
      const auto r = ptir::verify(parsed(text_of(c, other)));
      ASSERT_FALSE(r) << c.op;
      EXPECT_NE(r.error().text().find("the output is declared as"), std::string_view::npos) << r.error().text();
    }
  }
}

TEST(PtirVerify, OperandCountsAndAttributesComeFromTheTable) {
  for (const Case& c : cases()) {
    if (c.type.empty()) continue;
    const ptir::OpInfo& op = *ptir::find_op(c.op);
    const auto with = [&](const auto& change) {
      auto program = parsed(text_of(c, c.type));
      change(program, program.regions[0].instructions[0]);
      return program;
    };
    if (op.repeats && op.least > 0)
      expect_error(with([](auto&, auto& i) { i.operands.count = 0; }), Errc::invalid_params, "expected at least 1");
    if (!op.repeats && op.least > 0)
      expect_error(with([](auto&, auto& i) { --i.operands.count; }), Errc::invalid_params, "operands, expected ");
    for (std::size_t f = 0; f < op.field_count; ++f) {
      const auto attribute = [f](auto& program, auto& i) -> ptir::Attribute& {
        return program.attributes[i.attributes.first + f];
      };
      if (!op.fields_[f].optional)
        expect_error(with([&](auto& p, auto& i) { attribute(p, i) = {}; }), Errc::invalid_params, "is missing");
      const auto wrong =
          op.fields_[f].kind == ptir::AttributeKind::real ? ptir::Attribute::integer(0) : ptir::Attribute::real(0);
      expect_error(with([&](auto& p, auto& i) { attribute(p, i) = wrong; }), Errc::invalid_params,
                   "another kind of value");
      // Numbers and ranges that leave what they index.
      const auto out = with([&](auto& p, auto& i) {
        if (attribute(p, i).present()) {
          attribute(p, i).bits = ~std::uint64_t{0};
          attribute(p, i).range = {7, 0xffffffffu};
        }
      });
      const auto kind = op.fields_[f].kind;
      if (kind != ptir::AttributeKind::integer && kind != ptir::AttributeKind::real &&
          out.attributes[out.regions[0].instructions[0].attributes.first + f].present()) {
        const auto r = ptir::verify(out);
        EXPECT_FALSE(r) << c.op << " " << op.fields_[f].name;
      }
    }
    if (op.field_count > 0)
      expect_error(with([](auto&, auto& i) { --i.attributes.count; }), Errc::invalid_params, "attributes, expected");
    expect_error(with([](auto&, auto& i) { i.opcode = Opcode{63}; }), Errc::unsupported_opcode, "opcode 63");
    expect_error(with([](auto&, auto& i) { i.operands = {1, 0xffffffffu}; }), Errc::dangling_value,
                 "outside the program");
    expect_error(with([](auto&, auto& i) { i.output.elements.first = 0xffffffffu; }), Errc::dangling_value,
                 "outside the program");
  }
}

/// A program of one region with this body.
ptir::Program body(std::string_view parameters, std::string_view instructions, std::string_view more = {}) {
  std::string text = "spec_version = ptir.v0.4\nregion @0(";
  text.append(parameters).append(") {\n").append(instructions).append("\n}\n").append(more);
  return parsed(text);
}

TEST(PtirVerify, ValuesAreDefinedOnceAndBeforeTheyAreRead) {
  expect_error(body("%0: f32[], %0: f32[]", "return"), Errc::duplicate_name, "value %0 is defined twice");
  expect_error(body("%3: f32[]", "%3 = stop_gradient(%3): f32[] return"), Errc::duplicate_name, "value %3");
  expect_error(body("", "%1 = stop_gradient(%2): f32[] return"), Errc::dangling_value, "value %2 is not defined");
  expect_error(body("", "%1 = stop_gradient(%1): f32[] return"), Errc::dangling_value, "%1 is read before");
  expect_error(body("%0: f32[]", "%1 = stop_gradient(%2): f32[] %2 = stop_gradient(%0): f32[] return"),
               Errc::dangling_value, "%2 is read before");
  expect_error(body("%0: f32[]", "return %1: f32[]"), Errc::dangling_value, "region @0: value %1");
  // A region sees nothing of another.
  expect_error(body("%0: f32[]", "return", "region @1() { return %0: f32[] }"), Errc::dangling_value, "region @1");
  EXPECT_TRUE(ptir::verify(body("%9: f32[], %4: f32[]", "%7 = stop_gradient(%4): f32[] return %7: f32[], %9: f32[]")));
}

TEST(PtirVerify, TuplesAreReadByElement) {
  constexpr std::string_view kTuple =
      "%1 = top_k(%0) {k = 1, axis = 0, largest = true, indices_dtype = si32}: tuple<f32[1], si32[1]>\n";
  const auto with = [&](std::string_view rest) { return body("%0: f32[2]", std::string(kTuple).append(rest)); };
  EXPECT_TRUE(ptir::verify(with("return %1[1]: si32[1]")));
  expect_error(with("return %1[2]: si32[1]"), Errc::dangling_value, "has 2 elements, expected more than 2");
  expect_error(with("return %1: si32[1]"), Errc::invalid_argument, "%1 is a tuple");
  expect_error(with("return %0[0]: f32[2]"), Errc::invalid_argument, "%0 is a tensor");
  expect_error(with("%2 = stop_gradient(%1): f32[1] return"), Errc::invalid_argument, "%1 is a tuple");
}

TEST(PtirVerify, ResultsAreDeclaredAsTheyAre) {
  EXPECT_TRUE(ptir::verify(body("%0: f32[?]", "return %0: f32[?N]")));
  EXPECT_TRUE(ptir::verify(body("%0: f32[?]", "return %0: f32[4]")));
  expect_error(body("%0: f32[?N]", "return %0: f32[?M]"), Errc::shape_mismatch,
               "a result is declared as f32[?M], expected f32[?N]");
  expect_error(body("%0: f32[4]", "return %0: f32[?]"), Errc::shape_mismatch, "declared as f32[?]");
  expect_error(body("%0: f32[4]", "return %0: f16[4]"), Errc::dtype_mismatch, "declared as f16[4]");
}

TEST(PtirVerify, TypesThatTheProgramCannotHoldAreRefused) {
  const auto with = [](const ptir::TensorType& type) {
    auto program = body("%0: f32[]", "return");
    program.regions[0].parameters[0].type = type;
    return program;
  };
  expect_error(with({DType::q8_0, {}}), Errc::dtype_mismatch, "a parameter has dtype number 36");
  expect_error(with({static_cast<DType>(200), {}}), Errc::dtype_mismatch, "dtype number 200");
  expect_error(with({DType::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1}}), Errc::unsupported_tensor_rank, "9 axes");
  expect_error(with({DType::f32, {ptir::Dim::inferred()}}), Errc::invalid_params, "extent of -1");
  expect_error(with({DType::f32, {ptir::Dim::of_symbol(0)}}), Errc::dangling_value, "name is not in the program");
  expect_error(with({DType::f32, {ptir::Dim::from_code(INT64_MIN)}}), Errc::dangling_value, "name is not in");
  expect_error(with({DType::f64, {INT64_MAX / 4}}), Errc::size_overflow, "63 bits");
  expect_error(with({DType::si8, {INT64_MAX, INT64_MAX}}), Errc::size_overflow, "63 bits");
  expect_error(ptir::Program(), Errc::invalid_argument, "no region");
}

TEST(PtirVerify, LiteralsHaveTheBytesOfTheirTypes) {
  const auto with = [](const auto& change) {
    auto program = body("", "return f32[2] {1.0, 2.0}: f32[2]");
    change(program.literals[0]);
    return program;
  };
  expect_error(with([](auto& l) { l.bytes = 4; }), Errc::shape_mismatch, "a literal has 4 bytes, expected 8");
  expect_error(with([](auto& l) { l.first = ~std::uint64_t{0}; }), Errc::shape_mismatch, "has 0 bytes");
  expect_error(with([](auto& l) { l.type.shape = {ptir::Dim::any()}; }), Errc::invalid_params, "dynamic extent");
  auto program = body("", "return f32[2] {1.0, 2.0}: f32[2]");
  program.regions[0].results[0].operand.id = 1;
  expect_error(program, Errc::dangling_value, "literal 1");
}

TEST(PtirVerify, WhatEitherRegionGivesIsWhatBothSay) {
  const auto with = [](std::string_view on_true, std::string_view on_false, std::string_view output) {
    const auto region = [](std::string_view type) { return "(%0: f32[?]) { return %0: " + std::string(type) + " }\n"; };
    return body("%0: i1[], %1: f32[?]",
                "%2 = cond(%0, %1) {true_region = @1, false_region = @2}: " + std::string(output) + " return",
                "region @1" + region(on_true) + "region @2" + region(on_false));
  };
  EXPECT_TRUE(ptir::verify(with("f32[3]", "f32[3]", "f32[3]")));
  EXPECT_TRUE(ptir::verify(with("f32[3]", "f32[?N]", "f32[?]")));
  EXPECT_TRUE(ptir::verify(with("f32[?N]", "f32[?M]", "f32[?K]")));
  expect_error(with("f32[3]", "f32[3]", "f32[?]"), Errc::shape_mismatch, "declared as f32[?], expected f32[3]");
  expect_error(with("f32[3]", "f32[4]", "f32[?]"), Errc::shape_mismatch, "result 0 of false_region");
}

/// Regions of which each runs the next, `deep` below the program.
ptir::Program nested(std::uint32_t deep) {
  std::string text = "spec_version = ptir.v0.4\n";
  for (std::uint32_t i = 0; i <= deep; ++i) {
    const std::string next = std::to_string(i + 1);
    text += "region @" + std::to_string(i) + "(%0: i1[]) {";
    if (i < deep) text += " %1 = cond(%0, %0) {true_region = @" + next + ", false_region = @" + next + "}: tuple<>";
    text += " return }\n";
  }
  return parsed(text);
}

TEST(PtirVerify, RegionsNestToALimitAndNeverInThemselves) {
  EXPECT_TRUE(ptir::verify(nested(64)));
  expect_error(nested(65), Errc::limit_exceeded, "region @65 lies 65 regions deep, at most 64");
  auto circle = nested(3);
  circle.regions[3].instructions = std::move(nested(1).regions[0].instructions);
  for (ptir::Attribute& a : circle.attributes)
    if (a.bits == 3) a.bits = 1;
  expect_error(circle, Errc::invalid_params, "lies within itself");
}

TEST(PtirVerify, AMapHoldsPrimitivesUnderDistinctNames) {
  const auto with = [](const auto& change) {
    auto program =
        body("", "%1 = custom_call() {target = \"a.b.v1\", attrs = {a = 1, b = [\"s\"], c = true}}: tuple<> return");
    change(program);
    return program;
  };
  EXPECT_TRUE(ptir::verify(with([](auto&) {})));
  expect_error(with([](auto& p) { p.entries[1].key = p.entries[0].key; }), Errc::duplicate_name, "attrs has a twice");
  expect_error(with([](auto& p) { p.entries[0].value = ptir::Attribute::region(0); }), Errc::invalid_params,
               "no primitive value");
  expect_error(with([](auto& p) { p.entries[0].value = {ptir::AttributeKind::map, 0, {0, 1}}; }), Errc::invalid_params,
               "no primitive value");
  expect_error(with([](auto& p) { p.entries[1].value.range.count = 9; }), Errc::invalid_params, "outside the program");
  expect_error(with([](auto& p) { p.texts[0].count = 1000; }), Errc::invalid_params, "outside the program");
  expect_error(with([](auto& p) { p.entries[2].value.bits = 2; }), Errc::invalid_params, "outside the program");
}

}  // namespace
}  // namespace ptir_verify_test
