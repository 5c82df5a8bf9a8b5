// SPDX-License-Identifier: Apache-2.0
// examples/zrt/bench.cpp: speed of prefill and decode, beside what the machine can do around each row.
#include "bench_rows.hpp"
#include "commands.hpp"
#include "machine.hpp"
#include "output.hpp"
#include "overhead.hpp"
#include "traffic.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <string>

namespace program {
namespace {

using Json = nlohmann::ordered_json;

/// Starts the process's peak anew, so that the buffers of the measurements do not count.
void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

/// The largest resident size since then; 0 where the kernel does not say. getrusage would also count whatever the
/// process was before it became this program.
std::uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string field; status >> field; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::uint64_t kib = 0;
    if (field == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

MachineRates mean(const MachineRates& a, const MachineRates& b) {
  return {(a.memory_gbs + b.memory_gbs) / 2, (a.resident_gbs + b.resident_gbs) / 2, (a.int8_gops + b.int8_gops) / 2,
          (a.f32_gflops + b.f32_gflops) / 2, (a.bf16_gflops + b.bf16_gflops) / 2};
}

Json rates_json(const MachineRates& m) {
  return {{"memory_gbs", m.memory_gbs},
          {"resident_gbs", m.resident_gbs},
          {"int8_gops", m.int8_gops},
          {"f32_gflops", m.f32_gflops},
          {"bf16_gflops", m.bf16_gflops}};
}

/// A row: what ran, how fast, what it had to read and compute, and the share of the machine's rates.
Json row_json(Model& model, const BenchOptions& o, const char* what, const BenchLoad& load, const Timed& timed,
              const MachineRates& before, const MachineRates& after, std::uint64_t memory) {
  const MachineRates machine = mean(before, after);
  const StepCost need = traffic(model, {timed.tokens_per_step, timed.rows, timed.visible, timed.cached});
  const double step = timed.total() / static_cast<double>(timed.seconds.size());
  const double gbs = need.bytes() / step / 1e9;
  const double int8 = need.int8_ops / step / 1e9;
  const double f32 = need.f32_ops / step / 1e9;
  return {{"test", what},
          {"batch", load.batch},
          {"tokens", load.tokens},
          {"depth", load.depth},
          {"threads", o.model.threads},
          {"backend", model.backend()},
          {"isa", model.isa()},
          {"numerics", "canonical, activations rounded as the weight's type says"},
          {"kv", o.kv},
          {"tokens_per_second", timed.tokens_per_step / step},
          {"steps", timed.seconds.size()},
          {"step_ms",
           {{"p50", timed.percentile(0.50) * 1e3},
            {"p95", timed.percentile(0.95) * 1e3},
            {"p99", timed.percentile(0.99) * 1e3}}},
          {"bytes_per_token", need.bytes() / timed.tokens_per_step},
          {"kv_bytes_per_token", need.kv_bytes / timed.tokens_per_step},
          {"read_gbs", gbs},
          {"int8_gops", int8},
          {"f32_gflops", f32},
          {"share",
           {{"memory", gbs / machine.memory_gbs},
            {"resident", gbs / machine.resident_gbs},
            {"int8", int8 / machine.int8_gops},
            {"f32", f32 / machine.f32_gflops}}},
          {"machine_before", rates_json(before)},
          {"machine_after", rates_json(after)},
          {"peak_memory_bytes", memory}};
}

/// Runs one row with the machine measured right before and right after it; makes `machine` if there is none.
zrt::Result<Json> run_row(const BenchOptions& o, bool prefill, std::uint32_t batch, std::unique_ptr<Machine>& machine) {
  zrt::EngineOptions options;
  options.slots = batch;
  options.context = std::max(o.prompt_tokens, std::max(o.depth, 1u) + o.generated_tokens) + 1;
  options.kv_type = kv_type(o.kv);
  auto model = open_model(o.model, options);
  if (!model) return zrt::pass(model);
  if (!machine) {
    auto made = Machine::make(o.model.threads, (*model)->isa(), plan_weight_bytes(**model));
    if (!made) return zrt::pass(made);
    machine = std::make_unique<Machine>(std::move(*made));
  }
  const BenchLoad load{batch, prefill ? o.prompt_tokens : o.generated_tokens, prefill ? 0 : o.depth, o.repetitions};
  const auto before = machine->measure();
  if (!before) return zrt::pass(before);
  reset_peak_memory();
  const auto timed = prefill ? time_prefill(**model, load) : time_decode(**model, load);
  if (!timed) return zrt::pass(timed);
  const std::uint64_t memory = peak_memory();
  const auto after = machine->measure();
  if (!after) return zrt::pass(after);
  return row_json(**model, o, prefill ? "prefill" : "decode", load, *timed, *before, *after, memory);
}

void print_row(const Json& r) {
  const auto number = [](const Json& value) { return value.get<double>(); };
  std::printf("%-7s batch %-3u %5u tokens  %9.1f tokens/s   step p50 %.3f p95 %.3f p99 %.3f ms\n",
              r["test"].get<std::string>().c_str(), r["batch"].get<unsigned>(), r["tokens"].get<unsigned>(),
              number(r["tokens_per_second"]), number(r["step_ms"]["p50"]), number(r["step_ms"]["p95"]),
              number(r["step_ms"]["p99"]));
  std::printf("        %s %s, %s, kv %s, %u thread%s, depth %u; %s read per token, peak memory %s\n",
              r["backend"].get<std::string>().c_str(), r["isa"].get<std::string>().c_str(),
              r["numerics"].get<std::string>().c_str(), r["kv"].get<std::string>().c_str(),
              r["threads"].get<unsigned>(), r["threads"].get<unsigned>() == 1 ? "" : "s", r["depth"].get<unsigned>(),
              bytes_text(static_cast<std::uint64_t>(number(r["bytes_per_token"]))).c_str(),
              bytes_text(r["peak_memory_bytes"].get<std::uint64_t>()).c_str());
  const Json &a = r["machine_before"], &b = r["machine_after"], &s = r["share"];
  const auto line = [&](const char* what, const char* unit, const Json& reached, const char* rate, const char* share) {
    std::printf("        %-34s %8.1f %s of %.1f before and %.1f after: %.1f %%\n", what, number(reached), unit,
                number(a[rate]), number(b[rate]), 100.0 * number(s[share]));
  };
  line("reads, against main memory", "GB/s", r["read_gbs"], "memory_gbs", "memory");
  line("reads, against a buffer that size", "GB/s", r["read_gbs"], "resident_gbs", "resident");
  line("int8 arithmetic", "GOP/s", r["int8_gops"], "int8_gops", "int8");
  line("f32 arithmetic", "GFLOP/s", r["f32_gflops"], "f32_gflops", "f32");
  if (number(a["bf16_gflops"]) > 0.0)
    std::printf("        products of bf16 would reach %.1f GFLOP/s before and %.1f after\n", number(a["bf16_gflops"]),
                number(b["bf16_gflops"]));
}

Json machine_json(const Machine& machine) {
  return {{"processor", Machine::processor()},
          {"last_level_cache_bytes", machine.cache_bytes()},
          {"read_buffer_bytes", machine.buffer_bytes()}};
}

void print_head(const Json& m, const Json& overhead) {
  std::printf("%s, last-level cache %s; main memory is read over a buffer of %s\n",
              m["processor"].get<std::string>().c_str(),
              bytes_text(m["last_level_cache_bytes"].get<std::uint64_t>()).c_str(),
              bytes_text(m["read_buffer_bytes"].get<std::uint64_t>()).c_str());
  std::printf(
      "executor: %.1f ns per instruction with empty kernels (%.1f ns with %u thread%s and a fence each), budget 50 "
      "ns\n",
      overhead["ns_per_instruction"].get<double>(), overhead["ns_per_fenced_instruction"].get<double>(),
      overhead["threads"].get<unsigned>(), overhead["threads"].get<unsigned>() == 1 ? "" : "s");
}

Json overhead_json(std::uint32_t threads) {
  constexpr std::uint32_t kInstructions = 256;
  return {{"ns_per_instruction", replay_overhead(kInstructions, 1)},
          {"ns_per_fenced_instruction", replay_overhead(kInstructions, threads)},
          {"threads", threads},
          {"budget_ns", 50}};
}

}  // namespace

int bench(const BenchOptions& o) {
  // The host's memory and arithmetic say nothing of a card.
  if (o.model.backend == "pm4") return bench_card(o);
  std::unique_ptr<Machine> machine;
  const Json overhead = overhead_json(o.model.threads);
  Json rows = Json::array();
  for (const bool prefill : {true, false}) {
    if ((prefill ? o.prompt_tokens : o.generated_tokens) == 0) continue;
    for (const std::uint32_t batch : o.batches) {
      auto row = run_row(o, prefill, batch, machine);
      if (!row) return failed(row.error());
      if (!o.json && rows.empty()) print_head(machine_json(*machine), overhead);
      if (!o.json) print_row(*row);
      rows.push_back(std::move(*row));
    }
  }
  if (rows.empty()) return usage("nothing to measure: both -p and -n are 0");
  if (!o.json) return print("") ? kOk : cannot_write("stdout");
  const Json out{{"machine", machine_json(*machine)}, {"executor", overhead}, {"rows", std::move(rows)}};
  return print(out.dump(2) + "\n") ? kOk : cannot_write("stdout");
}

}  // namespace program
