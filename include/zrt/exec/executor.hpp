// SPDX-License-Identifier: Apache-2.0
// zrt/exec/executor.hpp: one decoder plan bound at two sizes, run step by step over ragged batches.
#pragma once

#include <zrt/exec/batch.hpp>
#include <zrt/exec/bind.hpp>
#include <zrt/exec/cache_groups.hpp>
#include <zrt/exec/check_pages.hpp>
#include <zrt/exec/check_runs.hpp>
#include <zrt/exec/counters.hpp>
#include <zrt/exec/executor_sizes.hpp>
#include <zrt/exec/slot_faults.hpp>
#include <zrt/plan/stages.hpp>

#include <utility>

namespace zrt::inline ZRT_ABI::exec {

/// Runs a decoder on backend B, step by step. A decode step allocates nothing, locks nothing and counts nothing.
///
/// One caller at a time. The plan, the op table and the weights' data must outlive it.
template <class B, class O = NoObserver> class Executor {
 public:
  Executor(Executor&&) noexcept = default;
  Executor& operator=(Executor&&) noexcept = default;

  /// Checks what the stages hand to each other, and binds the decoder twice, at the prefill and at the decode size. It
  /// does not run the stages before the decoder.
  ///
  /// Errors: those of plan::check_stages, bind_weights, cache_groups, StateStore and bind; Errc::invalid_plan when a
  /// decoder port is missing.
  [[nodiscard]] static Result<Executor> make(const plan::ModelPlans& stages, const OpAdapters<B>& ops,
                                             const WeightSource& source, const ExecutorSizes& sizes,
                                             typename B::Device& device, O observer = {}) noexcept {
    if (auto r = plan::check_stages(stages); !r) return pass(r, Phase::bind);
    const plan::CompiledPlan& compiled = *stages.decoder_decode;
    const plan::ExecutionPlan& plan = compiled.plan;
    for (std::string_view name : {port::kTokens, port::kPositions, port::kRows})
      if (plan.input(name) == plan::kNoRegister)
        return fail(Errc::invalid_plan, "a decoder's plan needs an input ", name);
    if (plan.output(port::kLogits) == plan::kNoRegister && plan.output(port::kHidden) == plan::kNoRegister)
      return fail(Errc::invalid_plan, "a decoder's plan needs an output ", port::kLogits, " or ", port::kHidden);
    if (auto r = check_ports(plan); !r) return pass(r);
    auto groups = exec::cache_groups(plan.states.span(), sizes, plan.allocator);
    if (!groups) return pass(groups);
    if constexpr (TakesPlans<B>)
      if (auto r = device.take_plan(
              compiled, {bounds(plan, sizes.prefill_tokens, sizes.prefill_rows), bounds(plan, sizes.slots, sizes.slots),
                         groups->span(), sizes.slots, sizes.keep_values});
          !r)
        return pass(r, Phase::bind);
    auto weights = bind_weights<B>(plan, source, device);
    if (!weights) return pass(weights);
    auto states = StateStore<B>::make(plan, device, groups->span(), sizes.slots);
    if (!states) return pass(states);
    auto pages = PageCheck::make(std::move(*groups), sizes.slots, sizes.pages_per_slot, plan.allocator);
    if (!pages) return pass(pages);
    auto runs = RunCheck::make(states->descriptors(), sizes.slots, plan.allocator);
    if (!runs) return pass(runs);
    auto bind_sizes = [&](std::uint32_t tokens, std::uint32_t rows) {
      return BindSizes{bounds(plan, tokens, rows), sizes.slots, {}, tokens, sizes.pages_per_slot, sizes.keep_values};
    };
    const BindSizes prefill = bind_sizes(sizes.prefill_tokens, sizes.prefill_rows);
    const BindSizes decode = bind_sizes(sizes.slots, sizes.slots);
    auto large = bind_with(observer, compiled, ops, *weights, *states, prefill, device);
    if (!large) return pass(large);
    auto small = bind_with(observer, compiled, ops, *weights, *states, decode, device);
    if (!small) return pass(small);
    return Executor(compiled, sizes, device, std::move(*weights), std::move(*states), std::move(*pages),
                    std::move(*runs), std::move(*large), std::move(*small));
  }

  /// Runs one step. Returns false when `stop` ended it early; its results are then undefined.
  ///
  /// With `faults`, faults of single slots are reported there, and the step succeeds for all other slots.
  ///
  /// Errors: those of check(batch); Errc::spec_violation with the instruction when data broke an op's contract; the
  /// device's own.
  [[nodiscard]] Result<bool> step(const Batch& batch, const StopPoll& stop = {},
                                  SlotFaults* faults = nullptr) noexcept {
    const bool prefill = batch.prefill;
    if (auto r = check(batch); !r) return pass(r);
    BoundPlan<B, O>& bound = prefill ? prefill_ : decode_;
    zrt::ExecutionContext step;
    step.extents = bounds(compiled_->plan, static_cast<std::uint32_t>(batch.tokens.size()),
                          static_cast<std::uint32_t>(batch.rows.size()));
    step.tokens = static_cast<std::uint32_t>(batch.tokens.size());
    step.slots = batch.slots.data();
    step.positions = batch.positions.data();
    step.pages = batch.pages;
    step.pages_per_slot = sizes_.pages_per_slot;
    step.slot_count = sizes_.slots;
    step.token_symbol = compiled_->plan.symbol(port::kTokens);
    step.head_symbol = compiled_->plan.symbol(port::kRows);
    step.head_rows = batch.rows.data();
    StepStatus status;
    if (faults != nullptr) {
      faults->clear();
      status.of_slots = faults->words().data();
    }
    step.status = &status;
    const std::array<Span<const std::byte>, kInputPorts.size()> data{
        as_bytes(batch.tokens),   as_bytes(batch.positions),     as_bytes(batch.rows), as_bytes(batch.requests),
        as_bytes(batch.history),  as_bytes(batch.bias_ids),      as_bytes(batch.bias), as_bytes(batch.embeddings),
        as_bytes(batch.adapters), as_bytes(batch.rope_positions)};
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (inputs_[i] == plan::kNoRegister || data[i].empty()) continue;
      const auto room = plan::register_bytes(compiled_->plan.registers[plan::index(inputs_[i])], step.extents);
      if (!room || data[i].size() > *room)
        return fail(Errc::invalid_argument, "input ", kInputPorts[i], " holds fewer than the ", data[i].size(),
                    " bytes of the batch");
      if (auto r = device_->write(bound.tensor(inputs_[i]), data[i]); !r) return pass(r);
    }
    auto completed = bound.launch(*device_, step, stop);
    if (!completed) return pass(completed);
    last_ = prefill;
    if (*completed) ++(prefill ? prefill_steps_ : decode_steps_);
    if (auto fault = step_fault(status, compiled_->plan); !fault) return pass(fault);
    return *completed;
  }

