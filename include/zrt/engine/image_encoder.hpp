// SPDX-License-Identifier: Apache-2.0
// zrt/engine/image_encoder.hpp: an open vision encoder, which makes rows for prompts from images.
#pragma once

#include <zrt/engine/image_rows.hpp>
#include <zrt/exec/bind.hpp>
#include <zrt/exec/step_fault.hpp>
#include <zrt/model/fitted_image.hpp>
#include <zrt/model/vision_inputs.hpp>
#include <zrt/model/vision_plan.hpp>
#include <zrt/ops/catalog.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI {

/// Runs the encoder of a Qwen 3 VL file (`clip`, projector `qwen3vl_merger`) on backend B. `Catalog` lists the ops that
/// its plan may be made of.
///
/// One caller at a time.
template <class B, class Catalog = ops::Catalog> class ImageEncoder {
 public:
  ImageEncoder(ImageEncoder&&) noexcept = default;
  ImageEncoder& operator=(ImageEncoder&&) noexcept = default;

  /// Reads the file's config, compiles the stage and binds its weights to `device`, which must outlive the encoder.
  ///
  /// Errors: those of read_vision_config, compile_vision_encoder and bind_weights.
  [[nodiscard]] static Result<ImageEncoder> open(model::GgufFile file, typename B::Device& device,
                                                 const Allocator& allocator = system_allocator()) noexcept;

  /// Resizes an image of `rgb`, three bytes a pixel, line by line, and encodes it.
  ///
  /// Errors: those of fitted_image and vision_inputs; Errc::out_of_memory; those of bind and of the device.
  [[nodiscard]] Result<ImageRows> encode(Span<const std::uint8_t> rgb, model::ImageSize size,
                                         model::ImageLimits limits = {}) noexcept;

  [[nodiscard]] const model::VisionConfig& config() const noexcept { return config_; }
  /// Numbers in a row: what the decoder embeds, then the features of its first layers.
  [[nodiscard]] std::uint32_t columns() const noexcept {
    const plan::ExecutionPlan& plan = compiled_.plan;
    return plan.registers[plan::index(plan.output(kRows))].shape[1].extent;
  }

 private:
  static constexpr std::string_view kRows = "image_embeddings";

  ImageEncoder(model::GgufFile file, const model::VisionConfig& config, plan::CompiledPlan compiled,
               exec::WeightSet<B> weights, typename B::Device& device, const Allocator& allocator) noexcept
      : file_(std::move(file)),
        config_(config),
        compiled_(std::move(compiled)),
        weights_(std::move(weights)),
        device_(&device),
        allocator_(allocator) {}

  /// The stage at the size of one image.
  [[nodiscard]] Result<exec::BoundPlan<B>> bound(const Extents& extents, std::uint32_t patches) noexcept;
  template <class T>
  [[nodiscard]] Result<void> write(exec::BoundPlan<B>& bound, std::string_view port, const Vector<T>& values) noexcept {
    const plan::RegisterRef input = compiled_.plan.input(port);
    return device_->write(bound.tensor(input), as_bytes(values.span()));
  }
  [[nodiscard]] Result<void> run(const model::VisionInputs& inputs, ImageRows& out) noexcept;

  model::GgufFile file_;
  model::VisionConfig config_;
  plan::CompiledPlan compiled_;
  exec::WeightSet<B> weights_;
  typename B::Device* device_;
  Allocator allocator_;
};

// Outside of the class, as those of ProgramRunner.
template <class B, class Catalog>
Result<ImageEncoder<B, Catalog>> ImageEncoder<B, Catalog>::open(model::GgufFile file, typename B::Device& device,
                                                                const Allocator& allocator) noexcept {
  static constexpr ir::Ops kOps = ir::Ops::of<Catalog>();
  const auto config = model::read_vision_config(file);
  if (!config) return pass(config);
  auto compiled = model::compile_vision_encoder(file, *config, kOps, OpSet::of(typename B::Claims{}), allocator);
  if (!compiled) return pass(compiled);
  auto weights = exec::bind_weights<B>(compiled->plan, model::vision_weight_source(file), device);
  if (!weights) return pass(weights);
  return ImageEncoder(std::move(file), *config, std::move(*compiled), std::move(*weights), device, allocator);
}

template <class B, class Catalog>
Result<exec::BoundPlan<B>> ImageEncoder<B, Catalog>::bound(const Extents& extents, std::uint32_t patches) noexcept {
  auto states = exec::StateStore<B>::make(compiled_.plan, *device_, 0, 0);
  if (!states) return pass(states);
  const exec::BindSizes sizes{.bounds = extents, .batch_slots = 1, .batch_tokens = patches};
  return exec::bind<B>(compiled_, exec::OpAdapters<B>::template of<Catalog>(), weights_, *states, sizes, *device_);
}

template <class B, class Catalog>
Result<void> ImageEncoder<B, Catalog>::run(const model::VisionInputs& inputs, ImageRows& out) noexcept {
  const plan::ExecutionPlan& plan = compiled_.plan;
  Vector<std::uint32_t> slots(allocator_);  // all patches are of slot 0
  if (auto r = slots.resize(inputs.coordinates.size() / 2); !r) return r;
  StepStatus status;
  ExecutionContext step;
  step.extents.value[plan.symbol("merged")] = inputs.merged;
  step.tokens = static_cast<std::uint32_t>(slots.size());
  step.slots = slots.data();
  step.slot_count = 1;
  step.status = &status;
  auto made = bound(step.extents, step.tokens);
  if (!made) return pass(made);
  if (auto r = write(*made, "patches", inputs.patches); !r) return r;
  if (auto r = write(*made, "places", inputs.places); !r) return r;
  if (auto r = write(*made, "coordinates", inputs.coordinates); !r) return r;
  const auto completed = made->launch(*device_, step, {});
  if (!completed) return pass(completed);
  if (auto fault = exec::step_fault(status, plan, ir::Ops::of<Catalog>().table); !fault) return fault;
  if (auto r = out.rows.resize(std::size_t{inputs.merged} * columns()); !r) return r;
  return device_->read(made->tensor(plan.output(kRows)), 0, as_writable_bytes(out.rows.span()));
}

template <class B, class Catalog>
Result<ImageRows> ImageEncoder<B, Catalog>::encode(Span<const std::uint8_t> rgb, model::ImageSize size,
                                                   model::ImageLimits limits) noexcept {
  const auto image = model::fitted_image(config_, rgb, size, limits, allocator_);
  if (!image) return pass(image);
  const auto inputs = model::vision_inputs(file_, config_, image->rgb.span(), image->width, image->height, allocator_);
  if (!inputs) return pass(inputs);
  const std::uint32_t block = config_.patch * config_.merge;
  auto places = model::ImagePlaces::of(image->height / block, image->width / block, allocator_);
  if (!places) return pass(places);
  ImageRows out{Vector<float>(allocator_), inputs->merged, std::move(*places)};
  if (auto r = run(*inputs, out); !r) return pass(r);
  return out;
}

}  // namespace zrt::inline ZRT_ABI
