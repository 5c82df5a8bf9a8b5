// SPDX-License-Identifier: Apache-2.0
// tests/tools/gguf_writer.hpp: builds GGUF files of version 2 and 3 in memory.
#pragma once

#include <zrt/model/gguf.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace zrt::test {

using Bytes = std::vector<std::byte>;

/// Appends an arithmetic value, least significant byte first.
template <class T>
  requires std::is_arithmetic_v<T>
void put(Bytes& bytes, T value) {
  std::uint64_t bits = 0;
  if constexpr (std::is_same_v<T, float>) {
    bits = std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    bits = std::bit_cast<std::uint64_t>(value);
  } else {
    bits = static_cast<std::uint64_t>(value);
  }
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(bits >> (8 * i)));
}

/// Appends characters without their length.
inline void put_chars(Bytes& bytes, std::string_view text) {
  for (char c : text) bytes.push_back(static_cast<std::byte>(c));
}

/// Appends a length of 64 bits and the characters.
inline void put_string(Bytes& bytes, std::string_view text) {
  put<std::uint64_t>(bytes, text.size());
  put_chars(bytes, text);
}

/// Writes `value` over what lies at `offset`.
template <class T> void patch(Bytes& bytes, std::size_t offset, T value) {
  Bytes encoded;
  put(encoded, value);
  for (std::size_t i = 0; i < encoded.size(); ++i) bytes.at(offset + i) = encoded[i];
}

/// A metadata value as it stands in a file: its type's number and its payload.
struct GgufBlob {
  std::uint32_t type = 0;
  Bytes payload;
};

/// Number of the metadata type that holds a T.
template <class T> constexpr std::uint32_t gguf_type_of() {
  using enum model::GgufValueType;
  model::GgufValueType type = string;
  if constexpr (std::is_same_v<T, bool>)
    type = boolean;
  else if constexpr (std::is_same_v<T, float>)
    type = f32;
  else if constexpr (std::is_same_v<T, double>)
    type = f64;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    type = sizeof(T) == 1 ? i8 : sizeof(T) == 2 ? i16 : sizeof(T) == 4 ? i32 : i64;
  else if constexpr (std::is_integral_v<T>)
    type = sizeof(T) == 1 ? u8 : sizeof(T) == 2 ? u16 : sizeof(T) == 4 ? u32 : u64;
  return static_cast<std::uint32_t>(type);
}

/// Encodes one number, bool or string.
template <class T> GgufBlob blob(const T& value) {
  GgufBlob encoded;
  encoded.type = gguf_type_of<T>();
  if constexpr (std::is_arithmetic_v<T>) {
    put(encoded.payload, value);
  } else {
    put_string(encoded.payload, value);
  }
  return encoded;
}

/// Encodes an array whose elements all have the type `element_type`.
inline GgufBlob blob_array(std::uint32_t element_type, const std::vector<GgufBlob>& elements) {
  GgufBlob encoded;
  encoded.type = static_cast<std::uint32_t>(model::GgufValueType::array);
  put(encoded.payload, element_type);
  put<std::uint64_t>(encoded.payload, elements.size());
  for (const GgufBlob& element : elements)
    encoded.payload.insert(encoded.payload.end(), element.payload.begin(), element.payload.end());
  return encoded;
}

template <class T> GgufBlob blob_array(const std::vector<T>& values) {
  std::vector<GgufBlob> elements;
  for (std::size_t i = 0; i < values.size(); ++i) elements.push_back(blob<T>(values[i]));
  return blob_array(gguf_type_of<T>(), elements);
}

/// Collects metadata and tensors, then lays them out as a file.
class GgufWriter {
 public:
  /// Where the parts of a built file lie, by name: "version", "tensors", "entries", "index end", "data",
  /// for a key "key length K", "key K", "value type K", "value K", and for a tensor "name length T",
  /// "name T", "rank T", "dims T", "type T", "offset T".
  using Marks = std::map<std::string, std::size_t>;

  explicit GgufWriter(std::uint32_t version = 3) : version_(version) {}