  /// Of at most `tokens` prompt tokens so many, a multiple of a page's, that no part of a step keeps the device too long;
  /// a page's tokens are always taken. No token stands behind position `furthest`.
  [[nodiscard]] std::uint32_t timely_tokens(std::uint32_t tokens, [[maybe_unused]] std::uint32_t furthest) noexcept {
    if constexpr (BoundsSteps<B>)
      while (tokens > kPageTokens &&
             !prefill_.program().is_timely(*device_, bounds(compiled_->plan, tokens, sizes_.prefill_rows), furthest))
        tokens = tokens / 2 < kPageTokens ? kPageTokens : tokens / 2 / kPageTokens * kPageTokens;
    return tokens;
  }

  /// Checks a batch before a step: sizes, slots, positions, rows, page ids, and the order that recurrent state asks for.
  ///
  /// Errors: Errc::invalid_argument (see RunCheck too), Errc::overlapping_writers (see PageCheck).
  [[nodiscard]] Result<void> check(const Batch& batch) noexcept {
    const std::uint32_t most_tokens = batch.prefill ? sizes_.prefill_tokens : sizes_.slots;
    const std::uint32_t most_rows = batch.prefill ? sizes_.prefill_rows : sizes_.slots;
    if (batch.tokens.size() > most_tokens || batch.rows.size() > most_rows ||
        batch.slots.size() != batch.tokens.size() || batch.positions.size() != batch.tokens.size())
      return fail(Errc::invalid_argument, "a batch of ", batch.tokens.size(), " tokens and ", batch.rows.size(),
                  " rows, at most ", most_tokens, " and ", most_rows, " expected");
    for (std::size_t t = 0; t < batch.tokens.size(); ++t)
      if (batch.slots[t] >= sizes_.slots || batch.positions[t] / kPageTokens >= sizes_.pages_per_slot)
        return fail(Errc::invalid_argument, "row ", t, " is position ", batch.positions[t], " of slot ", batch.slots[t],
                    ", outside ", sizes_.slots, " slots of ", sizes_.pages_per_slot, " pages");
    for (std::size_t r = 0; r < batch.rows.size(); ++r)
      if (batch.rows[r] >= batch.tokens.size())
        return fail(Errc::invalid_argument, "row ", r, " of the LM head is row ", batch.rows[r], " of a batch of ",
                    batch.tokens.size());
    if (auto r = check_given(batch); !r) return r;
    if (const std::size_t expected = takes_adapters_ ? batch.tokens.size() : 0; batch.adapters.size() != expected)
      return fail(Errc::invalid_argument, "the batch names adapters for ", batch.adapters.size(), " rows, expected ",
                  expected);
    if (batch.rope_positions.size() != batch.tokens.size() * rope_axes_)
      return fail(Errc::invalid_argument, "a batch of ", batch.tokens.size(), " tokens has ",
                  batch.rope_positions.size(), " rope_positions, expected ", rope_axes_, " for each token");
    if (auto r = runs_(batch); !r) return r;
    return pages_(batch);
  }

