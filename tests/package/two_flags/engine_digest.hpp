// SPDX-License-Identifier: Apache-2.0
// tests/package/two_flags/engine_digest.hpp: a model file through plan, bind and steps, as one number per backend and instruction set.
#pragma once

#include <zrt/backend/cpu.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/engine/loaded_model.hpp>
#include <zrt/exec/executor.hpp>
#include <zrt/model/arch/llama.hpp>

#include <array>
#include <cstdint>
#include <span>

// Internal linkage: each unit computes with the code that its own flags made. No arithmetic on floats.
namespace {

struct OnlyLlama {
  using List = boost::mp11::mp_list<zrt::model::Llama>;
};

/// 0 when anything fails; a digest is never 0.
class EngineDigest {
 public:
  explicit EngineDigest(const zrt::model::GgufFile& file) noexcept : file_(file) {}

  /// Runs a prompt in two chunks beside a second request, then decode steps of both, greedy and sampled.
  template <class B>
  [[nodiscard]] std::uint64_t run(typename B::Device device, zrt::ActPolicy act, zrt::DType kv) noexcept {
    using namespace zrt;
    EngineOptions options;
    options.numerics.act = act;
    options.kv_type = kv;
    const auto facts = read_model<OnlyLlama>(file_, options);
    if (!facts) return 0;
    using Met = ModelOps<B, OnlyLlama>;
    constexpr OpSet claims = OpSet::of(typename B::Claims{});
    auto compiled = compile_model<OnlyLlama>(file_, ir::Ops::of<Met>(), claims, options);
    if (!compiled) return 0;
    const exec::ExecutorSizes sizes{
        .slots = 2, .prefill_tokens = 32, .prefill_rows = 2, .pages = 4, .pages_per_slot = 2};
    auto executor = exec::Executor<B>::make(plan::ModelPlans::of(*compiled), exec::OpAdapters<B>::template of<Met>(),
                                            model::weight_source(file_), sizes, device);
    if (!executor) return 0;
    auto logits = Buffer::zeroed(options.allocator, std::size_t{2} * facts->config.vocabulary * sizeof(float));
    if (!logits) return 0;
    digest_ = 0xcbf29ce484222325u;
    std::array<std::int32_t, 2> next{};
    const auto step = [&](std::span<const std::uint32_t> tokens, std::span<const std::uint32_t> slots,
                          std::span<const std::uint32_t> positions, std::span<const std::uint32_t> rows, bool prefill) {
      static constexpr std::uint32_t pages[] = {2, 0, 1, 3};
      static constexpr std::array<std::int32_t, 128> history{};
      static constexpr std::array<float, 128> bias{};
      std::array<ops::SampleRequest, 2> requests{};
      for (std::size_t i = 0; i < rows.size(); ++i) {
        requests[i].active = 1;
        requests[i].seed_low = 7;
        requests[i].generated = positions[rows[i]];
        requests[i].temperature = slots[rows[i]] == 0 ? 0.0f : 1.0f;
        requests[i].top_k = 40;
        requests[i].top_p = 0.9375f;
      }
      exec::Batch batch;
      batch.tokens = tokens;
      batch.slots = slots;
      batch.positions = positions;
      batch.rows = rows;
      batch.requests = std::span(requests).first(rows.size());
      batch.history = std::span(history).first(rows.size() * options.penalty_window);
      batch.bias_ids = std::span(history).first(rows.size() * options.bias_entries);
      batch.bias = std::span(bias).first(rows.size() * options.bias_entries);
      batch.pages = pages;
      batch.prefill = prefill;
      if (!executor->step(batch)) return false;
      if (rows.empty()) return true;
      const std::span<std::byte> bytes = logits->span().first(rows.size() * facts->config.vocabulary * sizeof(float));
      if (!executor->read(exec::port::kLogits, 0, bytes)) return false;
      if (!executor->read(exec::port::kToken, 0, std::as_writable_bytes(std::span(next).first(rows.size()))))
        return false;
      add(bytes);
      add(std::as_bytes(std::span(next).first(rows.size())));
      return true;
    };
    // Slot 0 reads 20 tokens in chunks of 16 and 4; slot 1 joins in the second step with 5.
    std::array<std::uint32_t, 16> tokens, slots{}, positions;
    for (std::uint32_t i = 0; i < 16; ++i) tokens[i] = 300 + 37 * i, positions[i] = i;
    if (!step(tokens, slots, positions, {}, true)) return 0;
    constexpr std::array<std::uint32_t, 9> tokens2{911, 912, 40, 1700, 1, 1855, 1993, 13, 5};
    constexpr std::array<std::uint32_t, 9> slots2{0, 0, 0, 0, 1, 1, 1, 1, 1};
    constexpr std::array<std::uint32_t, 9> positions2{16, 17, 18, 19, 0, 1, 2, 3, 4};
    constexpr std::array<std::uint32_t, 2> rows2{3, 8};
    if (!step(tokens2, slots2, positions2, rows2, true)) return 0;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const std::array<std::uint32_t, 2> fed{static_cast<std::uint32_t>(next[0]), static_cast<std::uint32_t>(next[1])};
      const std::array<std::uint32_t, 2> at{20 + i, 5 + i};
      constexpr std::array<std::uint32_t, 2> both{0, 1};
      if (!step(fed, both, at, both, false)) return 0;
    }
    return digest_ | 1;
  }

 private:
  void add(std::span<const std::byte> bytes) noexcept {
    for (std::byte b : bytes) digest_ = (digest_ ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
  }

  const zrt::model::GgufFile& file_;
  std::uint64_t digest_ = 0;
};

}  // namespace
