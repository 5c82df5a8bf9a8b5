// SPDX-License-Identifier: Apache-2.0
// zrt/engine/embedder.hpp: carries texts through steps and pools the hidden states of their tokens.
#pragma once

#include <zrt/engine/embedding.hpp>
#include <zrt/engine/serving.hpp>
#include <zrt/exec/executor.hpp>
#include <zrt/model/family.hpp>
#include <zrt/serve/batch_planner.hpp>
#include <zrt/text/tokenizer.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// The vector of one text while its rows come in: sums in f64 by chain over positions, each rounded once at the end.
class Pooled {
 public:
  explicit Pooled(const Allocator& a) noexcept : sum_(a) {}

  [[nodiscard]] Result<void> start(std::uint32_t width) noexcept {
    sum_.clear();
    rows_ = 0;
    return sum_.resize(width);
  }
  void add(Span<const float> row) noexcept {
    for (std::size_t i = 0; i < row.size(); ++i) sum_[i] += double{row[i]};
    ++rows_;
  }
  /// Writes the mean of the rows.
  void mean(Span<float> to) const noexcept {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(sum_[i] / static_cast<double>(rows_));
  }

 private:
  Vector<double> sum_;
  std::uint64_t rows_ = 0;
};

/// Gives a vector length 1; one of zeros stays. The sum of squares is a chain in f64, in which squares of f32 are exact.
inline void normalize(Span<float> vector) noexcept {
  double squares = 0.0;
  for (const float x : vector) squares += double{x} * double{x};
  if (!(squares > 0.0)) return;
  const double length = __builtin_sqrt(squares);
  for (float& x : vector) x = static_cast<float>(double{x} / length);
}

