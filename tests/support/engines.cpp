// SPDX-License-Identifier: Apache-2.0
// tests/support/engines.cpp: the engine on CpuBackend.
#include <zrt/backend/cpu.hpp>

#include <support/engine_of.hpp>

template class zrt::Engine<zrt::CpuBackend>;

namespace zrt::test {

AnyEngine open_engine(On on, std::string_view path, const EngineOptions& options) {
  return on == On::cpu ? open_on<CpuBackend>(path, options) : open_on_reference(path, options);
}
AnyEngine open_engine(On on, std::span<const std::byte> file, const EngineOptions& options) {
  return on == On::cpu ? open_on<CpuBackend>(file, options) : open_on_reference(file, options);
}
AnyEngine open_engine(On on, const model::GgufReader& reader, const EngineOptions& options) {
  return on == On::cpu ? open_on<CpuBackend>(reader, options) : open_on_reference(reader, options);
}

}  // namespace zrt::test
