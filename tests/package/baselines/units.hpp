// SPDX-License-Identifier: Apache-2.0
// tests/package/baselines/units.hpp: the units of a program that has one for each baseline of core/config.hpp.
#pragma once

/// An inline function of zrt, as one unit's flags compile it.
using Compiled = float (*)(float) noexcept;

extern const Compiled x86_64, x86_64_v2, x86_64_avx, x86_64_v3, x86_64_v3_avx512, x86_64_v4;
