// SPDX-License-Identifier: Apache-2.0
// zrt/engine/tensor_copies.hpp: tensors read into memory from a file that cannot be mapped.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/exec/weights.hpp>
#include <zrt/ir/passes/add_adapters.hpp>
#include <zrt/model/gguf.hpp>
#include <zrt/model/tensor_rows.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::detail {

/// Copies of the tensors that a plan names, as a weight source. Its address must not change while
/// programs are bound.
class TensorCopies {
 public:
  explicit TensorCopies(Allocator allocator) noexcept : allocator_(allocator), tensors_(allocator) {}

  /// Reads every tensor of `plan` from `file`. Both must outlive this.
  ///
  /// Errors: Errc::missing_weight, Errc::shape_mismatch, Errc::out_of_memory, Errc::io_error.
  [[nodiscard]] Result<void> read(const model::GgufFile& file, const plan::ExecutionPlan& plan) noexcept {
    plan_ = &plan;
    for (const plan::PlanWeight& w : plan.weights) {
      Buffer memory;
      const model::TensorRows rows = model::TensorRows::of(w.name.view());
      const bool in_file = !w.inline_data() && !ir::is_adapter_pool(w.name.view());
      if (in_file && (rows.total == 0 || find_copy(rows.tensor) == nullptr)) {
        const model::GgufTensor* tensor = file.find_tensor(rows.tensor);
        if (tensor == nullptr) return fail(Errc::missing_weight, "the model has no tensor ", w.name.view());
        if (auto r = rows.expect_in(*tensor); !r) return r;
        auto room = Buffer::zeroed(allocator_, static_cast<std::size_t>(tensor->bytes));
        if (!room) return pass(room);
        memory = std::move(*room);
        if (auto r = file.read_tensor(*tensor, memory.span()); !r) return r;
      }
      if (auto r = tensors_.push_back(std::move(memory)); !r) return r;
    }
    return {};
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const Buffer& tensor : tensors_) sum += tensor.size();
    return sum;
  }
  [[nodiscard]] exec::WeightSource source() const noexcept { return {this, &TensorCopies::find}; }

 private:
  [[nodiscard]] static Result<WeightView> find(const void* context, std::string_view name) noexcept {
    const auto& self = *static_cast<const TensorCopies*>(context);
    const model::TensorRows rows = model::TensorRows::of(name);
    for (std::size_t i = 0; i < self.tensors_.size(); ++i) {
      const plan::PlanWeight& w = self.plan_->weights[i];
      if (w.name.view() != name) continue;
      const Buffer* copy = rows.total == 0 ? &self.tensors_[i] : self.find_copy(rows.tensor);
      if (copy != nullptr) return WeightView{name, w.dtype, w.shape, rows.of_bytes(copy->span())};
    }
    return fail(Errc::missing_weight, "the model has no tensor ", name);
  }
  /// The copy of a tensor of which weights are rows. It lies with the first of them; null before it is read.
  [[nodiscard]] const Buffer* find_copy(std::string_view tensor) const noexcept {
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (model::TensorRows::of(plan_->weights[i].name.view()).tensor == tensor) return &tensors_[i];
    return nullptr;
  }

  Allocator allocator_;
  const plan::ExecutionPlan* plan_ = nullptr;
  Vector<Buffer> tensors_;
};

}  // namespace zrt::inline ZRT_ABI::detail

ZRT_LOAD_TIME_END
