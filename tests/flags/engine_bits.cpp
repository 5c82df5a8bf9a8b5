// SPDX-License-Identifier: Apache-2.0
// tests/flags/engine_bits.cpp: prints digests of a model's logits and tokens; every set of flags must print the same.
#include "engine_digest.hpp"

#include <cstdio>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  auto file = zrt::model::GgufFile::open(std::string_view(arguments[1]));
  if (!file) return 3;
  EngineDigest digest(*file);
  for (const zrt::ActPolicy act : {zrt::ActPolicy::weight, zrt::ActPolicy::none}) {
    // The reference takes long without optimisation; one kind of memory is enough for it.
    const std::uint64_t reference =
        digest.run<zrt::ReferenceBackend>(zrt::reference::Device(zrt::system_allocator()), act, zrt::DType::f16);
    for (const zrt::DType kv : {zrt::DType::f16, zrt::DType::f32, zrt::DType::bf16}) {
      std::uint64_t first = kv == zrt::DType::f16 ? reference : 0;
      for (const zrt::cpu::Isa isa : {zrt::cpu::Isa::v1, zrt::cpu::Isa::v3, zrt::cpu::Isa::v4}) {
        if (isa > zrt::cpu::detect_isa()) continue;
        const zrt::cpu::Device device(zrt::system_allocator(), {}, isa);
        const std::uint64_t found = digest.run<zrt::CpuBackend>(device, act, kv);
        first = first == 0 ? found : first;
        if (found == 0 || found != first) {
          std::printf("act %d, kv %d, %.*s: %016llx, expected %016llx\n", static_cast<int>(act), static_cast<int>(kv),
                      static_cast<int>(name(isa).size()), name(isa).data(), static_cast<unsigned long long>(found),
                      static_cast<unsigned long long>(first));
          return 1;
        }
      }
      std::printf("%016llx\n", static_cast<unsigned long long>(first));
    }
  }
  return 0;
}
