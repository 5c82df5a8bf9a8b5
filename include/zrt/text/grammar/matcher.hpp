// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/matcher.hpp: how far a text has come in a grammar, and which tokens may follow.
#pragma once

#include <zrt/text/grammar/grammar.hpp>
#include <zrt/text/grammar/place_set.hpp>
#include <zrt/text/grammar/token_trie.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI::text::grammar {

/// What a matcher may hold and do. Passing a limit is Errc::limit_exceeded; a text then counts as not allowed.
struct MatcherLimits {
  std::size_t bytes = std::size_t{16} << 20;  ///< of places, steps and masks that are kept
  std::uint32_t places = 16'384;              ///< of a grammar at which one text can be
  std::uint32_t depth = 10'000;               ///< nested rules; what is deeper does not match
  /// Places that are looked at for one mask or token, beside as many as the vocabulary has nodes. Others wait for a mask,
  /// so this bounds its time: some milliseconds, of which a grammar that is not made for it needs a hundredth.
  std::uint32_t work = 1u << 18;
};

/// Follows a text through a grammar byte by byte, and marks the tokens that keep it there.
///
/// All places at which a text can be in the grammar, each with the rules that are open around it, are one *set*. Sets,
/// the steps between them by a byte and the masks of tokens are kept, so a set that comes again costs a look-up. What is
/// kept is bounded: when it passes the limit, all but the present set is forgotten.
///
/// The grammar and the trie outlive the matcher. One thread uses a matcher at a time.
class Matcher {
 public:
  [[nodiscard]] static Result<Matcher> make(const Grammar& grammar, const TokenTrie& trie,
                                            const MatcherLimits& limits = {},
                                            const Allocator& allocator = system_allocator()) noexcept {
    Matcher m(grammar, trie, limits, allocator);
    if (auto r = m.path_.resize(trie.deepest() + 1); !r) return pass(r);
    if (auto r = m.begin(); !r) return pass(r);
    return m;
  }

  /// Begins a text anew.
  [[nodiscard]] Result<void> begin() noexcept {
    forget();
    work_ = 0;
    pending_.clear();
    if (auto r = pending_.add({grammar_->rule(grammar_->root()), kNoFrame}); !r) return r;
    if (auto r = close(); !r) return r;
    auto set = intern();
    if (!set) return pass(set);
    now_ = *set;
    return {};
  }

  /// Whether the text so far is whole.
  [[nodiscard]] bool accepts() const noexcept { return sets_[now_].accepts; }

  /// One bit for each token of the vocabulary, the lowest of a word first: those that may come next. A token that ends a
  /// generation may where the text is whole. The view holds until the next call.
  [[nodiscard]] Result<Span<const std::uint64_t>> mask() noexcept {
    if (sets_[now_].mask == kNone)
      if (auto r = make_mask(); !r) return pass(r);
    return words_of(sets_[now_].mask);
  }

