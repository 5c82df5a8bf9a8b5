// SPDX-License-Identifier: Apache-2.0
// zrt/plan/stages.hpp: the plans of a model's stages, and what they must agree on where one hands over to the next.
#pragma once

#include <zrt/plan/compiled_plan.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan {

/// The stages of a model (runtime contract, ModelPlans). Vision stages are absent for text models.
///
/// decoder_prefill and decoder_decode are one CompiledPlan bound at two sizes. A stage hands over a tensor as an output
/// that the next stage has as an input of the same name. The tensor is complete at the end of the earlier program
/// (Recorder::finish) and lives until that stage runs again.
struct ModelPlans {
  const CompiledPlan* vision_encode = nullptr;
  const CompiledPlan* scatter = nullptr;
  const CompiledPlan* decoder_prefill = nullptr;
  const CompiledPlan* decoder_decode = nullptr;

  /// A text model's.
  [[nodiscard]] static constexpr ModelPlans of(const CompiledPlan& decoder) noexcept {
    return {.decoder_prefill = &decoder, .decoder_decode = &decoder};
  }
};

/// Checks that `producer` and `consumer` agree on the tensor `name`: element type, layout and shape. Symbols are
/// compared by name.
///
/// Errors: Errc::stage_handoff naming the port and what stands on both sides.
[[nodiscard]] inline Result<void> check_handoff(const ExecutionPlan& producer, const ExecutionPlan& consumer,
                                                std::string_view name) noexcept {
  const PlanPort* from = producer.find_output(name);
  const PlanPort* to = consumer.find_input(name);
  if (from == nullptr) return fail(Errc::stage_handoff, "the earlier stage has no output ", name);
  if (to == nullptr) return fail(Errc::stage_handoff, "the later stage has no input ", name);
  const TensorType& given = producer.registers[index(from->reg)];
  const TensorType& taken = consumer.registers[index(to->reg)];
  if (given.dtype != taken.dtype)
    return fail(Errc::stage_handoff, name, " is handed over as ", zrt::name(given.dtype), ", expected ",
                zrt::name(taken.dtype));
  if (from->layout != to->layout)
    return fail(Errc::stage_handoff, name, " is handed over ", zrt::name(from->layout), ", expected ",
                zrt::name(to->layout));
  auto symbol = [](const ExecutionPlan& plan, SymbolId id) {
    return id == 0 ? std::string_view() : plan.symbols[id - 1u].name.view();
  };
  bool same = given.shape.rank == taken.shape.rank;
  for (std::uint8_t axis = 0; same && axis < given.shape.rank; ++axis) {
    const Dim& g = given.shape[axis];
    const Dim& t = taken.shape[axis];
    same = g.extent == t.extent && (g.symbol == 0) == (t.symbol == 0);
    if (same && symbol(producer, g.symbol) != symbol(consumer, t.symbol))
      return fail(Errc::stage_handoff, name, " is handed over by ", symbol(producer, g.symbol), " on axis ",
                  unsigned{axis}, ", expected ", symbol(consumer, t.symbol));
  }
  if (!same) {
    Error error = Error::of(Errc::stage_handoff, name, " is handed over as ");
    append_shape(error, given.shape).append(", expected ");
    return std::unexpected<Error>(append_shape(error, taken.shape));
  }
  return {};
}

/// Checks which stages there are, that only the decoder has state, and every border between them.
///
/// Errors: Errc::stage_handoff.
[[nodiscard]] inline Result<void> check_stages(const ModelPlans& plans) noexcept {
  if (plans.decoder_prefill == nullptr || plans.decoder_decode == nullptr)
    return fail(Errc::stage_handoff, "a model has a decoder_prefill and a decoder_decode stage");
  if (plans.decoder_prefill != plans.decoder_decode)
    return fail(Errc::stage_handoff, "decoder_prefill and decoder_decode are two plans, expected one at two sizes");
  if ((plans.vision_encode == nullptr) != (plans.scatter == nullptr))
    return fail(Errc::stage_handoff, "vision_encode and scatter come together");
  if (plans.vision_encode == nullptr) return {};
  if (!plans.vision_encode->plan.states.empty() || !plans.scatter->plan.states.empty())
    return fail(Errc::stage_handoff, "vision_encode or scatter has state, only a decoder may");
  if (auto r = check_handoff(plans.vision_encode->plan, plans.scatter->plan, "image_embeddings"); !r) return r;
  return check_handoff(plans.scatter->plan, plans.decoder_prefill->plan, "embeddings");
}

}  // namespace zrt::inline ZRT_ABI::plan

ZRT_LOAD_TIME_END
