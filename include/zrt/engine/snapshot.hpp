// SPDX-License-Identifier: Apache-2.0
// zrt/engine/snapshot.hpp: a sequence with its state as bytes.
#pragma once

#include <zrt/serve/sequence.hpp>
#include <zrt/serve/slot_table.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::detail {

/// What a snapshot's bytes say; `state` views them.
struct Snapshot {
  explicit Snapshot(Allocator a) noexcept : tokens(a) {}

  Vector<std::int32_t> tokens;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t processed = 0;
  std::span<const std::byte> state{};
};

/// Layout: "ZRTS", version, prompt tokens, processed, tokens (u32 each, little-endian), ids, state.
inline constexpr std::array<std::uint32_t, 2> kSnapshotHead{0x5354525au, 1};
inline constexpr std::size_t kSnapshotWords = 5;

[[nodiscard]] inline std::uint32_t read_word(std::span<const std::byte> bytes, std::size_t index) noexcept {
  std::uint32_t word = 0;
  for (std::size_t b = 4; b-- > 0;) word = word << 8 | static_cast<std::uint32_t>(bytes[index * 4 + b]);
  return word;
}

/// Writes a sequence and its slot's state.
template <class B>
[[nodiscard]] Result<Vector<std::byte>> save_snapshot(serve::SlotTable<B>& slots, const serve::Sequence& sequence,
                                                      const Allocator& allocator) noexcept {
  Vector<std::byte> out(allocator);
  const std::size_t head = (kSnapshotWords + sequence.tokens.size()) * 4;
  const std::uint64_t state = slots.snapshot_bytes(sequence.processed);
  if (auto r = out.resize(head + static_cast<std::size_t>(state)); !r) return pass(r);
  std::size_t at = 0;
  auto put = [&](std::uint32_t word) {
    for (int b = 0; b < 4; ++b) out[at++] = static_cast<std::byte>(word >> 8 * b & 0xffu);
  };
  for (std::uint32_t word : kSnapshotHead) put(word);
  put(sequence.prompt_tokens);
  put(sequence.processed);
  put(static_cast<std::uint32_t>(sequence.tokens.size()));
  for (std::uint32_t token : sequence.tokens) put(token);
  if (auto r = slots.save(sequence.slot, sequence.processed, out.span().subspan(head)); !r) return pass(r);
  return out;
}

/// Reads a snapshot from anywhere. Errors: Errc::invalid_file or truncated_file.
[[nodiscard]] inline Result<Snapshot> read_snapshot(std::span<const std::byte> bytes,
                                                    const Allocator& allocator) noexcept {
  if (bytes.size() < kSnapshotWords * 4)
    return fail(Errc::truncated_file, "a snapshot has at least 20 bytes, found ", bytes.size());
  for (std::size_t i = 0; i < kSnapshotHead.size(); ++i)
    if (read_word(bytes, i) != kSnapshotHead[i])
      return fail(Errc::invalid_file, "the bytes are no snapshot of version ", kSnapshotHead[1]);
  Snapshot snapshot(allocator);
  snapshot.prompt_tokens = read_word(bytes, 2);
  snapshot.processed = read_word(bytes, 3);
  const std::size_t count = read_word(bytes, 4);
  if (count > bytes.size() / 4 - kSnapshotWords)
    return fail(Errc::truncated_file, "the snapshot announces ", count, " tokens and has ", bytes.size(), " bytes");
  if (snapshot.prompt_tokens == 0 || snapshot.prompt_tokens > count || snapshot.processed >= count)
    return fail(Errc::invalid_file, "the snapshot's token counts contradict each other");
  for (std::size_t i = 0; i < count; ++i)
    if (auto r = snapshot.tokens.push_back(static_cast<std::int32_t>(read_word(bytes, kSnapshotWords + i))); !r)
      return pass(r);
  snapshot.state = bytes.subspan((kSnapshotWords + count) * 4);
  return snapshot;
}

}  // namespace zrt::inline ZRT_ABI::detail
