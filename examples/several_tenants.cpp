// SPDX-License-Identifier: Apache-2.0
// examples/several_tenants.cpp: a chat that does not wait behind a nightly job, and what each of them used.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <thread>

namespace {

int fail(const zrt::Error& error) {
  std::cerr << error.text() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const zrt::EngineOptions options{.slots = 2, .prefix_cache = true};
  auto engine = zrt::Engine<zrt::CpuBackend>::open(argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf", options);
  if (!engine) return fail(engine.error());

  // Quotas are limits of the tenant; the class says who goes first.
  const auto chat = engine->create_tenant({.max_slots = 1, .service = zrt::ServiceClass::interactive});
  if (!chat) return fail(chat.error());
  const auto job = engine->create_tenant({.decode_tokens_per_s = 500, .service = zrt::ServiceClass::batch});
  if (!job) return fail(job.error());

  std::map<zrt::RequestId, std::string> texts;
  const auto submit = [&](zrt::TenantId tenant, const char* prompt) {
    const auto id = engine->submit({.prompt = prompt, .max_tokens = 40, .tenant = tenant});
    if (id) texts[*id] = prompt;
    return id.has_value();
  };
  for (const char* prompt : {"ROMEO:\n", "NURSE:\n", "FRIAR:\n"}) submit(*job, prompt);
  const auto hear = [&](zrt::RequestId id, const zrt::Token& token) {
    texts[id] += token.text;
    if (token.error != nullptr) texts[id] += token.error->text();
    return true;
  };
  for (std::size_t left = 1, steps = 0; left != 0; ++steps) {
    // Both slots are the job's by now: the chat takes one, and what ran there goes on later.
    if (steps == 8) submit(*chat, "JULIET:\n");
    const auto done = engine->step(hear);
    if (!done) return fail(done.error());
    left = *done;
    // Where all have used up their rates there is nothing to do for a while.
    if (left != 0) std::this_thread::sleep_for(std::chrono::nanoseconds(engine->idle_ns()));
  }
  for (const auto& [id, text] : texts) std::cout << text << "\n---\n";
  for (const zrt::TenantId tenant : {*chat, *job})
    if (const auto used = engine->usage(tenant))
      std::cout << used->prompt_tokens << " tokens read, " << used->delivered_tokens << " written, "
                << used->preemptions << " times preempted\n";
}
