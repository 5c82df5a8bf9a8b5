// SPDX-License-Identifier: Apache-2.0
// tests/support/engines.cpp: the engines of both host backends, opened by name.
#include <engines.hpp>
#include <support/engine_of.hpp>

namespace zrt::test {
namespace {

template <class Source> AnyEngine open_either(On on, const Source& source, const EngineOptions& options) {
  return on == On::cpu ? open_on<CpuBackend>(source, options) : open_on<ReferenceBackend>(source, options);
}

}  // namespace

AnyEngine open_engine(On on, std::string_view path, const EngineOptions& options) {
  return open_either(on, path, options);
}
AnyEngine open_engine(On on, std::span<const std::byte> file, const EngineOptions& options) {
  return open_either(on, file, options);
}
AnyEngine open_engine(On on, const model::GgufReader& reader, const EngineOptions& options) {
  return open_either(on, reader, options);
}

AnyEngine open_watched_engine(On on, std::span<const std::byte> file, const EngineOptions& options,
                              trace::Timeline& timeline) {
  return on == On::cpu ? open_watched<CpuBackend>(file, options, timeline)
                       : open_watched<ReferenceBackend>(file, options, timeline);
}

AnyEngine open_recorded_engine(On on, std::span<const std::byte> file, const EngineOptions& options,
                               const trace::RunObserver& run) {
  return on == On::cpu ? open_with<CpuBackend>(file, options, run) : open_with<ReferenceBackend>(file, options, run);
}

}  // namespace zrt::test
