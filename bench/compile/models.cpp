// SPDX-License-Identifier: Apache-2.0
// bench/compile/models.cpp: what including every model family and tokenizer costs.
#include <zrt/models.hpp>
