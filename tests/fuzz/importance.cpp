// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/importance.cpp: importance matrices of any numbers and sizes, and any file read as one.
// covers: zrt/model/importance.hpp 90
// covers: zrt/model/importance_dat.hpp 90
#include <zrt/model/importance.hpp>
#include <zrt/model/importance_dat.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <tools/gguf_counting_allocator.hpp>
#include <tools/gguf_walk.hpp>
#include <tools/gguf_writer.hpp>
#include <vector>

using zrt::model::GgufFile;
using zrt::model::Importance;

namespace {

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

constexpr float kUntouched = -1.0f;

// Every weight is a number that a quantizer may multiply with, or the read failed and says why.
void read(const GgufFile& file, std::string_view name, std::uint64_t columns, std::uint64_t matrices) {
  std::vector<float> weights(static_cast<std::size_t>(columns * matrices), kUntouched);
  const Importance importance(file);
  const auto done = importance.read(name, columns, matrices, weights);
  if (!done) demand(importance.has(name) && !done.error().text().empty());
  for (const float w : weights)
    if (done) demand(w >= 0.0f && w < std::numeric_limits<float>::infinity());
  if (!importance.has(name))
    for (const float w : weights) demand(w == 1.0f);
}

// The tensors that read asks for; the input gives their numbers, their sizes and which of them there are.
zrt::test::Bytes file_of(std::span<const std::uint8_t> input, std::uint64_t columns, std::uint64_t matrices) {
  const std::uint8_t form = input[0];
  std::size_t at = 1;
  const auto numbers = [&](std::uint64_t count) {
    zrt::test::Bytes bytes;
    for (std::uint64_t i = 0; i < 4 * count; ++i)
      bytes.push_back(static_cast<std::byte>(at < input.size() ? input[at++] : 0));
    std::vector<float> values(count);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const std::uint64_t sums = columns * matrices + (form & 1u);
  const std::uint64_t counts = (form & 2u) != 0 ? 1 : matrices + (form >> 2 & 1u);
  zrt::test::GgufWriter writer;
  writer.add_f32("w.in_sum2", {sums}, numbers(sums));
  if ((form & 24u) == 16) writer.add_tensor("w.counts", zrt::DType::f16, {counts}, zrt::test::Bytes(2 * counts));
  if ((form & 24u) == 0) writer.add_f32("w.counts", {counts}, numbers(counts));
  return writer.build();
}

// What is written of an older file can be read, or the file was refused with a reason.
void read_dat(std::span<const std::uint8_t> input) {
  zrt::test::Bytes made;
  const zrt::model::ByteSink sink{&made,
                                  [](void* context, zrt::Span<const std::byte> part) noexcept -> zrt::Result<void> {
                                    auto& bytes = *static_cast<zrt::test::Bytes*>(context);
                                    bytes.insert(bytes.end(), part.begin(), part.end());
                                    return {};
                                  }};
  const auto done = zrt::model::write_importance_of_dat(std::as_bytes(input), sink, zrt::system_allocator());
  if (!done) return demand(!done.error().text().empty());
  demand(zrt::model::is_gguf(std::span<const std::byte>(made)));
  const auto file = GgufFile::open(std::span<const std::byte>(made));
  if (!file) return demand(!file.error().text().empty());
  for (const auto& tensor : file->tensors())
    demand(tensor.name.ends_with(".in_sum2") || tensor.name.ends_with(".counts"));
  read(*file, "w", 2, 1);
}

/// An older file of one entry with two values, and what follows the entries.
std::vector<std::uint8_t> older_file(std::uint8_t count, bool followed) {
  std::vector<std::uint8_t> bytes{1, 0, 0, 0, 1, 0, 0, 0, 'w', count, 0, 0, 0, 2, 0, 0, 0};
  for (int i = 0; i < 2; ++i) bytes.insert(bytes.end(), {0, 0, 0x80, 0x3f});
  if (followed) bytes.insert(bytes.end(), {3, 0, 0, 0, 1, 0, 0, 0, 't'});
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Each form once, with numbers that are sums of squares: the seeds of a fuzzer that learns the rest.
  for (std::uint8_t form = 0; form < 32; ++form) {
    std::vector<std::uint8_t> input{2, 2, form};
    for (int i = 0; i < 8; ++i) input.insert(input.end(), {0, 0, 0x80, 0x3f});
    (void)LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  for (const std::uint8_t count : {std::uint8_t{0}, std::uint8_t{2}})
    for (const bool followed : {false, true}) read_dat(older_file(count, followed));
  auto long_name = older_file(1, false);
  long_name[4] = 150;
  long_name.insert(long_name.begin() + 8, 149, 'n');
  read_dat(long_name);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::uint64_t columns = 1 + data[0] % 8;
  const std::uint64_t matrices = 1 + data[1] % 4;
  const std::span<const std::uint8_t> rest(data + 2, size - 2);
  const auto made = file_of(rest, columns, matrices);
  const auto file = GgufFile::open(std::span<const std::byte>(made));
  demand(file.has_value());
  read(*file, "w", columns, matrices);
  read(*file, "none", columns, matrices);
  read(*file, "w", columns + 1, matrices);

  // Any file.
  read_dat(rest);
  if (const auto any = GgufFile::open(std::as_bytes(rest))) read(*any, "w", columns, matrices);

  // A file that was opened by a reader has no data; it is opened by a quarter of the inputs.
  if (rest.back() % 4 != 0) return 0;
  zrt::test::MemoryReader memory{std::span<const std::byte>(made)};
  const auto by_reader = GgufFile::open(memory.reader());
  demand(by_reader.has_value());
  std::vector<float> weights(static_cast<std::size_t>(columns * matrices));
  demand(!Importance(*by_reader).read("w", columns, matrices, weights).has_value());
  return 0;
}
