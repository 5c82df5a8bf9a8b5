// SPDX-License-Identifier: Apache-2.0
// zrt/engine/snapshot.hpp: a sequence with its state as bytes.
#pragma once

#include <zrt/core/checksum.hpp>
#include <zrt/engine/model_identity.hpp>
#include <zrt/serve/sequence.hpp>
#include <zrt/serve/slot_table.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::detail {

/// What a snapshot's bytes say; `state` views them.
///
/// Text that was on its way out is not stored: it follows from the tokens and from how much of it was
/// held back.
struct Snapshot {
  explicit Snapshot(Allocator a) noexcept : tokens(a) {}

  Vector<std::int32_t> tokens;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t processed = 0;
  std::uint32_t held = 0;  ///< bytes of whole characters that have not come out
  Span<const std::byte> state{};
};

/// The words at the beginning, u32 little-endian; token ids, state and the checksum of all before it (u64) follow.
enum class SnapshotWord : std::uint8_t {
  magic,             ///< "ZRTS"
  version,           ///< kSnapshotVersion
  kv_type,           ///< DType of keys and values
  act,               ///< ActPolicy
  fingerprint_low,   ///< of the model
  fingerprint_high,  ///< of the model
  prompt_tokens,
  processed,
  held,
  tokens,
};
inline constexpr std::size_t kSnapshotWords = 10;             ///< of the header
inline constexpr std::uint32_t kSnapshotMagic = 0x5354525au;  ///< the bytes "ZRTS"
/// 4 and not 3: versions 1 and 2 have no checksum, and one flipped bit must not make this version one of them.
inline constexpr std::uint32_t kSnapshotVersion = 4;
inline constexpr std::uint32_t kLastWithoutChecksum = 2;
inline constexpr std::size_t kChecksumBytes = 8;

[[nodiscard]] inline std::uint32_t read_word(Span<const std::byte> bytes, std::size_t index) noexcept {
  std::uint32_t word = 0;
  for (std::size_t b = 4; b-- > 0;) word = word << 8 | static_cast<std::uint32_t>(bytes[index * 4 + b]);
  return word;
}
[[nodiscard]] inline std::uint32_t read_word(Span<const std::byte> bytes, SnapshotWord word) noexcept {
  return read_word(bytes, static_cast<std::size_t>(word));
}

/// Writes a sequence and its slot's state; `held` bytes of its text have not come out.
template <class B>
[[nodiscard]] Result<Vector<std::byte>> save_snapshot(serve::SlotTable<B>& slots, const serve::Sequence& sequence,
                                                      std::size_t held, const ModelIdentity& identity,
                                                      const Allocator& allocator) noexcept {
  Vector<std::byte> out(allocator);
  const std::size_t head = (kSnapshotWords + sequence.tokens.size()) * 4;
  const std::uint64_t state = slots.bytes_of(serve::SlotPart::all, sequence.processed);
  const std::size_t end = head + static_cast<std::size_t>(state);
  if (auto r = out.resize(end + kChecksumBytes); !r) return pass(r);
  std::size_t at = 0;
  auto put = [&](std::uint32_t word) {
    for (int b = 0; b < 4; ++b) out[at++] = static_cast<std::byte>(word >> 8 * b & 0xffu);
  };
  const std::array<std::uint32_t, kSnapshotWords> words{kSnapshotMagic,
                                                        kSnapshotVersion,
                                                        static_cast<std::uint32_t>(identity.kv_type),
                                                        static_cast<std::uint32_t>(identity.act),
                                                        static_cast<std::uint32_t>(identity.fingerprint),
                                                        static_cast<std::uint32_t>(identity.fingerprint >> 32),
                                                        sequence.prompt_tokens,
                                                        sequence.processed,
                                                        static_cast<std::uint32_t>(held),
                                                        static_cast<std::uint32_t>(sequence.tokens.size())};
  for (std::uint32_t word : words) put(word);
  for (std::uint32_t token : sequence.tokens) put(token);
  if (auto r =
          slots.save(serve::SlotPart::all, sequence.slot, sequence.processed, out.span().subspan(head, end - head));
      !r)
    return pass(r);
  const std::uint64_t sum = checksum(out.span().first(end));
  at = end;
  put(static_cast<std::uint32_t>(sum));
  put(static_cast<std::uint32_t>(sum >> 32));
  return out;
}

