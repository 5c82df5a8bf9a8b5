// SPDX-License-Identifier: Apache-2.0
// zrt/plan/storage.hpp: which registers share memory: views, results in place, and scratch, in one pass.
#pragma once

#include <zrt/plan/liveness.hpp>
#include <zrt/plan/physical_mapping.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::detail {

/// Bytes of a block that are needed for a while. The clock is 0 when the inputs are written, i + 1 at
/// instruction i, and one more when the outputs are read; both ends are part of the life.
struct LivePiece {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< a multiple of kArenaAlign
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t next = 0;  ///< the next piece of the block, or Storage::kNone
};

/// What has to lie in one run of memory: a register with its views and what is written over it, or a
/// scratch. Only the bytes of its pieces are taken, and only while these live: a small view does not
/// hold what it is a view of.
///
/// A block without pieces lies outside of the arena and takes none of it.
struct Block {
  std::uint64_t bytes = 0;  ///< a multiple of kArenaAlign
  std::uint32_t pieces = 0;
  std::uint32_t members = 0;          ///< registers that may still live; see Sharing
  RegisterRef outside = kNoRegister;  ///< whose memory it is, for a block without pieces
};

/// Blocks in order of birth. Items are the registers, then the scratch of each instruction.
struct Storage {
  explicit Storage(Allocator a) noexcept : blocks(a), pieces(a), block_of(a), at(a) {}

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Vector<Block> blocks;
  Vector<LivePiece> pieces;
  Vector<std::uint32_t> block_of;  ///< per item; kNone for no bytes
  Vector<std::uint64_t> at;        ///< per item: where in its block
};

/// Decides for each result whether it is a view of an input, is written over one, or has a block of its
/// own. Lives are those of the registers alone, so a view that is refused lives as long as its own
/// readers want it.
class Sharing {
 public:
  Sharing(const ExecutionPlan& plan, const LivenessMap& live, const OpTable& table, Span<const std::uint64_t> bytes,
          Span<const std::uint8_t> outside) noexcept
      : plan_(plan),
        live_(live),
        table_(table),
        bytes_(bytes),
        outside_(outside),
        storage_(plan.allocator),
        piece_of_(plan.allocator),
        last_(plan.allocator),
        next_(plan.allocator) {}

  [[nodiscard]] Result<Storage> run(Span<const std::uint64_t> scratch) noexcept {
    const std::size_t registers = plan_.registers.size();
    if (auto r = storage_.block_of.resize(registers + scratch.size()); !r) return pass(r);
    if (auto r = storage_.at.resize(registers + scratch.size()); !r) return pass(r);
    if (auto r = piece_of_.resize(registers); !r) return pass(r);
    if (auto r = last_.resize(registers); !r) return pass(r);
    if (auto r = next_.resize(registers); !r) return pass(r);
    for (std::uint32_t& block : storage_.block_of) block = Storage::kNone;
    for (const PlanPort& port : plan_.inputs)
      if (auto r = place_apart(index(port.reg), 0); !r) return pass(r);
    for (std::size_t i = 0; i < plan_.instructions.size(); ++i) {
      const Instruction insn = plan_.instruction(i);
      const OpRow& row = *table_[number(insn.opcode)];
      const auto now = static_cast<std::uint32_t>(i + 1);
      for (std::size_t o = 0; o < insn.outputs.size(); ++o) {
        auto placed = place_as_view(insn, row, now);
        if (placed && !*placed) placed = place_over_input(insn, row, o, now);
        if (!placed) return pass(placed);
        if (*placed) continue;
        if (auto r = place_apart(index(insn.outputs[o]), now); !r) return pass(r);
      }
      if (scratch[i] == 0) continue;
      if (auto r = add_block(registers + i, scratch[i], now, now); !r) return pass(r);
    }
    return std::move(storage_);
  }

 private:
  /// When a register that is written at `born` is needed last.
  [[nodiscard]] std::uint32_t last_of(std::size_t reg, std::uint32_t born) const noexcept {
    const std::uint32_t read = live_.register_last_read[reg];
    if (read == LivenessMap::kReadAfterEnd) return static_cast<std::uint32_t>(plan_.instructions.size() + 1);
    return read == LivenessMap::kNeverRead ? born : read + 1;
  }

  [[nodiscard]] Result<void> add_block(std::size_t item, std::uint64_t bytes, std::uint32_t first,
                                       std::uint32_t last) noexcept {
    const auto rounded = CheckedSize(bytes).aligned(kArenaAlign).get("a block of the arena");
    if (!rounded) return pass(rounded);
    storage_.block_of[item] = static_cast<std::uint32_t>(storage_.blocks.size());
    const auto piece = static_cast<std::uint32_t>(storage_.pieces.size());
    if (auto r = storage_.pieces.push_back({0, *rounded, first, last, Storage::kNone}); !r) return r;
    return storage_.blocks.push_back({*rounded, piece, Storage::kNone, kNoRegister});
  }

