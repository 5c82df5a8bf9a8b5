// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/interpreter.hpp: statements of a host that runs machine code of AMD's cards.
#include <zrt/emulator/run_dispatch.hpp>
// around each block:
namespace NAME {
inline void example(const zrt::ThreadHook& threads) {
BLOCK
}
}  // namespace NAME