/// Tells a whole snapshot of this version from damage and from other versions. Errors: Errc::truncated_file for fewer
/// bytes than any has, Errc::invalid_file for damage or other bytes, Errc::unsupported_version.
[[nodiscard]] inline Result<void> check_whole(Span<const std::byte> bytes) noexcept {
  constexpr std::size_t kLeast = kSnapshotWords * 4 + kChecksumBytes;
  if (bytes.size() < kLeast)
    return fail(Errc::truncated_file, "the snapshot has ", bytes.size(), " bytes, expected at least ", kLeast);
  if (const std::uint32_t magic = read_word(bytes, SnapshotWord::magic); magic != kSnapshotMagic)
    return fail(Errc::invalid_file, "a snapshot begins with the word ", kSnapshotMagic, ", found ", magic);
  const std::uint32_t version = read_word(bytes, SnapshotWord::version);
  if (version == 0 || version > kLastWithoutChecksum) {
    const std::size_t end = bytes.size() - kChecksumBytes;
    const Span<const std::byte> tail = bytes.subspan(end);
    const std::uint64_t found = std::uint64_t{read_word(tail, std::size_t{1})} << 32 | read_word(tail, std::size_t{0});
    if (const std::uint64_t sum = checksum(bytes.first(end)); sum != found)
      return fail(Errc::invalid_file, "the snapshot is damaged: its bytes have the checksum ", sum, ", expected ",
                  found);
  }
  if (version != kSnapshotVersion)
    return fail(Errc::unsupported_version, "the snapshot has version ", version, ", expected ", kSnapshotVersion);
  return {};
}

/// Refuses a snapshot of another engine. Errors: Errc::dtype_mismatch for the type of keys and values,
/// Errc::invalid_argument for the rounding of activations and for the model.
[[nodiscard]] inline Result<void> check_identity(Span<const std::byte> bytes, const ModelIdentity& own) noexcept {
  const std::uint32_t kv_type = read_word(bytes, SnapshotWord::kv_type);
  if (kv_type != static_cast<std::uint32_t>(own.kv_type)) {
    Error error = Error::of(Errc::dtype_mismatch, "the snapshot holds keys and values of ");
    if (kv_type <= 0xffu && is_dtype(static_cast<std::uint8_t>(kv_type)))
      error.append(name(static_cast<DType>(kv_type)));
    else
      error.append("type ").append(kv_type);
    error.append(", expected ").append(name(own.kv_type));
    return std::unexpected<Error>(error);
  }
  const std::uint32_t act = read_word(bytes, SnapshotWord::act);
  if (act != static_cast<std::uint32_t>(own.act))
    return fail(Errc::invalid_argument, "the snapshot's activations are rounded by policy ", act, ", expected ",
                static_cast<std::uint32_t>(own.act));
  const std::uint64_t found = std::uint64_t{read_word(bytes, SnapshotWord::fingerprint_high)} << 32 |
                              read_word(bytes, SnapshotWord::fingerprint_low);
  if (found != own.fingerprint)
    return fail(Errc::invalid_argument, "the snapshot is of the model with fingerprint ", found, ", expected ",
                own.fingerprint);
  return {};
}

/// Reads a snapshot from anywhere, for an engine of identity `own`.
///
/// Errors: those of check_whole and check_identity; Errc::invalid_file and truncated_file for bytes that cannot be.
[[nodiscard]] inline Result<Snapshot> read_snapshot(Span<const std::byte> bytes, const ModelIdentity& own,
                                                    const Allocator& allocator) noexcept {
  if (auto r = check_whole(bytes); !r) return pass(r);
  if (auto r = check_identity(bytes, own); !r) return pass(r);
  Snapshot snapshot(allocator);
  snapshot.prompt_tokens = read_word(bytes, SnapshotWord::prompt_tokens);
  snapshot.processed = read_word(bytes, SnapshotWord::processed);
  snapshot.held = read_word(bytes, SnapshotWord::held);
  const std::size_t count = read_word(bytes, SnapshotWord::tokens);
  const std::size_t end = bytes.size() - kChecksumBytes;
  if (count > end / 4 - kSnapshotWords)
    return fail(Errc::truncated_file, "the snapshot announces ", count, " tokens and has ", bytes.size(), " bytes");
  if (snapshot.prompt_tokens == 0 || snapshot.prompt_tokens > count || snapshot.processed >= count)
    return fail(Errc::invalid_file, "the snapshot has ", snapshot.prompt_tokens, " prompt tokens and ",
                snapshot.processed, " processed ones of ", count, ", expected 1.. and fewer than all");
  for (std::size_t i = 0; i < count; ++i)
    if (auto r = snapshot.tokens.push_back(static_cast<std::int32_t>(read_word(bytes, kSnapshotWords + i))); !r)
      return pass(r);
  snapshot.state = bytes.first(end).subspan((kSnapshotWords + count) * 4);
  return snapshot;
}

}  // namespace zrt::inline ZRT_ABI::detail

ZRT_LOAD_TIME_END
