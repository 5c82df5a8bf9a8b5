// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels.inc.hpp: textual fragment: all kernels of one variant, in the order of their needs.

// The order is that of their needs.
// clang-format off
#include <zrt/backend/cpu/kernels/weights.inc.hpp>
#include <zrt/backend/cpu/kernels/dot16.inc.hpp>
#include <zrt/backend/cpu/kernels/blocks.inc.hpp>
#include <zrt/backend/cpu/kernels/k_blocks.inc.hpp>
#include <zrt/backend/cpu/kernels/k_panels.inc.hpp>
#include <zrt/backend/cpu/kernels/round.inc.hpp>
#include <zrt/backend/cpu/kernels/norm.inc.hpp>
#include <zrt/backend/cpu/kernels/elementwise.inc.hpp>
#include <zrt/backend/cpu/kernels/projections.inc.hpp>
#include <zrt/backend/cpu/kernels/rope.inc.hpp>
#include <zrt/backend/cpu/kernels/pages.inc.hpp>
#include <zrt/backend/cpu/kernels/attention_pages.inc.hpp>
#include <zrt/backend/cpu/kernels/attention.inc.hpp>
#include <zrt/backend/cpu/kernels/choose.inc.hpp>
#include <zrt/backend/cpu/kernels/order.inc.hpp>
#include <zrt/backend/cpu/kernels/sample.inc.hpp>
#include <zrt/backend/cpu/kernels/copies.inc.hpp>
#include <zrt/backend/cpu/kernels/table.inc.hpp>
// clang-format on
