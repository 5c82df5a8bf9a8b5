// SPDX-License-Identifier: Apache-2.0
// compiled/cpu_loader.cpp: how the CPU's engines read and compile models.
#include <zrt/compiled/cpu_backend.hpp>

namespace zrt::inline ZRT_ABI {

template struct ModelLoader<CpuBackend>;

}  // namespace zrt::inline ZRT_ABI
