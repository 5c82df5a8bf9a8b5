// SPDX-License-Identifier: Apache-2.0
// tests/process/alloc_failure.cpp: every allocation of opening, binding and generating may fail.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <data/models/tiny_models.hpp>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <pthread.h>
#include <string>
#include <support/engines.hpp>
#include <support/memory_call.hpp>
#include <unistd.h>
#include <vector>

// --- what the library asks of the C library behind the hook's back -----------------------------------

namespace {
std::atomic<bool> watching{false};
std::atomic<std::uint64_t> direct{0};
thread_local int in_hook = 0;  ///< inside the allocator hook or pthread_create, which may ask malloc

void note(MemoryCall call) noexcept {
  if (call == MemoryCall::allocate && watching.load(std::memory_order_relaxed) && in_hook == 0)
    direct.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

#include "memory_hooks.hpp"

extern "C" {
/// A thread's own memory is the C library's affair: its stack and its thread-local block.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  ++in_hook;
  const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  const int code = create(thread, attributes, start, argument);
  --in_hook;
  return code;
}
}

namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

/// Counts what lives and fails the allocation number `fail_at`.
struct Memory {
  std::uint64_t fail_at = ~std::uint64_t{0};
  std::uint64_t made = 0;
  std::size_t live = 0;

  Allocator hook() noexcept {
    return {this,
            [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto* self = static_cast<Memory*>(context);
              if (self->made++ == self->fail_at) return nullptr;
              self->live += bytes;
              ++in_hook;
              const Allocator system = system_allocator();
              void* memory = system.allocate(system.context, bytes, alignment);
              --in_hook;
              return memory;
            },
            [](void* context, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
              static_cast<Memory*>(context)->live -= bytes;
              const Allocator system = system_allocator();
              system.release(system.context, memory, bytes, alignment);
            }};
  }
};

enum class From { memory, path, reader };

class AllocTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    file = test::tiny_model({.weights = DType::q8_0, .text = true, .layers = 1});
    bytes = file.bytes();
    path = (std::filesystem::temp_directory_path() / ("zrt_alloc_" + std::to_string(getpid()) + ".gguf")).string();
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  static void TearDownTestSuite() { std::filesystem::remove(path); }

  static EngineOptions options(Memory& memory, std::uint32_t threads = 1) {
    EngineOptions o;
    o.slots = 2;
    o.context = 64;
    o.chunk = 16;
    o.logit_rows = 16;
    o.threads = threads;
    o.allocator = memory.hook();
    return o;
  }
  static test::AnyEngine open(From from, const EngineOptions& o) {
    if (from == From::memory) return test::open_engine(On::cpu, bytes, o);
    if (from == From::path) return test::open_engine(On::cpu, std::string_view(path), o);
    model::GgufReader reader;
    reader.size = [](void*) noexcept -> std::uint64_t { return bytes.size(); };
    reader.read = [](void*, std::uint64_t offset, std::size_t count, std::byte* to) noexcept {
      std::memcpy(to, bytes.data() + offset, count);
      return true;
    };
    return test::open_engine(On::cpu, reader, o);
  }
  static Request request() {
    static constexpr std::string_view stops[] = {"never said", "nor this"};
    static constexpr TokenBias bias[] = {{5, 0.5f}};
    Request r;
    r.prompt = "the king of abc";
    r.max_tokens = 12;
    r.ignore_eos = true;
    r.stop_strings = stops;
    r.log_probabilities = 3;
    r.sampling.temperature = 1.2f;
    r.sampling.repetition_penalty = 1.1f;
    r.sampling.seed = 4;
    r.sampling.bias = bias;
    return r;
  }
  /// What the model says, in a string that never grows.
  static Result<Completion> generate(HostEngine& engine, std::string& text) {
    text.clear();
    text.reserve(4096);
    return engine.generate(request(), [&](const Token& token) {
      text.append(token.text);
      return true;
    });
  }

  static inline test::ModelFile file;
  static inline std::span<const std::byte> bytes;
  static inline std::string path;
};

/// Workers of the default pool: two allocate for a thread and its pool, and everything else beside them.
constexpr std::uint32_t kThreads[] = {1, 2};

class AllocFailure : public AllocTest, public testing::WithParamInterface<From> {};

std::string label(From from) { return from == From::memory ? "memory" : from == From::path ? "path" : "reader"; }

TEST_P(AllocFailure, OpenBindAndGenerateSurviveEveryFailure) {
  for (const std::uint32_t threads : kThreads) {
    Memory memory;
    std::string expected;
    {
      const auto engine = open(GetParam(), options(memory, threads));
      ASSERT_TRUE(engine) << engine.error().text();
      ASSERT_TRUE(generate(**engine, expected));
      ASSERT_FALSE(expected.empty());
    }
    ASSERT_EQ(memory.live, 0u);
    const std::uint64_t all = memory.made;
    std::uint64_t in_open = 0, in_generate = 0, swallowed = 0;
    std::string text, again;
    for (std::uint64_t n = 0; n < all; ++n) {
      Memory failing;
      failing.fail_at = n;
      {
        const auto engine = open(GetParam(), options(failing, threads));
        if (!engine) {
          ASSERT_EQ(engine.error().code(), Errc::out_of_memory) << "allocation " << n << ": " << engine.error().text();
          ++in_open;
          ASSERT_EQ(failing.live, 0u) << "allocation " << n;
          continue;
        }
        const auto done = generate(**engine, text);
        if (!done) {
          ASSERT_EQ(done.error().code(), Errc::out_of_memory) << "allocation " << n << ": " << done.error().text();
          ++in_generate;
        } else {
          ASSERT_EQ(text, expected) << "allocation " << n;
          ++swallowed;
        }
        failing.fail_at = ~std::uint64_t{0};
        const auto retry = generate(**engine, again);
        ASSERT_TRUE(retry) << "allocation " << n << ": " << retry.error().text();
        ASSERT_EQ(again, expected) << "allocation " << n;
      }
      ASSERT_EQ(failing.live, 0u) << "allocation " << n;
    }
    std::printf("from %s, %u threads: %llu allocations, %llu failed in open, %llu in generate, %llu without effect\n",
                label(GetParam()).c_str(), threads, static_cast<unsigned long long>(all),
                static_cast<unsigned long long>(in_open), static_cast<unsigned long long>(in_generate),
                static_cast<unsigned long long>(swallowed));
    EXPECT_GT(in_open, 50u);
    EXPECT_GT(in_generate, 5u);
    EXPECT_EQ(swallowed, 0u);
  }
}

