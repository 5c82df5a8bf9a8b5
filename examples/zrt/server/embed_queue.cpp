// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/embed_queue.cpp: weighted turns of tenants whose texts are embedded.
#include "embed_queue.hpp"

#include <algorithm>

namespace program::server {

std::uint64_t tokens_of(const EmbedQueue::Piece& piece) {
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < piece.count; ++i) tokens += piece.job->texts[piece.job->done.size() + i].size();
  return tokens;
}

EmbedQueue::Piece EmbedQueue::piece_of(const Share& share) {
  EmbedJob& job = *share.jobs.front();
  Piece piece{&job, 0};
  std::uint64_t tokens = 0;
  for (std::size_t text = job.done.size(); text < job.texts.size(); ++text) {
    tokens += job.texts[text].size();
    if (piece.count != 0 && (tokens > kPieceTokens || tokens > share.held.room(job.quota.prefill_tokens_per_s))) break;
    ++piece.count;
  }
  return piece;
}

bool EmbedQueue::has_room(const Share& share, const Piece& piece) {
  return tokens_of(piece) <= share.held.room(piece.job->quota.prefill_tokens_per_s);
}

EmbedQueue::Piece EmbedQueue::next(std::uint64_t now) {
  Piece chosen;
  std::uint64_t least = ~std::uint64_t{0};
  for (auto& [tenant, share] : shares_) {
    share.held.advance(now);
    if (share.jobs.empty() || share.charged >= least) continue;
    const Piece piece = piece_of(share);
    if (!has_room(share, piece)) continue;
    chosen = piece;
    least = share.charged;
  }
  return chosen;
}

std::uint64_t EmbedQueue::idle_ns(std::uint64_t now) {
  if (next(now).job != nullptr) return 0;
  std::uint64_t wait = ~std::uint64_t{0};
  for (const auto& [tenant, share] : shares_)
    if (!share.jobs.empty()) wait = std::min(wait, share.held.until_room(now));
  return wait;
}

std::uint64_t EmbedQueue::charge(const Piece& piece) {
  const std::uint64_t tokens = tokens_of(piece);
  Share& share = shares_[piece.job->tenant];
  charge_share(share, tokens, piece.job->quota.weight);
  share.held.take(static_cast<std::uint32_t>(tokens));
  return tokens;
}

}  // namespace program::server
