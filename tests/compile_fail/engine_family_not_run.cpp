// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/engine_family_not_run.cpp: an engine's backend runs every op of its families; the message names both.
// expect-error: zrt: the backend does not run an op that a model family names
// expect-error: RunsFamilies<NarrowBackend
// expect-error: NoOpLeftOut
// expect-error: MultiheadAttention
#include <zrt/backend/reference.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#ifdef ZRT_COMPILE_FAIL
/// Complete as a backend: it says of every op that it does not compute it.
struct NarrowBackend : zrt::ReferenceBackend {
  using Claims = boost::mp11::mp_list<>;
  using Unsupported = zrt::ops::Catalog;
};
#else
using NarrowBackend = zrt::ReferenceBackend;
#endif

/// A host's own list: AllFamilies leaves out what a backend does not run.
struct NarrowFamilies {
  using List = boost::mp11::mp_list<zrt::model::Llama>;
};

static_assert(sizeof(zrt::Engine<NarrowBackend, NarrowFamilies>) != 0);
