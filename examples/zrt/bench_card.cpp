// SPDX-License-Identifier: Apache-2.0
// examples/zrt/bench_card.cpp: what a step costs a card: counted on a modelled one, timed on the machine's own.
#include "bench_rows.hpp"
#include "card.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "traffic.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
using CardEngine = zrt::Engine<zrt::emulator::Pm4Backend>;

/// A card that is sold, with the memory bandwidth of its data sheet.
struct NamedCard {
  std::string_view target;
  std::string_view name;
  double gbs;
};
constexpr std::array kCards{
    NamedCard{"gfx1201", "Radeon RX 9070 XT", 640.0},  NamedCard{"gfx1201", "Radeon AI PRO R9700", 640.0},
    NamedCard{"gfx1200", "Radeon RX 9060 XT", 320.0},  NamedCard{"gfx1151", "Radeon 8060S", 256.0},
    NamedCard{"gfx1100", "Radeon RX 7900 XTX", 960.0}, NamedCard{"gfx1100", "Radeon PRO W7900", 864.0},
};

struct OpWork {
  std::uint64_t launches = 0;
  std::uint64_t bytes = 0;
  std::uint64_t wave_instructions = 0;
};

std::string op_name(const zrt::device::RecordedLaunch& launch) {
  const zrt::OpRow* row = op_table()[number(launch.opcode)];
  return std::string(row == nullptr ? "?" : row->name);
}

/// What the grids of `steps` decode steps did, by op; they ran in the order in which they were recorded.
std::map<std::string, OpWork> work_by_op(const std::vector<engines::GridWork>& grids,
                                         std::span<const zrt::device::RecordedLaunch> launches) {
  std::map<std::string, OpWork> work;
  // A grid of no workgroups is not run.
  for (std::size_t i = 0; i < grids.size() && !launches.empty(); ++i) {
    OpWork& one = work[op_name(launches[i % launches.size()])];
    ++one.launches;
    one.bytes += grids[i].bytes;
    one.wave_instructions += grids[i].wave_instructions;
  }
  return work;
}

/// Reads `depth` tokens, then generates `steps`; what the card did for the latter stays in `card`.
zrt::Result<void> run_decode(CardEngine& engine, engines::ModelledCard& card, std::uint32_t depth,
                             std::uint32_t steps) {
  const std::vector<std::int32_t> prompt(std::max(depth, 1u), 1);
  const auto choose = [&](std::uint32_t position, std::span<const float>) -> std::int32_t {
    if (position + 1 == prompt.size()) card.forget();
    return 1;
  };
  return engine.evaluate_steps(prompt, steps, choose);
}

std::string counted_text(const Json& r) {
  const auto count = [](const Json& value) { return std::to_string(static_cast<std::uint64_t>(value.get<double>())); };
  std::string out = "decode on a modelled " + r["target"].get<std::string>() + " by " + r["tier"].get<std::string>() +
                    ", depth " + r["depth"].dump() + ", " + r["tokens"].dump() +
                    " tokens\n  per token: " + count(r["launches_per_token"]) + " launches, " +
                    count(r["doorbells_per_token"]) + " doorbell, " + count(r["system_calls_per_token"]) +
                    " system calls, " + bytes_text(static_cast<std::uint64_t>(r["bytes_per_token"].get<double>())) +
                    " moved, " + count(r["wave_instructions_per_token"]) + " wave instructions\n";
  for (const Json& op : r["ops"]) {
    std::array<char, 128> line{};
    std::snprintf(line.data(), line.size(), "  %-30s %5.1f launches  %5.1f %% of bytes  %5.1f %% of instructions\n",
                  op["op"].get<std::string>().c_str(), op["launches_per_token"].get<double>(),
                  100.0 * op["share_of_bytes"].get<double>(), 100.0 * op["share_of_instructions"].get<double>());
    out += line.data();
  }
  out +=
      "estimates: every byte that waves load, caches or not, over the bandwidth of the data sheet, launches for "
      "nothing; nothing was measured on a card:\n";
  for (const Json& card : r["estimates"])
    out += "  " + card["card"].get<std::string>() + " (" + card["gbs"].dump() +
           " GB/s): " + count(card["tokens_per_second"]) + " tokens/s\n";
  return out;
}