  [[nodiscard]] Result<void> place_apart(std::size_t reg, std::uint32_t now) noexcept {
    if (bytes_[reg] == 0) return {};
    piece_of_[reg] = static_cast<std::uint32_t>(storage_.pieces.size());
    last_[reg] = last_of(reg, now);
    if (!outside_.empty() && outside_[reg] != 0) {
      storage_.block_of[reg] = static_cast<std::uint32_t>(storage_.blocks.size());
      if (auto r = storage_.blocks.push_back({0, Storage::kNone, Storage::kNone, static_cast<RegisterRef>(reg)}); !r)
        return r;
    } else if (auto r = add_block(reg, bytes_[reg], now, last_[reg]); !r) {
      return r;
    }
    join(reg, storage_.block_of[reg]);
    return {};
  }

  [[nodiscard]] bool is_outside(std::uint32_t block) const noexcept {
    return storage_.blocks[block].pieces == Storage::kNone;
  }
  void join(std::size_t reg, std::uint32_t block) noexcept {
    next_[reg] = storage_.blocks[block].members;
    storage_.blocks[block].members = static_cast<std::uint32_t>(reg);
  }

  /// Puts `reg` into the block of `from`, `offset` bytes behind it.
  [[nodiscard]] Result<void> place_within(std::size_t reg, std::size_t from, std::uint64_t offset,
                                          std::uint32_t now) noexcept {
    const std::uint32_t block = storage_.block_of[from];
    storage_.block_of[reg] = block;
    storage_.at[reg] = storage_.at[from] + offset;
    const std::uint32_t last = last_[reg] = last_of(reg, now);
    if (is_outside(block)) {
      join(reg, block);
      return {};
    }
    LivePiece& whole = storage_.pieces[piece_of_[from]];
    if (bytes_[reg] == bytes_[from]) {
      whole.last = last > whole.last ? last : whole.last;
      piece_of_[reg] = piece_of_[from];
    } else {
      const std::uint64_t begin = storage_.at[reg];
      piece_of_[reg] = static_cast<std::uint32_t>(storage_.pieces.size());
      const LivePiece part{begin, align_up(begin + bytes_[reg], kArenaAlign), now, last, storage_.blocks[block].pieces};
      if (auto r = storage_.pieces.push_back(part); !r) return r;
      storage_.blocks[block].pieces = piece_of_[reg];
    }
    join(reg, block);
    return {};
  }

  /// True when the result lies in the first input from now on; nothing is written, so that the input
  /// may live on.
  [[nodiscard]] Result<bool> place_as_view(const Instruction& insn, const OpRow& row, std::uint32_t now) noexcept {
    if (row.view == nullptr || insn.inputs[0] == kNoRegister) return false;
    const std::size_t from = index(insn.inputs[0]);
    const std::size_t reg = index(insn.outputs[0]);
    if (bytes_[reg] == 0) return false;
    const std::optional<std::uint64_t> offset = view_offset(plan_, insn, row);
    if (!offset || *offset > bytes_[from] || bytes_[reg] > bytes_[from] - *offset) return false;
    if (auto r = place_within(reg, from, *offset, now); !r) return pass(r);
    return true;
  }

  /// True when output `o` is written over an input that nothing needs any more.
  [[nodiscard]] Result<bool> place_over_input(const Instruction& insn, const OpRow& row, std::size_t o,
                                              std::uint32_t now) noexcept {
    const std::size_t reg = index(insn.outputs[o]);
    if (bytes_[reg] == 0) return false;
    for (const Alias& alias : row.may_alias) {
      if (alias.output != o || insn.inputs[alias.input] == kNoRegister) continue;
      const std::size_t from = index(insn.inputs[alias.input]);
      if (bytes_[from] != bytes_[reg] || last_[from] != now) continue;
      std::size_t reads = 0;
      for (RegisterRef r : insn.inputs) reads += r == insn.inputs[alias.input] ? 1u : 0u;
      if (reads != 1 || is_outside(storage_.block_of[from]) || held_by_another(from, now)) continue;
      if (auto r = place_within(reg, from, 0, now); !r) return pass(r);
      return true;
    }
    return false;
  }

  /// True when another register of the block still needs bytes of `from` at `now`. Drops members that
  /// died before, so that each is met dead once.
  [[nodiscard]] bool held_by_another(std::size_t from, std::uint32_t now) noexcept {
    bool held = false;
    std::uint32_t* link = &storage_.blocks[storage_.block_of[from]].members;
    while (*link != Storage::kNone) {
      const std::size_t reg = *link;
      if (last_[reg] < now) {
        *link = next_[reg];
        continue;
      }
      held = held || (reg != from && storage_.at[reg] < storage_.at[from] + bytes_[from] &&
                      storage_.at[from] < storage_.at[reg] + bytes_[reg]);
      link = &next_[reg];
    }
    return held;
  }

  const ExecutionPlan& plan_;
  const LivenessMap& live_;
  const OpTable& table_;
  Span<const std::uint64_t> bytes_;
  Span<const std::uint8_t> outside_;
  Storage storage_;
  Vector<std::uint32_t> piece_of_;  ///< per register
  Vector<std::uint32_t> last_;      ///< per register: when it is needed last
  Vector<std::uint32_t> next_;      ///< per register: the next member of its block
};

}  // namespace zrt::inline ZRT_ABI::plan::detail

ZRT_LOAD_TIME_END
