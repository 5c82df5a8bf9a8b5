// SPDX-License-Identifier: Apache-2.0
// zrt/exec/weights.hpp: the weights of a plan, found by name and handed to a device.
#pragma once

#include <zrt/exec/backend.hpp>
#include <zrt/plan/execution_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// Finds a weight of the model by name; `data` stays valid while programs use it.
struct WeightSource {
  const void* context = nullptr;
  Result<WeightView> (*find)(const void* context, std::string_view name) noexcept = nullptr;
};

/// The weights of a plan on a device, in the plan's order; shared by all programs of the plan.
template <class B> struct WeightSet {
  explicit WeightSet(Allocator a) noexcept : own(a), regions(a) {}

  Vector<typename B::Weight> own;
  Vector<WeightSet> regions;  ///< of the plan's regions, in their order
};

/// Checks and hands every weight of the plan and of its regions to the device.
///
/// Errors: Errc::missing_weight, shape_mismatch or dtype_mismatch naming the tensor; the device's own.
template <class B>
[[nodiscard]] Result<WeightSet<B>> bind_weights(const plan::ExecutionPlan& plan, const WeightSource& source,
                                                typename B::Device& device) noexcept {
  WeightSet<B> weights(plan.allocator);
  for (const plan::ExecutionPlan& region : plan.regions) {
    auto bound = bind_weights<B>(region, source, device);
    if (!bound) return pass(bound);
    if (auto r = weights.regions.push_back(std::move(*bound)); !r) return pass(r);
  }
  Vector<WeightView> views(plan.allocator);
  for (const plan::PlanWeight& w : plan.weights) {
    WeightView view{w.name.view(), w.dtype, w.shape, {}};
    if (w.inline_data()) {
      view.data = plan.constants.span().subspan(w.data_offset, w.data_bytes);
    } else {
      if (source.find == nullptr) return fail(Errc::missing_weight, "no weight source for ", w.name.view());
      auto found = source.find(source.context, w.name.view());
      if (!found) return pass(found);
      if (found->dtype != w.dtype)
        return fail(Errc::dtype_mismatch, "weight ", w.name.view(), " is ", name(found->dtype),
                    ", the plan was compiled for ", name(w.dtype));
      if (found->shape.without_leading_ones() != w.shape.without_leading_ones()) {
        Error error = Error::of(Errc::shape_mismatch, "weight ", w.name.view(), " has shape ");
        append_shape(error, found->shape).append(", the plan was compiled for ");
        return std::unexpected<Error>(append_shape(error, w.shape));
      }
      view.data = found->data;
    }
    if constexpr (ExpectsWeights<B>)
      if (auto r = device.expect(view); !r) return pass(r);
    if (auto r = views.push_back(view); !r) return pass(r);
  }
  for (const WeightView& view : views) {
    auto bound = device.weight(view);
    if (!bound) return pass(bound);
    if (auto r = weights.own.push_back(*bound); !r) return pass(r);
  }
  return weights;
}

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
