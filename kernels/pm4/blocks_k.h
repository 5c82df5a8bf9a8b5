// SPDX-License-Identifier: Apache-2.0
// kernels/pm4/blocks_k.h: what the matrix-vector products of the K types share: blocks of 256 with integer sub-scales.
//
// A wave takes 32 rows, one block of each in a step, which it loads once and multiplies with up to eight tokens. Eight
// lanes share a block, so a load takes 128 contiguous bytes of halves of each of four rows. Sums of the runs go through
// local memory to one lane for each row, which applies the sub-scales and goes on with the chain over the blocks; between
// steps a token's chains are in local memory. Offsets into a wave's rows have 32 bits: a row's address is a scalar and
// the lanes' offsets.
#pragma once

#include "dot4.h"
#include "factors.h"
#include "rows.h"

#define TOKENS 8
#define ROWS 32
#define LOADS (ROWS / 4)
// The sums of a block's runs, and four words between blocks so that reads of 16 bytes meet no conflict.
#define PITCH 20
