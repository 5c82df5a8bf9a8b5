// SPDX-License-Identifier: Apache-2.0
// zrt/model/weights.hpp: a model file as the weight lookup and the weight source of the floors below.
#pragma once

#include <zrt/exec/weights.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/model/gguf.hpp>

namespace zrt::inline ZRT_ABI::model {

/// What a file says of a tensor; `bound` is false when it has none, or none of a computable size.
[[nodiscard]] inline WeightInfo weight_info(const GgufTensor& tensor) noexcept {
  WeightInfo info{true, tensor.type.dtype, {}};
  // GGUF counts dims from the fastest; shapes here are row-major.
  for (std::size_t axis = tensor.rank; axis-- > 0;) {
    if (tensor.dims[axis] > 0xffffffffu) return {};
    info.shape = info.shape.appended(static_cast<std::uint32_t>(tensor.dims[axis]));
  }
  return info;
}

/// Lets a builder look tensors up in `file`, which must outlive it.
[[nodiscard]] inline ir::WeightLookup weight_lookup(const GgufFile& file) noexcept {
  return {&file, [](const void* context, std::string_view name) noexcept {
            const GgufTensor* tensor = static_cast<const GgufFile*>(context)->find_tensor(name);
            return tensor == nullptr ? WeightInfo{} : weight_info(*tensor);
          }};
}

/// Lets `bind` take tensors from where they lie in `file`, which must outlive every program.
[[nodiscard]] inline exec::WeightSource weight_source(const GgufFile& file) noexcept {
  return {&file, [](const void* context, std::string_view name) noexcept -> Result<WeightView> {
            const auto& from = *static_cast<const GgufFile*>(context);
            const GgufTensor* tensor = from.find_tensor(name);
            if (tensor == nullptr) return fail(Errc::missing_weight, "the model has no tensor ", name);
            const WeightInfo info = weight_info(*tensor);
            return WeightView{name, info.dtype, info.shape, from.data(*tensor)};
          }};
}

}  // namespace zrt::inline ZRT_ABI::model
