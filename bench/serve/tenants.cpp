// SPDX-License-Identifier: Apache-2.0
// bench/serve/tenants.cpp: what many tenants cost, and what one of them feels of the others.
//
// usage: zrt_bench_tenants [MODEL.gguf] [THREADS] [TURNS] [PART...]
//
// With one thread, all but gaps are in the processor's time, so that other programs on the machine matter little.
// TURNS is how much of each part runs, 20 for a small model. Parts are scheduler, flood, gaps, throughput, alone, prompts
// and turns; all without a name.
#include <zrt/compiled/cpu.hpp>
#include <zrt/serve/scheduler.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <time.h>
#include <vector>

namespace {

using Engine = zrt::Engine<zrt::CpuBackend>;

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
/// Of the calling thread, which an engine with one worker does all its work in: what other programs take is not in it.
double work_us() {
  timespec t{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}
double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

/// The host's choices of a run, and ends of the process where one fails.
struct Bench {
  std::string model;
  std::uint32_t threads = 1;
  std::uint32_t turns = 20;

  [[nodiscard]] double time_us() const { return threads == 1 ? work_us() : now_us(); }
  template <class R> static auto need(R result) {
    if (result) return std::move(*result);
    std::fprintf(stderr, "%s\n", std::string(result.error().text()).c_str());
    std::exit(1);
  }
  [[nodiscard]] Engine open(std::uint32_t slots, bool prefixes, std::uint32_t context = 256) const {
    return need(
        Engine::open(model, {.slots = slots, .context = context, .prefix_cache = prefixes, .threads = threads}));
  }
};

zrt::Request request(const std::vector<std::int32_t>& prompt, std::uint32_t tokens, zrt::TenantId tenant = {}) {
  zrt::Request r;
  r.tokens = prompt;
  r.max_tokens = tokens;
  r.ignore_eos = true;
  r.tenant = tenant;
  return r;
}
std::vector<std::int32_t> prompt_of(std::size_t size, std::uint32_t seed) {
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < size; ++i)
    tokens.push_back(static_cast<std::int32_t>(3 + (i * 7 + seed * 31 + i / 5 * seed) % 250));
  return tokens;
}

/// Requests of the batch tenants.
struct Job {
  const char* name;
  std::size_t prompt;
  std::uint32_t answer;
};

/// Gaps between an interactive tenant's tokens while batch tenants fill all other slots. A target of 1 ns asks for gaps
/// as even as there may be; 0 for none.
void gaps(const Bench& bench, const Job& work, std::uint64_t step_latency_ns) {
  Engine engine = bench.open(4, false);
  const zrt::TenantId chat = Bench::need(engine.create_tenant({.service = zrt::ServiceClass::interactive}));
  std::vector<zrt::TenantId> jobs;
  for (int i = 0; i < 3; ++i)
    jobs.push_back(
        Bench::need(engine.create_tenant({.decode_tokens_per_s = 1'000'000, .service = zrt::ServiceClass::batch})));
  const auto computed = [&] {
    std::uint64_t tokens = 0;
    for (const zrt::TenantId job : jobs) tokens += Bench::need(engine.usage(job)).computed_tokens;
    return static_cast<double>(tokens);
  };
  std::vector<double> found, worked;
  std::uint32_t seed = 0;
  const double begin = now_us();
  for (std::uint32_t turn = 0; turn < bench.turns; ++turn) {
    const auto prompt = prompt_of(20, 5);
    zrt::Request r = request(prompt, 100, chat);
    r.step_latency_ns = step_latency_ns;
    const zrt::RequestId mine = Bench::need(engine.submit(r));
    double last = 0, last_work = 0;
    bool over = false;
    while (!over) {
      // Every job has two requests that wait.
      for (const zrt::TenantId job : jobs)
        if (const auto used = Bench::need(engine.usage(job));
            used.requests_accepted - used.requests_finished - used.requests_ended_early < 3)
          (void)Bench::need(engine.submit(request(prompt_of(work.prompt, ++seed), work.answer, job)));
      (void)Bench::need(engine.step([&](zrt::RequestId id, const zrt::Token& token) {
        if (id != mine) return true;
        const double t = now_us(), w = work_us();
        if (last != 0) found.push_back(t - last), worked.push_back(w - last_work);
        last = t;
        last_work = w;
        over = token.finish != zrt::FinishReason::none;
        return true;
      }));
    }
  }
  const double half = quantile(found, 0.5), most = quantile(found, 0.99);
  std::printf(
      "interactive gap between tokens beside batch %s, target %llu ns: p50 %.0f us, p99 %.0f us, %.2f times and %.1f "
      "ms more; batch %.0f tokens/s\n",
      work.name, static_cast<unsigned long long>(step_latency_ns), half, most, most / half, (most - half) / 1000,
      computed() / (now_us() - begin) * 1e6);
  if (bench.threads == 1)
    std::printf("  the same gaps in the processor's time: p50 %.0f us, p99 %.0f us, %.2f times\n",
                quantile(worked, 0.5), quantile(worked, 0.99), quantile(worked, 0.99) / quantile(worked, 0.5));
}

/// Tokens per second of requests of three tenants, or of the host alone, first come first served. No two prompts begin
/// alike.
double throughput(const Bench& bench, bool tenants, bool prefixes) {
  Engine engine = bench.open(4, prefixes);
  std::vector<zrt::TenantId> who(3);
  if (tenants)
    for (zrt::TenantId& t : who) t = Bench::need(engine.create_tenant({.decode_tokens_per_s = 1'000'000}));
  for (std::uint32_t i = 0; i < bench.turns * 9 / 2; ++i) {
    std::vector<std::int32_t> prompt = prompt_of(20 + i % 40, i);
    prompt[0] = static_cast<std::int32_t>(3 + i);
    (void)Bench::need(engine.submit(request(prompt, 40, who[i % 3])));
  }
  std::uint64_t tokens = 0, cached = 0;
  const double begin = bench.time_us();
  for (std::size_t left = 1; left != 0;)
    left = Bench::need(engine.step([&](zrt::RequestId, const zrt::Token& token) {
      cached += token.cached_tokens;
      return ++tokens != 0;
    }));
  if (cached != 0) std::printf("a prompt was found in the prefix cache\n");
  return static_cast<double>(tokens) / (bench.time_us() - begin) * 1e6;
}
/// Runs two ways in turns and prints the second one's speed by the first one's.
template <class F> void compare(std::uint32_t pairs, const char* what, F speed) {
  std::vector<double> parts;
  double one = 0, other = 0;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const bool swapped = i % 2 != 0;
    if (swapped) other = speed(true);
    one = speed(false);
    if (!swapped) other = speed(true);
    parts.push_back(other / one);
  }
  std::printf("%s: %.1f and %.1f tokens/s, of %zu pairs the median %.1f %%, the quarters %.1f and %.1f %%\n", what,
              other, one, parts.size(), 100 * quantile(parts, 0.5), 100 * quantile(parts, 0.25),
              100 * quantile(parts, 0.75));
}
void throughputs(const Bench& bench) {
  const std::uint32_t pairs = bench.turns < 8 ? 5 : 15;
  compare(pairs, "throughput with tenants against first come first served",
          [&](bool tenants) { return throughput(bench, tenants, false); });
  compare(pairs, "throughput with a prefix cache that is never hit against without one",
          [&](bool prefixes) { return throughput(bench, false, prefixes); });
}

