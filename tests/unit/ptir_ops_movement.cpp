// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_ops_movement.cpp: ops that move, index and slide windows, against vectors from numpy.
#include <zrt/core/scalar.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/dynamic_slice.hpp>
#include <zrt/ops/dynamic_update_slice.hpp>
#include <zrt/ops/extract_patches.hpp>
#include <zrt/ops/gather.hpp>
#include <zrt/ops/pad.hpp>
#include <zrt/ops/reduce_window.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/scatter_add.hpp>
#include <zrt/ops/scatter_reduce.hpp>
#include <zrt/ops/segment_reduce.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/take.hpp>
#include <zrt/ops/tile.hpp>
#include <zrt/ops/top_k.hpp>
#include <zrt/ops/transpose.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>
#include <support/run_plan.hpp>

namespace ptir_ops_movement_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using nlohmann::json;

constexpr SymbolId kSymbol = 1;

DType dtype_named(const std::string& name) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.dtype;
  ADD_FAILURE() << "no type " << name;
  return DType::f32;
}

Shape shape_of(const json& extents) {
  Shape shape;
  for (const int extent : extents)
    shape = shape.appended(extent < 0 ? Dim(static_cast<std::uint32_t>(-extent), kSymbol)
                                      : Dim(static_cast<std::uint32_t>(extent)));
  return shape;
}