/// Borrows an engine's parts for one call of Engine::embed.
template <class B, class O> class Embedder {
 public:
  struct Parts {
    exec::Executor<B, O>& executor;
    Serving<B>& slots;
    serve::BatchPlanner& planner;
    const text::Tokenizer* tokenizer;
    const model::Config& config;
    std::uint32_t context;
    Allocator allocator;
  };

  explicit Embedder(const Parts& parts) noexcept
      : parts_(parts),
        texts_(parts.allocator),
        in_slot_(parts.allocator),
        cuts_(parts.allocator),
        running_(parts.allocator),
        pooled_(parts.allocator),
        row_(parts.allocator),
        out_(parts.allocator) {}

  /// See Engine::embed.
  [[nodiscard]] Result<Embeddings> run(Span<const EmbedInput> inputs, const EmbedOptions& options,
                                       const exec::StopPoll& stop) noexcept {
    if (auto r = choose(options); !r) return pass(r);
    if (auto r = read(inputs, options); !r) return pass(r);
    if (auto r = make_room(); !r) return pass(r);
    auto done = steps(stop);
    for (std::size_t i = 0; i < running_.size(); ++i)
      if (running_[i] != nullptr)
        if (auto r = parts_.slots.release(running_[i]->slot); !r && done) done = r;
    if (!done) return pass(done);
    if (options.normalize && out_.pooling != Pooling::rank)
      for (std::size_t at = 0; at < out_.values.size(); at += out_.width)
        normalize(out_.values.span().subspan(at, out_.width));
    return std::move(out_);
  }

 private:
  [[nodiscard]] Result<void> choose(const EmbedOptions& options) noexcept {
    const plan::CompiledPlan& compiled = parts_.executor.compiled();
    if (compiled.plan.output(exec::port::kHidden) == plan::kNoRegister)
      return fail(Errc::invalid_argument,
                  "the model was opened for tokens; EngineOptions::embeddings opens it for embeddings");
    out_.pooling = options.pooling == Pooling::from_file ? parts_.config.pooling : options.pooling;
    if (out_.pooling == Pooling::from_file)
      return fail(Errc::invalid_argument,
                  "the file names no pooling_type, so the host chooses: none, mean, cls, last or rank");
    port_ = out_.pooling == Pooling::rank ? exec::port::kScores : exec::port::kHidden;
    const plan::RegisterRef reg = compiled.plan.output(port_);
    if (reg == plan::kNoRegister)
      return fail(Errc::invalid_argument, "pooling is rank, but the model has no classification head");
    out_.width = compiled.plan.registers[plan::index(reg)].shape.last().extent;
    // A head reads what an encoder has at its first token, and a decoder at its last.
    from_first_ = out_.pooling == Pooling::cls || (out_.pooling == Pooling::rank && parts_.config.whole_texts);
    return {};
  }

  /// Reads all texts before the first step, so that one that cannot be embedded costs no step.
  [[nodiscard]] Result<void> read(Span<const EmbedInput> inputs, const EmbedOptions& options) noexcept {
    const Pooling pooling = out_.pooling;
    if (auto r = texts_.reserve(inputs.size()); !r) return r;
    if (auto r = out_.first.resize(inputs.size() + 1); !r) return r;
    if (auto r = out_.tokens.resize(inputs.size()); !r) return r;
    std::size_t rows = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      serve::Sequence sequence(parts_.allocator);
      if (auto r = tokens_of(inputs[i], options, sequence.tokens); !r) return r;
      const std::size_t count = sequence.tokens.size();
      if (count == 0) return fail(Errc::invalid_argument, "text ", i, " has no tokens");
      if (count > parts_.context)
        return fail(Errc::capacity_exceeded, "text ", i, " has ", count, " tokens, the context holds ", parts_.context);
      sequence.prompt_tokens = static_cast<std::uint32_t>(count);
      sequence.every_row = pooling == Pooling::none || pooling == Pooling::mean || from_first_;
      out_.tokens[i] = sequence.prompt_tokens;
      out_.first[i] = rows;
      rows += pooling == Pooling::none ? count : 1;
      if (auto r = texts_.push_back(std::move(sequence)); !r) return r;
    }
    out_.first[inputs.size()] = rows;
    return out_.values.resize(rows * out_.width);
  }

  [[nodiscard]] Result<void> tokens_of(const EmbedInput& input, const EmbedOptions& options,
                                       Vector<std::uint32_t>& to) const noexcept {
    Vector<std::int32_t> ids(parts_.allocator);
    if (!input.tokens.empty()) {
      if (auto r = ids.append(input.tokens); !r) return r;
    } else if (parts_.tokenizer == nullptr) {
      return fail(Errc::unsupported_tokenizer, "the model has no vocabulary; give the texts as tokens");
    } else if (auto r = parts_.tokenizer->encode_into(
                   input.text, {.add_special = true, .parse_special = options.parse_special}, ids);
               !r) {
      return r;
    } else if (input.document.data() != nullptr) {
      if (!parts_.config.whole_texts)
        return fail(Errc::invalid_argument, "a decoder scores one text; put query and document into one prompt");
      if (auto s = parts_.tokenizer->append_second(input.document, options.parse_special, ids); !s) return s;
    }
    for (const std::int32_t id : ids) {
      if (id < 0 || static_cast<std::uint32_t>(id) >= parts_.config.vocabulary)
        return fail(Errc::invalid_argument, "token ", id, " is outside the vocabulary of ", parts_.config.vocabulary);
      if (auto r = to.push_back(static_cast<std::uint32_t>(id)); !r) return r;
    }
    return {};
  }

  [[nodiscard]] Result<void> make_room() noexcept {
    const std::size_t slots = parts_.executor.sizes().slots;
    if (auto r = running_.resize(slots); !r) return r;
    if (auto r = in_slot_.resize(slots); !r) return r;
    if (auto r = cuts_.resize(slots); !r) return r;
    if (auto r = pooled_.reserve(slots); !r) return r;
    for (std::size_t i = 0; i < slots; ++i)
      if (auto r = pooled_.push_back(Pooled(parts_.allocator)); !r) return r;
    return row_.resize(out_.width);
  }

  [[nodiscard]] Result<void> steps(const exec::StopPoll& stop) noexcept {
    for (std::size_t next = 0;;) {
      if (stop()) return cancelled();
      if (auto r = start(next); !r) return r;
      bool any = false;
      for (const serve::Sequence* s : running_) any = any || s != nullptr;
      if (!any && next == texts_.size()) return {};
      if (!any) return fail(Errc::capacity_exceeded, "no slot is free");
      cut();
      const exec::Batch batch = parts_.planner.plan(running_.span(), parts_.slots.pages(), cuts_.span());
      if (auto r = parts_.slots.advance(batch); !r) return r;
      auto completed = parts_.executor.step(batch, stop);
      if (!completed) return pass(completed);
      if (!*completed) return cancelled();
      if (auto r = take_rows(); !r) return r;
      if (auto r = end_finished(); !r) return r;
    }
  }
  [[nodiscard]] static Result<void> cancelled() noexcept {
    return fail(Errc::cancelled, "the stop token ended the embedding of the texts");
  }

  /// Gives free slots to the next texts.
  [[nodiscard]] Result<void> start(std::size_t& next) noexcept {
    for (std::size_t i = 0; i < running_.size() && next < texts_.size(); ++i) {
      if (running_[i] != nullptr) continue;
      auto slot = parts_.slots.acquire();
      if (!slot) return pass(slot);
      if (*slot == Serving<B>::kNoSlot) return {};
      serve::Sequence& text = texts_[next];
      text.slot = *slot;
      running_[i] = &text;
      in_slot_[i] = next++;
      if (auto r = pooled_[i].start(out_.width); !r) return r;
      if (parts_.config.whole_texts) continue;  // keeps nothing over steps
      if (auto r = parts_.slots.reserve(*slot, text.prompt_tokens); !r) return r;
    }
    return {};
  }

  /// Shares a step out: in turn, and texts that are read whole only if they fit.
  void cut() noexcept {
    const exec::ExecutorSizes& sizes = parts_.executor.sizes();
    std::uint32_t room = sizes.prefill_tokens - sizes.slots;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      cuts_[i] = 0;
      if (running_[i] == nullptr) continue;
      const std::uint32_t left = running_[i]->prompt_left();
      if (left > room && parts_.config.whole_texts) continue;
      cuts_[i] = left < room ? left : room;
      room -= cuts_[i];
    }
  }

  [[nodiscard]] Result<void> take_rows() noexcept {
    const auto origins = parts_.planner.origins();
    for (std::size_t row = 0; row < origins.size(); ++row) {
      const std::size_t i = origins[row].sequence;
      const std::uint32_t position = origins[row].position;
      const bool last = position + 1 == running_[i]->prompt_tokens;
      if (from_first_ && position != 0) continue;
      if (!from_first_ && !last && !running_[i]->every_row) continue;
      const std::uint64_t offset = std::uint64_t{row} * row_.size() * sizeof(float);
      if (auto r = parts_.executor.read(port_, offset, as_writable_bytes(row_.span())); !r) return r;
      if (out_.pooling == Pooling::none) {
        const std::size_t at = (out_.first[in_slot_[i]] + position) * out_.width;
        for (std::size_t d = 0; d < row_.size(); ++d) out_.values[at + d] = row_[d];
      } else {
        pooled_[i].add(row_.span());
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> end_finished() noexcept {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (running_[i] == nullptr || running_[i]->prompt_left() != 0) continue;
      if (out_.pooling != Pooling::none)
        pooled_[i].mean(out_.values.span().subspan(out_.first[in_slot_[i]] * out_.width, out_.width));
      const std::uint32_t slot = running_[i]->slot;
      running_[i] = nullptr;
      if (auto r = parts_.slots.release(slot); !r) return r;
    }
    return {};
  }

  Parts parts_;
  std::string_view port_;
  bool from_first_ = false;        ///< the first token's row is wanted, not the last one's
  Vector<serve::Sequence> texts_;  ///< all of the call
  Vector<std::size_t> in_slot_;    ///< which text runs in each place
  Vector<std::uint32_t> cuts_;
  Vector<serve::Sequence*> running_;  ///< null where a place is free
  Vector<Pooled> pooled_;
  Vector<float> row_;
  Embeddings out_;
};

}  // namespace zrt::inline ZRT_ABI::detail