/// Tokens per second of one request that decodes, of the host where there is no tenant, or of a tenant.
void alone(const Bench& bench) {
  Engine plain = bench.open(1, false);
  Engine shared = bench.open(1, false);
  const zrt::TenantId tenant =
      Bench::need(shared.create_tenant({.decode_tokens_per_s = 1'000'000, .service = zrt::ServiceClass::interactive}));
  const auto prompt = prompt_of(16, 3);
  compare(bench.turns < 8 ? 9 : 61, "one request of a tenant against one of an engine without tenants",
          [&](bool of_tenant) {
            double first = 0, last = 0;
            const std::uint32_t tokens = bench.turns * 11;
            (void)Bench::need(
                (of_tenant ? shared : plain)
                    .generate(request(prompt, tokens, of_tenant ? tenant : zrt::TenantId{}), [&](const zrt::Token&) {
                      last = bench.time_us();
                      if (first == 0) first = last;
                      return true;
                    }));
            return (tokens - 1) / (last - first) * 1e6;
          });
}

/// Tokens per second of long prompts of a batch tenant, while an interactive one is idle or is not there.
void prompts(const Bench& bench) {
  constexpr std::size_t size = 1500;
  Engine plain = bench.open(2, false, 2 * size);
  Engine shared = bench.open(2, false, 2 * size);
  const auto job = [](Engine& engine) {
    return Bench::need(engine.create_tenant(
        {.decode_tokens_per_s = 1'000'000, .prefill_tokens_per_s = 1'000'000, .service = zrt::ServiceClass::batch}));
  };
  const zrt::TenantId of_plain = job(plain), of_shared = job(shared);
  (void)Bench::need(shared.create_tenant({.service = zrt::ServiceClass::interactive}));
  compare(bench.turns < 8 ? 5 : 15, "long prompts beside an idle interactive tenant against none", [&](bool idle) {
    const double begin = bench.time_us();
    (void)Bench::need((idle ? shared : plain)
                          .generate(request(prompt_of(size, 9), 1, idle ? of_shared : of_plain),
                                    [](const zrt::Token&) { return true; }));
    return size / (bench.time_us() - begin) * 1e6;
  });
}

