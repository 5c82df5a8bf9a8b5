// SPDX-License-Identifier: Apache-2.0
// zrt/engine/tensor_copies.hpp: tensors read into memory from a file that cannot be mapped.
#pragma once

#include <zrt/core/buffer.hpp>
#include <zrt/exec/weights.hpp>
#include <zrt/model/gguf.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Copies of the tensors that a plan names, as a weight source. Its address must not change while
/// programs are bound.
class TensorCopies {
 public:
  explicit TensorCopies(Allocator allocator) noexcept : allocator_(allocator), tensors_(allocator) {}

  /// Reads every tensor of `plan` from `file`. Both must outlive this.
  ///
  /// Errors: Errc::missing_weight, Errc::out_of_memory, Errc::io_error.
  [[nodiscard]] Result<void> read(const model::GgufFile& file, const plan::ExecutionPlan& plan) noexcept {
    plan_ = &plan;
    for (const plan::PlanWeight& w : plan.weights) {
      Buffer memory;
      if (!w.inline_data()) {
        const model::GgufTensor* tensor = file.find_tensor(w.name.view());
        if (tensor == nullptr) return fail(Errc::missing_weight, "the model has no tensor ", w.name.view());
        auto room = Buffer::zeroed(allocator_, static_cast<std::size_t>(tensor->bytes));
        if (!room) return pass(room);
        memory = std::move(*room);
        if (auto r = file.read_tensor(*tensor, memory.span()); !r) return r;
      }
      if (auto r = tensors_.push_back(std::move(memory)); !r) return r;
    }
    return {};
  }

  [[nodiscard]] exec::WeightSource source() const noexcept { return {this, &TensorCopies::find}; }

 private:
  [[nodiscard]] static Result<WeightView> find(const void* context, std::string_view name) noexcept {
    const auto& self = *static_cast<const TensorCopies*>(context);
    for (std::size_t i = 0; i < self.tensors_.size(); ++i) {
      const plan::PlanWeight& w = self.plan_->weights[i];
      if (w.name.view() == name) return WeightView{name, w.dtype, w.shape, self.tensors_[i].span()};
    }
    return fail(Errc::missing_weight, "the model has no tensor ", name);
  }

  Allocator allocator_;
  const plan::ExecutionPlan* plan_ = nullptr;
  Vector<Buffer> tensors_;
};

}  // namespace zrt::inline ZRT_ABI::detail
