// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/card.hpp: statements of a host with an AMD card and kernel files.
#include <zrt/backend/pm4.hpp>
#include <zrt/backend/pm4/linux_os.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>
extern template struct zrt::ModelLoader<zrt::Pm4Backend>;
extern template class zrt::Engine<zrt::Pm4Backend>;
// around each block:
namespace NAME {
inline void example(const zrt::EngineOptions& options, const zrt::pm4::KernelFiles& files) {
BLOCK
}
}  // namespace NAME
