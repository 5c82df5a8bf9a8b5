// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/vision_deepstack_extract.hpp: random cases of vision_deepstack_extract.
#pragma once

#include <zrt/ops/vision_deepstack_extract.hpp>

#include <property/op_cases/merged_rows.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::VisionDeepstackExtract> : MergedRowsCases<zrt::ops::VisionDeepstackExtract> {
  static Typed<zrt::ops::VisionDeepstackExtract> make(Random& r, const Batch& b) {
    return MergedRowsCases::make(r, b, true);
  }
};

}  // namespace op_cases
