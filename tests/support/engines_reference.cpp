// SPDX-License-Identifier: Apache-2.0
// tests/support/engines_reference.cpp: the engine on ReferenceBackend.
#include <zrt/backend/reference.hpp>

#include <support/engine_of.hpp>

template class zrt::Engine<zrt::ReferenceBackend>;

namespace zrt::test {

AnyEngine open_on_reference(std::string_view path, const EngineOptions& options) {
  return open_on<ReferenceBackend>(path, options);
}
AnyEngine open_on_reference(std::span<const std::byte> file, const EngineOptions& options) {
  return open_on<ReferenceBackend>(file, options);
}
AnyEngine open_on_reference(const model::GgufReader& reader, const EngineOptions& options) {
  return open_on<ReferenceBackend>(reader, options);
}

}  // namespace zrt::test