  /// Follows the bytes of a token. Errors: Errc::invalid_argument where they leave the grammar, which then is where it
  /// was; Errc::limit_exceeded, out_of_memory.
  [[nodiscard]] Result<void> take(std::string_view bytes) noexcept {
    if (used() > limits_.bytes)
      if (auto r = compact(); !r) return r;
    work_ = 0;
    std::uint32_t set = now_;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      auto next = step(set, static_cast<std::uint8_t>(bytes[i]));
      if (!next) return pass(next);
      if (*next == kDead)
        return fail(Errc::invalid_argument, "the grammar allows no such token: it ends at byte ", i, " of it");
      set = *next;
    }
    now_ = set;
    return {};
  }

  /// Bytes that are kept.
  [[nodiscard]] std::size_t used() const noexcept {
    return frames_.size() * sizeof(Frame) + places_.size() * sizeof(Place) + sets_.size() * sizeof(Set) +
           (rows_.size() + masks_.size() * 2 + slots_.size() + frame_slots_.size()) * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kNoFrame = kNone;
  static constexpr std::uint32_t kUnknown = kNone;   ///< a step not taken yet
  static constexpr std::uint32_t kDead = kNone - 1;  ///< a step that leaves the grammar

  /// A rule that is open: where it goes on, and the frame around it.
  struct Frame {
    std::uint32_t back;
    std::uint32_t outer;
    std::uint32_t depth;
  };
  struct Set {
    std::uint32_t first = 0;  ///< of its places
    std::uint32_t count = 0;
    std::uint32_t row = kNone;   ///< of its steps
    std::uint32_t mask = kNone;  ///< first word
    std::uint64_t hash = 0;
    bool accepts = false;
  };

  Matcher(const Grammar& grammar, const TokenTrie& trie, const MatcherLimits& limits, const Allocator& a) noexcept
      : grammar_(&grammar),
        trie_(&trie),
        limits_(limits),
        frames_(a),
        places_(a),
        sets_(a),
        rows_(a),
        masks_(a),
        slots_(a),
        frame_slots_(a),
        next_(a),
        pending_(a),
        path_(a),
        chain_(a) {}

  // --- what is kept ----------------------------------------------------------------------------------

  void forget() noexcept {
    frames_.clear();
    places_.clear();
    sets_.clear();
    rows_.clear();
    masks_.clear();
    slots_.clear();
    frame_slots_.clear();
  }
  /// Keeps the present set alone.
  [[nodiscard]] Result<void> compact() noexcept {
    // Places by their chains of frames: state, then frames inwards, then kNone.
    chain_.clear();
    const Set set = sets_[now_];
    for (std::uint32_t i = 0; i < set.count; ++i) {
      const Place place = places_[set.first + i];
      if (auto r = chain_.push_back(place.state); !r) return r;
      const std::size_t begin = chain_.size();
      for (std::uint32_t f = place.frame; f != kNoFrame; f = frames_[f].outer)
        if (auto r = chain_.push_back(frames_[f].back); !r) return r;
      for (std::size_t a = begin, b = chain_.size(); a + 1 < b; ++a, --b) std::swap(chain_[a], chain_[b - 1]);
      if (auto r = chain_.push_back(kNone); !r) return r;
    }
    const bool accepts = set.accepts;
    forget();
    next_.clear();
    pending_.clear();
    for (std::size_t at = 0; at < chain_.size(); ++at) {
      Place place{chain_[at++], kNoFrame};
      for (; chain_[at] != kNone; ++at) {
        auto frame = frame_of(chain_[at], place.frame);
        if (!frame) return pass(frame);
        place.frame = *frame;
      }
      if (auto r = next_.push_back(place); !r) return r;
      if (auto r = pending_.add(place); !r) return r;
    }
    accepting_ = accepts;
    auto made = intern();
    if (!made) return pass(made);
    now_ = *made;
    return {};
  }

  [[nodiscard]] static std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
  }
  /// A table of indexes with room for one more than `count`: grown, it is empty, and `refill` fills it.
  template <class Refill>
  [[nodiscard]] Result<void> make_room(Vector<std::uint32_t>& table, std::size_t count, Refill refill) noexcept {
    if (2 * (count + 1) <= table.size()) return {};
    const std::size_t size = table.size() < 64 ? 64 : 2 * table.size();
    table.clear();
    if (auto r = table.resize(size); !r) return r;
    for (std::uint32_t& slot : table) slot = kNone;
    refill();
    return {};
  }

  /// The frame that goes on at `back` inside `outer`, or kNone where it would be too deep.
  [[nodiscard]] Result<std::uint32_t> frame_of(std::uint32_t back, std::uint32_t outer) noexcept {
    const auto hash = [](std::uint32_t b, std::uint32_t o) { return mixed(mixed(7, b), o); };
    const auto refill = [&] {
      for (std::uint32_t i = 0; i < frames_.size(); ++i) {
        std::size_t at = hash(frames_[i].back, frames_[i].outer) & (frame_slots_.size() - 1);
        while (frame_slots_[at] != kNone) at = (at + 1) & (frame_slots_.size() - 1);
        frame_slots_[at] = i;
      }
    };
    if (auto r = make_room(frame_slots_, frames_.size(), refill); !r) return pass(r);
    std::size_t at = hash(back, outer) & (frame_slots_.size() - 1);
    for (; frame_slots_[at] != kNone; at = (at + 1) & (frame_slots_.size() - 1))
      if (const Frame& f = frames_[frame_slots_[at]]; f.back == back && f.outer == outer) return frame_slots_[at];
    const std::uint32_t depth = outer == kNoFrame ? 1 : frames_[outer].depth + 1;
    if (depth > limits_.depth) return kNone;
    frame_slots_[at] = static_cast<std::uint32_t>(frames_.size());
    if (auto r = frames_.push_back({back, outer, depth}); !r) return pass(r);
    return frame_slots_[at];
  }

  /// The set of the places in `next_`, in whatever order: those in `pending_` that take a byte.
  [[nodiscard]] Result<std::uint32_t> intern() noexcept {
    std::uint64_t hash = accepting_ ? 3 : 5;
    for (const Place& p : next_) hash += mixed(mixed(11, p.state), p.frame);
    const auto refill = [&] {
      for (std::uint32_t i = 0; i < sets_.size(); ++i) {
        std::size_t at = sets_[i].hash & (slots_.size() - 1);
        while (slots_[at] != kNone) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = i;
      }
    };
    if (auto r = make_room(slots_, sets_.size(), refill); !r) return pass(r);
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != kNone; at = (at + 1) & (slots_.size() - 1))
      if (same(sets_[slots_[at]], hash)) return slots_[at];
    Set set{.first = static_cast<std::uint32_t>(places_.size()),
            .count = static_cast<std::uint32_t>(next_.size()),
            .hash = hash,
            .accepts = accepting_};
    slots_[at] = static_cast<std::uint32_t>(sets_.size());
    if (auto r = places_.append(next_.span()); !r) return pass(r);
    if (auto r = sets_.push_back(set); !r) return pass(r);
    return slots_[at];
  }
  [[nodiscard]] bool same(const Set& set, std::uint64_t hash) const noexcept {
    if (set.hash != hash || set.count != next_.size() || set.accepts != accepting_) return false;
    for (std::uint32_t i = 0; i < set.count; ++i)
      if (!pending_.has(places_[set.first + i])) return false;
    return true;
  }

  // --- steps -----------------------------------------------------------------------------------------

  /// Fills `next_` with the places that take a byte and can be reached from those in `pending_` without one.
  /// `accepting_` says whether the text can end there.
  [[nodiscard]] Result<void> close() noexcept {
    next_.clear();
    accepting_ = false;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const Place place = pending_[i];
      const RuleState& s = grammar_->state(place.state);
      switch (s.kind) {
        case StateKind::bytes:
          if (next_.size() >= limits_.places)
            return fail(Errc::limit_exceeded, "the grammar has more than ", limits_.places, " places for one text");
          if (auto r = next_.push_back(place); !r) return r;
          break;
        case StateKind::split:
          if (auto r = pending_.add({s.other, place.frame}); !r) return r;
          [[fallthrough]];
        case StateKind::jump:
          if (auto r = pending_.add({s.next, place.frame}); !r) return r;
          break;
        case StateKind::call:
          if (auto r = enter(s, place.frame); !r) return r;
          break;
        case StateKind::end:
          if (place.frame == kNoFrame)
            accepting_ = true;
          else if (auto r = pending_.add({frames_[place.frame].back, frames_[place.frame].outer}); !r)
            return r;
          break;
      }
      if (auto r = count_work(1); !r) return r;
    }
    return {};
  }
  [[nodiscard]] Result<void> count_work(std::size_t places) noexcept {
    work_ += places;
    if (work_ <= limits_.work + trie_->nodes().size()) return {};
    return fail(Errc::limit_exceeded, "the grammar looks at more than ", limits_.work + trie_->nodes().size(),
                " places to find the tokens that may come next");
  }
  /// A call that is its rule's last part opens no frame, so that a list does not nest.
  [[nodiscard]] Result<void> enter(const RuleState& call, std::uint32_t frame) noexcept {
    std::uint32_t back = call.next;
    while (grammar_->state(back).kind == StateKind::jump) back = grammar_->state(back).next;
    if (grammar_->state(back).kind == StateKind::end) return pending_.add({grammar_->rule(call.other), frame});
    auto opened = frame_of(back, frame);
    if (!opened) return pass(opened);
    return *opened == kNone ? Result<void>{} : pending_.add({grammar_->rule(call.other), *opened});
  }

  /// The set behind `byte`, or kDead.
  [[nodiscard]] Result<std::uint32_t> step(std::uint32_t set, std::uint8_t byte) noexcept {
    if (sets_[set].row != kNone)
      if (const std::uint32_t known = rows_[sets_[set].row + byte]; known != kUnknown) return known;
    return take_step(set, byte);
  }
  [[nodiscard]] ZRT_NOINLINE Result<std::uint32_t> take_step(std::uint32_t set, std::uint8_t byte) noexcept {
    // Past twice the limit within one mask or token, the grammar is too wide for the memory.
    if (used() / 2 > limits_.bytes)
      return fail(Errc::limit_exceeded, "the places of the grammar take more than ", limits_.bytes, " bytes");
    if (sets_[set].row == kNone) {
      const auto row = static_cast<std::uint32_t>(rows_.size());
      if (auto r = rows_.resize(rows_.size() + 256); !r) return pass(r);
      for (std::size_t i = row; i < rows_.size(); ++i) rows_[i] = kUnknown;
      sets_[set].row = row;
    }
    const Set from = sets_[set];
    if (auto r = count_work(from.count); !r) return pass(r);
    // The bytes around this one that lead to the same places.
    unsigned first = 0;
    unsigned last = 255;
    pending_.clear();
    for (std::uint32_t i = 0; i < from.count; ++i) {
      const Place place = places_[from.first + i];
      const RuleState& s = grammar_->state(place.state);
      if (byte < s.first) {
        last = s.first <= last ? s.first - 1u : last;
      } else if (byte > s.last) {
        first = s.last >= first ? s.last + 1u : first;
      } else {
        first = s.first > first ? s.first : first;
        last = s.last < last ? s.last : last;
        if (auto r = pending_.add({s.next, place.frame}); !r) return pass(r);
      }
    }
    if (auto r = close(); !r) return pass(r);
    std::uint32_t to = kDead;
    if (!next_.empty() || accepting_) {
      auto made = intern();
      if (!made) return pass(made);
      to = *made;
    }
    for (unsigned same = first; same <= last; ++same) rows_[sets_[set].row + same] = to;
    return to;
  }

  // --- masks -----------------------------------------------------------------------------------------

  [[nodiscard]] std::size_t words() const noexcept { return (std::size_t{trie_->vocabulary()} + 63) / 64; }
  [[nodiscard]] Span<const std::uint64_t> words_of(std::uint32_t mask) const noexcept {
    return masks_.span().subspan(mask, words());
  }
  [[nodiscard]] Result<void> make_mask() noexcept {
    if (used() + words() * sizeof(std::uint64_t) > limits_.bytes)
      if (auto r = compact(); !r) return r;
    work_ = 0;
    const auto first = static_cast<std::uint32_t>(masks_.size());
    if (auto r = masks_.resize(masks_.size() + words()); !r) return r;
    const auto allow = [&](std::uint32_t token) { masks_[first + token / 64] |= std::uint64_t{1} << (token % 64); };
    if (sets_[now_].accepts)
      for (const std::uint32_t token : trie_->ends_of_generation()) allow(token);
    const Span<const TrieNode> nodes = trie_->nodes();
    path_[0] = now_;
    for (std::size_t i = 0; i < nodes.size();) {
      const TrieNode& node = nodes[i];
      auto to = step(path_[node.depth], node.byte);
      if (!to) {
        (void)masks_.resize(first);  // smaller: it cannot fail
        return pass(to);
      }
      if (*to == kDead) {
        i = node.past;
        continue;
      }
      path_[node.depth + 1u] = *to;
      for (const std::uint32_t token : trie_->tokens(node)) allow(token);
      ++i;
    }
    sets_[now_].mask = first;
    return {};
  }

  const Grammar* grammar_;
  const TokenTrie* trie_;
  MatcherLimits limits_;
  Vector<Frame> frames_;
  Vector<Place> places_;
  Vector<Set> sets_;
  Vector<std::uint32_t> rows_;   ///< 256 steps of each set that has some
  Vector<std::uint64_t> masks_;  ///< of the sets that have one
  Vector<std::uint32_t> slots_;  ///< sets by hash
  Vector<std::uint32_t> frame_slots_;
  Vector<Place> next_;        ///< of the set being made
  detail::PlaceSet pending_;  ///< of the closure being made
  Vector<std::uint32_t> path_;
  Vector<std::uint32_t> chain_;
  std::size_t work_ = 0;  ///< for the present mask or token
  std::uint32_t now_ = 0;
  bool accepting_ = false;
};

/// A grammar bound to a vocabulary, as requests name it. Both outlive every request that names it; many requests on any
/// threads may share one.
struct TokenGrammar {
  const Grammar* grammar = nullptr;
  const TokenTrie* trie = nullptr;
};

}  // namespace zrt::inline ZRT_ABI::text::grammar