  /// Adds a number, bool or string.
  template <class T> GgufWriter& add(std::string_view key, const T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      return add_blob(key, blob(value));
    else
      return add_blob(key, blob(std::string_view(value)));
  }
  /// Adds an array of numbers, bools or strings.
  template <class T> GgufWriter& add_array(std::string_view key, const std::vector<T>& values) {
    return add_blob(key, blob_array(values));
  }
  GgufWriter& add_blob(std::string_view key, GgufBlob value) {
    entries_.push_back({std::string(key), std::move(value)});
    return *this;
  }
  /// Adds the entry general.alignment and lays tensors out by it.
  GgufWriter& align(std::uint32_t alignment) {
    alignment_ = alignment;
    return add("general.alignment", alignment);
  }

  /// Adds a tensor of the ggml type `type` whose bytes are `data`.
  GgufWriter& add_tensor(std::string_view name, std::uint32_t type, std::vector<std::uint64_t> dims, Bytes data) {
    tensors_.push_back({std::string(name), type, std::move(dims), std::move(data)});
    return *this;
  }
  GgufWriter& add_tensor(std::string_view name, DType dtype, std::vector<std::uint64_t> dims, Bytes data) {
    return add_tensor(name, model::find_ggml_type(dtype)->id, std::move(dims), std::move(data));
  }
  GgufWriter& add_f32(std::string_view name, std::vector<std::uint64_t> dims, const std::vector<float>& values) {
    Bytes data;
    for (float value : values) put(data, value);
    return add_tensor(name, DType::f32, std::move(dims), std::move(data));
  }

  /// Returns the file; tells in `marks` where its parts lie.
  [[nodiscard]] Bytes build(Marks* marks = nullptr) const {
    Bytes out;
    const auto mark = [&](const std::string& what) {
      if (marks != nullptr) (*marks)[what] = out.size();
    };
    put_chars(out, "GGUF");
    mark("version");
    put(out, version_);
    mark("tensors");
    put<std::uint64_t>(out, tensors_.size());
    mark("entries");
    put<std::uint64_t>(out, entries_.size());
    for (const Entry& entry : entries_) {
      mark("key length " + entry.key);
      put<std::uint64_t>(out, entry.key.size());
      mark("key " + entry.key);
      put_chars(out, entry.key);
      mark("value type " + entry.key);
      put(out, entry.value.type);
      mark("value " + entry.key);
      out.insert(out.end(), entry.value.payload.begin(), entry.value.payload.end());
    }
    std::uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
      mark("name length " + tensor.name);
      put<std::uint64_t>(out, tensor.name.size());
      mark("name " + tensor.name);
      put_chars(out, tensor.name);
      mark("rank " + tensor.name);
      put(out, static_cast<std::uint32_t>(tensor.dims.size()));
      mark("dims " + tensor.name);
      for (std::uint64_t dim : tensor.dims) put(out, dim);
      mark("type " + tensor.name);
      put(out, tensor.type);
      mark("offset " + tensor.name);
      put(out, offset);
      offset = align_up(offset + tensor.data.size(), alignment_);
    }
    mark("index end");
    if (!tensors_.empty()) pad(out);
    mark("data");
    for (const Tensor& tensor : tensors_) {
      out.insert(out.end(), tensor.data.begin(), tensor.data.end());
      pad(out);
    }
    return out;
  }

  /// Writes the file to `path`; false when that fails.
  [[nodiscard]] bool save(const std::string& path) const {
    const Bytes bytes = build();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return static_cast<bool>(out.flush());
  }

 private:
  struct Entry {
    std::string key;
    GgufBlob value;
  };
  struct Tensor {
    std::string name;
    std::uint32_t type;
    std::vector<std::uint64_t> dims;
    Bytes data;
  };

  void pad(Bytes& bytes) const { bytes.resize(align_up(bytes.size(), alignment_)); }

  std::uint32_t version_;
  std::uint32_t alignment_ = model::kGgufDefaultAlignment;
  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
};

}  // namespace zrt::test
