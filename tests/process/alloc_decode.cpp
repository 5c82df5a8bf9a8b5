// SPDX-License-Identifier: Apache-2.0
// tests/process/alloc_decode.cpp: decode steps after warm-up allocate nothing and make no system call.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <data/models/tiny_models.hpp>
#include <dlfcn.h>
#include <map>
#include <new>
#include <sched.h>
#include <string>
#include <support/engines.hpp>
#include <support/memory_call.hpp>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>

// --- every way to memory, counted for the whole process -------------------------------------------

namespace {
std::atomic<bool> watching{false};
std::atomic<std::uint64_t> calls{0};
std::atomic<bool> clock_stands{false};
timespec standing_time{};

/// How often each thread has looked at the standing clock. A thread takes its place at its first look.
std::atomic<unsigned> looks[16];
std::atomic<unsigned> lookers{0};

using Clock = int (*)(clockid_t, timespec*);
Clock library_clock = reinterpret_cast<Clock>(dlsym(RTLD_NEXT, "clock_gettime"));

void note(MemoryCall) noexcept {
  if (watching.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#include "memory_hooks.hpp"

extern "C" {
// Workers count the time since the last step by this clock; while it stands still they spin. The C library's own
// makes no system call.
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock_stands.load(std::memory_order_relaxed)) {
    thread_local const unsigned place = lookers.fetch_add(1, std::memory_order_relaxed);
    looks[place % std::size(looks)].fetch_add(1, std::memory_order_relaxed);
    *time = standing_time;
    return 0;
  }
  if (library_clock != nullptr) return library_clock(clock, time);
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}
}

namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

constexpr int kSteps = 100;

struct Case {
  const char* name;
  DType weights = DType::f32;
  std::uint32_t slots = 1;
  std::uint32_t threads = 1;
  bool text = false;
  bool sampled = false;
  bool watched = false;  ///< by a timeline that is full before the run ends
  std::string_view family = "llama";
  bool tenants = false;  ///< one for each slot, and prefixes are kept
};

constexpr Case kCases[] = {
    {.name = "greedy", .weights = DType::f32},
    {.name = "text", .weights = DType::q8_0, .text = true, .sampled = true},
    {.name = "batch", .weights = DType::q8_0, .slots = 4, .text = true, .sampled = true},
    {.name = "two workers", .weights = DType::f32, .slots = 2, .threads = 2, .text = true, .sampled = true},
    {.name = "watched", .weights = DType::f32, .slots = 2, .threads = 2, .text = true, .watched = true},
    {.name = "more workers than cores", .weights = DType::f32, .slots = 2, .threads = 5, .text = true},
    {.name = "scans", .weights = DType::q8_0, .slots = 3, .threads = 2, .family = "granitehybrid"},
    {.name = "scans by channel", .slots = 2, .family = "mamba"},
    {.name = "short convolutions", .slots = 2, .family = "lfm2"},
    {.name = "delta rule", .slots = 2, .family = "qwen35"},
    {.name = "tenants", .slots = 3, .threads = 2, .tenants = true}};

/// An engine whose slots all decode.
struct Decoding {
  explicit Decoding(const Case& c) {
    file = test::tiny_model({.family = c.family, .weights = c.weights, .text = c.text, .context = 4096});
    const EngineOptions options{
        .slots = c.slots, .context = 4096, .chunk = 32, .prefix_cache = c.tenants, .threads = c.threads};
    engine = c.watched ? test::open_watched_engine(On::cpu, file.bytes(), options, timeline)
                       : test::open_engine(On::cpu, file.bytes(), options);
    if (!engine) return;
    for (std::uint32_t slot = 0; slot < c.slots; ++slot) {
      Request request;
      const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 5 + slot, slot);
      request.tokens = prompt;
      request.max_tokens = 4000;
      request.ignore_eos = true;
      request.log_probabilities = 4;
      const std::string_view stops[] = {"this is never said, and it is long"};
      if (c.text) request.stop_strings = stops;
      const TokenBias bias{7, 0.5f};
      if (c.sampled) {
        request.sampling = {.temperature = 0.9f,
                            .top_k = 20,
                            .top_p = 0.9f,
                            .min_p = 0.01f,
                            .repetition_penalty = 1.1f,
                            .frequency_penalty = 0.1f,
                            .presence_penalty = 0.1f,
                            .seed = slot,
                            .bias = {&bias, 1}};
      }
      if (c.tenants) {
        const auto tenant = (*engine)->create_tenant({.decode_tokens_per_s = 1'000'000});
        if (!tenant) return;
        request.tenant = *tenant;
      }
      if (!(*engine)->submit(request)) return;
    }
    ok = run(150) && tokens == std::uint64_t{150} * c.slots;  // the first step reads all prompts
  }
  bool run(int steps) {
    for (int i = 0; i < steps; ++i)
      if (!(*engine)->step(listener)) return false;
    return true;
  }
  std::uint64_t tokens = 0;
  std::uint64_t characters = 0;
  test::OnRequestToken listener = [this](RequestId, const Token& token) {
    tokens += token.id != kNoToken ? 1 : 0;
    characters += token.text.size();
    return true;
  };
  test::ModelFile file;
  trace::Timeline timeline{{.bytes = 100 << 10}};
  test::AnyEngine engine = fail(Errc::not_found, "");
  bool ok = false;
};

