// SPDX-License-Identifier: Apache-2.0
// compiled/programs_adapters.cpp: the CPU's adapters of all ops, for tensor programs.
#include <zrt/compiled/programs_backend.hpp>

template struct zrt::exec::AllAdapters<zrt::TensorBackend>;
