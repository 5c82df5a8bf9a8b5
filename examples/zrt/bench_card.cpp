// SPDX-License-Identifier: Apache-2.0
// examples/zrt/bench_card.cpp: what a decode step costs a modelled card: launches, bytes and instructions by op.
#include "card.hpp"
#include "commands.hpp"
#include "output.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>

namespace program {
namespace {

using Json = nlohmann::ordered_json;
using CardEngine = zrt::Engine<zrt::Pm4Backend>;

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

/// What the grids of `steps` decode steps did, by op; they ran in the order in which they were recorded.
std::map<std::string, OpWork> work_by_op(const std::vector<engines::GridWork>& grids,
                                         std::span<const zrt::pm4::RecordedLaunch> launches) {
  std::map<std::string, OpWork> work;
  // A grid of no workgroups is not run.
  for (std::size_t i = 0; i < grids.size() && !launches.empty(); ++i) {
    const zrt::OpRow* row = op_table()[number(launches[i % launches.size()].opcode)];
    OpWork& one = work[std::string(row == nullptr ? "?" : row->name)];
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

std::string card_text(const Json& r) {
  const auto count = [](const Json& value) { return std::to_string(static_cast<std::uint64_t>(value.get<double>())); };
  std::string out = "decode on a modelled " + r["target"].get<std::string>() + ", depth " + r["depth"].dump() + ", " +
                    r["tokens"].dump() + " tokens\n  per token: " + count(r["launches_per_token"]) + " launches, " +
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
      "estimates, bytes over the bandwidth of the data sheet, launches for nothing; nothing was measured on a card:\n";
  for (const Json& card : r["estimates"])
    out += "  " + card["card"].get<std::string>() + " (" + card["gbs"].dump() + " GB/s): at most " +
           count(card["tokens_per_second_at_most"]) + " tokens/s\n";
  return out;
}

}  // namespace

int bench_card(const BenchOptions& o) {
  const auto target = modelled_target(o.model.device);
  if (!target) return failed(target.error());
  engines::ModelledCard card({.target = *target, .video_bytes = kModelledBytes});
  const std::uint32_t steps = std::clamp(o.generated_tokens, 1u, 4u);
  zrt::EngineOptions options;
  options.context = std::max(o.depth, 1u) + steps + 1;
  options.kv_type = kv_type(o.kv);
  auto engine = CardEngine::open(o.model.path, options, {.os = &card.os(), .kernels = engines::kernels()});
  if (!engine) return failed(engine.error());
  const auto& model = card.model();
  const std::uint64_t calls = model.calls();
  if (auto r = run_decode(*engine, card, o.depth, steps); !r) return failed(r.error());
  const auto work = work_by_op(card.grids(), engine->executor().decode_plan().program().launches());
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
  Json out{{"target", std::string((*target)->name)},
           {"depth", o.depth},
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
    if (named.target == (*target)->name)
      out["estimates"].push_back({{"card", std::string(named.name)},
                                  {"gbs", named.gbs},
                                  {"is", "an estimate: bytes over bandwidth"},
                                  {"tokens_per_second_at_most", named.gbs * 1e9 / std::max(each(all.bytes), 1.0)}});
  return print(o.json ? out.dump(2) + "\n" : card_text(out)) ? kOk : cannot_write("stdout");
}

}  // namespace program
