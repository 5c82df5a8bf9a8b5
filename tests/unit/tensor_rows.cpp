// SPDX-License-Identifier: Apache-2.0
// tests/unit/tensor_rows.cpp: rows of a fused tensor, named as a weight, are found where they lie.
#include <zrt/model/weights.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <string>
#include <tuple>

namespace tensor_rows_test {
namespace {

using namespace zrt;
using model::TensorRows;

TEST(TensorRows, ANameSaysWhichRowsOrIsATensors) {
  const Name name = TensorRows::name("blk.0.attn_qkv.weight", 64, 32, 128);
  EXPECT_EQ(name.view(), "blk.0.attn_qkv.weight[64:32/128]");
  const TensorRows rows = TensorRows::of(name.view());
  EXPECT_EQ(rows.tensor, "blk.0.attn_qkv.weight");
  EXPECT_EQ(rows.first, 64u);
  EXPECT_EQ(rows.count, 32u);
  EXPECT_EQ(rows.total, 128u);
  for (const std::string_view whole :
       {"", "]", "[", "a", "a[]", "a[0:1/]", "a[0:1/0]", "a[2:3/4]", "a[0:5/4]", "a[:1/2]", "a[0:1/2]x", "a[0:1/2",
        "a[0;1/2]", "a[4294967296:1/4294967296]", "a[99999999999999999999:1/2]"}) {
    EXPECT_EQ(TensorRows::of(whole).tensor, whole);
    EXPECT_EQ(TensorRows::of(whole).total, 0u) << whole;
  }
}

TEST(TensorRows, AreFoundWithTheirShapeAndBytes) {
  test::GgufWriter w;
  test::TinyRandom random(1);
  test::detail::add_tiny_matrix(w, random, "plain", DType::f32, 8, 6, 1.0f);
  test::detail::add_tiny_matrix(w, random, "blocks", DType::q8_0, 64, 6, 1.0f);
  const test::ModelFile bytes(w.build());
  const auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
  ASSERT_TRUE(file) << file.error().text();
  const exec::WeightSource source = model::weight_source(*file);
  for (const auto& [tensor, cols, row_bytes] :
       {std::tuple{"plain", 8u, std::size_t{32}}, std::tuple{"blocks", 64u, std::size_t{68}}}) {
    const auto whole = source.find(source.context, tensor);
    ASSERT_TRUE(whole) << whole.error().text();
    const Name name = TensorRows::name(tensor, 2, 3, 6);
    const auto part = source.find(source.context, name.view());
    ASSERT_TRUE(part) << part.error().text();
    EXPECT_EQ(part->shape, (Shape{3, cols}));
    EXPECT_EQ(part->dtype, whole->dtype);
    EXPECT_EQ(part->data.data(), whole->data.data() + 2 * row_bytes);
    EXPECT_EQ(part->data.size(), 3 * row_bytes);
    const ir::WeightLookup lookup = model::weight_lookup(*file);
    EXPECT_EQ(lookup.find(lookup.context, name.view()).shape, part->shape);
    // Of a tensor that has another number of rows, a builder learns the tensor's own shape.
    const Name other = TensorRows::name(tensor, 2, 3, 7);
    EXPECT_EQ(lookup.find(lookup.context, other.view()).shape, whole->shape);
    const auto refused = source.find(source.context, other.view());
    EXPECT_EQ(refused.error().code(), Errc::shape_mismatch);
    EXPECT_EQ(refused.error().text(),
              "tensor " + std::string(tensor) + " has 6 rows in 2 dimensions, expected 7 rows in 2");
    EXPECT_EQ(source.find(source.context, "none[2:3/7]").error().code(), Errc::missing_weight);
  }
}

}  // namespace
}  // namespace tensor_rows_test
