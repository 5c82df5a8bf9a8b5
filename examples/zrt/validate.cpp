// SPDX-License-Identifier: Apache-2.0
// examples/zrt/validate.cpp: two backends on the same tokens, and the first value that differs by more than it may.
#include "commands.hpp"
#include "output.hpp"
#include <zrt/trace/run_comparison.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace program {
namespace {

namespace trace = zrt::trace;
using Json = nlohmann::ordered_json;

/// `text` as printf makes it.
template <class... Args> std::string format(const char* text, Args... args) {
  const int size = std::snprintf(nullptr, 0, text, args...);
  std::string out(static_cast<std::size_t>(size) + 1, '\0');
  (void)std::snprintf(out.data(), out.size(), text, args...);
  out.pop_back();
  return out;
}

Opened open_backend(const ValidateOptions& o, const std::string& backend) {
  zrt::EngineOptions options;
  options.context = o.context;
  options.kv_type = kv_type(o.kv);
  options.numerics.act = act_policy(o.act);
  options.chunk = o.chunk;
  options.logit_rows = 16;
  options.keep_values = true;
  return open_model({o.path, backend, has_devices(backend) ? o.card : CardChoice{}, o.threads}, options);
}

zrt::Result<std::vector<std::uint32_t>> prompt_of(const ValidateOptions& o, const Model& model) {
  std::vector<std::uint32_t> ids;
  const auto take = [&ids](const auto& list) {
    for (const std::int32_t id : list) ids.push_back(static_cast<std::uint32_t>(id));
  };
  if (!o.tokens.empty()) {
    for (const std::int32_t id : o.tokens)
      if (static_cast<std::uint32_t>(id) >= model.config().vocabulary)
        return zrt::fail(zrt::Errc::invalid_argument, "token ", id, " is outside the vocabulary of ",
                         model.config().vocabulary);
    take(o.tokens);
    return ids;
  }
  if (model.tokenizer() == nullptr)
    return zrt::fail(zrt::Errc::unsupported_tokenizer, "the model has no vocabulary; give --tokens");
  const auto encoded = model.tokenizer()->encode(o.prompt, {.add_special = true, .parse_special = false});
  if (!encoded) return zrt::pass(encoded);
  if (encoded->empty()) return zrt::fail(zrt::Errc::invalid_argument, "the prompt has no tokens");
  take(*encoded);
  return ids;
}

/// The prompt in chunks, then `steps` tokens one after the other, as the first backend chooses them. Without
/// ValidateOptions::layers it ends with the step that differs.
zrt::Result<void> run(trace::RunComparison& validation, const std::vector<std::uint32_t>& prompt,
                      const ValidateOptions& o, std::size_t steps) {
  const auto ended = [&] { return validation.difference() && !o.layers; };
  const std::span<const std::uint32_t> all(prompt);
  for (std::size_t at = 0; at < all.size() && !ended(); at += o.chunk)
    if (auto r = validation.step(all.subspan(at, std::min<std::size_t>(o.chunk, all.size() - at)), true); !r) return r;
  for (std::size_t step = 0; step < steps && !ended(); ++step) {
    if (validation.next() < 0) return zrt::fail(zrt::Errc::spec_violation, "the sampler chose no token");
    const auto token = static_cast<std::uint32_t>(validation.next());
    if (auto r = validation.step({&token, 1}, false); !r) return r;
  }
  return {};
}

std::string layer_name(std::uint32_t layer) {
  return layer == zrt::plan::kNoLayer ? "outside layers" : "layer " + std::to_string(layer);
}

/// "result q of rms_norm_fused_qkv (blk.2.attn_q.weight)".
std::string value_name(const trace::ValuePair& pair, const zrt::plan::ExecutionPlan& plan) {
  const zrt::OpRow& row = *op_table()[zrt::number(pair.opcode)];
  std::string text(pair.is_state ? "keys and values" : row.output(pair.output).name);
  text += " of " + std::string(row.name);
  if (pair.weight != zrt::plan::kNoWeight)
    text += " (" + std::string(plan.weights[zrt::plan::index(pair.weight)].name.view()) + ")";
  return text;
}

struct Report {
  const ValidateOptions& options;
  const trace::RunComparison& validation;
  const zrt::plan::ExecutionPlan& plan;  ///< of the first backend
  std::size_t prompt_tokens;

  std::uint64_t sum(std::uint64_t trace::LayerAgreement::* member) const {
    std::uint64_t all = 0;
    for (const trace::LayerAgreement& layer : validation.layers()) all += layer.*member;
    return all;
  }

