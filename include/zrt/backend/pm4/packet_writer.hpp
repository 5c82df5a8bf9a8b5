// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/packet_writer.hpp: packets one after the other into a caller's dwords.
#pragma once

#include <zrt/backend/pm4/payload.hpp>

#include <concepts>
#include <initializer_list>

namespace zrt::inline ZRT_ABI::pm4 {

/// A packet with typed members: names its kind and fills the kind's fields.
template <class P>
concept TypedPacket = requires(const P packet, Payload<P::kind>& payload) {
  { P::kind } -> std::convertible_to<const Packet&>;
  { packet.fill(payload) } noexcept;
};

/// A packet that has a body after its fields.
template <class P>
concept HasBody = requires(const P packet) {
  { packet.body() } noexcept -> std::convertible_to<Span<const std::uint32_t>>;
};

/// Writes packets for `Target` (a target, or a generation alone) into dwords that the caller owns.
///
/// Keeps its first error and writes nothing from then on; finish() gives the error, or what was written. A packet is
/// written whole or not at all.
template <class Target> class PacketWriter {
 public:
  static constexpr Generation generation = Target::generation;

  constexpr explicit PacketWriter(Span<std::uint32_t> room) noexcept : room_(room) {}

  /// Appends a packet. Errors: a value that does not fit its field; no room left.
  template <TypedPacket P> constexpr PacketWriter& add(const P& packet) noexcept {
    if (!status_) return *this;
    Payload<P::kind> payload(generation);
    packet.fill(payload);
    if (!payload.status()) {
      status_ = payload.status();
      return *this;
    }
    Span<const std::uint32_t> body;
    if constexpr (HasBody<P>) body = packet.body();
    return write(P::kind, payload.words(), body);
  }

  /// Appends `count` dwords that do nothing.
  constexpr PacketWriter& pad(std::size_t count) noexcept {
    if (!has_room(kNop, count)) return *this;
    for (std::size_t i = 0; i < count; ++i) room_[used_++] = kNopWord;
    return *this;
  }

  /// Takes an error of whoever composes packets.
  constexpr void refuse(const Result<void>& error) noexcept {
    if (status_) status_ = error;
  }

  [[nodiscard]] constexpr std::size_t size() const noexcept { return used_; }
  /// What was written, or the first error.
  [[nodiscard]] constexpr Result<Span<const std::uint32_t>> finish() const noexcept {
    if (!status_) return pass(status_);
    return room_.first(used_);
  }

 private:
  constexpr bool has_room(const Packet& kind, std::size_t words) noexcept {
    if (status_ && words > room_.size() - used_)
      status_ = fail(Errc::capacity_exceeded, kind.name, " needs ", words, " dwords, ", room_.size() - used_,
                     " are left of ", room_.size());
    return status_.has_value();
  }

  constexpr PacketWriter& write(const Packet& kind, Span<const std::uint32_t> fixed,
                                Span<const std::uint32_t> body) noexcept {
    const std::size_t payload = fixed.size() + body.size();
    if (payload < kind.least || payload > kind.most) {
      status_ = fail(Errc::invalid_argument, kind.name, " has ", payload, " dwords after its header, ", kind.least,
                     " to ", kind.most, " expected");
      return *this;
    }
    if (!has_room(kind, payload + 1)) return *this;
    room_[used_++] = header_word(kind.opcode, payload);
    for (const std::uint32_t word : fixed) room_[used_++] = word;
    for (const std::uint32_t word : body) room_[used_++] = word;
    return *this;
  }

  Span<std::uint32_t> room_;
  std::size_t used_ = 0;
  Result<void> status_{};
};

/// A stream of at most `most` dwords that is known when it is compiled.
template <std::size_t most> struct FixedStream {
  std::array<std::uint32_t, most> words{};
  std::size_t size = 0;
  [[nodiscard]] constexpr Span<const std::uint32_t> span() const noexcept {
    return Span<const std::uint32_t>(words).first(size);
  }
  /// True where the stream is those dwords.
  [[nodiscard]] constexpr bool is(std::initializer_list<std::uint32_t> expected) const noexcept {
    if (expected.size() != size) return false;
    for (std::size_t i = 0; i < size; ++i)
      if (words[i] != expected.begin()[i]) return false;
    return true;
  }
};

/// The packets as dwords; nothing where one of them is refused.
template <class Target, std::size_t most = 64, TypedPacket... Packets>
[[nodiscard]] constexpr FixedStream<most> stream_of(const Packets&... packets) noexcept {
  FixedStream<most> stream;
  PacketWriter<Target> writer(stream.words);
  (writer.add(packets), ...);
  if (writer.finish()) stream.size = writer.size();
  return stream;
}

}  // namespace zrt::inline ZRT_ABI::pm4
