// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/safetensors.cpp: any bytes read as a file of safetensors, and edited headers of good ones.
// covers: zrt/model/hub/safetensors.hpp 90
#include <zrt/model/hub/safetensors.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed);

namespace {

using zrt::model::hub::Safetensors;

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

constexpr std::size_t kLength = 8;

std::string file_of(std::string_view header, std::size_t data) {
  std::string bytes(kLength, '\0');
  for (std::size_t i = 0; i < kLength; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes.append(header).append(data, '1');
}

// What is read fills the data, tensor by tensor.
void walk(const Safetensors& file, const std::uint8_t* end) {
  std::size_t bytes = 0;
  for (const auto& tensor : file.tensors()) {
    demand(tensor.columns() == 0 || tensor.rows() * tensor.columns() == tensor.elems);
    demand(tensor.elems == 0 || tensor.data.size() % tensor.elems == 0);
    demand(!tensor.type.empty());
    bytes += tensor.data.size();
  }
  demand(file.tensors().empty() || file.tensors().back().data.data() + file.tensors().back().data.size() ==
                                       reinterpret_cast<const std::byte*>(end));
  demand(bytes <= static_cast<std::size_t>(1) << 32);
}

constexpr std::string_view kHeaders[] = {
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
    R"({"a":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]},"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})",
    R"({"a":{"dtype":"F32","shape":[0,2],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
    R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})",
    R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})",
    R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
    R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8]}})",
    R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})",
    R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8]}})",
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})",
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
    R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
    R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
    R"({"a":1,"a":2})",
    R"([[1.5,true,null,-2,"\u0041"],{}])",
    R"({"a":nul})",
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  for (const std::string_view header : kHeaders) {
    const std::string bytes = file_of(header, 8);
    (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  const std::string deep = file_of(std::string(70, '[') + std::string(70, ']'), 0);
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(deep.data()), deep.size());
  const std::string far(kLength, '\x7f');
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(far.data()), far.size());
  return 0;
}

// Starts now and then from a good header; its length is set right after most edits.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  if (size < kLength || seed % 16 == 0) {
    const std::string bytes = file_of(kHeaders[seed / 16 % std::size(kHeaders)], 16);
    if (bytes.size() <= max_size) {
      std::memcpy(data, bytes.data(), bytes.size());
      size = bytes.size();
    }
  }
  size = LLVMFuzzerMutate(data, size, max_size);
  if (size < kLength + 16 || seed % 8 == 0) return size;
  const std::uint64_t length = size - kLength - (seed % 3) * 8;
  std::memcpy(data, &length, sizeof length);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = Safetensors::read({reinterpret_cast<const std::byte*>(data), size});
  if (file)
    walk(*file, data + size);
  else
    demand(!file.error().text().empty());
  return 0;
}