/// Time to the first token of a prompt that the engine knows, against one that it does not.
void second_turn(const Bench& bench) {
  constexpr std::size_t size = 4096;
  Engine engine = bench.open(1, true, size + 64);
  const auto first_token = [&](const std::vector<std::int32_t>& prompt) {
    const double begin = bench.time_us();
    (void)Bench::need(engine.generate(request(prompt, 1), [](const zrt::Token&) { return true; }));
    return bench.time_us() - begin;
  };
  std::vector<double> parts;
  double cold = 0;
  for (std::uint32_t i = 0; i < (bench.turns < 8 ? 1u : 7u); ++i) {
    std::vector<std::int32_t> prompt = prompt_of(size, 100 + i);
    cold = first_token(prompt);
    prompt.insert(prompt.end(), {5, 6, 7});
    parts.push_back(first_token(prompt) / cold);
  }
  std::printf("first token of a second turn behind %zu shared tokens: %.2f %% of the first one's, %.0f ms\n", size,
              100 * quantile(parts, 0.5), cold / 1000);
}

/// Time of the scheduler alone with slots that decode, and requests with prompts of up to `longest` tokens that come and
/// go. Their pages go to the prefix tree.
void scheduler(std::uint32_t slots, std::uint32_t longest) {
  zrt::serve::SchedulerLimits limits;
  limits.slots = slots;
  limits.context = longest + 64;
  limits.pages = slots * (limits.context / 16 + 1);
  limits.prefix_pages = 0;
  auto s = Bench::need(zrt::serve::Scheduler<>::make(limits, zrt::system_allocator()));
  std::vector<zrt::serve::Handle> tenants;
  for (int i = 0; i < 16; ++i) {
    zrt::serve::Arrival a;
    a.kind = zrt::serve::ArrivalKind::create_tenant;
    a.quota.max_slots = 8;
    a.quota.max_pages = limits.pages;
    a.quota.max_context = limits.context;
    a.quota.decode_tokens_per_s = a.quota.prefill_tokens_per_s = 100'000'000;
    // Else prompts are cut for tenants that may ask at any moment.
    a.quota.first_token_ns = a.quota.gap_ns = 0;
    tenants.push_back(s.ask(a).subject);
  }
  std::vector<std::vector<std::uint32_t>> tokens(2048, std::vector<std::uint32_t>(limits.context));
  std::vector<zrt::serve::Outcome> outcomes;
  std::vector<double> times;
  std::size_t next = 0;
  for (int step = 0; step < 20'000; ++step) {
    zrt::serve::Arrival a;
    a.subject = tenants[next % tenants.size()];
    a.tokens = tokens[next % tokens.size()].data();
    a.prompt = longest / 4 + static_cast<std::uint32_t>(next * 7919 % (longest * 3 / 4));
    for (std::uint32_t i = 0; i < a.prompt; ++i) a.tokens[i] = static_cast<std::uint32_t>(next * longest + i);
    a.most = 64;
    ++next;
    const double begin = work_us();
    const auto plan =
        s.step({{&a, 1}, {outcomes.data(), outcomes.size()}, static_cast<std::uint64_t>(step) * 1'000'000});
    times.push_back(work_us() - begin);
    outcomes.assign(plan.runs.size(), {});
  }
  times.erase(times.begin(), times.begin() + 1000);
  std::printf("scheduler, %u slots, prompts of up to %u tokens: p50 %.1f us, p99 %.1f us a step\n", slots, longest,
              quantile(times, 0.5), quantile(times, 0.99));
}

