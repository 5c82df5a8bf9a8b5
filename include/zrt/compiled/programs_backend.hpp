// SPDX-License-Identifier: Apache-2.0
// zrt/compiled/programs_backend.hpp: the runner of tensor programs on the CPU, which the target zrt::programs_compiled holds.
#pragma once

#include <zrt/compiled/cpu_backend.hpp>
#include <zrt/compiled/programs.hpp>
#include <zrt/programs.hpp>

extern template struct zrt::exec::AllAdapters<zrt::TensorBackend>;
extern template struct zrt::ir::Evaluations<zrt::ops::Catalog>;
extern template class zrt::ProgramRunner<zrt::TensorBackend>;
