// SPDX-License-Identifier: Apache-2.0
// bench/compile/umbrella.cpp: what including the umbrella costs.
#include <zrt/zrt.hpp>
