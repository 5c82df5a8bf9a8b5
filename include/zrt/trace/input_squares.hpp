// SPDX-License-Identifier: Apache-2.0
// zrt/trace/input_squares.hpp: how large the activations are that meet each column of each matrix of a model.
#pragma once

#include <zrt/exec/weights.hpp>
#include <zrt/ops/linear_heads.hpp>
#include <zrt/ops/moe_down_acc.hpp>
#include <zrt/ops/moe_gate_topk.hpp>
#include <zrt/ops/moe_gate_up.hpp>
#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>
#include <zrt/ops/shared_expert.hpp>
#include <zrt/trace/validated_executor.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::trace {

/// What met one weight: for each of its matrices (experts, or heads; else one) the rows that were multiplied with it,
/// and for each of its columns the sum of their squares.
struct WeightSquares {
  std::string_view name;  ///< as the plan has it
  std::uint32_t columns = 0;
  std::uint32_t matrices = 1;
  std::size_t first_sum = 0;
  std::size_t first_count = 0;
  plan::WeightRef weight = plan::kNoWeight;
};

namespace detail {

/// Which rows of an instruction's input meet which matrices.
enum class RowsMeet : std::uint8_t {
  one,     ///< every row the only matrix
  chosen,  ///< row t the matrices that row t of `ids` names
  own,     ///< row (t, j) the matrix ids[t, j]
  heads,   ///< part h of each row matrix h
};

/// A weight of an instruction and what meets it.
struct MatrixUse {
  RowsMeet meet = RowsMeet::one;
  std::size_t entry = 0;
  plan::RegisterRef x = plan::kNoRegister;
  plan::RegisterRef ids = plan::kNoRegister;
  std::uint32_t skipped = 0;  ///< columns behind a head's that its matrix does not see
  bool normed = false;        ///< the op norms x first
  plan::WeightRef norm = plan::kNoWeight;
  ops::RmsNormParams norm_params{};
};

}  // namespace detail

/// Runs one sequence on an executor that keeps its values, and sums the squares of what its matrices are multiplied
/// with. The head is left out: only a step's last rows reach it.
///
/// An op that norms its input first is followed by the norm's reference, whose bits every backend computes that says
/// so. Sums are f64, in the order of the tokens.
class InputSquares {
 public:
  /// `weights` gives what `executor` was bound with; both outlive it.
  ///
  /// Errors: Errc::invalid_argument for an executor that keeps no values; out_of_memory.
  [[nodiscard]] static Result<InputSquares> make(const ValidatedExecutor& executor, const exec::WeightSource& weights,
                                                 const Allocator& allocator) noexcept {
    if (!executor.sizes->keep_values)
      return fail(Errc::invalid_argument, "sums need the values of a step, the engine keeps none of them");
    InputSquares squares(executor, weights, allocator);
    if (auto r = squares.find_uses(); !r) return pass(r);
    if (auto r = squares.make_room(); !r) return pass(r);
    return squares;
  }

  /// Feeds the next tokens of the sequence, as many as a step takes.
  ///
  /// Errors: those of OneSequence::batch, Executor::step and the device.
  [[nodiscard]] Result<void> feed(Span<const std::uint32_t> tokens) noexcept {
    const auto batch = sequence_.batch(tokens, true);
    if (!batch) return pass(batch);
    if (auto done = executor_.step(executor_.executor, *batch); !done) return pass(done);
    const Extents now =
        step_extents(plan(), static_cast<std::uint32_t>(tokens.size()), static_cast<std::uint32_t>(batch->rows.size()));
    for (const detail::MatrixUse& use : uses_)
      if (auto r = add(use, now); !r) return r;
    sequence_.advance(tokens.size());
    return {};
  }

  /// Begins another sequence.
  [[nodiscard]] Result<void> restart() noexcept {
    sequence_.restart();
    for (const StateDescriptor& state : plan().states) {
      if (!state.zero_init) continue;
      if (auto r = x_.resize(static_cast<std::size_t>(state.size_bytes)); !r) return r;
      std::memset(x_.data(), 0, x_.size());
      if (auto r = executor_.write_page(executor_.executor, state.id, 0, x_.span()); !r) return r;
    }
    return {};
  }

  [[nodiscard]] Span<const WeightSquares> weights() const noexcept { return entries_.span(); }
  /// The sums of each column, matrix after matrix.
  [[nodiscard]] Span<const double> sums(const WeightSquares& weight) const noexcept {
    return sums_.span().subspan(weight.first_sum, std::size_t{weight.columns} * weight.matrices);
  }
  /// The rows that met each matrix.
  [[nodiscard]] Span<const std::uint64_t> counts(const WeightSquares& weight) const noexcept {
    return counts_.span().subspan(weight.first_count, weight.matrices);
  }

