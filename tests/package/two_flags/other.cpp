// SPDX-License-Identifier: Apache-2.0
// tests/package/two_flags/other.cpp: the unit under -march=native -ffp-contract=fast.
#include "bits.hpp"

std::uint64_t bits_of_other_flags();
std::uint64_t bits_of_other_flags() { return bits_of_these_flags(); }
