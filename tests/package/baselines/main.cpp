// SPDX-License-Identifier: Apache-2.0
// tests/package/baselines/main.cpp: no two baselines share a function, whatever the linker merged.
#include "units.hpp"

#include <cstdio>

int main() {
  const Compiled units[] = {x86_64, x86_64_v2, x86_64_avx, x86_64_v3, x86_64_v3_avx512, x86_64_v4};
  int shared = 0;
  for (const Compiled& a : units)
    for (const Compiled& b : units) shared += &a < &b && a == b ? 1 : 0;
  if (shared != 0) std::printf("%d pairs of baselines share a function\n", shared);
  return shared == 0 ? 0 : 1;
}
