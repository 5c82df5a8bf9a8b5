// SPDX-License-Identifier: Apache-2.0
// tests/unit/safetensors.cpp: files of safetensors: what is read of them, and what is refused.
#include <zrt/model/hub/safetensors.hpp>

#include <gtest/gtest.h>

#include <tools/hub_folder.hpp>

namespace safetensors_test {
namespace {

using namespace zrt;
using model::hub::Safetensors;

Result<Safetensors> read(const std::string& bytes) {
  return Safetensors::read({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}
std::string fault(std::string_view header, std::string_view data = "12345678") {
  const auto file = read(test::safetensors_of(header, data));
  return file ? "" : std::string(file.error().text());
}

TEST(Safetensors, TensorsComeInTheOrderOfTheirData) {
  const std::string bytes = test::safetensors_of(R"({"__metadata__":{"format":"pt"},
      "a":{"dtype":"I64","shape":[],"data_offsets":[6,14]},
      "b":{"dtype":"BF16","shape":[3,1],"data_offsets":[0,6]},
      "none":{"dtype":"F32","shape":[2,0],"data_offsets":[6,6]}})",
                                                 "12345612345678");
  const auto file = read(bytes);
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_EQ(file->tensors().size(), 3u);
  const auto& first = file->tensors()[0];
  EXPECT_EQ(first.name, "b");
  EXPECT_EQ(first.dtype, DType::bf16);
  EXPECT_EQ(first.rows(), 3u);
  EXPECT_EQ(first.columns(), 1u);
  EXPECT_EQ(reinterpret_cast<const char*>(first.data.data()), bytes.data() + bytes.size() - 14);
  EXPECT_EQ(file->tensors()[1].rows(), 0u);
  EXPECT_EQ(file->tensors()[2].elems, 1u);
  EXPECT_FALSE(file->tensors()[2].dtype);
}

TEST(Safetensors, WhatBreaksTheFormatIsRefused) {
  EXPECT_EQ(read("1234567").error().text(), "the file has 7 bytes, expected at least 8");
  EXPECT_EQ(read(std::string("\xff\0\0\0\0\0\0\0", 8)).error().text(),
            "the header has 255 bytes, the file 0 behind its length");
  EXPECT_EQ(read(std::string(8, '\x7f')).error().code(), Errc::invalid_file);
  EXPECT_EQ(fault("[]"), "the header is array, expected an object of tensors");
  EXPECT_EQ(fault("{\"a\":1,\"a\":2}"), "an object has 'a' twice");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})"),
            "tensor 'a': dtype is 'F99', expected one of safetensors, as F32 or BF16");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})"),
            "tensor 'a': shape is no list of extents");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
            "tensor 'a': shape holds what is no extent");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})"),
            "tensor 'a' has 9 axes, at most 8 expected");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})").substr(0, 8),
            "the size");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})"),
            "tensor 'a': data_offsets are no two offsets");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})"),
            "tensor 'a': data_offsets are 0 and 4, expected 8 bytes between them");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})"),
            "tensor 'a' ends at byte 12 of the data, which have 8");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
            "tensor 'a': its data begin at byte 4, expected 0, where those before it end");
  EXPECT_EQ(fault(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"), "the data have 8 bytes, the tensors 4");
}

TEST(HubJson, NestedTooDeepIsRefused) {
  EXPECT_TRUE(model::hub::parse_json(std::string(64, '[') + std::string(64, ']')));
  const auto deep = model::hub::parse_json(std::string(65, '[') + std::string(65, ']'));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code(), Errc::limit_exceeded);
}

TEST(HubJson, TheFirstFaultHasItsPlace) {
  const auto json = model::hub::parse_json(R"({"a": [1, true, null, "x", -2, 1.5, {}], "b": nul})");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().code(), Errc::invalid_file);
  EXPECT_EQ(json.error().offset(), 49u);
}

}  // namespace
}  // namespace safetensors_test
