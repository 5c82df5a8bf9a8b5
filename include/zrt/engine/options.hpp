// SPDX-License-Identifier: Apache-2.0
// zrt/engine/options.hpp: what a host chooses when it opens a model.
#pragma once

#include <zrt/core/dtype.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/plan/compile.hpp>

namespace zrt::inline ZRT_ABI {

/// Choices for an engine; every field has a working default.
struct EngineOptions {
  std::uint32_t slots = 1;         ///< requests that run at the same time
  std::uint32_t context = 0;       ///< positions per slot; 0: the model's own, at most 4096
  std::uint32_t chunk = 512;       ///< prompt tokens in one step, a multiple of 16
  std::uint32_t logit_rows = 0;    ///< rows of a prompt step that may reach the head; 0: as many as slots
  DType kv_type = DType::f16;      ///< f32, f16 or bf16
  ActPolicy act = ActPolicy::weight;  ///< rounding of activations that meet quantised weights
  plan::Validation validation = plan::Validation::normal;
  std::uint32_t penalty_window = 64;  ///< most tokens of history that penalties look at
  std::uint32_t bias_entries = 64;    ///< most logit biases of a request
  std::uint32_t threads = 1;       ///< workers of the default pool; unused with a hook of the host's
  ThreadHook thread_hook{};
  Allocator allocator = system_allocator();
  LogSink log{};
};

}  // namespace zrt::inline ZRT_ABI
