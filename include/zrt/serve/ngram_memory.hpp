// SPDX-License-Identifier: Apache-2.0
// zrt/serve/ngram_memory.hpp: what each tenant's last texts said, from which its next ones are guessed.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/serve/handle.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// The ends of the texts that a tenant's requests ended with, and where each run of three tokens last stood in them.
///
/// Nobody's texts are guessed from another tenant's: the rows are the scheduler's rows of tenants, and those of a tenant
/// that leaves are cleared. 32 KiB a tenant, allocated once.
class NgramMemory {
 public:
  static constexpr std::uint32_t kTokens = 4096;    ///< of one tenant
  static constexpr std::uint32_t kOfOneText = 512;  ///< of these at most
  static constexpr std::uint32_t kRun = 3;

  [[nodiscard]] static Result<NgramMemory> make(std::uint32_t tenants, const Allocator& allocator) noexcept {
    NgramMemory m(allocator);
    if (auto r = m.rows_.resize(tenants); !r) return pass(r);
    if (auto r = m.tokens_.resize(std::size_t{tenants} * kTokens); !r) return pass(r);
    if (auto r = m.places_.resize(std::size_t{tenants} * kTokens); !r) return pass(r);
    return m;
  }

  /// Adds the end of a text. Where there is no room, it takes the place of what was said first.
  void remember(Handle tenant, Span<const std::uint32_t> text) noexcept {
    Row* const row = take(tenant);
    if (row == nullptr || text.size() <= kRun) return;
    if (text.size() > kOfOneText) text = text.subspan(text.size() - kOfOneText);
    const auto count = static_cast<std::uint32_t>(text.size());
    if (row->head + count > kTokens) row->head = 0;
    std::uint32_t* const own = tokens(tenant);
    for (std::uint32_t i = 0; i < count; ++i) own[row->head + i] = text[i];
    for (std::uint32_t end = row->head + kRun; end < row->head + count; ++end) places(tenant)[hash(own + end)] = end;
    row->head += count;
    if (row->head > row->filled) row->filled = row->head;
  }

  /// Clears what a tenant's texts said, behind its last request.
  void forget(Handle tenant) noexcept {
    const std::uint32_t at = row_of(tenant);
    if (at >= rows_.size() || rows_[at].owner != tenant) return;
    rows_[at] = {};
    for (std::uint32_t i = 0; i < kTokens; ++i) tokens(tenant)[i] = places(tenant)[i] = 0;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return (tokens_.size() + places_.size()) * sizeof(std::uint32_t) + rows_.size() * sizeof(Row);
  }

  /// What followed the last three tokens of `text` where the tenant's texts had them last: at most `most`, often nothing.
  [[nodiscard]] Span<const std::uint32_t> guess(Handle tenant, Span<const std::uint32_t> text,
                                                std::uint32_t most) const noexcept {
    const std::uint32_t at = row_of(tenant);
    if (at >= rows_.size() || rows_[at].owner != tenant || text.size() < kRun) return {};
    const std::uint32_t* const own = &tokens_[std::size_t{at} * kTokens];
    const std::uint32_t* const last = text.data() + text.size();
    const std::uint32_t end = places_[std::size_t{at} * kTokens + hash(last)];
    const std::uint32_t filled = rows_[at].filled;
    if (end < kRun || end >= filled) return {};
    for (std::uint32_t i = 1; i <= kRun; ++i)
      if (own[end - i] != *(last - i)) return {};
    return {own + end, most < filled - end ? most : filled - end};
  }

 private:
  struct Row {
    Handle owner = 0;
    std::uint32_t head = 0;    ///< where the next text begins
    std::uint32_t filled = 0;  ///< tokens that were ever written
  };

  explicit NgramMemory(const Allocator& a) noexcept : rows_(a), tokens_(a), places_(a) {}

  /// The place of the run of tokens before `end`.
  [[nodiscard]] static std::uint32_t hash(const std::uint32_t* end) noexcept {
    const std::uint32_t mixed = (*(end - 1) * 0x9e3779b1u) ^ (*(end - 2) * 0x85ebca6bu) ^ (*(end - 3) * 0xc2b2ae35u);
    return (mixed ^ (mixed >> 15)) % kTokens;
  }
  [[nodiscard]] std::uint32_t* tokens(Handle tenant) noexcept {
    return &tokens_[std::size_t{row_of(tenant)} * kTokens];
  }
  [[nodiscard]] std::uint32_t* places(Handle tenant) noexcept {
    return &places_[std::size_t{row_of(tenant)} * kTokens];
  }
  /// The tenant's row, empty where it was another's.
  [[nodiscard]] Row* take(Handle tenant) noexcept {
    if (row_of(tenant) >= rows_.size()) return nullptr;
    Row& row = rows_[row_of(tenant)];
    if (row.owner == tenant) return &row;
    row = {tenant, 0, 0};
    for (std::uint32_t i = 0; i < kTokens; ++i) places(tenant)[i] = 0;
    return &row;
  }

  Vector<Row> rows_;
  Vector<std::uint32_t> tokens_;  ///< [tenants][kTokens]
  Vector<std::uint32_t> places_;  ///< [tenants][kTokens] by hash, where what follows a run stands; 0: nowhere
};

}  // namespace zrt::inline ZRT_ABI::serve
