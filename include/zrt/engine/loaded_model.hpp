// SPDX-License-Identifier: Apache-2.0
// zrt/engine/loaded_model.hpp: from a model file to a compiled plan with a sampler at its end.
#pragma once

#include <zrt/engine/options.hpp>
#include <zrt/engine/vocabulary.hpp>
#include <zrt/exec/backend.hpp>
#include <zrt/exec/batch.hpp>
#include <zrt/model/family.hpp>
#include <zrt/model/weights.hpp>
#include <zrt/ops/sample.hpp>

ZRT_LOAD_TIME_BEGIN

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

/// What the host chose, as a family reads it.
[[nodiscard]] inline model::HostChoice host_choice(const EngineOptions& options) noexcept {
  return {options.context, options.kv_type};
}

/// Reads the config of a file of family F and writes its program.
template <class F>
Result<void> build_family(const model::GgufFile& file, std::string_view architecture, const EngineOptions& options,
                          ir::Builder& g) noexcept {
  model::ConfigReader meta(file, architecture, host_choice(options));
  typename F::Config config;
  if (auto r = model::read_config<F>(meta, config); !r) return r;
  F::build(g, config);
  return {};
}

/// The same for the family of `architecture`; `ignored` becomes its list of tensors that mean nothing.
template <class... F>
Result<void> build_model(boost::mp11::mp_list<F...>, const model::GgufFile& file, std::string_view architecture,
                         const EngineOptions& options, ir::Builder& g, Span<const std::string_view>& ignored) noexcept {
  Result<void> done;
  (void)((model::is_named<F>(architecture) &&
          (ignored = model::ignored_tensors<F>(), done = build_family<F>(file, architecture, options, g), true)) ||
         ...);
  return done;
}

template <class... F> Result<void> expect_family(boost::mp11::mp_list<F...>, std::string_view architecture) noexcept {
  if ((model::is_named<F>(architecture) || ...)) return {};
  Error error = Error::of(Errc::unknown_architecture, "general.architecture is ", architecture, ", this build knows");
  const auto append = [&](Span<const std::string_view> names) noexcept {
    for (const std::string_view name : names) error.append(" ").append(name);
  };
  (append(F::names), ...);
  return std::unexpected<Error>(error);
}

/// Demands that the plan reads every tensor of the file: one that it has no place for would be left
/// out of the computation without a word. Those whose names end as one of `ignored` are left alone.
///
/// Errors: Errc::unimplemented naming the tensor.
inline Result<void> check_tensors(const model::GgufFile& file, const plan::ExecutionPlan& plan,
                                  Span<const std::string_view> ignored) noexcept {
  const Span<const model::GgufTensor> tensors = file.tensors();
  Vector<std::uint8_t> read(plan.allocator);
  if (auto r = read.resize(tensors.size()); !r) return r;
  for (const plan::PlanWeight& w : plan.weights)
    if (const model::GgufTensor* tensor = file.find_tensor(model::TensorRows::of(w.name.view()).tensor);
        tensor != nullptr)
      read[static_cast<std::size_t>(tensor - tensors.data())] = 1;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string_view name = tensors[i].name;
    for (const std::string_view end : ignored)
      if (name.ends_with(end)) read[i] = 1;
    if (read[i] != 0) continue;
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

/// What a file's metadata says to an engine.
struct ModelFacts {
  model::Config config{};
  std::uint64_t values = 0;  ///< a hash of every key of the architecture that the family reads
};

namespace detail {

template <class F> Result<void> read_facts_of(model::ConfigReader& meta, ModelFacts& facts) noexcept {
  typename F::Config config;
  if (auto r = model::read_config<F>(meta, config); !r) return r;
  facts = {config, meta.values()};
  return {};
}
template <class... F>
Result<void> read_facts(boost::mp11::mp_list<F...>, std::string_view architecture, model::ConfigReader& meta,
                        ModelFacts& facts) noexcept {
  Result<void> done;
  (void)((model::is_named<F>(architecture) && (done = read_facts_of<F>(meta, facts), true)) || ...);
  return done;
}

}  // namespace detail

/// Reads the metadata of `file` as its family does, and refuses what the family does not compute.
///
/// Errors: those of check_family and of the family, naming the key.
template <class Families>
[[nodiscard]] Result<ModelFacts> read_model(const model::GgufFile& file, const EngineOptions& options) noexcept {
  if (auto r = check_family<Families>(file); !r) return pass(r);
  const std::string_view architecture = *file.get<std::string_view>("general.architecture");
  model::ConfigReader meta(file, architecture, detail::host_choice(options));
  ModelFacts facts;
  if (auto r = detail::read_facts(typename Families::List{}, architecture, meta, facts); !r) return pass(r);
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
  if (auto r = check_family<Families>(file); !r) return pass(r);
  const std::string_view architecture = *file.get<std::string_view>("general.architecture");
  ir::Builder g(*ops.table, options.allocator, model::weight_lookup(file));
  Span<const std::string_view> ignored;
  if (auto r = detail::build_model(typename Families::List{}, file, architecture, options, g, ignored); !r)
    return pass(r);
  detail::append_sampler(g, options);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  auto compiled = plan::compile(*graph, ops, claims, {options.numerics.act, options.validation});
  if (compiled)
    if (auto r = detail::check_tensors(file, compiled->plan, ignored); !r) return pass(r);
  return compiled;
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
