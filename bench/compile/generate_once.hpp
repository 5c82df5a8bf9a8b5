// SPDX-License-Identifier: Apache-2.0
// bench/compile/generate_once.hpp: what each program of this folder does with its engine.
#pragma once

#include <zrt/zrt.hpp>

#include <cstddef>

/// Opens the model and streams an answer; the exit status of a program.
template <class E> int generate_once(const char* path) {
  auto engine = E::open(path);
  if (!engine) return 1;
  std::size_t bytes = 0;
  const auto done = engine->generate({.prompt = "ROMEO:"}, [&](const zrt::Token& token) {
    bytes += token.text.size();
    return true;
  });
  return done && bytes != 0 ? 0 : 1;
}