/// A decode step on a modelled card, which is as slow as its interpreter: what it does is counted, not timed.
zrt::Result<Json> counted(CardEngine& engine, engines::ModelledCard& card, const BenchOptions& o, std::uint32_t steps) {
  const auto& model = card.model();
  const std::uint64_t calls = model.calls();
  if (auto r = run_decode(engine, card, o.depth, steps); !r) return zrt::pass(r);
  const auto work = work_by_op(card.grids(), engine.executor().decode_plan().program().launches());
  OpWork all;
  for (const auto& [name, one] : work) {
    all.launches += one.launches;
    all.bytes += one.bytes;
    all.wave_instructions += one.wave_instructions;
  }
  const auto each = [&](std::uint64_t count) { return static_cast<double>(count) / steps; };
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  Json out{{"depth", o.depth},
           {"tokens", steps},
           {"launches_per_token", each(all.launches)},
           {"doorbells_per_token", each(model.queues().doorbells_rung() - card.doorbells_before())},
           {"system_calls_per_token", each(model.calls() - calls)},
           {"bytes_per_token", each(all.bytes)},
           {"wave_instructions_per_token", each(all.wave_instructions)},
           {"ops", Json::array()},
           {"estimates", Json::array()}};
  std::vector<std::pair<std::string, OpWork>> sorted(work.begin(), work.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  for (const auto& [name, one] : sorted)
    out["ops"].push_back({{"op", name},
                          {"launches_per_token", each(one.launches)},
                          {"bytes_per_token", each(one.bytes)},
                          {"share_of_bytes", share(one.bytes, all.bytes)},
                          {"share_of_instructions", share(one.wave_instructions, all.wave_instructions)}});
  for (const NamedCard& named : kCards)
    if (named.target == engine.device().target().name)
      out["estimates"].push_back({{"card", std::string(named.name)},
                                  {"gbs", named.gbs},
                                  {"is", "an estimate: every byte that waves load, caches or not, over bandwidth"},
                                  {"tokens_per_second", named.gbs * 1e9 / std::max(each(all.bytes), 1.0)}});
  return out;
}

/// The launches that a decode step has recorded; what the device model alone sees is absent.
Json recorded(const CardEngine& engine) {
  const auto launches = engine.executor().decode_plan().program().launches();
  std::map<std::string, std::uint64_t> by_op;
  for (const zrt::device::RecordedLaunch& launch : launches) ++by_op[op_name(launch)];
  Json out{{"launches_per_token", launches.size()},
           {"ops", Json::array()},
           {"not_counted", {"doorbells", "system calls", "bytes moved", "wave instructions"}},
           {"rows", Json::array()}};
  for (const auto& [name, count] : by_op) out["ops"].push_back({{"op", name}, {"launches_per_token", count}});
  return out;
}

/// One row on the machine's own card. The card's memory rate is not known here: what was read is what had to be.
zrt::Result<Json> timed_row(const std::shared_ptr<CardSystem>& system, const BenchOptions& o, bool prefill,
                            std::uint32_t batch) {
  zrt::EngineOptions options;
  options.slots = batch;
  options.context = std::max(o.prompt_tokens, std::max(o.depth, 1u) + o.generated_tokens) + 1;
  options.kv_type = kv_type(o.kv);
  auto model = open_on(system, o.model.card, o.model.path, options);
  if (!model) return zrt::pass(model);
  const BenchLoad load{batch, prefill ? o.prompt_tokens : o.generated_tokens, prefill ? 0 : o.depth, o.repetitions};
  const auto timed = prefill ? time_prefill(**model, load) : time_decode(**model, load);
  if (!timed) return zrt::pass(timed);
  const double step = timed->total() / static_cast<double>(timed->seconds.size());
  const double bytes = traffic(**model, {timed->tokens_per_step, timed->rows, timed->visible, timed->cached}).bytes();
  return Json{{"test", prefill ? "prefill" : "decode"},
              {"batch", batch},
              {"tokens", load.tokens},
              {"depth", load.depth},
              {"tokens_per_second", timed->tokens_per_step / step},
              {"steps", timed->seconds.size()},
              {"step_ms",
               {{"p50", timed->percentile(0.50) * 1e3},
                {"p95", timed->percentile(0.95) * 1e3},
                {"p99", timed->percentile(0.99) * 1e3}}},
              {"bytes_needed_per_token", bytes / timed->tokens_per_step},
              {"needed_gbs", bytes / step / 1e9}};
}

std::string recorded_text(const Json& r) {
  std::string out = "decode on the machine's " + r["target"].get<std::string>() + " by " +
                    r["tier"].get<std::string>() + "\n  per token: " + r["launches_per_token"].dump() + " launches\n";
  std::array<char, 160> line{};
  for (const Json& op : r["ops"]) {
    std::snprintf(line.data(), line.size(), "  %-30s %5u launches\n", op["op"].get<std::string>().c_str(),
                  op["launches_per_token"].get<unsigned>());
    out += line.data();
  }
  out += "  not counted here, but by the device model (--device emulated-" + r["target"].get<std::string>() + "):";
  for (const Json& what : r["not_counted"])
    out += (&what == &r["not_counted"].front() ? " " : ", ") + what.get<std::string>();
  out += "\nmeasured on this machine:\n";
  for (const Json& row : r["rows"]) {
    const Json& ms = row["step_ms"];
    std::snprintf(line.data(), line.size(),
                  "  %-7s batch %-3u %5u tokens, depth %u: %9.1f tokens/s, step p50 %.3f p95 %.3f p99 %.3f ms, %.1f "
                  "GB/s needed\n",
                  row["test"].get<std::string>().c_str(), row["batch"].get<unsigned>(), row["tokens"].get<unsigned>(),
                  row["depth"].get<unsigned>(), row["tokens_per_second"].get<double>(), ms["p50"].get<double>(),
                  ms["p95"].get<double>(), ms["p99"].get<double>(), row["needed_gbs"].get<double>());
    out += line.data();
  }
  return out;
}

}  // namespace