 private:
  InputSquares(const ValidatedExecutor& executor, const exec::WeightSource& weights, const Allocator& a) noexcept
      : executor_(executor),
        source_(weights),
        uses_(a),
        entries_(a),
        sums_(a),
        counts_(a),
        sequence_(a),
        x_(a),
        ids_(a),
        normed_(a) {}

  [[nodiscard]] const plan::ExecutionPlan& plan() const noexcept { return executor_.compiled->plan; }

  // --- once ------------------------------------------------------------------------------------------

  [[nodiscard]] Result<void> find_uses() noexcept {
    using detail::RowsMeet;
    for (std::size_t i = 0; i < plan().instructions.size(); ++i) {
      const plan::Instruction insn = plan().instruction(i);
      detail::MatrixUse use;
      if (insn.opcode == ops::Linear::opcode || insn.opcode == ops::MoeGateTopk::opcode ||
          insn.opcode == ops::SharedExpert::opcode) {
        if (auto r = add_use(insn, 0, use); !r) return r;
      } else if (insn.opcode == ops::RmsNormFusedQkv::opcode) {
        if (auto r = add_normed<ops::RmsNormFusedQkv>(insn, 3); !r) return r;
      } else if (insn.opcode == ops::RmsNormFusedMlpGateUp::opcode) {
        if (auto r = add_normed<ops::RmsNormFusedMlpGateUp>(insn, 2); !r) return r;
      } else if (insn.opcode == ops::MoeGateUp::opcode) {
        use.meet = RowsMeet::chosen;
        for (const std::size_t weight : {ops::MoeGateUp::gate, ops::MoeGateUp::up})
          if (auto r = add_use(insn, weight, use); !r) return r;
      } else if (insn.opcode == ops::MoeDownAcc::opcode) {
        use.meet = RowsMeet::own;
        if (auto r = add_use(insn, 0, use); !r) return r;
      } else if (insn.opcode == ops::LinearHeads::opcode) {
        const auto params = decode_params<ops::LinearHeads>(plan().param_block(insn.param_block_id.value_or(0)));
        if (!params) return pass(params);
        use.meet = RowsMeet::heads;
        use.skipped = params->pass;
        if (auto r = add_use(insn, 0, use); !r) return r;
      }
    }
    return {};
  }

  template <class O>
  [[nodiscard]] Result<void> add_normed(const plan::Instruction& insn, std::size_t matrices) noexcept {
    const auto params = decode_params<O>(plan().param_block(insn.param_block_id.value_or(0)));
    if (!params) return pass(params);
    detail::MatrixUse use;
    use.normed = true;
    use.norm = insn.weights[0];
    use.norm_params = params->norm;
    for (std::size_t i = 0; i < matrices; ++i)
      if (auto r = add_use(insn, 1 + i, use); !r) return r;
    return {};
  }

  [[nodiscard]] Result<void> add_use(const plan::Instruction& insn, std::size_t role, detail::MatrixUse use) noexcept {
    const plan::WeightRef weight = insn.weights[role];
    if (weight == plan::kNoWeight) return {};
    use.x = insn.inputs[0];
    if (use.meet == detail::RowsMeet::chosen || use.meet == detail::RowsMeet::own) use.ids = insn.inputs[1];
    while (use.entry < entries_.size() && entries_[use.entry].weight != weight) ++use.entry;
    if (use.entry == entries_.size())
      if (auto r = add_entry(weight); !r) return r;
    return uses_.push_back(use);
  }
  [[nodiscard]] Result<void> add_entry(plan::WeightRef weight) noexcept {
    const plan::PlanWeight& w = plan().weights[plan::index(weight)];
    WeightSquares entry{w.name.view(), w.shape.last().extent, 1, all_sums_, all_counts_, weight};
    if (w.shape.rank == 3) entry.matrices = w.shape[0].extent;
    const auto sums =
        (CheckedSize(all_sums_) + CheckedSize(entry.columns) * CheckedSize(entry.matrices)).get("the sums");
    if (!sums) return pass(sums);
    all_sums_ = static_cast<std::size_t>(*sums);
    all_counts_ += entry.matrices;
    return entries_.push_back(entry);
  }

  /// The sums of all matrices at once: lists that grow are held twice meanwhile.
  [[nodiscard]] Result<void> make_room() noexcept {
    if (auto r = sums_.resize(all_sums_); !r) return r;
    if (auto r = counts_.resize(all_counts_); !r) return r;
    for (double& sum : sums_) sum = 0;
    for (std::uint64_t& count : counts_) count = 0;
    return sequence_.make_room(executor_);
  }

