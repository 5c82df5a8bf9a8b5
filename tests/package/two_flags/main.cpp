// SPDX-License-Identifier: Apache-2.0
// tests/package/two_flags/main.cpp: the unit with the program's own flags; compares the bits.
#include "bits.hpp"

#include <cstdio>

std::uint64_t bits_of_other_flags();

int main() {
  const std::uint64_t here = bits_of_these_flags();
  const std::uint64_t there = bits_of_other_flags();
  if (here != there) {
    std::printf("bits differ: %016llx here, %016llx under the other flags\n", static_cast<unsigned long long>(here),
                static_cast<unsigned long long>(there));
    return 1;
  }
  return 0;
}