TEST(AllocDecode, TheHooksSeeEveryWayToMemory) {
  const auto count = [](auto work) {
    calls = 0;
    watching = true;
    work();
    watching = false;
    return calls.load();
  };
  void* volatile memory = nullptr;  // or the compiler leaves the pairs out
  EXPECT_EQ(count([&] {
              memory = std::malloc(10);
              std::free(memory);
            }),
            2u);
  EXPECT_EQ(count([&] {
              memory = std::calloc(2, 10);
              memory = std::realloc(memory, 30);
              std::free(memory);
            }),
            3u);
  EXPECT_EQ(count([&] {
              memory = std::aligned_alloc(64, 64);
              std::free(memory);
            }),
            2u);
  EXPECT_EQ(count([&] {
              memory = ::operator new(10);
              ::operator delete(memory);
            }),
            2u);
  EXPECT_EQ(count([&] {
              memory = ::operator new(64, std::align_val_t{64});
              ::operator delete(memory, std::align_val_t{64});
            }),
            2u);
  EXPECT_EQ(count([&] {
              memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              (void)munmap(memory, 4096);
            }),
            2u);
}

TEST(AllocDecode, ADecodeStepAllocatesNothing) {
  for (const Case& c : kCases) {
    Decoding decoding(c);
    ASSERT_TRUE(decoding.ok) << c.name;
    const std::uint64_t before = decoding.tokens;
    decoding.timeline.clear();
    calls = 0;
    watching = true;
    const bool ok = decoding.run(kSteps);
    watching = false;
    EXPECT_TRUE(ok);
    EXPECT_EQ(decoding.tokens - before, static_cast<std::uint64_t>(kSteps) * c.slots);
    EXPECT_EQ(calls.load(), 0u) << c.name;
    if (c.watched) {
      EXPECT_GT(decoding.timeline.steps().size(), 0u) << "some steps of the run are kept";
      EXPECT_GT(decoding.timeline.dropped().steps, 0u) << "and some are not";
      EXPECT_EQ(decoding.timeline.steps().size() + decoding.timeline.dropped().steps, std::uint64_t{kSteps});
    }
    std::printf("%-23s %d steps, %llu calls for memory\n", c.name, kSteps,
                static_cast<unsigned long long>(calls.load()));
  }
}

// --- system calls, counted from outside -------------------------------------------------------------

constexpr long kBegin = 0x5a52540;  ///< no system calls: they fail and are seen by the tracer
constexpr long kEnd = 0x5a52541;
constexpr int kWindows = 3;
constexpr int kWakes = 50;

/// What was called between two markers.
struct Window {
  std::map<std::uint64_t, int> calls;        ///< by number
  std::map<std::uint64_t, int> of_the_host;  ///< those of them that the thread made that calls the engine
};

/// Cores that this process may use.
unsigned cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1u;
}

