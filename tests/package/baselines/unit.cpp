// SPDX-License-Identifier: Apache-2.0
// tests/package/baselines/unit.cpp: the unit of baseline ZRT_UNIT: its namespace's name, and a function in it.
#include "units.hpp"
#include <zrt/core/elementary_angle.hpp>

#include <string_view>

#define ZRT_TEXT_OF(name) #name
#define ZRT_TEXT(name) ZRT_TEXT_OF(name)
static_assert(std::string_view(ZRT_TEXT(ZRT_ABI)).ends_with("_" ZRT_TEXT(ZRT_UNIT)),
              "these flags give a namespace of another name");

// Data alone: the processor need not have what the unit is compiled for.
constinit const Compiled ZRT_UNIT = &zrt::math::large_angle_rest;
