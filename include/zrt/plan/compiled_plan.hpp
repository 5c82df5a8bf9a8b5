// SPDX-License-Identifier: Apache-2.0
// zrt/plan/compiled_plan.hpp: a plan with its liveness and what the compiler has to say.
#pragma once

#include <zrt/plan/liveness.hpp>

namespace zrt::inline ZRT_ABI::plan {

enum class DiagnosticLevel : std::uint8_t { info, warn };
enum class DiagnosticKind : std::uint8_t {
  expanded,    ///< an op stepped down the ladder into `count` others
  never_read,  ///< a register is written and never read
  rounding,    ///< activations of an instruction are rounded
};

/// One remark of the plan compiler (runtime contract, PlanDiagnostic).
struct PlanDiagnostic {
  DiagnosticLevel level = DiagnosticLevel::info;
  DiagnosticKind kind = DiagnosticKind::expanded;
  Opcode opcode{};
  std::uint32_t instruction = 0;  ///< index in the plan; for `expanded`, the node's place at that step of the ladder
  std::uint32_t count = 0;
  RegisterRef reg = kNoRegister;
};

/// How strictly a plan is judged, when it is compiled and when it is bound: warnings fail too, errors
/// fail, or nothing is looked at.
///
/// Plans from files are never judged with `none`.
enum class Validation : std::uint8_t { strict, normal, none };

/// What `compile` gives (runtime contract, CompiledPlan). Query tokens, slots and context length are
/// symbols, so nothing is compiled again when requests join or leave.
struct CompiledPlan {
  explicit CompiledPlan(Allocator a = system_allocator()) noexcept : plan(a), liveness(a), diagnostics(a) {}

  ExecutionPlan plan;
  LivenessMap liveness;
  std::uint16_t peak_registers = 0;
  Validation validation = Validation::normal;
  Vector<PlanDiagnostic> diagnostics;
};

/// The stages of a model (runtime contract, ModelPlans). Vision stages are absent for text models.
///
/// decoder_prefill and decoder_decode are one CompiledPlan bound at two sizes.
struct ModelPlans {
  const CompiledPlan* vision_encode = nullptr;
  const CompiledPlan* scatter = nullptr;
  const CompiledPlan* decoder_prefill = nullptr;
  const CompiledPlan* decoder_decode = nullptr;
};

/// Checks that what `producer` hands over under `name` is what `consumer` takes.
///
/// Errors: Errc::stage_handoff naming the register, types and shapes on both sides.
[[nodiscard]] inline Result<void> check_handoff(const ExecutionPlan& producer, const ExecutionPlan& consumer,
                                                std::string_view name) noexcept {
  const RegisterRef from = producer.output(name);
  const RegisterRef to = consumer.input(name);
  if (from == kNoRegister) return fail(Errc::stage_handoff, "the earlier stage has no output ", name);
  if (to == kNoRegister) return fail(Errc::stage_handoff, "the later stage has no input ", name);
  const TensorType& given = producer.registers[index(from)];
  const TensorType& taken = consumer.registers[index(to)];
  if (given.dtype != taken.dtype)
    return fail(Errc::stage_handoff, name, " is handed over as ", zrt::name(given.dtype), ", expected ",
                zrt::name(taken.dtype));
  if (!(given.shape == taken.shape)) {
    Error error = Error::of(Errc::stage_handoff, name, " is handed over as ");
    append_shape(error, given.shape).append(", expected ");
    return std::unexpected<Error>(append_shape(error, taken.shape));
  }
  return {};
}

/// Checks every border between the stages that a model has.
[[nodiscard]] inline Result<void> check_stages(const ModelPlans& plans) noexcept {
  if (plans.decoder_prefill == nullptr || plans.decoder_decode == nullptr)
    return fail(Errc::stage_handoff, "a model has a decoder_prefill and a decoder_decode stage");
  if ((plans.vision_encode == nullptr) != (plans.scatter == nullptr))
    return fail(Errc::stage_handoff, "vision_encode and scatter come together");
  if (plans.vision_encode == nullptr) return {};
  if (auto r = check_handoff(plans.vision_encode->plan, plans.scatter->plan, "image_embeddings"); !r) return r;
  return check_handoff(plans.scatter->plan, plans.decoder_prefill->plan, "embeddings");
}

}  // namespace zrt::inline ZRT_ABI::plan
