// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate.cpp: the scheduler of tenants, and several models, on a modelled machine, seed by seed.
#include "commands.hpp"
#include "output.hpp"
#include "simulate/model_simulation.hpp"

namespace program {
namespace {

using zrt::serve::AllModelRules;
using zrt::serve::AllRules;

/// What a failing seed comes down to: few events, and the promise that they break.
std::string report(const simulate::Script& script, const simulate::Verdict& verdict) {
  const simulate::Script small = simulate::shrunk(script, AllRules{});
  const simulate::Verdict shown = simulate::verdict_of(small, AllRules{});
  const zrt::serve::SchedulerLimits& l = script.limits;
  std::string text = "seed " + std::to_string(script.seed) + ", step " + std::to_string(verdict.step) + ": " +
                     verdict.broken + "\nslots " + std::to_string(l.slots) + ", pages " + std::to_string(l.pages) +
                     ", of these for prefixes " + std::to_string(l.prefix_pages) + ", kept states " +
                     std::to_string(l.checkpoints) + "\n";
  for (const simulate::ScriptEvent& e : small.events) text += "  " + simulate::line_of(e) + "\n";
  return text + "step " + std::to_string(shown.step) + ": " + shown.broken + "\n";
}

/// The same of several models.
std::string report(const simulate::ModelScript& script, const simulate::ModelVerdict& verdict) {
  const simulate::ModelScript small = simulate::shrunk(script, AllModelRules{});
  const simulate::ModelVerdict shown = simulate::verdict_of(small, AllModelRules{});
  std::string text = "seed " + std::to_string(script.events.seed) + ", step " + std::to_string(verdict.step) + ": " +
                     verdict.broken + "\nmodels " + std::to_string(script.limits.size()) + ", memory " +
                     std::to_string(script.memory) + ", patience " + std::to_string(script.turn_patience) + " and " +
                     std::to_string(script.memory_patience) + "\n";
  for (const simulate::ScriptEvent& e : small.events.events) text += "  " + simulate::line_of(e) + "\n";
  return text + "step " + std::to_string(shown.step) + ": " + shown.broken + "\n";
}

/// Whether a script does the same once more.
template <class S, class V, class Rules> bool replays(const S& script, const V& verdict, Rules rules) {
  return simulate::verdict_of(script, rules).digest == verdict.digest;
}

template <class S, class V> int seed_fails(const S& script, const V& verdict, std::uint64_t seed) {
  if (!print(report(script, verdict))) return cannot_write("stdout");
  return failed("seed " + std::to_string(seed) + " breaks a promise");
}

}  // namespace

int simulate_tenants(const SimulateOptions& o) {
  simulate::Tally tally;
  simulate::ModelTally models;
  std::uint64_t digest = 0;
  for (std::uint64_t seed = o.seed; seed - o.seed < o.seeds; ++seed) {
    const simulate::Script script = simulate::script_of(seed);
    const simulate::Verdict verdict = simulate::verdict_of(script, AllRules{});
    if (!verdict.broken.empty()) return seed_fails(script, verdict, seed);
    if (!replays(script, verdict, AllRules{})) return failed("seed " + std::to_string(seed) + " differs when repeated");
    tally.add(verdict.tally);
    digest = simulate::mixed(digest, verdict.digest);
    const simulate::ModelScript several = simulate::model_script_of(seed);
    const simulate::ModelVerdict of_several = simulate::verdict_of(several, AllModelRules{});
    if (!of_several.broken.empty()) return seed_fails(several, of_several, seed);
    if (!replays(several, of_several, AllModelRules{}))
      return failed("seed " + std::to_string(seed) + " of several models differs when repeated");
    models.add(of_several.tally);
    digest = simulate::mixed(digest, of_several.digest);
  }
  const auto line = [](const char* what, std::uint64_t count) {
    return std::string(what) + ": " + std::to_string(count) + "\n";
  };
  const bool printed =
      print(line("seeds", o.seeds) + line("steps", tally.steps) + line("tokens delivered", tally.tokens) +
            line("requests finished", tally.finished) + line("arrivals refused", tally.refused) +
            line("preemptions", tally.preemptions) + line("prefix hits", tally.prefix_hits) +
            line("states loaded", tally.states_loaded) + line("clients too slow", tally.slow_clients) +
            line("prompts told", tally.told_prompts) + line("preempted while told", tally.told_preempted) +
            line("clients that stopped the telling", tally.told_blocked) +
            line("requests of removed tenants", tally.removed_busy) + line("steps of several models", models.steps) +
            line("tokens of theirs", models.tokens) + line("models evicted", models.evictions) +
            line("models that came back", models.reopenings) + line("models that could not", models.lost) +
            line("models that made room", models.drains) + line("digest", digest));
  return printed ? kOk : cannot_write("stdout");
}

}  // namespace program
