// SPDX-License-Identifier: Apache-2.0
// tests/static/op_numbers.cpp: numbers that no op takes, and sizes of blocks that stand in plans.
#include <zrt/ops/catalog.hpp>

namespace {

using namespace zrt::ops;

using enum zrt::Rung;

// docs/opcodes.md, which the catalog prints, holds every number and name; a test compares them.
// Numbers that are reserved, because what they name is no op.
static_assert(!zrt::number_fits(52, fused) && !zrt::number_fits(53, fused) && !zrt::number_fits(54, fused));
static_assert(!zrt::number_fits(128, fused) && !zrt::number_fits(32, macro) && !zrt::number_fits(103, primitive));

// Parameter blocks stand in plan files: a size that changes needs another version.
static_assert(sizeof(MultiheadAttention::Params) == 76 && sizeof(Rope::Params) == 36 && sizeof(Linear::Params) == 4);
static_assert(sizeof(FlashAttnBatched::Params) == 32 && sizeof(RmsNorm::Params) == 12 && sizeof(LmHead::Params) == 12);
static_assert(sizeof(SampleRequest) == 64);

}  // namespace