Bytes bytes_from(const std::string& hex) {
  Bytes bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

template <class T, std::size_t N> std::array<T, N> list(const json& values) {
  std::array<T, N> result{};
  for (std::size_t i = 0; i < values.size(); ++i) result.at(i) = values[i].get<T>();
  return result;
}

ElementValue element(const json& hex) {
  ElementValue value{};
  const Bytes bytes = bytes_from(hex);
  std::memcpy(value.data(), bytes.data(), bytes.size());
  return value;
}

ops::ReduceKind reduce_kind(const json& name) {
  return name == "sum" ? ops::ReduceKind::sum : name == "max" ? ops::ReduceKind::maximum : ops::ReduceKind::minimum;
}

/// Appends one op to a graph; gives its results.
using Emit = std::vector<ir::ValueId> (*)(ir::Builder& g, const std::vector<ir::ValueId>& in, const json& attributes);

template <class O> std::vector<ir::ValueId> emit(ir::Builder& g, const std::vector<ir::ValueId>& in, const auto& p) {
  Call<ir::Builder, O> call;
  fill(call.in, in);
  call.params = p;
  const auto out = g.emit<O>(call);
  return {out.begin(), out.end()};
}

#define ZRT_EMIT [](ir::Builder & g, const std::vector<ir::ValueId>& in, const json& a) -> std::vector<ir::ValueId>

using U = std::uint32_t;
using Axis = std::uint8_t;

const std::map<std::string, Emit> kEmits = {
    {"reshape", ZRT_EMIT{return emit<ops::Reshape>(g, in, ops::ReshapeParams{ShapeParams::of(shape_of(a["shape"]))});
}  // namespace
}  // namespace ptir_ops_movement_test
, {"transpose", ZRT_EMIT{return emit<ops::Transpose>(
                    g, in, ops::TransposeParams{list<Axis, 8>(a["perm"]), static_cast<Axis>(a["perm"].size())});
}
}
, {"broadcast_to",
   ZRT_EMIT{return emit<ops::BroadcastTo>(g, in, ops::BroadcastToParams{ShapeParams::of(shape_of(a["shape"]))});
}
}
, {"slice", ZRT_EMIT{return emit<ops::Slice>(
                g, in, ops::SliceParams{list<U, 8>(a["starts"]), ShapeParams::of(shape_of(a["sizes"]))});
}
}
, {"concat", ZRT_EMIT{return emit<ops::Concat>(g, in, ops::ConcatParams{a["axis"].get<U>()});
}
}
, {"pad",
   ZRT_EMIT{return emit<ops::Pad>(g, in,
                                  ops::PadParams{list<U, 8>(a["low"]), list<U, 8>(a["high"]), list<U, 8>(a["interior"]),
                                                 element(a["value"]), static_cast<U>(a["low"].size())});
}
}
, {"tile", ZRT_EMIT{return emit<ops::Tile>(
               g, in, ops::TileParams{list<U, 8>(a["repeats"]), static_cast<U>(a["repeats"].size())});
}
}
, {"take", ZRT_EMIT{EXPECT_TRUE(a.empty());
return emit<ops::Take>(g, in, NoParams{});
}
}
, {"gather", ZRT_EMIT{return emit<ops::Gather>(g, in, ops::GatherParams{a["axis"].get<U>()});
}
}
, {"scatter_add", ZRT_EMIT{ops::ScatterAddParams p;
p.update_window_dims = list<Axis, 8>(a["update_window_dims"]);
p.inserted_window_dims = list<Axis, 8>(a["inserted_window_dims"]);
p.scatter_dims_to_operand_dims = list<Axis, 8>(a["scatter_dims_to_operand_dims"]);
p.update_window_count = static_cast<Axis>(a["update_window_dims"].size());
p.inserted_window_count = static_cast<Axis>(a["inserted_window_dims"].size());
p.scatter_dims_count = static_cast<Axis>(a["scatter_dims_to_operand_dims"].size());
p.index_vector_dim = a["index_vector_dim"].get<Axis>();
return emit<ops::ScatterAdd>(g, in, p);
}
}
, {"scatter_reduce", ZRT_EMIT{using enum ops::ScatterKind;
const json& kind = a["reduce"];
return emit<ops::ScatterReduce>(g, in,
                                ops::ScatterReduceParams{a["axis"].get<U>(),
                                                         kind == "add"   ? add
                                                         : kind == "max" ? maximum
                                                         : kind == "min" ? minimum
                                                                         : replace,
                                                         {}});
}
}
, {"dynamic_slice",
   ZRT_EMIT{return emit<ops::DynamicSlice>(g, in, ops::DynamicWindowParams{ShapeParams::of(shape_of(a["sizes"]))});
}
}
, {"dynamic_update_slice", ZRT_EMIT{return emit<ops::DynamicUpdateSlice>(
                               g, in, ops::DynamicWindowParams{ShapeParams::of(shape_of(a["sizes"]))});
}
}
, {"reduce_window",
   ZRT_EMIT{ops::ReduceWindowParams p{
       list<U, 8>(a["window"]), list<U, 8>(a["strides"]), list<U, 8>(a["pad_low"]), list<U, 8>(a["pad_high"]),
       list<U, 8>(a["base_dilation"]), list<U, 8>(a["window_dilation"]), reduce_kind(a["kind"]),
       dtype_named(a["accum_dtype"]), dtype_named(a["out_dtype"]), static_cast<Axis>(a["window"].size())};
return emit<ops::ReduceWindow>(g, in, p);
}
}
, {"extract_patches",
   ZRT_EMIT{ops::ExtractPatchesParams p{list<U, 6>(a["window"]), list<U, 6>(a["strides"]), list<U, 6>(a["pad_low"]),
                                        list<U, 6>(a["pad_high"]), list<U, 6>(a["dilation"]), element(a["pad_value"]),
                                        static_cast<U>(a["window"].size())};
return emit<ops::ExtractPatches>(g, in, p);
}
}
, {"top_k", ZRT_EMIT{ops::TopKParams p{a["k"].get<U>(), a["axis"].get<Axis>(), a["largest"].get<bool>(),
                                       dtype_named(a["indices_dtype"]), 0};
return emit<ops::TopK>(g, in, p);
}
}
, {"segment_reduce", ZRT_EMIT{ops::SegmentReduceParams p;
p.num_segments = a["num_segments"].get<U>();
p.kind = reduce_kind(a["kind"]);
p.accum_dtype = dtype_named(a["accum_dtype"]);
return emit<ops::SegmentReduce>(g, in, p);
}
}
,
}
;

/// True for a NaN among stored floats: all of them are one where an op computes.
bool is_nan(DType dtype, const Bytes& data, std::size_t i) {
  return visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
    T value{};
    element_functions<T>(dtype).unpack(data.data(), i, 1, &value);
    return value != value;
  });
}

