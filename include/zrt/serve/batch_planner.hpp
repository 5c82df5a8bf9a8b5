// SPDX-License-Identifier: Apache-2.0
// zrt/serve/batch_planner.hpp: forms one flat ragged batch from the sequences of a step.
#pragma once

#include <zrt/exec/batch.hpp>
#include <zrt/serve/sequence.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::serve {

/// Where a row of the batch came from.
struct RowOrigin {
  std::uint32_t sequence = 0;  ///< index in the planner's list
  std::uint32_t position = 0;
};

/// Capacities of a batch.
struct BatchLimits {
  std::uint32_t slots = 1;
  std::uint32_t chunk = 1;  ///< prompt tokens in a step
  std::uint32_t prefill_rows = 1;
  std::uint32_t history = 64;  ///< penalty window
  std::uint32_t biases = 64;
  std::uint32_t given_width = 0;  ///< of given embeddings; 0: there are none
  bool adapters = false;          ///< whether the plan takes them
  std::uint32_t rope_axes = 0;    ///< of rope positions; 0: there are none
};

/// Forms the batch of each step: generated tokens first, each with its drafts, then the cuts of prompts. It allocates
/// once, when it is made.
class BatchPlanner {
 public:
  [[nodiscard]] static Result<BatchPlanner> make(const BatchLimits& limits, const Allocator& allocator) noexcept {
    BatchPlanner p(limits, allocator);
    const std::size_t tokens = std::size_t{limits.chunk} + limits.slots;
    const std::size_t rows = limits.prefill_rows > limits.slots ? limits.prefill_rows : limits.slots;
    for (Vector<std::uint32_t>* list : {&p.tokens_, &p.slots_, &p.positions_})
      if (auto r = list->reserve(tokens); !r) return pass(r);
    if (auto r = p.embeddings_.resize(tokens * limits.given_width); !r) return pass(r);
    if (auto r = p.adapters_.reserve(limits.adapters ? tokens : 0); !r) return pass(r);
    if (auto r = p.rope_positions_.reserve(tokens * limits.rope_axes); !r) return pass(r);
    if (auto r = p.rows_.reserve(rows); !r) return pass(r);
    if (auto r = p.shares_.resize(limits.slots); !r) return pass(r);
    if (auto r = p.origins_.reserve(rows); !r) return pass(r);
    if (auto r = p.requests_.reserve(rows); !r) return pass(r);
    if (auto r = p.history_.resize(rows * limits.history); !r) return pass(r);
    if (auto r = p.bias_ids_.resize(rows * limits.biases); !r) return pass(r);
    if (auto r = p.bias_.resize(rows * limits.biases); !r) return pass(r);
    return p;
  }

  /// A step over at most BatchLimits::slots `sequences`; null entries are skipped. Prompts are cut as `cuts` says, by
  /// sequence, as far as the limits allow. Marks what it takes as processed.
  [[nodiscard]] exec::Batch plan(Span<Sequence* const> sequences, const std::uint32_t* pages,
                                 Span<const std::uint32_t> cuts) noexcept {
    begin(sequences);
    follow(sequences, cuts);
    return finish(sequences, pages);
  }

  /// Origins of the rows of the last plan.
  [[nodiscard]] Span<const RowOrigin> origins() const noexcept { return origins_.span(); }

 private:
  BatchPlanner(const BatchLimits& limits, const Allocator& a) noexcept
      : limits_(limits),
        shares_(a),
        tokens_(a),
        embeddings_(a),
        adapters_(a),
        slots_(a),
        positions_(a),
        rope_positions_(a),
        rows_(a),
        origins_(a),
        requests_(a),
        history_(a),
        bias_ids_(a),
        bias_(a) {}