  // --- each step -------------------------------------------------------------------------------------

  /// Reads a register's value of this step. Elements are of 4 bytes.
  [[nodiscard]] Result<void> read(plan::RegisterRef reg, const Extents& now, Vector<std::byte>& to) noexcept {
    const auto bytes = plan::register_bytes(plan().registers[plan::index(reg)], now);
    if (!bytes) return pass(bytes);
    if (auto r = to.resize(static_cast<std::size_t>(*bytes)); !r) return r;
    return executor_.read(executor_.executor, reg, to.span());
  }
  template <class T> [[nodiscard]] static T element(const Vector<std::byte>& bytes, std::uint64_t i) noexcept {
    T value;
    std::memcpy(&value, bytes.data() + 4 * i, sizeof value);
    return value;
  }

  [[nodiscard]] Result<void> add(const detail::MatrixUse& use, const Extents& now) noexcept {
    if (auto r = read(use.x, now, x_); !r) return r;
    if (use.normed)
      if (auto r = norm(use); !r) return r;
    const WeightSquares& entry = entries_[use.entry];
    const std::uint64_t parts = use.meet == detail::RowsMeet::heads ? entry.matrices : 1;
    const std::uint64_t stride = std::uint64_t{entry.columns} + use.skipped;
    const std::uint64_t rows = x_.size() / 4 / stride;
    if (use.ids == plan::kNoRegister) {
      for (std::uint64_t row = 0; row < rows; ++row) add_row(entry, row % parts, row * stride);
      return {};
    }
    if (auto r = read(use.ids, now, ids_); !r) return r;
    const std::uint64_t pairs = ids_.size() / 4;
    const std::uint64_t used = use.meet == detail::RowsMeet::own || rows == 0 ? 1 : pairs / rows;
    for (std::uint64_t pair = 0; pair < pairs; ++pair) {
      const auto id = element<std::int32_t>(ids_, pair);
      if (id < 0 || static_cast<std::uint32_t>(id) >= entry.matrices)
        return fail(Errc::spec_violation, entry.name, ": a token chose matrix ", id, " of ", entry.matrices);
      add_row(entry, static_cast<std::uint32_t>(id), pair / used * stride);
    }
    return {};
  }

  void add_row(const WeightSquares& entry, std::uint64_t matrix, std::uint64_t first) noexcept {
    double* sums = sums_.data() + entry.first_sum + matrix * entry.columns;
    for (std::uint32_t i = 0; i < entry.columns; ++i) {
      const auto x = static_cast<double>(element<float>(x_, first + i));
      sums[i] += x * x;
    }
    ++counts_[entry.first_count + matrix];
  }

  /// What the op multiplies in place of x.
  [[nodiscard]] Result<void> norm(const detail::MatrixUse& use) noexcept {
    const auto weight = source_.find(source_.context, plan().weights[plan::index(use.norm)].name.view());
    if (!weight) return pass(weight);
    const std::uint32_t dim = use.norm_params.dim;
    if (weight->dtype != DType::f32 || weight->data.size() != std::uint64_t{4} * dim)
      return fail(Errc::dtype_mismatch, weight->name, " is ", name(weight->dtype), " in ", weight->data.size(),
                  " bytes, expected ", dim, " numbers of f32");
    // Input, factors and result, each as aligned numbers.
    if (auto r = normed_.resize(std::size_t{3} * dim); !r) return r;
    float* const x = normed_.data();
    std::memcpy(x + dim, weight->data.data(), weight->data.size());
    for (std::size_t at = 0; at + 4 * dim <= x_.size(); at += std::size_t{4} * dim) {
      std::memcpy(x, x_.data() + at, std::size_t{4} * dim);
      ops::RmsNorm::run(use.norm_params, x, x + dim, x + 2 * dim);
      std::memcpy(x_.data() + at, x + 2 * dim, std::size_t{4} * dim);
    }
    return {};
  }

  ValidatedExecutor executor_;
  exec::WeightSource source_;
  Vector<detail::MatrixUse> uses_;
  Vector<WeightSquares> entries_;
  std::size_t all_sums_ = 0;
  std::size_t all_counts_ = 0;
  Vector<double> sums_;
  Vector<std::uint64_t> counts_;
  OneSequence sequence_;
  Vector<std::byte> x_;
  Vector<std::byte> ids_;
  Vector<float> normed_;
};

}  // namespace zrt::inline ZRT_ABI::trace
