// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate.cpp: the scheduler of tenants on a modelled machine, seed by seed.
#include "commands.hpp"
#include "output.hpp"
#include "simulate/simulation.hpp"

namespace program {
namespace {

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

}  // namespace

int simulate_tenants(const SimulateOptions& o) {
  simulate::Tally tally;
  std::uint64_t digest = 0;
  for (std::uint64_t seed = o.seed; seed - o.seed < o.seeds; ++seed) {
    const simulate::Script script = simulate::script_of(seed);
    const simulate::Verdict verdict = simulate::verdict_of(script, AllRules{});
    if (!verdict.broken.empty()) {
      if (!print(report(script, verdict))) return cannot_write("stdout");
      return failed("seed " + std::to_string(seed) + " breaks a promise");
    }
    tally.add(verdict.tally);
    digest = simulate::mixed(digest, verdict.digest);
  }
  const auto line = [](const char* what, std::uint64_t count) {
    return std::string(what) + ": " + std::to_string(count) + "\n";
  };
  const bool printed =
      print(line("seeds", o.seeds) + line("steps", tally.steps) + line("tokens delivered", tally.tokens) +
            line("requests finished", tally.finished) + line("arrivals refused", tally.refused) +
            line("preemptions", tally.preemptions) + line("prefix hits", tally.prefix_hits) +
            line("states loaded", tally.states_loaded) + line("clients too slow", tally.slow_clients) +
            line("requests of removed tenants", tally.removed_busy) + line("digest", digest));
  return printed ? kOk : cannot_write("stdout");
}

}  // namespace program