/// Runs steps until `workers` threads spin for good; false if they do not within ten seconds.
///
/// A thread that counts from a time before the clock stood may still fall asleep, however late the system runs it. One
/// that looks twice at the standing clock without a step in between counts from there, and never sleeps again.
bool settle(Decoding& decoding, unsigned workers) {
  for (int i = 0; i < 1000; ++i) {
    if (!decoding.run(1)) return false;
    std::array<unsigned, std::size(looks)> before;
    std::ranges::copy(looks, before.begin());
    (void)usleep(10'000);
    unsigned settled = 0;
    for (std::size_t k = 0; k < before.size(); ++k)
      if (looks[k] >= before[k] + 2) ++settled;
    if (settled == workers) return true;
  }
  return false;
}

[[noreturn]] void decode_between_markers(const Case& c) {
  (void)ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  (void)raise(SIGSTOP);
  Decoding decoding(c);
  (void)clock_gettime(CLOCK_MONOTONIC, &standing_time);
  clock_stands = true;
  bool ok = decoding.ok && settle(decoding, std::min(c.threads, cores()) - 1);
  for (int i = 0; i < kWindows && ok; ++i) {
    ok = decoding.run(20);
    (void)syscall(kBegin);
    ok = ok && decoding.run(kSteps);
    (void)syscall(kEnd);
  }
  _exit(ok ? 0 : 1);
}

/// A step in each window, and before it a pause in which every other worker falls asleep.
[[noreturn]] void wake_between_markers(const Case& c) {
  (void)ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  (void)raise(SIGSTOP);
  Decoding decoding(c);
  bool ok = decoding.ok;
  for (int i = 0; i < kWakes && ok; ++i) {
    (void)usleep(10'000);
    (void)syscall(kBegin);
    ok = decoding.run(1);
    (void)syscall(kEnd);
  }
  _exit(ok ? 0 : 1);
}

/// Follows the child to its end; false when tracing is not allowed here.
bool trace(pid_t child, std::vector<Window>& windows, int& status) {
  // Without tracing the child has stopped for nobody: WUNTRACED sees that too.
  if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) return false;
  if (ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) != 0)
    return false;
  if (ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) return false;
  bool inside = false;
  for (;;) {
    const pid_t who = waitpid(-1, &status, __WALL);
    if (who < 0) return false;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (who == child) return true;
      continue;
    }
    long signal = 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info info{};
      if (ptrace(PTRACE_GET_SYSCALL_INFO, who, sizeof info, &info) <= 0) return false;
      if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        if (info.entry.nr == static_cast<std::uint64_t>(kBegin)) {
          inside = true;
          windows.emplace_back();
        } else if (info.entry.nr == static_cast<std::uint64_t>(kEnd)) {
          inside = false;
        } else if (inside) {
          ++windows.back().calls[info.entry.nr];
          if (who == child) ++windows.back().of_the_host[info.entry.nr];
        }
      }
    } else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) {
      signal = WSTOPSIG(status);
    }
    (void)ptrace(PTRACE_SYSCALL, who, nullptr, signal);
  }
}

/// However many workers there are: a worker waits by pauses. Where something else runs on the cores too, as it may here,
/// a worker that has waited beyond SpinWait's bound yields; there is no other call, and a single worker makes none.
TEST(AllocDecode, ADecodeStepMakesNoSystemCall) {
  for (const Case& c : kCases) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) decode_between_markers(c);
    std::vector<Window> seen;
    int status = 0;
    if (!trace(child, seen, status)) {
      (void)kill(child, SIGKILL);
      (void)waitpid(child, &status, 0);
      std::fprintf(stderr, "SKIPPED: this machine does not let a process trace its child\n");
      GTEST_SKIP();
    }
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << c.name << ", status " << status;
    EXPECT_EQ(seen.size(), std::size_t{kWindows});
    int yields = 0;
    for (const Window& window : seen)
      for (const auto& [number, count] : window.calls) {
        if (number == SYS_sched_yield && c.threads > 1)
          yields += count;
        else
          ADD_FAILURE() << c.name << ": system call " << number << ", " << count << " times";
      }
    std::printf("%-23s %d windows of %d steps: no system call, but %d times a yield\n", c.name, kWindows, kSteps,
                yields);
  }
}

/// The step that finds its workers asleep wakes them all by one call. What a woken worker calls is its own.
TEST(AllocDecode, AStepAfterAPauseMakesOneCallToWakeItsWorkers) {
  if (cores() < 2) GTEST_SKIP() << "NOT TESTED: a pool has no threads on one core";
  const Case c{.name = "wake", .slots = 2, .threads = 2};
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) wake_between_markers(c);
  std::vector<Window> seen;
  int status = 0;
  if (!trace(child, seen, status)) {
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
    std::fprintf(stderr, "SKIPPED: this machine does not let a process trace its child\n");
    GTEST_SKIP();
  }
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  ASSERT_EQ(seen.size(), std::size_t{kWakes});
  int wakes = 0, most = 0;
  for (const Window& window : seen) {
    for (const auto& [number, count] : window.of_the_host) {
      if (number == SYS_sched_yield) continue;
      EXPECT_EQ(number, std::uint64_t{SYS_futex}) << count << " times";
      EXPECT_LE(count, 1);
      wakes += count;
      most = std::max(most, count);
    }
    for (const auto& [number, count] : window.calls)
      EXPECT_TRUE(number == std::uint64_t{SYS_futex} || number == std::uint64_t{SYS_sched_yield}) << count << " times";
  }
  EXPECT_GT(wakes, kWakes / 2) << "the workers did not sleep";
  std::printf("%-23s %d steps: %d calls of the host, at most %d in one\n", c.name, kWakes, wakes, most);
}

}  // namespace
