// SPDX-License-Identifier: Apache-2.0
// examples/save_restore.cpp: moves a half-finished request to another engine, which ends it as the first would have.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <iostream>
#include <string>

namespace {

using Engine = zrt::Engine<zrt::CpuBackend>;

/// Steps until `text` has `tokens` more tokens, or nothing is left to do.
zrt::Result<void> run(Engine& engine, std::size_t tokens, std::string& text) {
  std::size_t heard = 0;
  const auto on_token = [&](zrt::RequestId, const zrt::Token& token) {
    text += token.text;
    ++heard;
    return true;
  };
  while (heard < tokens) {
    const auto left = engine.step(on_token);
    if (!left) return zrt::pass(left);
    if (*left == 0) break;
  }
  return {};
}

int failed(const zrt::Error& error) {
  std::cerr << error.text() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf";
  const zrt::Request request{.prompt = "PORTIA:\n", .max_tokens = 60, .sampling = {.temperature = 0.8f, .seed = 7}};
  std::string whole, moved;

  auto first = Engine::open(path);
  if (!first) return failed(first.error());
  if (auto id = first->submit(request); !id) return failed(id.error());
  if (auto r = run(*first, 60, whole); !r) return failed(r.error());

  const auto id = first->submit(request);
  if (!id) return failed(id.error());
  if (auto r = run(*first, 20, moved); !r) return failed(r.error());
  const auto snapshot = first->save(*id);  // bytes: keep them in memory or in a file
  if (!snapshot) return failed(snapshot.error());

  auto second = Engine::open(path);
  if (!second) return failed(second.error());
  if (auto r = second->restore(snapshot->span(), request); !r) return failed(r.error());
  if (auto r = run(*second, 60, moved); !r) return failed(r.error());

  std::cout << moved << "\nsnapshot: " << snapshot->size() << " bytes\n";
  return moved == whole ? 0 : 1;  // the same bits, so the same text
}
