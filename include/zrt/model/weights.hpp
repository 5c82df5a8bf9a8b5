// SPDX-License-Identifier: Apache-2.0
// zrt/model/weights.hpp: a model file as the weight lookup and the weight source of the floors below.
#pragma once

#include <zrt/exec/weights.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/model/gguf.hpp>
#include <zrt/model/tensor_rows.hpp>

ZRT_LOAD_TIME_BEGIN

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

/// What a file says of the weight `name`, a tensor or rows of one; `bound` is false when the tensor is not there. Of a
/// tensor without the rows that the name says, the shape is the tensor's own.
[[nodiscard]] inline WeightInfo find_weight(const GgufFile& file, std::string_view name) noexcept {
  const TensorRows rows = TensorRows::of(name);
  const GgufTensor* tensor = file.find_tensor(rows.tensor);
  if (tensor == nullptr) return {};
  WeightInfo info = weight_info(*tensor);
  if (rows.total != 0 && info.bound && rows.expect_in(*tensor)) info.shape.dims[0] = rows.count;
  return info;
}

/// Lets a builder look weights up in `file`, which must outlive it.
[[nodiscard]] inline ir::WeightLookup weight_lookup(const GgufFile& file) noexcept {
  return {&file, [](const void* context, std::string_view name) noexcept {
            return find_weight(*static_cast<const GgufFile*>(context), name);
          }};
}

/// Lets `bind` take weights from where they lie in `file`, which must outlive every program.
[[nodiscard]] inline exec::WeightSource weight_source(const GgufFile& file) noexcept {
  return {&file, [](const void* context, std::string_view name) noexcept -> Result<WeightView> {
            const auto& from = *static_cast<const GgufFile*>(context);
            const WeightInfo info = find_weight(from, name);
            if (!info.bound) return fail(Errc::missing_weight, "the model has no tensor ", name);
            const TensorRows rows = TensorRows::of(name);
            const GgufTensor& tensor = *from.find_tensor(rows.tensor);
            if (auto r = rows.expect_in(tensor); !r) return pass(r);
            return WeightView{name, info.dtype, info.shape, rows.of_bytes(from.data(tensor))};
          }};
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