/// The first element where two tensors differ, or their number.
std::size_t first_difference(DType dtype, std::size_t elements, const Bytes& a, const Bytes& b, bool same_nan) {
  const std::size_t size = info(dtype).block_bytes;
  for (std::size_t i = 0; i < elements; ++i) {
    if (info(dtype).block_elems == 2) {
      // What lies beside the last element of an odd number has no meaning.
      if (((a[i / 2] ^ b[i / 2]) >> (i % 2 * 4) & std::byte{15}) != std::byte{0}) return i;
    } else if (std::memcmp(a.data() + i * size, b.data() + i * size, size) != 0) {
      if (same_nan || !is_float(dtype) || !is_nan(dtype, a, i) || !is_nan(dtype, b, i)) return i;
    }
  }
  return elements;
}

/// The case's op alone in a plan.
Result<plan::CompiledPlan> compiled(const json& c, StepData& run, std::uint32_t n) {
  ir::Builder g(*catalog_ops().table);
  EXPECT_EQ(g.symbol("n", n + 2), kSymbol);
  run.bounds.value[kSymbol] = n + 2;
  run.actual.value[kSymbol] = n;
  std::vector<ir::ValueId> in;
  std::vector<ir::ValueId> out;
  if (c["op"] == "constant") {
    const Bytes data = bytes_from(c["in"][0][2]);
    const auto w = g.constant(data, dtype_named(c["in"][0][0]), shape_of(c["in"][0][1]));
    out = {g.emit<ops::Constant>({.in = {}, .w = {w}, .params = {ops::ConstantForm::stored}})[0]};
  } else {
    for (const json& x : c["in"]) {
      in.push_back(g.input(Name::of("in", static_cast<unsigned>(in.size())), {dtype_named(x[0]), shape_of(x[1])}));
      run.inputs.push_back(bytes_from(x[2]));
    }
    out = kEmits.at(c["op"])(g, in, c["attrs"]);
  }
  for (std::size_t i = 0; i < out.size(); ++i) g.output(Name::of("out", static_cast<unsigned>(i)), out[i]);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  return plan::compile(*graph, catalog_ops(), reference_claims());
}

/// The vectors of a file, each op alone in a plan: counts those of each op.
void expect_vectors(const std::string& name_of_file, std::map<std::string, std::size_t>& seen) {
  std::ifstream file(ZRT_TEST_DATA_DIR "/ptir/" + name_of_file);
  const json vectors = json::parse(file);
  for (std::size_t number = 0; number < vectors["cases"].size(); ++number) {
    const json& c = vectors["cases"][number];
    const std::string op = c["op"];
    ++seen[op];
    SCOPED_TRACE(testing::Message() << "case " << number << ": " << op << ' ' << c["attrs"].dump());
    StepData run;
    const auto plan = compiled(c, run, vectors["n"]);
    ASSERT_TRUE(plan) << plan.error().text();
    // The step's status decides whether there are results; run without it, they are there always.
    const auto checked = run_planned(*plan, {}, run);
    if (c.value("violates", false)) {
      ASSERT_FALSE(checked);
      EXPECT_EQ(checked.error().code(), Errc::spec_violation);
    } else {
      ASSERT_TRUE(checked) << checked.error().text();
    }
    const auto got = run_apart(*plan, {}, run);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_EQ(got->size(), c["out"].size());
    for (std::size_t i = 0; i < got->size(); ++i) {
      const json& expected = c["out"][i];
      const TensorType& type = plan->plan.registers[plan::index(plan->plan.outputs[i].reg)];
      ASSERT_EQ(name(type.dtype), expected[0].get<std::string>());
      ASSERT_TRUE(type.shape == shape_of(expected[1])) << "output " << i;
      const Bytes bytes = bytes_from(expected[2]);
      ASSERT_EQ((*got)[i].size(), bytes.size());
      const auto elements = static_cast<std::size_t>(type.shape.elements(run.actual).raw());
      const bool folds = op.starts_with("scatter") || op.ends_with("reduce") || op == "reduce_window";
      EXPECT_EQ(first_difference(type.dtype, elements, (*got)[i], bytes, !folds), elements) << "output " << i;
      if (checked) {
        EXPECT_EQ(first_difference(type.dtype, elements, (*checked)[i], bytes, !folds), elements) << "in the arena";
      }
    }
  }
}

