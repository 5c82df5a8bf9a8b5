// SPDX-License-Identifier: Apache-2.0
// zrt/engine/evaluation.hpp: logits of given tokens in a slot of their own, and perplexity from them.
#pragma once

#include <zrt/core/elementary64.hpp>
#include <zrt/engine/callables.hpp>
#include <zrt/engine/log_probabilities.hpp>
#include <zrt/engine/serving.hpp>
#include <zrt/exec/executor.hpp>
#include <zrt/ops/lora_add.hpp>
#include <zrt/serve/batch_planner.hpp>
#include <zrt/text/tokenizer.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Borrows an engine's parts for one evaluation. `logits` holds one row.
template <class B, class O> class Evaluation {
 public:
  Evaluation(exec::Executor<B, O>& executor, Serving<B>& slots, serve::BatchPlanner& planner, Span<float> logits,
             std::uint32_t context, const Allocator& allocator) noexcept
      : executor_(executor),
        slots_(slots),
        planner_(planner),
        logits_(logits),
        context_(context),
        allocator_(allocator) {}

  /// Feeds `tokens`, then `steps` tokens that `choose(position, logits)` names, with the adapter at a place. See
  /// Engine::evaluate_steps.
  [[nodiscard]] Result<void> run(Span<const std::int32_t> tokens, std::size_t steps, const ChooseToken& choose,
                                 std::int32_t adapter = ops::LoraAdd::kNone) noexcept {
    if (tokens.empty()) return fail(Errc::invalid_argument, "there are no tokens to evaluate");
    if (tokens.size() > context_ || steps > context_ - tokens.size())
      return fail(Errc::capacity_exceeded, tokens.size(), " and ", steps, " tokens, the context holds ", context_);
    serve::Sequence sequence(allocator_);
    for (std::int32_t token : tokens)
      if (auto r = feed(sequence, token); !r) return r;
    sequence.prompt_tokens = static_cast<std::uint32_t>(tokens.size());
    sequence.every_row = true;
    sequence.adapter = adapter;
    auto slot = slots_.acquire();
    if (!slot) return pass(slot);
    if (*slot == Serving<B>::kNoSlot) return fail(Errc::capacity_exceeded, "no slot is free");
    sequence.slot = *slot;
    auto result = run_in_slot(sequence, steps, choose);
    if (auto r = slots_.release(*slot); !r) return r;
    return result;
  }

  /// See Engine::perplexity.
  [[nodiscard]] Result<double> perplexity(const text::Tokenizer& tokenizer, std::string_view text) noexcept {
    auto ids = tokenizer.encode(text, {.add_special = true, .parse_special = false});
    if (!ids) return pass(ids);
    const std::size_t size = ids->size() < context_ ? ids->size() : context_;
    if (size < 4)
      return fail(Errc::invalid_argument, "the text has ", ids->size(), " tokens and the context ", context_,
                  " positions, at least four of each expected");
    double total = 0.0;
    std::uint64_t scored = 0;
    for (std::size_t at = 0; at + size <= ids->size(); at += size) {
      const Span<std::int32_t> window = ids->span().subspan(at, size);
      if (tokenizer.adds_bos() && tokenizer.bos()) window[0] = *tokenizer.bos();
      auto score = [&](std::uint32_t position, Span<const float> logits) -> std::int32_t {
        if (position < size / 2 || position + 1 >= size) return kNoToken;
        total += double{log_sum_exp(logits)} - double{logits[static_cast<std::size_t>(window[position + 1])]};
        ++scored;
        return kNoToken;
      };
      if (auto r = run(window, 0, ChooseToken(score)); !r) return pass(r);
    }
    return math::exp64(total / static_cast<double>(scored));
  }

 private:
  [[nodiscard]] Result<void> feed(serve::Sequence& sequence, std::int32_t token) const noexcept {
    if (token < 0 || static_cast<std::size_t>(token) >= logits_.size())
      return fail(Errc::invalid_argument, "token ", token, " is outside the vocabulary of ", logits_.size());
    return sequence.tokens.push_back(static_cast<std::uint32_t>(token));
  }

  [[nodiscard]] Result<void> run_in_slot(serve::Sequence& sequence, std::size_t steps,
                                         const ChooseToken& choose) noexcept {
    if (auto r = slots_.reserve(sequence.slot, static_cast<std::uint32_t>(sequence.tokens.size() + steps)); !r)
      return r;
    serve::Sequence* const alone[] = {&sequence};
    const std::uint32_t most = executor_.sizes().prefill_tokens - executor_.sizes().slots;
    for (std::size_t left = steps;; --left) {
      std::int32_t next = kNoToken;
      while (sequence.processed < sequence.tokens.size()) {
        const std::uint32_t chunk[] = {executor_.timely_tokens(most, sequence.processed + most)};
        const exec::Batch batch = planner_.plan(alone, slots_.pages(), chunk);
        if (auto r = slots_.advance(batch); !r) return r;
        if (auto r = executor_.step(batch); !r) return pass(r);
        for (std::size_t row = 0; row < planner_.origins().size(); ++row) {
          const std::uint64_t offset = std::uint64_t{row} * logits_.size_bytes();
          if (auto r = executor_.read(exec::port::kLogits, offset, as_writable_bytes(logits_)); !r) return r;
          next = choose(planner_.origins()[row].position, Span<const float>(logits_));
        }
      }
      if (left == 0) return {};
      if (auto r = feed(sequence, next); !r) return r;
    }
  }

  exec::Executor<B, O>& executor_;
  Serving<B>& slots_;
  serve::BatchPlanner& planner_;
  Span<float> logits_;
  std::uint32_t context_;
  Allocator allocator_;
};

}  // namespace zrt::inline ZRT_ABI::detail
