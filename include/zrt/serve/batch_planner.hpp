// SPDX-License-Identifier: Apache-2.0
// zrt/serve/batch_planner.hpp: forms one flat ragged batch from the sequences of a step.
#pragma once

#include <zrt/exec/batch.hpp>
#include <zrt/serve/sequence.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Where a row of the batch came from.
struct RowOrigin {
  std::uint32_t sequence = 0;  ///< index in the planner's list
  std::uint32_t position = 0;
};

/// Capacities of a batch.
struct BatchLimits {
  std::uint32_t slots = 1;
  std::uint32_t prefill_tokens = 1;
  std::uint32_t prefill_rows = 1;
  std::uint32_t history = 64;  ///< penalty window
  std::uint32_t biases = 64;
};

/// Decode slots come first, prefill chunks fill the rest. Allocates once, when made.
class BatchPlanner {
 public:
  [[nodiscard]] static Result<BatchPlanner> make(const BatchLimits& limits, const Allocator& allocator) noexcept {
    BatchPlanner p(limits, allocator);
    const std::size_t tokens = limits.prefill_tokens > limits.slots ? limits.prefill_tokens : limits.slots;
    const std::size_t rows = limits.prefill_rows > limits.slots ? limits.prefill_rows : limits.slots;
    for (Vector<std::uint32_t>* list : {&p.tokens_, &p.slots_, &p.positions_})
      if (auto r = list->reserve(tokens); !r) return pass(r);
    if (auto r = p.rows_.reserve(rows); !r) return pass(r);
    if (auto r = p.origins_.reserve(rows); !r) return pass(r);
    if (auto r = p.requests_.reserve(rows); !r) return pass(r);
    if (auto r = p.history_.resize(rows * limits.history); !r) return pass(r);
    if (auto r = p.bias_ids_.resize(rows * limits.biases); !r) return pass(r);
    if (auto r = p.bias_.resize(rows * limits.biases); !r) return pass(r);
    return p;
  }

  /// Plans a step over `sequences`; null entries are skipped. Marks what it takes as processed.
  [[nodiscard]] exec::Batch plan(std::span<Sequence* const> sequences, const std::uint32_t* pages) noexcept {
    for (Vector<std::uint32_t>* list : {&tokens_, &slots_, &positions_, &rows_}) list->clear();
    origins_.clear();
    requests_.clear();
    bool prefill = false;
    for (std::size_t i = 0; i < sequences.size(); ++i)
      if (sequences[i] != nullptr && sequences[i]->prompt_left() == 0) take(*sequences[i], i, 1);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (sequences[i] == nullptr || sequences[i]->prompt_left() == 0) continue;
      const std::uint32_t chunk = prefill_chunk(*sequences[i]);
      if (chunk == 0) continue;
      prefill = true;
      take(*sequences[i], i, chunk);
    }
    exec::Batch batch;
    batch.tokens = tokens_.span();
    batch.slots = slots_.span();
    batch.positions = positions_.span();
    batch.rows = rows_.span();
    batch.requests = requests_.span();
    batch.history = history_.span().first(rows_.size() * limits_.history);
    batch.bias_ids = bias_ids_.span().first(rows_.size() * limits_.biases);
    batch.bias = bias_.span().first(rows_.size() * limits_.biases);
    batch.pages = pages;
    batch.prefill = prefill;
    return batch;
  }

  /// Origins of the rows of the last plan.
  [[nodiscard]] std::span<const RowOrigin> origins() const noexcept { return origins_.span(); }

 private:
  BatchPlanner(const BatchLimits& limits, const Allocator& a) noexcept
      : limits_(limits),
        tokens_(a),
        slots_(a),
        positions_(a),
        rows_(a),
        origins_(a),
        requests_(a),
        history_(a),
        bias_ids_(a),
        bias_(a) {}

  /// Tokens of the next chunk: all that is left of the prompt, else a multiple of 16 that fits.
  [[nodiscard]] std::uint32_t prefill_chunk(const Sequence& s) const noexcept {
    std::uint32_t room = limits_.prefill_tokens - static_cast<std::uint32_t>(tokens_.size());
    const std::uint32_t row_room = limits_.prefill_rows - static_cast<std::uint32_t>(rows_.size());
    if (row_room == 0) return 0;
    if (s.every_row && row_room < room) room = row_room;
    const std::uint32_t left = s.prompt_left();
    // Fewer rows than 16 would otherwise never be enough for a chunk.
    if (s.every_row && row_room < 16) return left <= room ? left : room;
    return left <= room ? left : room / 16 * 16;
  }

  // The lists were reserved for the limits, so these appends cannot fail.
  void take(Sequence& s, std::size_t index, std::uint32_t count) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t position = s.processed++;
      (void)tokens_.push_back(s.tokens[position]);
      (void)slots_.push_back(s.slot);
      (void)positions_.push_back(position);
      const bool last = position + 1 == s.tokens.size();
      if (last || s.every_row) add_row(s, index, position, last);
    }
  }

  void add_row(const Sequence& s, std::size_t index, std::uint32_t position, bool last) noexcept {
    const std::size_t row = rows_.size();
    (void)rows_.push_back(static_cast<std::uint32_t>(tokens_.size() - 1));
    (void)origins_.push_back({static_cast<std::uint32_t>(index), position});
    ops::SampleRequest request = s.sampling;
    request.active = last ? request.active : 0;
    request.generated = static_cast<std::uint32_t>(s.tokens.size()) - s.prompt_tokens;
    const std::size_t window = request.history < limits_.history ? request.history : limits_.history;
    const std::size_t seen = s.tokens.size() < window ? s.tokens.size() : window;
    for (std::size_t i = 0; i < seen; ++i)
      history_[row * limits_.history + i] = static_cast<std::int32_t>(s.tokens[s.tokens.size() - seen + i]);
    request.history = static_cast<std::uint32_t>(seen);
    const std::size_t biases = s.biases.size() < limits_.biases ? s.biases.size() : limits_.biases;
    for (std::size_t i = 0; i < biases; ++i) {
      bias_ids_[row * limits_.biases + i] = s.biases[i].token;
      bias_[row * limits_.biases + i] = s.biases[i].bias;
    }
    request.biases = static_cast<std::uint32_t>(biases);
    (void)requests_.push_back(request);
  }

  BatchLimits limits_;
  Vector<std::uint32_t> tokens_;
  Vector<std::uint32_t> slots_;
  Vector<std::uint32_t> positions_;
  Vector<std::uint32_t> rows_;
  Vector<RowOrigin> origins_;
  Vector<ops::SampleRequest> requests_;
  Vector<std::int32_t> history_;
  Vector<std::int32_t> bias_ids_;
  Vector<float> bias_;
};

}  // namespace zrt::inline ZRT_ABI::serve
