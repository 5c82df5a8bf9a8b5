// SPDX-License-Identifier: Apache-2.0
// examples/engines/engines.hpp: the engines that these programs use, which the targets zrt::cpu_compiled and zrt::reference_compiled hold.
//
// CMake includes this header and programs.hpp in front of each example, so that the examples themselves show what a host
// writes without them.
#pragma once

#include <zrt/backend/reference.hpp>
#include <zrt/compiled/cpu_backend.hpp>
#include <zrt/compiled/reference.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>

// What the engine of references shares with others on its backend.
extern template struct zrt::ModelLoader<zrt::ReferenceBackend>;
extern template struct zrt::exec::AllAdapters<
    zrt::ReferenceBackend,
    zrt::ModelOps<zrt::ReferenceBackend, zrt::FamiliesOn<zrt::ReferenceBackend, zrt::AllFamilies>>>;
