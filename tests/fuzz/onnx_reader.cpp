// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/onnx_reader.cpp: any bytes as an ONNX file; what is read verifies.
// covers: zrt/ir/onnx/wire.hpp 90
// covers: zrt/ir/onnx/model.hpp 90
// covers: zrt/ir/onnx/tensor.hpp 90
// covers: zrt/ir/onnx/reader.hpp 90
// seeds: /usr/share/libonnx-testdata/data/node/test_*/model.onnx
// max-len: 512
#include <zrt/ir/onnx.hpp>

#include <array>
#include <cstdlib>
#include <vector>

namespace {

using namespace zrt;
namespace onnx = zrt::ir::onnx;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// The system's memory in blocks of at most 16 MiB, so that a large extent is an error and not a wait.
Allocator small_blocks() {
  Allocator small = system_allocator();
  small.allocate = [](void*, std::size_t bytes, std::size_t alignment) noexcept -> void* {
    return bytes > 16u << 20 ? nullptr : system_allocator().allocate(nullptr, bytes, alignment);
  };
  return small;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  // Inputs whose values must be known are bound, one after the other, to numbers that the file's end gives.
  std::array<std::int64_t, 4> numbers{};
  for (std::size_t i = 0; i < numbers.size() && i < size; ++i) numbers[i] = data[size - 1 - i] % 5 - 1;
  std::array<Name, 4> names;
  std::vector<onnx::BoundInput> bound;
  for (std::size_t round = 0; round < names.size(); ++round) {
    Name needed;
    onnx::ReadOptions options;
    options.values = bound;
    options.needed = &needed;
    options.allocator = small_blocks();
    const auto program = onnx::read(file, options);
    if (program) {
      demand(ir::ptir::verify(*program).has_value());
      return 0;
    }
    demand(program.error().code() != Errc::ok && !program.error().text().empty());
    if (needed.view().empty()) return 0;
    names[round] = needed;
    const std::size_t count = 1 + round;
    bound.push_back({names[round].view(),
                     {DType::si64, {static_cast<std::int64_t>(count)}},
                     std::as_bytes(std::span(numbers).first(count))});
  }
  return 0;
}