  /// Begins a batch with the generated tokens.
  void begin(Span<Sequence* const> sequences) noexcept {
    for (Vector<std::uint32_t>* list : {&tokens_, &slots_, &positions_, &rope_positions_, &rows_}) list->clear();
    adapters_.clear();
    origins_.clear();
    requests_.clear();
    gives_ = drafts_ = false;
    ZRT_ASSERT(sequences.size() <= shares_.size());
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (sequences[i] == nullptr) continue;
      Sequence& s = *sequences[i];
      if (s.prompt_left() == 0) take(s, i, 1 + s.drafts);
      drafts_ = drafts_ || s.drafts != 0;
    }
  }

  /// Appends each sequence's share of prompt tokens.
  [[nodiscard]] exec::Batch finish(Span<Sequence* const> sequences, const std::uint32_t* pages) noexcept {
    bool prefill = drafts_;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (shares_[i] == 0) continue;
      prefill = true;
      take(*sequences[i], i, shares_[i]);
    }
    exec::Batch batch;
    batch.tokens = tokens_.span();
    if (gives_) batch.embeddings = embeddings_.span().first(tokens_.size() * limits_.given_width);
    batch.adapters = adapters_.span();
    batch.slots = slots_.span();
    batch.positions = positions_.span();
    batch.rope_positions = rope_positions_.span();
    batch.rows = rows_.span();
    batch.requests = requests_.span();
    batch.history = history_.span().first(rows_.size() * limits_.history);
    batch.bias_ids = bias_ids_.span().first(rows_.size() * limits_.biases);
    batch.bias = bias_.span().first(rows_.size() * limits_.biases);
    batch.pages = pages;
    batch.prefill = prefill;
    return batch;
  }

  /// Gives each sequence the prompt tokens that `cuts` says, within what it has left and what a step has room for.
  void follow(Span<Sequence* const> sequences, Span<const std::uint32_t> cuts) noexcept {
    for (std::uint32_t& tokens : shares_) tokens = 0;
    std::uint32_t room = limits_.chunk;
    std::size_t rows = limits_.prefill_rows > rows_.size() ? limits_.prefill_rows - rows_.size() : 0;
    for (std::size_t i = 0; i < sequences.size() && i < cuts.size(); ++i) {
      if (sequences[i] == nullptr || rows == 0) continue;
      const std::uint32_t left = sequences[i]->prompt_left();
      std::uint32_t share = cuts[i] < left ? cuts[i] : left;
      share = share < room ? share : room;
      const std::size_t wanted = fit_rows(*sequences[i], rows, share);
      rows -= share == 0 ? 0 : wanted == 0 ? 1 : wanted;
      room -= share;
      shares_[i] = share;
    }
  }

  /// Cuts the next `share` tokens to those whose rows fit in `rows`, and returns how many rows these are.
  [[nodiscard]] static std::size_t fit_rows(const Sequence& s, std::size_t rows, std::uint32_t& share) noexcept {
    std::size_t wanted = 0;
    for (std::uint32_t i = 0; i < share && (s.every_row || s.tells()); ++i) {
      const std::uint32_t position = s.processed + i;
      if (!s.wants(position) && position + 1 < s.tokens.size()) continue;
      if (wanted == rows)
        share = i;
      else
        ++wanted;
    }
    return wanted;
  }

  // The lists were reserved for the limits, so these appends cannot fail.
  void take(Sequence& s, std::size_t index, std::uint32_t count) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t position = s.processed++;
      const float* given = given_row(s, position);
      if (given != nullptr)
        std::memcpy(embeddings_.data() + tokens_.size() * limits_.given_width, given,
                    limits_.given_width * sizeof(float));
      gives_ = gives_ || given != nullptr;
      (void)tokens_.push_back(given != nullptr ? exec::kGivenRow : s.tokens.data()[position]);
      if (limits_.adapters) (void)adapters_.push_back(s.adapter);
      (void)slots_.push_back(s.slot);
      (void)positions_.push_back(position);
      add_rope_positions(s, position);
      const bool last = position + 1 >= s.tokens.size();
      if (last || s.wants(position)) add_row(s, index, position, last);
    }
  }

  /// The row of embeddings at a position, or null.
  [[nodiscard]] const float* given_row(const Sequence& s, std::uint32_t position) const noexcept {
    for (const GivenRows& g : s.given)
      if (position >= g.first && position - g.first < g.rows)
        return s.embeddings.data() + g.at + std::size_t{position - g.first} * limits_.given_width;
    return nullptr;
  }

  /// Where a row stands on each axis. Rows with places stand behind the row that the first of them would be; those after
  /// them begin where they end.
  void add_rope_positions(const Sequence& s, std::uint32_t position) noexcept {
    if (limits_.rope_axes == 0) return;
    std::uint32_t at = position;
    const std::uint32_t* place = nullptr;
    for (const GivenRows& g : s.given) {
      if (g.places == GivenRows::kNoPlaces || position < g.first) continue;
      const std::uint32_t row = position - g.first;
      if (row < g.rows) place = s.places.data() + g.places + std::size_t{row} * limits_.rope_axes;
      at = row < g.rows ? at - row : at - g.rows + g.advance;
    }
    for (std::uint32_t axis = 0; axis < limits_.rope_axes; ++axis)
      (void)rope_positions_.push_back(place != nullptr ? at + place[axis] : at);
  }

  void add_row(const Sequence& s, std::size_t index, std::uint32_t position, bool last) noexcept {
    const std::size_t row = rows_.size();
    (void)rows_.push_back(static_cast<std::uint32_t>(tokens_.size() - 1));
    (void)origins_.push_back({static_cast<std::uint32_t>(index), position});
    ops::SampleRequest request = s.sampling;
    request.active = last ? request.active : 0;
    if (s.wants(position)) request.reads_logits = 1;
    const std::size_t read = last ? position + 1u : s.tokens.size();
    request.generated = static_cast<std::uint32_t>(read) - s.prompt_tokens;
    const std::size_t window = request.history < limits_.history ? request.history : limits_.history;
    const std::size_t seen = read < window ? read : window;
    for (std::size_t i = 0; i < seen; ++i)
      history_[row * limits_.history + i] = static_cast<std::int32_t>(s.tokens.data()[read - seen + i]);
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
  Vector<std::uint32_t> shares_;  ///< prompt tokens of each sequence in this step
  Vector<std::uint32_t> tokens_;
  Vector<float> embeddings_;  ///< a row for each token of a step; those of given ones count
  bool gives_ = false;        ///< whether the step has a given row
  bool drafts_ = false;       ///< whether it has a draft
  Vector<std::int32_t> adapters_;
  Vector<std::uint32_t> slots_;
  Vector<std::uint32_t> positions_;
  Vector<std::uint32_t> rope_positions_;
  Vector<std::uint32_t> rows_;
  Vector<RowOrigin> origins_;
  Vector<ops::SampleRequest> requests_;
  Vector<std::int32_t> history_;
  Vector<std::int32_t> bias_ids_;
  Vector<float> bias_;
};

}  // namespace zrt::inline ZRT_ABI::serve