/// Several requests, save, restore, cancel, evaluate, perplexity.
TEST_F(AllocTest, EveryOtherCallSurvivesEveryFailure) {
  std::string expected, text;
  const auto listen = [](RequestId, const Token&) { return true; };
  const auto drain = [&](HostEngine& engine) {
    for (int i = 0; i < 400; ++i)
      if (const auto left = engine.step(listen); left && *left == 0) return true;
    return false;
  };
  // Each call by itself; the first error comes back.
  const auto work = [&](HostEngine& engine) -> Result<void> {
    Result<void> first{};
    const auto keep = [&](const auto& r) {
      if (!r && first) first = pass(r);
      return r.has_value();
    };
    const auto a = engine.submit(request());
    const auto b = engine.submit(request());
    keep(a), keep(b);
    for (int i = 0; i < 5; ++i) keep(engine.step(listen));
    if (a) {
      const auto saved = engine.save(*a);
      if (saved || saved.error().code() != Errc::not_found) keep(saved);  // it may have ended as failed
      if (b) engine.cancel(*b);
      keep(engine.step(listen));
      if (saved) keep(engine.restore(saved->span(), request()));
    }
    drain(engine);
    const std::vector<std::int32_t> tokens{1, 5, 9, 12};
    keep(engine.evaluate(tokens, std::vector<std::int32_t>{3}, [](std::uint32_t, std::span<const float>) {}));
    keep(engine.perplexity("the king of the abc"));
    return first;
  };
  for (const std::uint32_t threads : kThreads) {
    Memory memory;
    std::uint64_t before = 0, all = 0;
    {
      const auto engine = open(From::memory, options(memory, threads));
      ASSERT_TRUE(engine);
      before = memory.made;
      const auto r = work(**engine);
      ASSERT_TRUE(r) << r.error().text();
      all = memory.made - before;
      ASSERT_TRUE(generate(**engine, expected));
    }
    std::uint64_t errors = 0;
    for (std::uint64_t n = 0; n < all; ++n) {
      Memory failing;
      {
        const auto engine = open(From::memory, options(failing, threads));
        ASSERT_TRUE(engine);
        failing.fail_at = failing.made + n;
        const auto r = work(**engine);
        if (!r) {
          ASSERT_EQ(r.error().code(), Errc::out_of_memory) << "allocation " << n << ": " << r.error().text();
          ++errors;
        }
        failing.fail_at = ~std::uint64_t{0};
        ASSERT_TRUE(drain(**engine)) << "allocation " << n;
        const auto done = generate(**engine, text);
        ASSERT_TRUE(done) << "allocation " << n << ": " << done.error().text();
        ASSERT_EQ(text, expected) << "allocation " << n;
      }
      ASSERT_EQ(failing.live, 0u) << "allocation " << n;
    }
    std::printf("other calls, %u threads: %llu allocations, %llu gave an error\n", threads,
                static_cast<unsigned long long>(all), static_cast<unsigned long long>(errors));
    EXPECT_GT(errors, 20u);
  }
}

/// No call of the library reaches malloc but through the hook; threads cost what pthread_create takes.
TEST_P(AllocFailure, AllMemoryComesFromTheHook) {
  for (const std::uint32_t threads : kThreads) {
    Memory memory;
    std::string text;
    const EngineOptions o = options(memory, threads);
    const test::OnRequestToken listen = [](RequestId, const Token&) { return true; };
    const Request r = request();
    direct = 0;
    watching = true;
    auto engine = open(GetParam(), o);
    watching = false;
    ASSERT_TRUE(engine);
    EXPECT_EQ(direct.exchange(0), 1u) << "the one is the test's, which holds the engine by a pointer";
    watching = true;
    const auto id = (*engine)->submit(r);
    const auto first = (*engine)->step(listen);
    const auto saved = id ? (*engine)->save(*id) : Result<Vector<std::byte>>(fail(Errc::not_found, ""));
    for (int i = 0; i < 40; ++i) (void)(*engine)->step(listen);
    const auto restored = saved ? (*engine)->restore(saved->span(), r) : Result<RequestId>(fail(Errc::not_found, ""));
    for (int i = 0; i < 40; ++i) (void)(*engine)->step(listen);
    const auto perplexity = (*engine)->perplexity("the king of the abc");
    watching = false;
    EXPECT_TRUE(id && first && saved && restored && perplexity);
    EXPECT_EQ(direct.exchange(0), 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(Process, AllocFailure, testing::Values(From::memory, From::path, From::reader),
                         [](const auto& param) { return label(param.param); });

}  // namespace
