// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/engine_without_families.cpp: an engine needs its families' header.
// expect-error: zrt: no model families are known here; include <zrt/models.hpp>, for a list of your own too
#include <zrt/backend/reference.hpp>
#include <zrt/zrt.hpp>
#ifndef ZRT_COMPILE_FAIL
#include <zrt/models.hpp>
#endif

static_assert(sizeof(zrt::Engine<zrt::ReferenceBackend>) != 0);