/// Time of a step that reads 256 requests and computes nothing, while `each` of every tenant's are left, and of the
/// cancellation of many.
void flood(const Bench& bench, std::size_t each) {
  Engine engine = bench.open(64, false);
  if (!engine.hold(true)) std::exit(1);
  std::vector<zrt::TenantId> tenants;
  for (int i = 0; i < 63; ++i) tenants.push_back(Bench::need(engine.create_tenant({})));
  std::vector<std::size_t> left(tenants.size());
  std::map<zrt::RequestId, std::size_t> whose;
  const auto prompt = prompt_of(20, 5);
  const auto fill = [&] {
    for (bool full = false; !full;) {
      full = true;
      for (std::size_t i = 0; i < tenants.size(); ++i) {
        if (left[i] >= each) continue;
        whose[Bench::need(engine.submit(request(prompt, 10, tenants[i])))] = i;
        ++left[i];
        full = false;
      }
    }
  };
  std::vector<zrt::RequestId> ended;
  const auto step_us = [&] {
    ended.clear();
    ended.reserve(whose.size());
    const double begin = work_us();
    (void)Bench::need(engine.step([&](zrt::RequestId id, const zrt::Token&) {
      ended.push_back(id);
      return true;
    }));
    const double took = work_us() - begin;
    for (const zrt::RequestId id : ended) {
      --left[whose[id]];
      whose.erase(id);
    }
    return took;
  };
  fill();
  const double first = step_us();
  std::vector<double> times;
  for (std::uint32_t i = 0; i < bench.turns * 5; ++i) {
    fill();
    times.push_back(step_us());
  }
  std::vector<zrt::RequestId> waiting;
  for (const auto& [id, tenant] : whose) waiting.push_back(id);
  const std::size_t cancels = waiting.size() < 20'000 ? waiting.size() : 20'000;
  const double begin = work_us();
  for (std::size_t i = 0; i < cancels; ++i) engine.cancel(waiting[waiting.size() - 1 - i]);
  const double noted = work_us() - begin, cancelled = step_us();
  std::printf(
      "a flood, %zu requests left: a step p50 %.0f us, p99 %.0f us, the first %.0f us; %zu cancellations %.1f ms, "
      "their step %.1f ms\n",
      waiting.size(), quantile(times, 0.5), quantile(times, 0.99), first, cancels, noted / 1e3, cancelled / 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, std::uint32_t by_default) {
    return argc > at ? static_cast<std::uint32_t>(std::strtoul(argv[at], nullptr, 10)) : by_default;
  };
  const Bench bench{argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf", number(2, 1), number(3, 20)};
  const auto runs = [&](std::string_view part) {
    return argc < 5 || std::any_of(argv + 4, argv + argc, [part](const char* name) { return part == name; });
  };
  if (runs("scheduler"))
    for (const std::uint32_t longest : {130u, 8000u})
      for (const std::uint32_t slots : {1u, 16u, 64u}) scheduler(slots, longest);
  if (runs("flood"))
    for (const std::size_t each : {30u, 330u, 1400u}) flood(bench, each);
  if (runs("gaps")) {
    const Job work{"prompts and answers", 60, 30};
    gaps(bench, {"answers alone", 1, 200}, 1);  // steps of equal size: what the machine itself adds
    gaps(bench, work, 0);
    gaps(bench, work, 1);
  }
  if (runs("throughput")) throughputs(bench);
  if (runs("alone")) alone(bench);
  if (runs("prompts")) prompts(bench);
  if (runs("turns")) second_turn(bench);
}
