// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/place_set.hpp: places of a grammar, each once, in the order in which they came.
#pragma once

#include <zrt/core/vector.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::text::grammar {

/// A state of a grammar inside the rules that are open around it.
struct Place {
  std::uint32_t state;
  std::uint32_t frame;
  [[nodiscard]] friend bool operator==(const Place&, const Place&) noexcept = default;
};

namespace detail {

/// Places, each once. Adding one takes the same time however many there are, and so does emptying the set: a slot of an
/// earlier generation counts as free.
class PlaceSet {
 public:
  explicit PlaceSet(const Allocator& a) noexcept : places_(a), slots_(a) {}

  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] Place operator[](std::size_t i) const noexcept { return places_[i]; }

  [[nodiscard]] bool has(Place place) const noexcept {
    return !slots_.empty() && slots_[slot_of(place)].generation == generation_;
  }

  void clear() noexcept {
    places_.clear();
    if (++generation_ != 0) return;
    for (Slot& slot : slots_) slot = {};
    generation_ = 1;
  }
  /// Adds a place unless it is there. Errors: Errc::out_of_memory.
  [[nodiscard]] Result<void> add(Place place) noexcept {
    if (2 * (places_.size() + 1) > slots_.size())
      if (auto r = grow(); !r) return r;
    Slot& slot = slots_[slot_of(place)];
    if (slot.generation == generation_) return {};
    slot = {generation_, static_cast<std::uint32_t>(places_.size())};
    return places_.push_back(place);
  }

 private:
  struct Slot {
    std::uint32_t generation = 0;
    std::uint32_t place = 0;
  };

  /// The slot of a place, or the free one for it.
  [[nodiscard]] std::size_t slot_of(Place place) const noexcept {
    std::uint64_t hash = (std::uint64_t{place.state} << 32 | place.frame) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].generation == generation_ && places_[slots_[at].place] != place)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  [[nodiscard]] Result<void> grow() noexcept {
    const std::size_t size = slots_.size() < 64 ? 64 : 2 * slots_.size();
    slots_.clear();
    if (auto r = slots_.resize(size); !r) return r;
    for (std::size_t i = 0; i < places_.size(); ++i)
      slots_[slot_of(places_[i])] = {generation_, static_cast<std::uint32_t>(i)};
    return {};
  }

  Vector<Place> places_;
  Vector<Slot> slots_;
  std::uint32_t generation_ = 1;
};

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::text::grammar
