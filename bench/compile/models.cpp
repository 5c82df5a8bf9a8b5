// SPDX-License-Identifier: Apache-2.0
// bench/compile/models.cpp: what including the library with every model family and tokenizer costs.
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>
