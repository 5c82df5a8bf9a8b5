// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/vision_spatial_merge.hpp: random cases of vision_spatial_merge.
#pragma once

#include <zrt/ops/vision_spatial_merge.hpp>

#include <property/op_cases/merged_rows.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::VisionSpatialMerge> : MergedRowsCases<zrt::ops::VisionSpatialMerge> {
  static Typed<zrt::ops::VisionSpatialMerge> make(Random& r, const Batch& b) {
    return MergedRowsCases::make(r, b, false);
  }
};

}  // namespace op_cases
