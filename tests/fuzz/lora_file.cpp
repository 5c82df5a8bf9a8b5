// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/lora_file.cpp: files of adapters with any metadata, names, types and sizes, and any file read as one.
// covers: zrt/model/lora_file.hpp 90
#include <zrt/model/lora_file.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tools/gguf_writer.hpp>

using zrt::model::GgufFile;
using zrt::model::LoraFile;

namespace {

void demand(bool condition) {
  if (!condition) __builtin_trap();
}

// What the engine relies on: matrices that fit each other, of a type that has a dequantiser.
void read(const GgufFile& file) {
  const auto lora = LoraFile::read(file, zrt::system_allocator());
  if (!lora) return demand(!lora.error().text().empty());
  demand(!lora->pairs().empty());
  for (const zrt::model::LoraPair& pair : lora->pairs()) {
    demand(pair.down->rank == 2 && pair.up->rank == 2 && pair.up->dims[0] == pair.rank());
    demand(pair.rank() != 0 && pair.rank() <= lora->rank() && pair.rows() != 0 && pair.cols() != 0);
    demand(zrt::quant::find(pair.down->type.dtype) != nullptr && zrt::quant::find(pair.up->type.dtype) != nullptr);
    demand(lora->scale_of(pair) == lora->scale_of(pair));
    demand(lora->find(pair.weight) == &pair);
  }
  demand(lora->find("none") == nullptr && &lora->file() == &file);
}

// An adapter of two weights, wrong where the input says so.
zrt::test::Bytes file_of(std::span<const std::uint8_t> input) {
  const auto byte = [&](std::size_t i) { return i < input.size() ? input[i] : std::uint8_t{0}; };
  const std::uint8_t faults = byte(0), shapes = byte(1);
  zrt::test::GgufWriter w;
  if ((faults & 1u) == 0) w.add("general.architecture", "llama");
  if ((faults & 2u) == 0) w.add("general.type", (faults & 4u) == 0 ? "adapter" : "model");
  w.add("adapter.type", (faults & 8u) == 0 ? "lora" : "other");
  const std::uint32_t bits = std::uint32_t{byte(2)} << 24 | std::uint32_t{byte(3)} << 16;
  if ((faults & 16u) == 0) w.add("adapter.lora.alpha", std::bit_cast<float>(bits));
  if ((faults & 32u) != 0) w.add("adapter.alora.invocation_tokens", std::uint32_t{1});
  const auto matrix = [&](const std::string& name, std::uint64_t cols, std::uint64_t rows) {
    const bool integers = (shapes & 64u) != 0;
    w.add_tensor(name, integers ? zrt::DType::si32 : zrt::DType::f32, {cols, rows},
                 zrt::test::Bytes(static_cast<std::size_t>(4 * cols * rows)));
  };
  if ((faults & 64u) != 0) return w.build();
  const std::uint64_t rank = 1 + shapes % 4, other = rank + (shapes >> 2 & 1u);
  matrix("a.weight.lora_a", 8, rank);
  if ((shapes & 8u) == 0) matrix("a.weight.lora_b", other, 4);
  if ((shapes & 16u) != 0) matrix("b.weight", 4, 4);
  if ((shapes & 32u) != 0) w.add_f32("c.weight.lora_a", {4}, std::vector<float>(4));
  if ((shapes & 128u) == 0) matrix("d.weight.lora_b", 2, 4);
  if ((shapes & 128u) == 0) matrix("d.weight.lora_a", 6, 2);
  return w.build();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Each fault once: the seeds of a fuzzer that learns the rest.
  for (unsigned form = 0; form < 16; ++form) {
    const auto faults = static_cast<std::uint8_t>(form < 8 ? 1u << form : 0);
    const auto shapes = static_cast<std::uint8_t>(form < 8 ? 0 : 1u << (form - 8));
    for (const std::uint8_t exponent : std::array<std::uint8_t, 3>{0x00, 0x40, 0x7f}) {
      const std::array<std::uint8_t, 4> input{faults, shapes, exponent, 0x80};
      (void)LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> input(data, size);
  const auto made = file_of(input);
  const auto file = GgufFile::open(std::span<const std::byte>(made));
  demand(file.has_value());
  read(*file);
  if (const auto any = GgufFile::open(std::as_bytes(input))) read(*any);
  return 0;
}
