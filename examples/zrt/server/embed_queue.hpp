// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/embed_queue.hpp: texts to embed that wait, and whose are computed next.
#pragma once

#include "job_turns.hpp"
#include "tenant.hpp"
#include <zrt/engine/embedding.hpp>
#include <zrt/engine/model_set.hpp>
#include <zrt/serve/token_window.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace program::server {

/// One vector for each text of a request.
struct TextVectors {
  std::uint32_t width = 0;
  std::vector<float> values;          ///< [texts × width]
  std::vector<std::uint32_t> tokens;  ///< [texts] that the model read

  [[nodiscard]] std::size_t size() const { return tokens.size(); }
  [[nodiscard]] std::span<const float> of(std::size_t text) const {
    return std::span(values).subspan(text * width, width);
  }
};

/// The texts of one request.
struct EmbedJob {
  std::string tenant;
  zrt::TenantQuota quota{};
  zrt::ModelId model{};
  std::vector<std::vector<std::int32_t>> texts;
  zrt::Pooling pooling = zrt::Pooling::last;
  std::function<void(zrt::Result<TextVectors>)> hear;
  std::function<bool()> gone;  ///< the client has left
  /// Hears how many requests its tenant has, this one included, before anything of it is computed.
  std::function<void(std::uint64_t)> taken{};
  bool begun = false;  ///< a model reads the first of its texts
  TextVectors done{};  ///< of the first texts

  [[nodiscard]] bool is_done() const { return done.size() == texts.size(); }
};

/// Requests of several tenants, charged by tokens, some texts of a request at a time: a request of a thousand texts delays
/// another tenant's by a few. No five seconds have more tokens of a tenant than its rate allows: a share holds their window.
class EmbedQueue : public JobTurns<EmbedJob, zrt::serve::TokenWindow> {
 public:
  /// Texts are handed out until they have as many tokens.
  static constexpr std::uint64_t kPieceTokens = 256;

  /// The next texts of a request: `count` of them behind those that are done.
  struct Piece {
    EmbedJob* job = nullptr;
    std::size_t count = 0;
  };

  [[nodiscard]] bool empty() const { return size() == 0; }
  /// What to compute at `now`, in nanoseconds that never go back; no job where none may run.
  [[nodiscard]] Piece next(std::uint64_t now);
  /// Nanoseconds until a rate has room again; 0 where next() has a piece.
  [[nodiscard]] std::uint64_t idle_ns(std::uint64_t now);
  /// Charges a piece to its tenant. Returns how many tokens it had.
  std::uint64_t charge(const Piece& piece);

 private:
  [[nodiscard]] static Piece piece_of(const Share& share);
  [[nodiscard]] static bool has_room(const Share& share, const Piece& piece);
};

/// Tokens of these texts of a request.
[[nodiscard]] std::uint64_t tokens_of(const EmbedQueue::Piece& piece);

}  // namespace program::server
