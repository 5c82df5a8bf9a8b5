// SPDX-License-Identifier: Apache-2.0
// examples/zrt/tensor_output.hpp: what a tensor program gave, on stdout or in files.
#pragma once

#include "npy.hpp"
#include <zrt/plan/execution_plan.hpp>

#include <string>
#include <vector>

namespace program {

/// A tensor for each output of a plan.
[[nodiscard]] std::vector<Array> room_for_outputs(const zrt::plan::ExecutionPlan& plan);

/// Writes the outputs under these names as .npy files to the folder `out`, which is made where there is none, or
/// prints them where `out` is empty.
/// Returns the exit status.
[[nodiscard]] int show_tensors(const std::vector<std::string>& wanted, const zrt::plan::ExecutionPlan& plan,
                               const std::vector<Array>& outputs, const std::string& out, bool json);

}  // namespace program
