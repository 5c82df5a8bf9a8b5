// SPDX-License-Identifier: Apache-2.0
// compiled/programs_folding.cpp: what folds constants of tensor programs.
#include <zrt/compiled/programs_backend.hpp>

template struct zrt::ir::Evaluations<zrt::ops::Catalog>;
