// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/backend_concept.cpp: a backend's program replays; the message names the part that lacks.
// expect-error: zrt: this type does not satisfy zrt::Backend; see docs/adding-a-backend.md
// expect-error: CheckBackend<StillBackend
// expect-error: Replays
#include "small_ops.hpp"

struct StillProgram {
  explicit StillProgram(const zrt::reference::Device&) noexcept {}
};

struct StillBackend : compile_fail::SmallBackend<boost::mp11::mp_list<>> {
#ifdef ZRT_COMPILE_FAIL
  using Program = StillProgram;
#endif
};
static_assert(zrt::CheckBackend<StillBackend, boost::mp11::mp_list<>>::kOk);