  /// Reads `to.size()` bytes of an output of the last step, from byte `offset` of it.
  [[nodiscard]] Result<void> read(std::string_view output, std::uint64_t offset, Span<std::byte> to) noexcept {
    const plan::RegisterRef reg = compiled_->plan.output(output);
    if (reg == plan::kNoRegister) return fail(Errc::not_found, "the plan has no output ", output);
    return read(reg, offset, to);
  }
  /// The same of any register. What is no output of the plan holds its value where ExecutorSizes::keep_values says so.
  [[nodiscard]] Result<void> read(plan::RegisterRef reg, std::uint64_t offset, Span<std::byte> to) noexcept {
    if (plan::index(reg) >= compiled_->plan.registers.size())
      return fail(Errc::not_found, "the plan has no register ", plan::index(reg));
    const TensorHandle<B>& handle = (last_ ? prefill_ : decode_).handle(reg);
    const CheckedSize room = handle.view.bytes();
    if (!room.ok() || offset > room.raw() || to.size() > room.raw() - offset)
      return fail(Errc::invalid_argument, "register ", plan::index(reg), " has fewer than ", offset + to.size(),
                  " bytes");
    return device_->read(handle.tensor, offset, to);
  }

  [[nodiscard]] const plan::CompiledPlan& compiled() const noexcept { return *compiled_; }
  [[nodiscard]] StateStore<B>& states() noexcept { return states_; }
  [[nodiscard]] const StateStore<B>& states() const noexcept { return states_; }
  [[nodiscard]] typename B::Device& device() noexcept { return *device_; }
  [[nodiscard]] const ExecutorSizes& sizes() const noexcept { return sizes_; }
  /// The cache groups of the plan's states, by number.
  [[nodiscard]] Span<const CacheGroup> cache_groups() const noexcept { return pages_.groups(); }
  [[nodiscard]] const BoundPlan<B, O>& prefill_plan() const noexcept { return prefill_; }
  [[nodiscard]] const BoundPlan<B, O>& decode_plan() const noexcept { return decode_; }

  /// Calls `visit(what, memory)` for each piece of memory that the device gave: its own, where it tells of it, then states,
  /// both arenas, and the programs'.
  template <class Visit> void for_each_memory(const Visit& visit) const {
    if constexpr (requires { device_->for_each_memory(visit); }) device_->for_each_memory(visit);
    const auto visit_parts = [&](std::string_view what, const typename B::Memory& memory) {
      if constexpr (requires { memory.for_each_part(visit, what); })
        memory.for_each_part(visit, what);
      else
        visit(what, memory);
    };
    for (std::size_t i = 0; i < states_.memory().size(); ++i) {
      const bool paged = states_.descriptors()[i].lifecycle == StateLifecycle::kv_paged;
      visit_parts(paged ? std::string_view("keys and values") : std::string_view("states"), states_.memory()[i]);
    }
    visit_parts(std::string_view("prefill arena"), prefill_.arena());
    visit_parts(std::string_view("decode arena"), decode_.arena());
    for (const BoundPlan<B, O>* bound : {&prefill_, &decode_})
      if constexpr (requires { bound->program().for_each_memory(visit); }) bound->program().for_each_memory(visit);
  }

  /// Returns what the completed steps have dispatched. A step that ended early does not count.
  [[nodiscard]] DispatchCounters counters() const noexcept {
    DispatchCounters counters;
    counters.add(compiled_->plan, prefill_.program().size(), prefill_steps_);
    counters.add(compiled_->plan, decode_.program().size(), decode_steps_);
    return counters;
  }

 private:
  Executor(const plan::CompiledPlan& compiled, const ExecutorSizes& sizes, typename B::Device& device,
           WeightSet<B> weights, StateStore<B> states, PageCheck pages, RunCheck runs, BoundPlan<B, O> prefill,
           BoundPlan<B, O> decode) noexcept
      : compiled_(&compiled),
        sizes_(sizes),
        device_(&device),
        weights_(std::move(weights)),
        states_(std::move(states)),
        pages_(std::move(pages)),
        runs_(std::move(runs)),
        prefill_(std::move(prefill)),
        decode_(std::move(decode)) {
    for (std::size_t i = 0; i < kInputPorts.size(); ++i) inputs_[i] = compiled.plan.input(kInputPorts[i]);
    if (const plan::RegisterRef given = compiled.plan.input(port::kEmbeddings); given != plan::kNoRegister)
      given_width_ = compiled.plan.registers[plan::index(given)].shape.last().extent;
    takes_adapters_ = compiled.plan.input(port::kAdapters) != plan::kNoRegister;
    if (const plan::RegisterRef axes = compiled.plan.input(port::kRopePositions); axes != plan::kNoRegister)
      rope_axes_ = compiled.plan.registers[plan::index(axes)].shape.last().extent;
  }

