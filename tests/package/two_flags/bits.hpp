// SPDX-License-Identifier: Apache-2.0
// tests/package/two_flags/bits.hpp: a digest of what zrt computes in the including unit.
#pragma once

#include "engine_digest.hpp"
#include <zrt/core/config.hpp>
#include <zrt/core/half.hpp>

#include <bit>
#include <cstdint>

/// Every variant, for the one type of the file.
using Backend = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>, zrt::cpu::AllVariants>;

// Internal linkage: each unit computes with the code that its own flags made. No arithmetic of its
// own on floats: the flags may contract what a test writes, never what zrt computes.
static inline std::uint64_t bits_of_these_flags() {
  std::uint64_t digest = 0xcbf29ce484222325u;
  for (std::uint32_t i = 0; i < 1u << 16; ++i) {
    const float value = std::bit_cast<float>(i * 0x9e3779b9u);
    digest = (digest ^ zrt::to_f16(value).bits) * 0x100000001b3u;
    const float wide = zrt::to_f32(zrt::Half{static_cast<std::uint16_t>(i)});
    digest = (digest ^ std::bit_cast<std::uint32_t>(wide)) * 0x100000001b3u;
  }
  // The portable kernels where this unit builds them, else those of its own baseline; and the best.
  const auto file = zrt::model::GgufFile::open(std::string_view(ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf"));
  for (const zrt::cpu::Isa isa : {zrt::cpu::Isa::v1, zrt::cpu::detect_isa()}) {
    const std::uint64_t of_model =
        file ? EngineDigest(*file).run<Backend>(Backend::Device(zrt::system_allocator(), {}, isa),
                                                zrt::ActPolicy::weight, zrt::DType::f16)
             : 0;
    // A failure must never look like agreement: each unit has a byte of its own.
    static const char own = 0;
    if (of_model == 0) return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&own));
    digest = (digest ^ of_model) * 0x100000001b3u;
  }
  return digest;
}
