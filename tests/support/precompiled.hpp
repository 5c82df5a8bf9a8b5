// SPDX-License-Identifier: Apache-2.0
// tests/support/precompiled.hpp: what nearly every unit test includes, compiled once.
#pragma once

#include <zrt/ops/catalog.hpp>
#include <zrt/zrt.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>