  /// In the order in which `step` writes them.
  static constexpr auto kInputPorts =
      std::to_array({port::kTokens, port::kPositions, port::kRows, port::kRequests, port::kHistory, port::kBiasIds,
                     port::kBias, port::kEmbeddings, port::kAdapters, port::kRopePositions});
  /// The ports with a row for each token; the others have one for each row of the head.
  static constexpr auto kTokenPorts =
      std::to_array({port::kTokens, port::kPositions, port::kEmbeddings, port::kAdapters, port::kRopePositions});

  [[nodiscard]] static Result<BoundPlan<B, O>> bind_with(O observer, const plan::CompiledPlan& compiled,
                                                         const OpAdapters<B>& ops, const WeightSet<B>& weights,
                                                         const StateStore<B>& states, const BindSizes& sizes,
                                                         typename B::Device& device) noexcept {
    if constexpr (std::is_same_v<O, NoObserver>)
      return exec::bind<B>(compiled, ops, weights, states, sizes, device);
    else
      return exec::bind<B>(compiled, ops, weights, states, sizes, device, observer);
  }

  /// Demands the embeddings of a batch with given rows, or none, and a plan that takes them.
  [[nodiscard]] Result<void> check_given(const Batch& batch) const noexcept {
    if (given_width_ == 0 && batch.embeddings.empty()) return {};  // kGivenRow is no token of any table
    if (given_width_ == 0)
      return fail(Errc::invalid_argument, "the batch has embeddings, but the plan has no input ", port::kEmbeddings);
    if (batch.embeddings.size() == batch.tokens.size() * given_width_) return {};
    for (const std::uint32_t token : batch.tokens)
      if (token > 0x7fffffffu || !batch.embeddings.empty())
        return fail(Errc::invalid_argument, "a batch with given rows has ", batch.embeddings.size(),
                    " elements of embeddings, expected ", batch.tokens.size() * given_width_);
    return {};
  }

  /// Checks that the plan's ports have the types that a step writes and reads.
  [[nodiscard]] static Result<void> check_ports(const plan::ExecutionPlan& plan) noexcept {
    for (std::string_view name : kInputPorts) {
      const plan::RegisterRef reg = plan.input(name);
      if (reg == plan::kNoRegister) continue;
      const TensorType& type = plan.registers[plan::index(reg)];
      bool tokens = false;
      for (std::string_view port : kTokenPorts) tokens = tokens || name == port;
      const SymbolId symbol = plan.symbol(tokens ? port::kTokens : port::kRows);
      if (info(type.dtype).block_bytes != 4 || type.shape.rank == 0 || symbol == 0 || type.shape[0] != Dim(1, symbol)) {
        Error error = Error::of(Errc::invalid_plan, "input ", name, " of a decoder's plan has shape ");
        append_shape(error, type.shape).append(", expected 4-byte elements and tokens or rows first");
        return std::unexpected<Error>(error);
      }
    }
    return {};
  }

  [[nodiscard]] static Extents bounds(const plan::ExecutionPlan& plan, std::uint32_t tokens,
                                      std::uint32_t rows) noexcept {
    Extents extents;
    for (std::size_t i = 0; i < plan.symbols.size(); ++i) extents.value[i + 1] = plan.symbols[i].bound;
    extents.value[plan.symbol(port::kTokens)] = tokens;
    extents.value[plan.symbol(port::kRows)] = rows;
    return extents;
  }

  const plan::CompiledPlan* compiled_;
  ExecutorSizes sizes_;
  typename B::Device* device_;
  WeightSet<B> weights_;
  StateStore<B> states_;
  PageCheck pages_;
  RunCheck runs_;
  BoundPlan<B, O> prefill_;
  BoundPlan<B, O> decode_;
  std::array<plan::RegisterRef, kInputPorts.size()> inputs_{};
  std::uint32_t given_width_ = 0;  ///< of given embeddings; 0: the plan takes none
  bool takes_adapters_ = false;
  std::uint32_t rope_axes_ = 0;  ///< of rope_positions; 0: the plan takes none
  std::uint64_t prefill_steps_ = 0;
  std::uint64_t decode_steps_ = 0;
  bool last_ = false;  ///< whether the last step was a prefill step
};

}  // namespace zrt::inline ZRT_ABI::exec
