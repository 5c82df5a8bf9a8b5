// SPDX-License-Identifier: Apache-2.0
// zrt/trace/run_comparison.hpp: two backends run the same steps; the first value that differs, by layer, instruction and op.
#pragma once

#include <zrt/ops/kv_page.hpp>
#include <zrt/trace/validated_executor.hpp>
#include <zrt/trace/value_pairs.hpp>

#include <algorithm>
#include <optional>

namespace zrt::inline ZRT_ABI::trace {

/// The first element that differs by more than it may.
struct Difference {
  std::uint64_t step = 0;
  std::size_t pair = 0;        ///< of RunComparison::pairs()
  bool in_state = false;       ///< in what the op wrote to its state, not in a result
  std::uint32_t token = 0;     ///< row of the batch
  std::uint32_t position = 0;  ///< of that row in its sequence
  std::uint64_t element =
      0;               ///< within the row: of a result; of a state, keys first, then values; of a recurrent block
  double first = 0.0;  ///< of the first backend
  double second = 0.0;
  double allowed = 0.0;  ///< share of the larger magnitude by which they may differ; 0: same bits
};

/// What was found of a layer's values, over all steps.
struct LayerAgreement {
  std::uint32_t layer = plan::kNoLayer;
  std::uint64_t instructions = 0;  ///< with a value that was compared
  std::uint64_t values = 0;        ///< elements
  std::uint64_t differing = 0;     ///< elements whose bits differ
  std::uint64_t outside = 0;       ///< elements that differ by more than they may
  double largest = 0.0;            ///< difference, as a share of the larger magnitude
};

/// Runs the same tokens, one sequence in slot 0, on two executors of one model, and compares what each instruction wrote.
///
/// What may differ follows from the adapters' capabilities (exec::AdapterCapability): a canonical op gives the
/// reference's bits, a relaxed one stays within its bound, relative to the larger magnitude. An instruction may differ by
/// its own bounds on both backends and by what its inputs and its state may differ by. A result that is no
/// floating-point number has to be equal; behind a relaxed op, which may make another choice, it is not compared.
class RunComparison {
 public:
  /// Both executors outlive it and have the same sizes and inputs; nothing else steps them meanwhile.
  ///
  /// Errors: Errc::invalid_argument for executors that keep no values or differ in sizes; out_of_memory.
  [[nodiscard]] static Result<RunComparison> make(const ValidatedExecutor& first, const ValidatedExecutor& second,
                                                  const OpTable& table, const Allocator& allocator) noexcept {
    RunComparison v(first, second, table, allocator);
    if (!first.sizes->keep_values || !second.sizes->keep_values)
      return fail(Errc::invalid_argument, "validation reads all values of a step, the engines keep none of them");
    for (const auto member : {&exec::ExecutorSizes::slots, &exec::ExecutorSizes::prefill_tokens,
                              &exec::ExecutorSizes::prefill_rows, &exec::ExecutorSizes::pages_per_slot})
      if (first.sizes->*member != second.sizes->*member)
        return fail(Errc::invalid_argument, "the engines differ in slots, chunk, rows or context");
    if (auto r = v.find_pairs(); !r) return pass(r);
    if (auto r = v.make_room(); !r) return pass(r);
    return v;
  }