TEST(PtirOpsMovement, GiveWhatNumpyGives) {
  std::map<std::string, std::size_t> seen;
  expect_vectors("movement.json", seen);
  EXPECT_EQ(seen.size(), kEmits.size() + 1) << "an op without vectors";
}

/// With extents by a symbol of the step, where those of a program are constants by then.
TEST(PtirOpsMovement, GiveWhatNumpyGivesAtTheEdges) {
  for (const auto& [op, emits] : kEmits) {
    std::map<std::string, std::size_t> seen;
    expect_vectors("edges/" + op + ".json", seen);
    EXPECT_GT(seen[op], 2 * 15u) << op;
  }
}

TEST(PtirOpsMovement, AConstantKeepsOrWidensItsType) {
  ir::Builder g(*catalog_ops().table);
  const Bytes half{std::byte{0x00}, std::byte{0x3c}};
  const auto w = g.constant(half, DType::f16, Shape{1});
  const auto widened = g.emit<ops::Constant>({.in = {}, .w = {w}})[0];
  const auto stored = g.emit<ops::Constant>({.in = {}, .w = {w}, .params = {ops::ConstantForm::stored}})[0];
  EXPECT_EQ(g.type_of(widened).dtype, DType::f32);
  EXPECT_EQ(g.type_of(stored).dtype, DType::f16);
  g.output("widened", widened);
  g.output("stored", stored);
  const auto plan = plan::compile(*g.finish(), catalog_ops(), reference_claims());
  ASSERT_TRUE(plan) << plan.error().text();
  const auto out = run_planned(*plan, {}, {});
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ((*out)[0], (Bytes{std::byte{0}, std::byte{0}, std::byte{0x80}, std::byte{0x3f}}));
  EXPECT_EQ((*out)[1], half);
}

/// What one op refuses, and with which error.
struct Refused {
  const char* op;
  const char* attributes;
  std::vector<TensorType> in;
  Errc code;
};