  std::string difference_text() const {
    const trace::Difference& d = *validation.difference();
    const trace::ValuePair& pair = validation.pairs()[d.pair];
    std::string text = format("difference in step %" PRIu64 " (position %u, row %u): %s, instruction %u\n", d.step,
                              d.position, d.token, layer_name(pair.layer).c_str(), pair.instruction[0]);
    text += "  " + value_name(pair, plan) + format(", element %" PRIu64 "\n", d.element);
    const std::size_t width = std::max(options.backends[0].size(), options.backends[1].size());
    for (const auto& [backend, value] : {std::pair(options.backends[0], d.first), {options.backends[1], d.second}})
      text += format("  %-*s  %.17g (%a)\n", static_cast<int>(width), backend.c_str(), value, value);
    text +=
        d.allowed == 0.0 ? "  expected the same bits\n" : format("  expected within %.3g of the larger\n", d.allowed);
    return text;
  }

  std::string layers_text() const {
    std::string text = "layer            instructions       values  differing    outside  largest\n";
    for (const trace::LayerAgreement& l : validation.layers())
      text += format("%-16s %12" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %.3g\n",
                     layer_name(l.layer).c_str(), l.instructions, l.values, l.differing, l.outside, l.largest);
    return text;
  }

  std::string summary_text() const {
    std::string text =
        format("%s and %s %s: %" PRIu64 " steps, %u positions, %" PRIu64 " values of %" PRIu64 " instructions, ",
               options.backends[0].c_str(), options.backends[1].c_str(), validation.difference() ? "differ" : "agree",
               validation.steps(), validation.position(), sum(&trace::LayerAgreement::values),
               sum(&trace::LayerAgreement::instructions));
    const std::uint64_t differing = sum(&trace::LayerAgreement::differing);
    text += differing == 0 ? "the same bits\n" : format("%" PRIu64 " in other bits\n", differing);
    if (const std::size_t alone = validation.unpaired_first() + validation.unpaired_second(); alone != 0)
      text += format("%zu results have no counterpart, because the plans differ\n", alone);
    return text;
  }

  Json json() const {
    Json out{{"backends", options.backends},
             {"agree", !validation.difference()},
             {"steps", validation.steps()},
             {"prompt_tokens", prompt_tokens},
             {"positions", validation.position()},
             {"values", sum(&trace::LayerAgreement::values)},
             {"differing", sum(&trace::LayerAgreement::differing)},
             {"outside", sum(&trace::LayerAgreement::outside)},
             {"unpaired", {validation.unpaired_first(), validation.unpaired_second()}}};
    if (const auto& d = validation.difference()) {
      const trace::ValuePair& pair = validation.pairs()[d->pair];
      const zrt::OpRow& row = *op_table()[zrt::number(pair.opcode)];
      Json found{{"step", d->step},       {"position", d->position},
                 {"row", d->token},       {"instructions", pair.instruction},
                 {"op", row.name},        {"value", pair.is_state ? "state" : row.output(pair.output).name},
                 {"element", d->element}, {"first", d->first},
                 {"second", d->second},   {"allowed", d->allowed}};
      found["layer"] = pair.layer == zrt::plan::kNoLayer ? Json() : Json(pair.layer);
      out["difference"] = std::move(found);
    }
    for (const trace::LayerAgreement& l : validation.layers())
      out["layers"].push_back({{"layer", l.layer == zrt::plan::kNoLayer ? Json() : Json(l.layer)},
                               {"instructions", l.instructions},
                               {"values", l.values},
                               {"differing", l.differing},
                               {"outside", l.outside},
                               {"largest", l.largest}});
    return out;
  }
};

}  // namespace

int validate(const ValidateOptions& o) {
  if (!o.program.empty()) return validate_program(o);
  if (o.path.empty()) return usage("zrt validate needs --model or --ptir; zrt validate --help lists what there is");
  const std::vector<std::string> known = backends();
  for (const std::string& backend : o.backends)
    if (backend == "c") return usage("a model's plan has no form in C; --ptir takes a tensor program, which has one");
  for (const std::string& backend : o.backends)
    if (std::ranges::find(known, backend) == known.end()) return usage("no backend is called " + backend);
  if (o.backends.size() != 2) return usage("--backends needs two: cpu,reference");
  std::array<std::unique_ptr<Model>, 2> models;
  for (std::size_t i = 0; i < 2; ++i) {
    auto opened = open_backend(o, o.backends[i]);
    if (!opened) return failed(opened.error());
    models[i] = std::move(*opened);
  }
  const auto prompt = prompt_of(o, *models[0]);
  if (!prompt) return failed(prompt.error());
  auto validation =
      trace::RunComparison::make(models[0]->validated(), models[1]->validated(), op_table(), zrt::system_allocator());
  if (!validation) return failed(validation.error());
  // An encoder reads and chooses no token.
  const std::size_t steps = models[0]->config().embeddings ? 0 : o.steps;
  if (auto r = run(*validation, *prompt, o, steps); !r) return failed(r.error());
  const Report report{o, *validation, models[0]->plan().plan, prompt->size()};
  std::string text;
  if (o.json) {
    text = report.json().dump(2) + "\n";
  } else {
    if (validation->difference()) text = report.difference_text();
    if (o.layers) text += report.layers_text();
    text += report.summary_text();
  }
  if (!print(text)) return cannot_write("stdout");
  return validation->difference() ? kFailed : kOk;
}

}  // namespace program
