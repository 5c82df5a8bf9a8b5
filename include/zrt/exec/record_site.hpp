// SPDX-License-Identifier: Apache-2.0
// zrt/exec/record_site.hpp: where an instruction stands when it is recorded.
#pragma once

#include <zrt/ops/opcode.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// Handed to a recorder before each instruction. Hazards are computed once, from the physical ranges
/// of the plan, so that no backend derives them again.
template <class Scratch> struct RecordSite {
  std::uint32_t instruction = 0;
  Opcode opcode{};
  Scratch scratch{};
  /// The latest earlier instruction that touches the same memory or state, or kNoWait.
  std::uint32_t wait_for = kNoWait;

  static constexpr std::uint32_t kNoWait = ~std::uint32_t{0};
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