TEST(PtirOpsMovement, RefuseWhatTheSpecForbids) {
  using enum DType;
  const Dim n(1, kSymbol);
  const Refused cases[] = {
      {"reshape", R"({"shape":[5]})", {{f32, {2, 3}}}, Errc::shape_mismatch},
      {"transpose", R"({"perm":[0,0]})", {{f32, {2, 3}}}, Errc::invalid_params},
      {"transpose", R"({"perm":[0,2]})", {{f32, {2, 3}}}, Errc::invalid_params},
      {"transpose", R"({"perm":[0]})", {{f32, {2, 3}}}, Errc::invalid_params},
      {"broadcast_to", R"({"shape":[4]})", {{f32, {3}}}, Errc::shape_mismatch},
      {"broadcast_to", R"({"shape":[]})", {{f32, {1}}}, Errc::shape_mismatch},
      {"slice", R"({"starts":[2],"sizes":[2]})", {{f32, {3}}}, Errc::shape_mismatch},
      {"slice", R"({"starts":[4],"sizes":[-1]})", {{f32, {3}}}, Errc::shape_mismatch},
      {"slice", R"({"starts":[4294967295],"sizes":[2]})", {{f32, {3}}}, Errc::shape_mismatch},
      {"concat", R"({"axis":0})", {{f32, {2}}, {f16, {2}}}, Errc::dtype_mismatch},
      {"concat", R"({"axis":0})", {{f32, {2, 2}}, {f32, {2, 3}}}, Errc::shape_mismatch},
      {"concat", R"({"axis":1})", {{f32, {2}}}, Errc::invalid_params},
      {"concat", R"({"axis":0})", {{f32, {2}}, {f32, {n}}}, Errc::shape_mismatch},
      {"concat", R"({"axis":0})", {{si8, {4294967295u}}, {si8, {1}}}, Errc::size_overflow},
      {"concat", R"({"axis":0})", {}, Errc::invalid_argument},
      {"pad", R"({"low":[1],"high":[4294967295],"interior":[0],"value":"00"})", {{si8, {1}}}, Errc::size_overflow},
      {"pad", R"({"low":[1],"high":[0],"interior":[0],"value":"00"})", {{si8, {n}}}, Errc::shape_mismatch},
      {"tile", R"({"repeats":[4294967295]})", {{si8, {2}}}, Errc::size_overflow},
      {"take", "{}", {{f32, {}}, {si32, {2}}}, Errc::shape_mismatch},
      {"take", "{}", {{f32, {3}}, {ui32, {2}}}, Errc::dtype_mismatch},
      {"take", "{}", {{f32, {1, 1, 1, 1, 1}}, {si32, {1, 1, 1, 1, 1}}}, Errc::unsupported_tensor_rank},
      {"gather", R"({"axis":2})", {{f32, {2, 3}}, {si32, {2, 3}}}, Errc::invalid_params},
      {"gather", R"({"axis":1})", {{f32, {2, 3}}, {si32, {3, 3}}}, Errc::shape_mismatch},
      {"gather", R"({"axis":1})", {{f32, {2, 3}}, {si32, {2}}}, Errc::shape_mismatch},
      {"scatter_reduce", R"({"axis":0,"reduce":"add"})", {{i1, {2}}, {si32, {2}}, {i1, {2}}}, Errc::dtype_mismatch},
      {"scatter_reduce", R"({"axis":0,"reduce":"add"})", {{cf32, {2}}, {si32, {2}}, {cf32, {2}}}, Errc::unimplemented},
      {"scatter_reduce", R"({"axis":0,"reduce":"max"})", {{f32, {2}}, {si32, {2}}, {f32, {3}}}, Errc::shape_mismatch},
      {"scatter_reduce", R"({"axis":0,"reduce":"max"})", {{f32, {2}}, {si32, {2}}, {f16, {2}}}, Errc::dtype_mismatch},
      {"scatter_add",
       R"({"update_window_dims":[1],"inserted_window_dims":[0],"scatter_dims_to_operand_dims":[0,1],"index_vector_dim":1})",
       {{f32, {4, 3}}, {si32, {2, 1}}, {f32, {2, 3}}},
       Errc::invalid_params},
      {"scatter_add",
       R"({"update_window_dims":[1],"inserted_window_dims":[0],"scatter_dims_to_operand_dims":[0],"index_vector_dim":1})",
       {{f32, {4, 3}}, {si32, {2, 1}}, {f32, {2, 4}}},
       Errc::shape_mismatch},
      {"scatter_add",
       R"({"update_window_dims":[1,0],"inserted_window_dims":[],"scatter_dims_to_operand_dims":[0],"index_vector_dim":0})",
       {{f32, {4, 3}}, {si32, {1}}, {f32, {2, 2}}},
       Errc::invalid_params},
      {"dynamic_slice", R"({"sizes":[4]})", {{f32, {3}}, {si32, {1}}}, Errc::shape_mismatch},
      {"dynamic_slice", R"({"sizes":[2]})", {{f32, {3}}, {si32, {2}}}, Errc::shape_mismatch},
      {"dynamic_slice", R"({"sizes":[2]})", {{f32, {3}}, {f32, {1}}}, Errc::dtype_mismatch},
      {"dynamic_update_slice", R"({"sizes":[2]})", {{f32, {3}}, {f32, {1}}, {si32, {1}}}, Errc::shape_mismatch},
      {"dynamic_update_slice", R"({"sizes":[2]})", {{f32, {3}}, {f16, {2}}, {si32, {1}}}, Errc::dtype_mismatch},
      {"reduce_window",
       R"({"window":[0],"strides":[1],"pad_low":[0],"pad_high":[0],"base_dilation":[1],"window_dilation":[1],
           "kind":"sum","accum_dtype":"f32","out_dtype":"f32"})",
       {{f32, {3}}},
       Errc::invalid_params},
      {"reduce_window",
       R"({"window":[4294967295,4294967295,4294967295],"strides":[1,1,1],"pad_low":[0,0,0],"pad_high":[0,0,0],
           "base_dilation":[1,1,1],"window_dilation":[1,1,1],"kind":"sum","accum_dtype":"f32","out_dtype":"f32"})",
       {{f32, {3, 3, 3}}},
       Errc::size_overflow},
      {"reduce_window",
       R"({"window":[1],"strides":[1],"pad_low":[0],"pad_high":[0],"base_dilation":[1],"window_dilation":[1],
           "kind":"sum","accum_dtype":"i1","out_dtype":"f32"})",
       {{f32, {3}}},
       Errc::dtype_mismatch},
      {"reduce_window",
       R"({"window":[2],"strides":[1],"pad_low":[0],"pad_high":[0],"base_dilation":[1],"window_dilation":[1],
           "kind":"max","accum_dtype":"f32","out_dtype":"f32"})",
       {{f32, {n}}},
       Errc::shape_mismatch},
      {"extract_patches",
       R"({"window":[1],"strides":[1],"pad_low":[0],"pad_high":[0],"dilation":[1],"pad_value":"00"})",
       {{si8, {3, 3}}},
       Errc::shape_mismatch},
      {"top_k", R"({"k":4,"axis":0,"largest":true,"indices_dtype":"si32"})", {{f32, {3}}}, Errc::shape_mismatch},
      {"top_k", R"({"k":1,"axis":0,"largest":true,"indices_dtype":"si16"})", {{f32, {3}}}, Errc::dtype_mismatch},
      {"top_k", R"({"k":1,"axis":0,"largest":true,"indices_dtype":"si32"})", {{cf64, {3}}}, Errc::dtype_mismatch},
      {"segment_reduce",
       R"({"num_segments":2,"kind":"sum","accum_dtype":"f32"})",
       {{f32, {3}}, {si32, {2}}},
       Errc::shape_mismatch},
      {"segment_reduce",
       R"({"num_segments":2,"kind":"sum","accum_dtype":"cf32"})",
       {{f32, {3}}, {si32, {3}}},
       Errc::unimplemented},
  };
  for (const Refused& c : cases) {
    SCOPED_TRACE(testing::Message() << c.op << ' ' << c.attributes);
    ir::Builder g(*catalog_ops().table);
    EXPECT_EQ(g.symbol("n", 5), kSymbol);
    std::vector<ir::ValueId> in;
    for (const TensorType& type : c.in) in.push_back(g.input(Name::of("in", static_cast<unsigned>(in.size())), type));
    (void)kEmits.at(c.op)(g, in, json::parse(c.attributes));
    const auto graph = g.finish();
    ASSERT_FALSE(graph);
    EXPECT_EQ(graph.error().code(), c.code) << graph.error().text();
    EXPECT_TRUE(graph.error().text().starts_with(c.op)) << graph.error().text();
  }
}

}  // namespace
}  // namespace ptir_ops_movement_test
