// SPDX-License-Identifier: Apache-2.0
// zrt/engine/options.hpp: what a host chooses when it opens a model.
#pragma once

#include <zrt/core/dtype.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/siphash.hpp>
#include <zrt/engine/wait_hook.hpp>
#include <zrt/ops/kv_page.hpp>
#include <zrt/plan/compile.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// The arithmetic that a host chooses. Nothing else can be chosen: each op fixes the order of its sums, and each
/// adapter's capability says whether it keeps the reference's bits.
struct Numerics {
  ActPolicy act = ActPolicy::weight;  ///< rounding of activations that meet quantised weights
};

/// Choices for an engine; every field has a working default.
struct EngineOptions {
  std::uint32_t slots = 1;            ///< requests that run at the same time
  std::uint32_t context = 0;          ///< positions per slot; 0: the model's own, at most 4096
  std::uint32_t chunk = 512;          ///< most prompt tokens in one step, a multiple of 16
  std::uint64_t step_latency_ns = 0;  ///< target of requests that name none; see Request::step_latency_ns
  std::uint32_t logit_rows = 0;       ///< rows of a prompt step that may reach the head; 0: as many as slots. See also
                                      ///< Request::prompt_log_probabilities
  std::uint32_t draft_tokens = 0;     ///< guessed tokens that a step may check beside those it computes; 0: none
  std::uint32_t queue = 1024;         ///< requests that may wait
  std::uint64_t slow_client_ns =
      15'000'000'000;               ///< that a token waits for a client that does not read, see Engine::pause
  std::uint32_t pages = 0;          ///< of 16 positions, for all slots together; 0: slots × context
  bool prefix_cache = false;        ///< a prompt that begins as an earlier one resumes behind the pages of that one
  std::uint32_t prefix_pages = 0;   ///< of `pages`, those that slots leave to prefixes that nobody uses at the moment
  SipKey prefix_key{};              ///< of the hashes by which prefixes are found: random where tenants may be hostile
  bool page_times = false;          ///< counts how long pages stay, see Engine::page_times; needs a clock
  std::uint32_t kept_states = 0;    ///< states of recurrent or windowed models, from which later requests resume
  std::uint32_t model = 0;          ///< the host's number of the model, which rows of slots and keys of prefixes hold
  DType kv_type = DType::f16;       ///< f32, f16, bf16, q8_0 or q4_0, see KvPage
  std::string_view packed_file{};   ///< keeps weights as the CPU packs them for the next start
  bool embeddings = false;          ///< a decoder gives embeddings, not tokens; an encoder does so anyway
  bool given_embeddings = false;    ///< prompts may hold rows of embeddings, see Request::embeddings
  std::uint32_t adapters = 0;       ///< room for so many LoRA adapters at the same time, see Engine::load_adapter
  std::uint32_t adapter_rank = 16;  ///< largest rank of theirs
  Numerics numerics{};
  Validation validation = Validation::normal;
  std::uint32_t penalty_window = 64;  ///< most tokens of history that penalties look at
  std::uint32_t bias_entries = 64;    ///< most logit biases of a request
  bool keep_values = false;           ///< every value of a step can be read behind it; takes more memory
  std::uint32_t threads = 1;          ///< workers of the default pool; unused with a hook of the host's
  ThreadHook thread_hook{};
  ClockHook clock =
      monotonic_clock();           ///< read in steps with prompt tokens, draft_tokens or tenants; see docs/embedding.md
  WaitHook wait = thread_sleep();  ///< called by generate alone, where a tenant's rate is used up
  Allocator allocator = system_allocator();
  LogSink log{};
};

/// Errors: Errc::invalid_argument naming the field, what was found and what is expected.
[[nodiscard]] inline Result<void> check(const EngineOptions& o) noexcept {
  auto bad = [](std::string_view field, std::uint32_t found, std::string_view expected) {
    return fail(Errc::invalid_argument, field, " is ", found, ", expected ", expected);
  };
  if (o.slots == 0 || o.slots > 4096) return bad("slots", o.slots, "1..4096");
  if (o.chunk < 16 || o.chunk > 8192 || o.chunk % 16 != 0) return bad("chunk", o.chunk, "a multiple of 16 in 16..8192");
  if (o.draft_tokens > o.chunk) return bad("draft_tokens", o.draft_tokens, "at most the chunk");
  if (o.queue == 0 || o.queue > 1u << 20) return bad("queue", o.queue, "1..1048576");
  if (o.pages > 1u << 28) return bad("pages", o.pages, "at most 268435456");
  if (o.kept_states > 1u << 20) return bad("kept_states", o.kept_states, "at most 1048576");
  if (o.context > 1u << 28) return bad("context", o.context, "at most 268435456");
  if (o.logit_rows > 8192) return bad("logit_rows", o.logit_rows, "at most 8192");
  if (o.adapters > 4096) return bad("adapters", o.adapters, "at most 4096");
  if (o.adapter_rank == 0 || o.adapter_rank > 4096) return bad("adapter_rank", o.adapter_rank, "1..4096");
  if (o.penalty_window > 65536) return bad("penalty_window", o.penalty_window, "at most 65536");
  if (o.bias_entries > 65536) return bad("bias_entries", o.bias_entries, "at most 65536");
  if (o.threads == 0 || o.threads > 1024) return bad("threads", o.threads, "1..1024");
  if (o.step_latency_ns != 0 && o.clock.now == nullptr)
    return fail(Errc::invalid_argument, "step_latency_ns is ", o.step_latency_ns, ", which needs a clock");
  if (o.page_times && o.clock.now == nullptr)
    return fail(Errc::invalid_argument, "page_times is set, which needs a clock");
  if (!is_dtype(static_cast<std::uint8_t>(o.kv_type)))
    return bad("kv_type", static_cast<std::uint8_t>(o.kv_type), kPageTypeNames);
  if (!KvPage::stores(o.kv_type))
    return fail(Errc::invalid_argument, "kv_type is ", name(o.kv_type), ", expected ", kPageTypeNames);
  if (o.numerics.act > ActPolicy::weight)
    return bad("numerics.act", static_cast<std::uint8_t>(o.numerics.act), "none or weight");
  if (o.validation > Validation::none)
    return bad("validation", static_cast<std::uint8_t>(o.validation), "strict, normal or none");
  return {};
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
