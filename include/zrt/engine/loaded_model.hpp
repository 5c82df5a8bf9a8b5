// SPDX-License-Identifier: Apache-2.0
// zrt/engine/loaded_model.hpp: from a model file to a compiled plan with a sampler at its end.
#pragma once

#include <zrt/engine/options.hpp>
#include <zrt/engine/vocabulary.hpp>
#include <zrt/exec/backend.hpp>
#include <zrt/exec/batch.hpp>
#include <zrt/ir/passes/add_adapters.hpp>
#include <zrt/model/check_tensors.hpp>
#include <zrt/model/family.hpp>
#include <zrt/model/visit_family.hpp>
#include <zrt/model/weights.hpp>
#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>
#include <zrt/ops/sample.hpp>

#include <type_traits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

namespace detail {

/// Appends sampling to a decoder's graph: its inputs by row, and the output `token`. A program that ends in hidden
/// states stays as it is.
inline void append_sampler(ir::Builder& g, const EngineOptions& options) noexcept {
  if (g.failed()) return;
  ir::ValueId logits{};
  for (const ir::Port& port : g.graph().outputs)
    if (port.name.view() == exec::port::kHidden)
      return;
    else if (port.name.view() == exec::port::kLogits)
      logits = port.value;
  if (logits.present() && options.embeddings)
    return g.set(Error::of(Errc::unimplemented, "the model's family gives no hidden states for embeddings"));
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

/// Demands a program that takes given embeddings.
inline void expect_given(ir::Builder& g) noexcept {
  if (g.failed()) return;
  for (const ir::Port& port : g.graph().inputs)
    if (port.name.view() == exec::port::kEmbeddings) return;
  g.set(Error::of(Errc::unimplemented, "the model's family takes tokens alone, no given embeddings"));
}

/// Families whose engines have room for adapters: a list that says `takes_adapters`. Others leave their code out.
template <class Families>
concept TakesAdapters = requires { requires Families::takes_adapters; };
template <class B, class Families>
using HasAdapters =
    boost::mp11::mp_bool<TakesAdapters<Families> && boost::mp11::mp_contains<typename B::Claims, ops::LoraAdd>::value>;

/// Fused ops with projections inside, which step down where adapters follow each of these; and what they become.
using AdaptedOps = boost::mp11::mp_list<ops::RmsNormFusedQkv, ops::RmsNormFusedMlpGateUp>;
template <class B, class Families>
using AdapterOps = boost::mp11::mp_if<HasAdapters<B, Families>,
                                      boost::mp11::mp_list<ops::LoraAdd, ops::RmsNorm, ops::Linear, ops::GatedAct>,
                                      boost::mp11::mp_list<>>;
/// Those of a plan's ops that B claims, and which step down all the same.
template <class B, class Families, class Ops>
using SteppedDown = boost::mp11::mp_if<HasAdapters<B, Families>, boost::mp11::mp_set_intersection<AdaptedOps, Ops>,
                                       boost::mp11::mp_list<>>;

/// Lowers a decoder's graph to `claims`, and puts adapters behind each projection of a step's rows.
///
/// Errors: those of plan::lower and ir::AdapterPass; Errc::unsupported_opcode for a backend that has no adapters.
inline Result<ir::Graph> with_adapters(const ir::Graph& graph, const ir::Ops& ops, const OpSet& claims,
                                       const ir::AdapterSizes& sizes, Vector<plan::PlanDiagnostic>& steps) noexcept {
  if (!claims.contains(ops::LoraAdd::opcode))
    return fail(Errc::unsupported_opcode, "EngineOptions::adapters is ", sizes.adapters,
                ", but the backend has no lora_add");
  auto lowered = plan::lower(graph, ops, claims.without(OpSet::of(AdaptedOps{})), steps);
  if (!lowered) return pass(lowered, Phase::plan);
  ir::Builder g(*ops.table, graph.allocator);
  g.graph() = std::move(*lowered);
  for (const ir::Port& port : g.graph().inputs)
    if (port.name.view() == exec::port::kTokens) {
      const Dim rows = g.type_of(port.value).shape[0];
      const ir::ValueId adapters = g.input(exec::port::kAdapters, {DType::si32, Shape{rows}});
      if (auto r = ir::AdapterPass(g, adapters, sizes).run(); !r) return pass(r);
      return g.finish();
    }
  return fail(Errc::invalid_plan, "the arch program has no input ", exec::port::kTokens);
}

/// What the host chose, as a family reads it.
[[nodiscard]] inline model::HostChoice host_choice(const EngineOptions& options) noexcept {
  return {options.context, options.kv_type, options.embeddings, options.given_embeddings};
}

/// The families of a list that B does not run, since it lacks an op of theirs.
template <class B> struct LacksOpOf {
  template <class F> using fn = boost::mp11::mp_not<boost::mp11::mp_empty<OpsNotRun<B, typename F::Ops>>>;
};

/// Appends the names of files of family F that B does not run, with the ops that it lacks.
template <class B, class F> void append_lack(Error& error) noexcept {
  error.append(", this backend has no");
  boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, OpsNotRun<B, typename F::Ops>>>(
      [&]<class O>(std::type_identity<O>) noexcept { error.append(" ").append(O::name); });
}
template <class B, class... F>
Result<void> refuse_family(boost::mp11::mp_list<F...>, const model::ConfigReader& meta,
                           [[maybe_unused]] bool some) noexcept {
  Error error = Error::of(Errc::unsupported_opcode, "general.architecture is ", meta.architecture());
  if (((model::opens<F>(meta, some) && (append_lack<B, F>(error), true)) || ...)) return std::unexpected<Error>(error);
  return {};
}

/// Calls `visit` with the family that opens the file of `meta`, as a std::type_identity.
///
/// Errors: those of model::visit_family; Errc::unsupported_opcode for a family that the backend does not run, naming the
/// ops that it lacks.
template <class Families, class Visit>
Result<void> visit_family(const model::ConfigReader& meta, Visit visit) noexcept {
  return model::visit_family<typename Families::List>(
      meta, visit, [&]([[maybe_unused]] bool some) noexcept -> Result<void> {
        if constexpr (requires { typename Families::LeftOut; })
          return refuse_family<typename Families::Backend>(typename Families::LeftOut{}, meta, some);
        else
          return {};
      });
}

/// Whether no name is that of two families that open all files of it, the second of which would never run.
template <class... F> consteval bool family_names_are_unique(boost::mp11::mp_list<F...>) {
  const auto once = [](Span<const std::string_view> names) {
    for (const std::string_view name : names)
      if (((model::is_named<F>(name) && !model::OpensSome<F> ? 1 : 0) + ... + 0) > 1) return false;
    return true;
  };
  return (once(F::names) && ...);
}

template <class Arch> using OpsOf = typename Arch::Ops;
template <class Families>
using OpsOfAll = boost::mp11::mp_apply<
    boost::mp11::mp_set_union,
    boost::mp11::mp_push_front<boost::mp11::mp_unique<boost::mp11::mp_transform<OpsOf, typename Families::List>>,
                               boost::mp11::mp_list<ops::Sample>>>;

}  // namespace detail

/// The families that an engine on B opens. A list of a host's own must run as it is, or the engine does not compile;
/// one that says `skips_what_lacks_ops` loses the families with an op that B does not run.
template <class B, class Families> struct FamiliesOn : Families {};
template <class B, class Families>
  requires Families::skips_what_lacks_ops
struct FamiliesOn<B, Families> : Families {
  using Backend = B;
  using List = boost::mp11::mp_remove_if_q<typename Families::List, detail::LacksOpOf<B>>;
  using LeftOut = boost::mp11::mp_copy_if_q<typename Families::List, detail::LacksOpOf<B>>;
};

/// What plans of `compile_model` can hold on their way to backend B: the ops that the families name, the
/// sampler, and what these become. Tables of these alone spare the rest of the catalog's compile time.
template <class B, class Families>
using ModelOps = ReachedOps<B, boost::mp11::mp_set_union<detail::OpsOfAll<Families>, detail::AdapterOps<B, Families>>>;

/// What a file's metadata says to an engine.
struct ModelFacts {
  model::Config config{};
  std::uint64_t values = 0;  ///< a hash of every key of the architecture that the family reads
};

/// Reads the metadata of `file` as its family does, and refuses what the family does not compute.
///
/// Errors: Errc::unknown_architecture naming it and those that are known, missing_metadata; those of the family, naming
/// the key.
template <class Families>
[[nodiscard]] Result<ModelFacts> read_model(const model::GgufFile& file, const EngineOptions& options) noexcept {
  static_assert(detail::family_names_are_unique(typename Families::List{}),
                "zrt: two families of a host's list bear the same name");
  auto architecture = file.get<std::string_view>("general.architecture");
  if (!architecture) return pass(architecture);
  model::ConfigReader meta(file, *architecture, detail::host_choice(options));
  ModelFacts facts;
  auto read = detail::visit_family<Families>(meta, [&]<class F>(std::type_identity<F>) noexcept -> Result<void> {
    typename F::Config config;
    if (auto r = model::read_config<F>(meta, config); !r) return r;
    facts = {config, meta.values()};
    return {};
  });
  if (!read) return pass(read);
  return facts;
}

/// Compiles the model of `file` for a backend's claims.
///
/// Errors: those of read_model, of the builder (missing_weight,
/// shape_mismatch, unsupported_weight_type, naming the tensor) and of plan::compile; Errc::unimplemented
/// for a tensor that the family's program has no place for.
template <class Families>
[[nodiscard]] Result<plan::CompiledPlan> compile_model(const model::GgufFile& file, const ir::Ops& ops,
                                                       const OpSet& claims, const EngineOptions& options) noexcept {
  auto architecture = file.get<std::string_view>("general.architecture");
  if (!architecture) return pass(architecture);
  ir::Builder g(*ops.table, options.allocator, model::weight_lookup(file));
  Span<const std::string_view> ignored;
  model::ConfigReader meta(file, *architecture, detail::host_choice(options));
  auto built = detail::visit_family<Families>(meta, [&]<class F>(std::type_identity<F>) noexcept -> Result<void> {
    typename F::Config config;
    if (auto r = model::read_config<F>(meta, config); !r) return r;
    F::build(g, config);
    ignored = model::ignored_tensors<F>();
    return {};
  });
  if (!built) return pass(built);
  detail::append_sampler(g, options);
  if (options.given_embeddings) detail::expect_given(g);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  Vector<plan::PlanDiagnostic> steps(options.allocator);
  if (options.adapters != 0) {
    if constexpr (detail::TakesAdapters<Families>)
      graph = detail::with_adapters(*graph, ops, claims, ir::AdapterSizes::of(options.adapters, options.adapter_rank),
                                    steps);
    else
      return fail(Errc::unimplemented, "EngineOptions::adapters is ", options.adapters,
                  ", expected 0: the engine's list of families does not say takes_adapters");
  }
  if (!graph) return pass(graph);
  auto compiled = plan::compile(*graph, ops, claims, {options.numerics.act, options.validation});
  if (compiled)
    if (auto r = compiled->diagnostics.append(steps.span()); !r) return pass(r);
  if (compiled)
    if (auto r = model::check_tensors(file, compiled->plan, ignored); !r) return pass(r);
  return compiled;
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