int bench_card(const BenchOptions& o) {
  auto made = CardSystem::make(o.model.card, kModelledBytes, o.model.threads);
  if (!made) return failed(made.error());
  // All rows share it: a process keeps the address space of the card that it opened first.
  const std::shared_ptr<CardSystem> system = std::move(*made);
  engines::ModelledCard* const modelled = system->modelled();
  if (modelled != nullptr && o.rows_asked)
    return usage(
        "-p, -b and -r are of rows that are timed; on a modelled card a decode step is counted, for -n and -d");
  const std::uint32_t steps = std::clamp(o.generated_tokens, 1u, 4u);
  Json out;
  {
    zrt::EngineOptions options;
    options.context = std::max(o.depth, 1u) + steps + 1;
    options.kv_type = kv_type(o.kv);
    auto engine = CardEngine::open(o.model.path, options, card_options(*system, o.model.card));
    if (!engine) return failed(explained(engine.error(), *system));
    auto work = modelled != nullptr ? counted(*engine, *modelled, o, steps) : recorded(*engine);
    if (!work) return failed(work.error());
    out = {{"target", std::string(engine->device().target().name)},
           {"modelled", modelled != nullptr},
           {"tier", std::string(zrt::pm4::name(engine->device().transport().device().tier()))}};
    out.update(*work);
  }
  if (modelled == nullptr)
    for (const bool prefill : {true, false}) {
      if ((prefill ? o.prompt_tokens : o.generated_tokens) == 0) continue;
      for (const std::uint32_t batch : o.batches) {
        auto row = timed_row(system, o, prefill, batch);
        if (!row) return failed(row.error());
        out["rows"].push_back(std::move(*row));
      }
    }
  const std::string text = o.json ? out.dump(2) + "\n" : modelled != nullptr ? counted_text(out) : recorded_text(out);
  return print(text) ? kOk : cannot_write("stdout");
}

}  // namespace program
