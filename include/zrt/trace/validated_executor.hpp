// SPDX-License-Identifier: Apache-2.0
// zrt/trace/validated_executor.hpp: an executor whose values can be read, and the steps of one sequence on it.
#pragma once

#include <zrt/exec/adapter_table.hpp>
#include <zrt/exec/executor.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::trace {

/// An executor whose values can be read, with its backend's type hidden. It views the executor, which is made with
/// ExecutorSizes::keep_values.
struct ValidatedExecutor {
  std::string_view backend;
  const plan::CompiledPlan* compiled = nullptr;
  const exec::ExecutorSizes* sizes = nullptr;
  Span<const exec::CacheGroup> groups{};
  const exec::CapabilityTable* capabilities = nullptr;
  void* executor = nullptr;
  Result<bool> (*step)(void* executor, const exec::Batch& batch) noexcept = nullptr;
  Result<void> (*read)(void* executor, plan::RegisterRef reg, Span<std::byte> to) noexcept = nullptr;
  Result<void> (*read_page)(void* executor, std::size_t state, std::uint32_t page,
                            Span<std::byte> to) noexcept = nullptr;
  Result<void> (*write_page)(void* executor, std::size_t state, std::uint32_t page,
                             Span<const std::byte> from) noexcept = nullptr;

  template <class B, class O> [[nodiscard]] static ValidatedExecutor of(exec::Executor<B, O>& executor) noexcept {
    using E = exec::Executor<B, O>;
    return {B::name,
            &executor.compiled(),
            &executor.sizes(),
            executor.cache_groups(),
            &exec::kCapabilities<B>,
            &executor,
            [](void* self, const exec::Batch& batch) noexcept { return static_cast<E*>(self)->step(batch); },
            [](void* self, plan::RegisterRef reg, Span<std::byte> to) noexcept {
              return static_cast<E*>(self)->read(reg, 0, to);
            },
            [](void* self, std::size_t state, std::uint32_t page, Span<std::byte> to) noexcept {
              E& e = *static_cast<E*>(self);
              return e.device().read_unit(e.states().state(state), page, to);
            },
            [](void* self, std::size_t state, std::uint32_t page, Span<const std::byte> from) noexcept {
              E& e = *static_cast<E*>(self);
              return e.device().write_unit(e.states().state(state), page, from);
            }};
  }
};

/// Bounds of the plan's symbols in a step of `tokens` tokens and `rows` rows that reach the head.
[[nodiscard]] inline Extents step_extents(const plan::ExecutionPlan& plan, std::uint32_t tokens,
                                          std::uint32_t rows) noexcept {
  Extents extents;
  for (std::size_t i = 0; i < plan.symbols.size(); ++i) extents.value[i + 1] = plan.symbols[i].bound;
  extents.value[plan.symbol(exec::port::kTokens)] = tokens;
  extents.value[plan.symbol(exec::port::kRows)] = rows;
  return extents;
}

/// Batches of one sequence in slot 0, whose pages are the first of each group.
class OneSequence {
 public:
  explicit OneSequence(const Allocator& a) noexcept : slots_(a), positions_(a), rows_(a), requests_(a), pages_(a) {}

  [[nodiscard]] Result<void> make_room(const ValidatedExecutor& executor) noexcept {
    sizes_ = *executor.sizes;
    groups_ = executor.groups;
    const std::size_t tokens = std::max(sizes_.prefill_tokens, std::uint32_t{1});
    for (Vector<std::uint32_t>* list : {&slots_, &positions_, &rows_})
      if (auto r = list->resize(tokens); !r) return r;
    if (auto r = requests_.resize(std::max(sizes_.prefill_rows, sizes_.slots)); !r) return r;
    const std::size_t of_group = std::size_t{sizes_.slots} * sizes_.pages_per_slot;
    if (auto r = pages_.resize(groups_.size() * of_group); !r) return r;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::uint32_t i = 0; groups_[g].slot_pages != 0 && i < sizes_.pages_per_slot; ++i)
        pages_[g * of_group + i] = page_of(g, i);
    return {};
  }

  /// The page of a group's list entry: behind a window the first pages come again.
  [[nodiscard]] std::uint32_t page_of(std::size_t group, std::uint32_t index) const noexcept {
    return index % groups_[group].slot_pages;
  }

  /// Positions that the sequence has.
  [[nodiscard]] std::uint32_t position() const noexcept { return position_; }
  void advance(std::size_t tokens) noexcept { position_ += static_cast<std::uint32_t>(tokens); }
  void restart() noexcept { position_ = 0; }

  /// The next tokens, as a step that holds prompt tokens or as one that does not. The last of them, as many as reach
  /// the head, are rows of it. The batch views this object.
  ///
  /// Errors: Errc::invalid_argument for more tokens than a step takes; Errc::capacity_exceeded beyond the context.
  [[nodiscard]] Result<exec::Batch> batch(Span<const std::uint32_t> tokens, bool prefill) noexcept {
    const std::size_t most = prefill ? sizes_.prefill_tokens : 1u;
    if (tokens.empty() || tokens.size() > most)
      return fail(Errc::invalid_argument, "a step of ", tokens.size(), " tokens, 1 to ", most, " expected");
    const std::uint64_t context = std::uint64_t{sizes_.pages_per_slot} * kPageTokens;
    if (tokens.size() > context - position_)
      return fail(Errc::capacity_exceeded, position_ + tokens.size(), " positions, the context holds ", context);
    const std::size_t rows = std::min<std::size_t>(tokens.size(), prefill ? sizes_.prefill_rows : sizes_.slots);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      slots_[t] = 0;
      positions_[t] = position_ + static_cast<std::uint32_t>(t);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      rows_[r] = static_cast<std::uint32_t>(tokens.size() - rows + r);
      requests_[r] = {};
      requests_[r].active = 1;
      requests_[r].generated = positions_[rows_[r]];
    }
    exec::Batch batch;
    batch.tokens = tokens;
    batch.slots = slots_.span().first(tokens.size());
    batch.positions = positions_.span().first(tokens.size());
    batch.rows = rows_.span().first(rows);
    batch.requests = requests_.span().first(rows);
    batch.pages = pages_.data();
    batch.prefill = prefill;
    return batch;
  }

 private:
  exec::ExecutorSizes sizes_{};
  Span<const exec::CacheGroup> groups_{};
  Vector<std::uint32_t> slots_;
  Vector<std::uint32_t> positions_;
  Vector<std::uint32_t> rows_;
  Vector<ops::SampleRequest> requests_;
  Vector<std::uint32_t> pages_;
  std::uint32_t position_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::trace
