// SPDX-License-Identifier: Apache-2.0
// tests/support/onnx_file.hpp: ONNX files as strings, message by message.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zrt::test::onnx_file {

using Ints = std::initializer_list<std::int64_t>;

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
/// A field of bytes, and one of a number.
inline std::string field(unsigned number, std::string_view bytes) {
  return varint(number << 3 | 2u) + varint(bytes.size()) + std::string(bytes);
}
inline std::string field(unsigned number, std::int64_t value) {
  return varint(number << 3) + varint(static_cast<std::uint64_t>(value));
}

inline std::string integer(std::string_view name, std::int64_t value) {
  return field(1, name) + field(3, value) + field(20, std::int64_t{2});
}
inline std::string text(std::string_view name, std::string_view value) {
  return field(1, name) + field(4, value) + field(20, std::int64_t{3});
}
inline std::string integers(std::string_view name, Ints values) {
  std::string bytes = field(1, name) + field(20, std::int64_t{7});
  for (const std::int64_t value : values) bytes += field(8, value);
  return bytes;
}
inline std::string texts(std::string_view name, std::initializer_list<std::string_view> values) {
  std::string bytes = field(1, name) + field(20, std::int64_t{8});
  for (const std::string_view value : values) bytes += field(9, value);
  return bytes;
}
inline std::string graph_in(std::string_view name, std::string_view graph) {
  return field(1, name) + field(6, graph) + field(20, std::int64_t{5});
}

inline std::string node(std::string_view op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::vector<std::string>& attributes = {},
                        std::string_view domain = {}) {
  std::string bytes;
  for (const std::string& input : inputs) bytes += field(1, input);
  for (const std::string& output : outputs) bytes += field(2, output);
  bytes += field(4, op);
  for (const std::string& attribute : attributes) bytes += field(5, attribute);
  if (!domain.empty()) bytes += field(7, domain);
  return field(1, bytes);
}
/// Element types by their number in the format.
inline constexpr std::int64_t kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9;

inline std::string value_info(std::string_view name, std::int64_t dtype, Ints extents) {
  std::string shape;
  for (const std::int64_t extent : extents) shape += field(1, field(1, extent));
  return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)));
}
inline std::string input(std::string_view name, std::int64_t dtype, Ints extents) {
  return field(11, value_info(name, dtype, extents));
}
inline std::string output(std::string_view name, std::int64_t dtype, Ints extents) {
  return field(12, value_info(name, dtype, extents));
}
/// An output whose type is not said.
inline std::string output(std::string_view name) { return field(12, field(1, name)); }
/// An initialiser of whole numbers of 64 bits.
inline std::string numbers(std::string_view name, Ints extents, Ints values) {
  std::string bytes;
  for (const std::int64_t extent : extents) bytes += field(1, extent);
  bytes += field(2, kInt64) + field(8, name);
  for (const std::int64_t value : values) bytes += field(7, value);
  return field(5, bytes);
}
/// An opset of a domain that a model imports.
inline std::string import(std::string_view domain, std::int64_t version) {
  return field(8, field(1, domain) + field(2, version));
}
inline std::string model(std::string_view graph, std::int64_t opset = 17) {
  return field(1, std::int64_t{8}) + field(7, graph) + import("", opset);
}

}  // namespace zrt::test::onnx_file
