// SPDX-License-Identifier: Apache-2.0
// tests/flags/weight_types.cpp: products with weights of every type by every variant that runs here; prints the bits that every
// processor must give.
//
// Exit status 1: two variants of this processor differ.
#include <zrt/compiled/cpu_backend.hpp>

#include <bench/kernels/operands.hpp>
#include <bit>
#include <cstdio>
#include <vector>

namespace {

using namespace bench;

/// Rows of a tile, of what is left of one, and of more than one panel.
constexpr std::uint32_t kRows[]{1, 2, 3, 4, 7, 17, 33, 130};

class Digest {
 public:
  void add(const std::vector<float>& values) noexcept {
    for (const float x : values) value_ = (value_ ^ std::bit_cast<std::uint32_t>(x)) * 0x100000001b3u;
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// What a variant computes of a type, packed where it is packed.
std::uint64_t products(const cpu::KernelSet& set, const cpu::WeightKernels& kernels) {
  Digest digest;
  const Matrix matrix(kernels);
  for (const std::uint32_t count : kRows) {
    const Rows rows(count);
    std::vector<float> y(std::size_t{count} * kOutputs);
    matrix.multiply(set, kernels, rows, y.data());
    digest.add(y);
  }
  return digest.value();
}
/// The rows of such a matrix, widened, and times activations as they are. Scales may be infinite or no numbers, whose
/// bits processors choose themselves: those count as one.
std::uint64_t plain(const cpu::WeightKernels& kernels) {
  const zrt::DTypeInfo& type = zrt::info(kernels.dtype);
  const std::size_t row_bytes = std::size_t{kCols} / type.block_elems * type.block_bytes;
  constexpr std::uint32_t kPlainRows = 24;
  std::vector<std::byte> bytes(kPlainRows * row_bytes + (1 << 16));
  std::mt19937 random(3);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  const zrt::HostWeight weight{bytes.data(), kernels.dtype, kPlainRows, kCols, row_bytes};
  Digest digest;
  std::vector<float> y(kCols);
  const auto add = [&] {
    for (float& x : y)
      if (x != x) x = std::bit_cast<float>(0x7fc00000u);
    digest.add(y);
  };
  for (std::uint32_t row = 0; row < kPlainRows; ++row) {
    kernels.widen(bytes.data() + row * row_bytes, kCols, 0.75f, y.data());
    add();
  }
  for (const std::uint32_t count : {1u, 5u}) {
    const Rows rows(count);
    y.assign(std::size_t{count} * kPlainRows, 0.0f);
    kernels.dot(weight, 0, kPlainRows, rows.activations, y.data(), kPlainRows);
    add();
  }
  return digest.value();
}

}  // namespace

int main() {
  struct Line {
    DType dtype;
    std::uint64_t products, plain;
    bool operator==(const Line&) const = default;
  };
  std::vector<Line> expected;
  bool same = true;
  for (const cpu::Isa isa : cpu::kIsas) {
    if (isa > cpu::detect_isa()) continue;
    const zrt::CpuBackend::Device device(zrt::system_allocator(), {}, isa);
    if (!device.ready() || device.isa() != isa) continue;
    std::vector<Line> found;
    for (const cpu::WeightKernels& kernels : device.kernels().weights)
      found.push_back({kernels.dtype, products(device.kernels(), kernels), plain(kernels)});
    if (expected.empty()) expected = found;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == expected[i]) continue;
      std::printf("%s differs with %s\n", std::string(zrt::name(found[i].dtype)).c_str(),
                  std::string(cpu::name(isa)).c_str());
      same = false;
    }
    std::printf("variant %s\n", std::string(cpu::name(isa)).c_str());
  }
  for (const Line& line : expected)
    std::printf("bits %s %016llx %016llx\n", std::string(zrt::name(line.dtype)).c_str(),
                static_cast<unsigned long long>(line.products), static_cast<unsigned long long>(line.plain));
  return same && !expected.empty() ? 0 : 1;
}