  /// Values that both plans have, in the order of the first plan's instructions.
  [[nodiscard]] Span<const ValuePair> pairs() const noexcept { return pairs_.span(); }
  /// Results of the first and of the second plan that the other has not.
  [[nodiscard]] std::size_t unpaired_first() const noexcept { return unpaired_[0]; }
  [[nodiscard]] std::size_t unpaired_second() const noexcept { return unpaired_[1]; }
  /// By layer, in the order of the plan: what is before the first layer comes first, head and sampler last.
  [[nodiscard]] Span<const LayerAgreement> layers() const noexcept { return layers_.span(); }
  [[nodiscard]] const std::optional<Difference>& difference() const noexcept { return difference_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// Positions that the sequence has.
  [[nodiscard]] std::uint32_t position() const noexcept { return sequence_.position(); }

  /// Feeds the next tokens of the sequence to both, as a step that holds prompt tokens or as one that does not, and
  /// compares. The last row's next token, greedy, is what `next` tells then.
  ///
  /// Errors: Errc::capacity_exceeded beyond the context; those of Executor::step and of the devices.
  [[nodiscard]] Result<void> step(Span<const std::uint32_t> tokens, bool prefill) noexcept {
    const auto planned = sequence_.batch(tokens, prefill);
    if (!planned) return pass(planned);
    const exec::Batch& batch = *planned;
    for (const ValidatedExecutor& side : sides_) {
      const auto done = side.step(side.executor, batch);
      if (!done) return pass(done);
    }
    if (auto r = compare(batch); !r) return r;
    if (auto r = read_next(batch); !r) return r;
    sequence_.advance(tokens.size());
    ++steps_;
    return {};
  }

  /// The token that the first backend chose behind the last step; below 0 where its plan chooses none.
  [[nodiscard]] std::int32_t next() const noexcept { return next_; }

 private:
  RunComparison(const ValidatedExecutor& first, const ValidatedExecutor& second, const OpTable& table,
                const Allocator& a) noexcept
      : sides_{first, second},
        table_(&table),
        pairs_(a),
        layers_(a),
        layer_of_pair_(a),
        sequence_(a),
        bytes_{Vector<std::byte>(a), Vector<std::byte>(a)} {}

  [[nodiscard]] const plan::ExecutionPlan& plan(std::size_t side) const noexcept { return sides_[side].compiled->plan; }

  // --- once ------------------------------------------------------------------------------------------

  [[nodiscard]] Result<void> find_pairs() noexcept {
    auto found = pair_values(plan(0), plan(1), *table_, *sides_[0].capabilities, *sides_[1].capabilities);
    if (!found) return pass(found);
    pairs_ = std::move(found->pairs);
    unpaired_ = {found->only_first, found->only_second};
    std::uint32_t last = ~std::uint32_t{0};
    for (const ValuePair& pair : pairs_) {
      std::size_t at = layers_.size();
      // Head and sampler stand behind the layers, apart from what stands before them.
      if (!layers_.empty() && layers_[at - 1].layer == pair.layer) --at;
      if (at == layers_.size())
        if (auto r = layers_.push_back({.layer = pair.layer}); !r) return r;
      if (pair.instruction[0] != last) ++layers_[at].instructions;
      last = pair.instruction[0];
      if (auto r = layer_of_pair_.push_back(at); !r) return r;
    }
    return {};
  }

  [[nodiscard]] Result<void> make_room() noexcept {
    const exec::ExecutorSizes& sizes = *sides_[0].sizes;
    if (auto r = sequence_.make_room(sides_[0]); !r) return r;
    std::uint64_t largest = 0;
    for (const plan::ExecutionPlan* p : {&plan(0), &plan(1)}) {
      const Extents bounds = step_extents(*p, sizes.prefill_tokens, std::max(sizes.prefill_rows, sizes.slots));
      for (const TensorType& type : p->registers) {
        const auto bytes = plan::register_bytes(type, bounds);
        if (!bytes) return pass(bytes);
        largest = std::max(largest, *bytes);
      }
      for (const StateDescriptor& state : p->states) largest = std::max<std::uint64_t>(largest, state.size_bytes);
    }
    for (Vector<std::byte>& bytes : bytes_)
      if (auto r = bytes.resize(static_cast<std::size_t>(largest)); !r) return r;
    return {};
  }

  // --- each step -------------------------------------------------------------------------------------

  [[nodiscard]] Result<void> compare(const exec::Batch& batch) noexcept {
    const Extents now = step_extents(plan(0), static_cast<std::uint32_t>(batch.tokens.size()),
                                     static_cast<std::uint32_t>(batch.rows.size()));
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (pairs_[i].is_state) {
        if (auto r = compare_state(i, batch); !r) return r;
      } else if (auto r = compare_result(i, batch, now); !r) {
        return r;
      }
    }
    return {};
  }

  [[nodiscard]] Result<void> compare_result(std::size_t index, const exec::Batch& batch, const Extents& now) noexcept {
    const ValuePair& pair = pairs_[index];
    const TensorType& type = plan(0).registers[plan::index(pair.reg[0])];
    const auto bytes = plan::register_bytes(type, now);
    if (!bytes) return pass(bytes);
    for (std::size_t side = 0; side < 2; ++side)
      if (auto r = sides_[side].read(sides_[side].executor, pair.reg[side], bytes_[side].span().first(*bytes)); !r)
        return r;
    const std::uint64_t elements = type.shape.elements(now).raw();
    const Dim axis = type.shape.rank != 0 ? type.shape[0] : Dim(1);
    const std::uint64_t lines = axis.symbol != 0 ? std::uint64_t{axis.extent} * now.value[axis.symbol] : 1;
    const std::uint64_t line = lines == 0 ? 0 : elements / lines;
    const bool of_head = axis.symbol != 0 && axis.symbol == plan(0).symbol(exec::port::kRows);
    for (std::uint64_t e = 0; e < elements; ++e) {
      const Agreement seen = agree(type.dtype, e, pair.allowed);
      count(index, seen);
      if (!seen.outside || difference_) continue;
      const std::uint64_t row = line == 0 ? 0 : e / line;
      const auto token = static_cast<std::uint32_t>(of_head ? batch.rows[row] : axis.symbol != 0 ? row : 0);
      note({steps_, index, false, token, batch.positions[token], line == 0 ? e : e % line, seen.first, seen.second,
            pair.allowed});
    }
    return {};
  }

