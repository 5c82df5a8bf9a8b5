// SPDX-License-Identifier: Apache-2.0
// zrt/engine/delivery.hpp: a generated token on its way to its request: text, stop strings, limits.
#pragma once

#include <zrt/engine/active_request.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// A token for a request's callable, and the reason if the request ends with it.
struct Delivery {
  Token token{};
  FinishReason finish = FinishReason::none;
};

/// Appends `id` to the request and finds the text that it completes. The views hold until the request's next token.
///
/// `tokenizer` may be null; `context` is the number of positions of a slot.
[[nodiscard]] inline Result<Delivery> deliver(ActiveRequest& a, std::int32_t id, const text::Tokenizer* tokenizer,
                                              std::uint32_t context) noexcept {
  if (auto r = a.sequence.tokens.push_back(static_cast<std::uint32_t>(id)); !r) return pass(r);
  ++a.generated;
  bool ends = !a.ignore_eos && tokenizer != nullptr && tokenizer->is_end_of_generation(id);
  for (std::int32_t stop : a.stop_tokens) ends = ends || stop == id;
  Delivery out{.token = {.id = id, .best = a.best.span()}};
  if (a.text && !ends) {
    auto piece = a.text->feed(id);
    if (!piece) return pass(piece);
    auto sure = a.stops.feed(*piece);
    if (!sure) return pass(sure);
    out.token.text = *sure;
  }
  if (ends)
    out.finish = FinishReason::stop_token;
  else if (a.stops.matched())
    out.finish = FinishReason::stop_string;
  else if (a.generated >= a.max_tokens)
    out.finish = FinishReason::length;
  else if (a.sequence.tokens.size() > context)
    out.finish = FinishReason::context;
  return out;
}

/// Returns held-back text that no further token can complete. The view holds while the request lives.
[[nodiscard]] inline std::string_view last_text(ActiveRequest& a) noexcept {
  if (!a.text) return {};
  if (auto tail = a.text->finish())
    if (auto rest = a.stops.finish(*tail)) return *rest;
  return {};
}

/// Restores the text state of a saved request: its tokens are read again, and the last `held` bytes of their text count
/// as not delivered.
///
/// Errors: Errc::invalid_file when there is less text than that, Errc::out_of_memory.
[[nodiscard]] inline Result<void> replay_text(ActiveRequest& a, std::size_t held, const Allocator& allocator) noexcept {
  String said(allocator);
  if (a.text) {
    for (std::size_t i = a.sequence.prompt_tokens; i < a.sequence.tokens.size(); ++i) {
      auto piece = a.text->feed(static_cast<std::int32_t>(a.sequence.tokens[i]));
      if (!piece) return pass(piece);
      if (auto r = said.append(*piece); !r) return r;
    }
  }
  if (held > said.size())
    return fail(Errc::invalid_file, "the snapshot holds back ", held, " bytes of text, its tokens have ", said.size());
  return a.stops.resume({said.view().data() + (said.size() - held), held});
}

}  // namespace zrt::inline ZRT_ABI::detail
