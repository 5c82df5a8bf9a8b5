// SPDX-License-Identifier: Apache-2.0
// zrt/model/check_tensors.hpp: whether a plan reads every tensor of a file.
#pragma once

#include <zrt/model/gguf.hpp>
#include <zrt/model/tensor_rows.hpp>
#include <zrt/plan/execution_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Demands that the plan reads every tensor of the file: one that it has no place for would be left
/// out of the computation without a word. Those whose names end as one of `ignored` are left alone.
///
/// Errors: Errc::unimplemented naming the tensor.
[[nodiscard]] inline Result<void> check_tensors(const GgufFile& file, const plan::ExecutionPlan& plan,
                                                Span<const std::string_view> ignored) noexcept {
  const Span<const GgufTensor> tensors = file.tensors();
  Vector<std::uint8_t> read(plan.allocator);
  if (auto r = read.resize(tensors.size()); !r) return r;
  for (const plan::PlanWeight& w : plan.weights)
    if (const GgufTensor* tensor = file.find_tensor(TensorRows::of(w.name.view()).tensor); tensor != nullptr)
      read[static_cast<std::size_t>(tensor - tensors.data())] = 1;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string_view name = tensors[i].name;
    for (const std::string_view end : ignored)
      if (name.ends_with(end)) read[i] = 1;
    if (read[i] != 0) continue;
    return fail(Errc::unimplemented, "tensor ", name, " is in the file, but its family does not read it");
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
