// SPDX-License-Identifier: Apache-2.0
// zrt/engine/loaded_model.hpp: from a model file to a compiled plan with a sampler at its end.
#pragma once

#include <zrt/engine/slot_context.hpp>
#include <zrt/engine/vocabulary.hpp>
#include <zrt/exec/backend.hpp>
#include <zrt/exec/batch.hpp>
#include <zrt/model/config.hpp>
#include <zrt/model/neutral_keys.hpp>
#include <zrt/model/weights.hpp>
#include <zrt/ops/sample.hpp>

namespace zrt::inline ZRT_ABI {

namespace detail {

/// Appends sampling to a decoder's graph: its inputs by row, and the output `token`.
inline void append_sampler(ir::Builder& g, const EngineOptions& options) noexcept {
  if (g.failed()) return;
  ir::ValueId logits{};
  for (const ir::Port& port : g.graph().outputs)
    if (port.name.view() == exec::port::kLogits) logits = port.value;
  if (!logits.present()) return g.set(Error::of(Errc::invalid_plan, "the arch program has no output logits"));
  const Dim rows = g.type_of(logits).shape[0];
  auto input = [&](std::string_view name, DType dtype, std::uint32_t columns) {
    return g.input(name, {dtype, Shape{rows, columns}});
  };
  const auto requests = input(exec::port::kRequests, DType::ui32, ops::kSampleRequestWords);
  const auto history = input(exec::port::kHistory, DType::si32, options.penalty_window);
  const auto bias_ids = input(exec::port::kBiasIds, DType::si32, options.bias_entries);
  const auto bias = input(exec::port::kBias, DType::f32, options.bias_entries);
  g.output(exec::port::kToken, g.emit<ops::Sample>({.in = {logits, requests, history, bias_ids, bias}})[0]);
}

/// Reads the keys of the family's own and writes its program.
template <class Arch>
Result<void> build_arch(const model::GgufFile& file, ir::Builder& g, model::Config& config) noexcept {
  config.rope.style = Arch::rope_style;
  if constexpr (model::ReadsKeys<Arch>) {
    model::ConfigOf<Arch> own;
    static_cast<model::Config&>(own) = config;
    if (auto r = Arch::read_keys(model::ConfigReader(file, Arch::name), own); !r) return r;
    config = own;
    Arch::build(g, own);
  } else {
    Arch::build(g, config);
  }
  return {};
}

template <class... Arch>
Result<void> build_family(boost::mp11::mp_list<Arch...>, std::string_view architecture, const model::GgufFile& file,
                          ir::Builder& g, model::Config& config) noexcept {
  Result<void> done;
  (void)((architecture == Arch::name && (done = build_arch<Arch>(file, g, config), true)) || ...);
  return done;
}

/// The keys that the family of `architecture` reads itself.
template <class... Arch>
Span<const std::string_view> keys_of(boost::mp11::mp_list<Arch...>, std::string_view architecture) noexcept {
  Span<const std::string_view> keys;
  (void)((architecture == Arch::name && (keys = model::kOwnKeys<Arch>, true)) || ...);
  return keys;
}

template <class... Arch>
Result<void> expect_family(boost::mp11::mp_list<Arch...>, std::string_view architecture) noexcept {
  if (((architecture == Arch::name) || ...)) return {};
  Error error = Error::of(Errc::unknown_architecture, "general.architecture is ", architecture, ", this build knows");
  (error.append(" ").append(Arch::name), ...);
  return std::unexpected<Error>(error);
}

/// Demands that the plan reads every tensor of the file: one that it has no place for would be left
/// out of the computation without a word.
///
/// Tables of rotations, which only older programs read and which follow from the metadata, are left alone.
/// Errors: Errc::unimplemented naming the tensor.
inline Result<void> check_tensors(const model::GgufFile& file, const plan::ExecutionPlan& plan) noexcept {
  const Span<const model::GgufTensor> tensors = file.tensors();
  Vector<std::uint8_t> read(plan.allocator);
  if (auto r = read.resize(tensors.size()); !r) return r;
  for (const plan::PlanWeight& w : plan.weights)
    if (const model::GgufTensor* tensor = file.find_tensor(w.name.view()); tensor != nullptr)
      read[static_cast<std::size_t>(tensor - tensors.data())] = 1;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string_view name = tensors[i].name;
    if (read[i] != 0 || name.ends_with("rot_embd")) continue;
    return fail(Errc::unimplemented, "tensor ", name, " is in the file, but its family does not read it");
  }
  return {};
}

template <class Arch> using OpsOf = typename Arch::Ops;
template <class Families>
using OpsOfAll =
    boost::mp11::mp_apply<boost::mp11::mp_set_union,
                          boost::mp11::mp_push_front<boost::mp11::mp_transform<OpsOf, typename Families::List>,
                                                     boost::mp11::mp_list<ops::Sample>>>;

}  // namespace detail

/// What plans of `compile_model` can hold on their way to backend B: the ops that the families name, the
/// sampler, and what these become. Tables of these alone spare the rest of the catalog's compile time.
template <class B, class Families> using ModelOps = ReachedOps<B, detail::OpsOfAll<Families>>;

/// Demands that the file's architecture is one of the families.
///
/// Errors: Errc::unknown_architecture naming it and those that are known, missing_metadata.
template <class Families> [[nodiscard]] Result<void> check_family(const model::GgufFile& file) noexcept {
  auto architecture = file.get<std::string_view>("general.architecture");
  if (!architecture) return pass(architecture);
  return detail::expect_family(typename Families::List{}, *architecture);
}

/// Compiles the model of `file` for a backend's claims.
///
/// Errors: those of check_family, expect_neutral_keys and the family's read_keys, of the builder (missing_weight,
/// shape_mismatch, unsupported_weight_type, naming the tensor) and of plan::compile; Errc::unimplemented
/// for a tensor that the family's program has no place for.
template <class Families>
[[nodiscard]] Result<plan::CompiledPlan> compile_model(const model::GgufFile& file, model::Config& config,
                                                       const ir::Ops& ops, const OpSet& claims,
                                                       const EngineOptions& options) noexcept {
  if (auto r = check_family<Families>(file); !r) return pass(r);
  const std::string_view architecture = *file.get<std::string_view>("general.architecture");
  const Span<const std::string_view> own = detail::keys_of(typename Families::List{}, architecture);
  const std::uint32_t context = positions_per_slot(options, config);
  if (auto r = model::expect_neutral_keys(file, architecture, config.key_dim, context, own); !r) return pass(r);
  config.kv_dtype = options.kv_type;
  ir::Builder g(*ops.table, options.allocator, model::weight_lookup(file));
  if (auto r = detail::build_family(typename Families::List{}, architecture, file, g, config); !r) return pass(r);
  detail::append_sampler(g, options);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  auto compiled = plan::compile(*graph, ops, claims, {options.numerics.act, options.validation});
  if (compiled)
    if (auto r = detail::check_tensors(file, compiled->plan); !r) return pass(r);
  return compiled;
}

}  // namespace zrt::inline ZRT_ABI