  /// Keys and values of the step's positions, page by page; a recurrent block as the step's last token left it.
  [[nodiscard]] Result<void> compare_state(std::size_t index, const exec::Batch& batch) noexcept {
    const ValuePair& pair = pairs_[index];
    const StateDescriptor& state = plan(0).states[pair.state];
    if (state.lifecycle == StateLifecycle::recurrent) return compare_block(index, state, batch);
    const KvPage page = KvPage::of(state.info);
    for (std::size_t first = 0; first < batch.tokens.size();) {
      const std::uint32_t list = batch.positions[first] / kPageTokens;
      for (std::size_t side = 0; side < 2; ++side)
        if (auto r =
                sides_[side].read_page(sides_[side].executor, pair.state, sequence_.page_of(state.info.group, list),
                                       bytes_[side].span().first(state.size_bytes));
            !r)
          return r;
      std::size_t t = first;
      for (; t < batch.tokens.size() && batch.positions[t] / kPageTokens == list; ++t)
        compare_position(index, page, batch, static_cast<std::uint32_t>(t));
      first = t;
    }
    return {};
  }
  [[nodiscard]] Result<void> compare_block(std::size_t index, const StateDescriptor& state,
                                           const exec::Batch& batch) noexcept {
    for (std::size_t side = 0; side < 2; ++side)
      if (auto r =
              sides_[side].read_page(sides_[side].executor, state.id, 0, bytes_[side].span().first(state.size_bytes));
          !r)
        return r;
    const auto last = static_cast<std::uint32_t>(batch.tokens.size() - 1);
    for (std::uint64_t e = 0; e < state.size_bytes / info(state.info.dtype).block_bytes; ++e) {
      const Agreement seen = agree(state.info.dtype, e, pairs_[index].allowed);
      count(index, seen);
      if (seen.outside && !difference_)
        note({steps_, index, true, last, batch.positions[last], e, seen.first, seen.second, pairs_[index].allowed});
    }
    return {};
  }
  void compare_position(std::size_t index, const KvPage& page, const exec::Batch& batch, std::uint32_t token) noexcept {
    const std::uint32_t in_page = batch.positions[token] % kPageTokens;
    const std::uint64_t keys = std::uint64_t{page.heads} * page.key_dim;
    const std::uint64_t all = keys + std::uint64_t{page.heads} * page.value_dim;
    for (std::uint64_t e = 0; e < all; ++e) {
      float sides[2];
      for (std::size_t side = 0; side < 2; ++side)
        sides[side] =
            e < keys ? page.load_key(bytes_[side].data(), static_cast<std::uint32_t>(e / page.key_dim), in_page,
                                     static_cast<std::uint32_t>(e % page.key_dim))
                     : page.load_value(bytes_[side].data(), static_cast<std::uint32_t>((e - keys) / page.value_dim),
                                       in_page, static_cast<std::uint32_t>((e - keys) % page.value_dim));
      const Agreement seen = trace::agree(DType::f32, reinterpret_cast<const std::byte*>(&sides[0]),
                                          reinterpret_cast<const std::byte*>(&sides[1]), 0, pairs_[index].allowed);
      count(index, seen);
      if (seen.outside && !difference_)
        note({steps_, index, true, token, batch.positions[token], e, seen.first, seen.second, pairs_[index].allowed});
    }
  }

  [[nodiscard]] Agreement agree(DType dtype, std::uint64_t element, double allowed) const noexcept {
    return trace::agree(dtype, bytes_[0].data(), bytes_[1].data(), element, allowed);
  }
  void count(std::size_t pair, const Agreement& seen) noexcept {
    LayerAgreement& layer = layers_[layer_of_pair_[pair]];
    ++layer.values;
    if (!seen.differs) return;
    ++layer.differing;
    layer.outside += seen.outside ? 1 : 0;
    layer.largest = seen.distance > layer.largest ? seen.distance : layer.largest;
  }
  void note(const Difference& found) noexcept { difference_ = found; }

  [[nodiscard]] Result<void> read_next(const exec::Batch& batch) noexcept {
    next_ = -1;
    const plan::RegisterRef reg = plan(0).output(exec::port::kToken);
    if (reg == plan::kNoRegister) return {};
    const std::size_t bytes = batch.rows.size() * sizeof next_;
    if (auto r = sides_[0].read(sides_[0].executor, reg, bytes_[0].span().first(bytes)); !r) return r;
    std::memcpy(&next_, bytes_[0].data() + bytes - sizeof next_, sizeof next_);
    return {};
  }

  std::array<ValidatedExecutor, 2> sides_;
  const OpTable* table_;
  Vector<ValuePair> pairs_;
  std::array<std::size_t, 2> unpaired_{};
  Vector<LayerAgreement> layers_;
  Vector<std::size_t> layer_of_pair_;
  OneSequence sequence_;
  std::array<Vector<std::byte>, 2> bytes_;  ///< of one value
  std::optional<Difference> difference_{};
  std::uint64_t steps_ = 0;
  std::int32_t next_ = -1;
};

}  // namespace zrt::inline ZRT_ABI::trace
