// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/source.hpp: where the bytes of a GGUF file come from: memory, or a caller's reader.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>

#include <cstddef>
#include <cstdint>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Two functions and a context through which a host serves a file's bytes.
///
/// `read` copies `bytes` bytes from `offset` to `to` and returns whether all of them arrived; it is
/// never asked for bytes past `size`. Both run on the thread that calls into the library.
struct GgufReader {
  void* context = nullptr;
  std::uint64_t (*size)(void* context) noexcept = nullptr;
  bool (*read)(void* context, std::uint64_t offset, std::size_t bytes, std::byte* to) noexcept = nullptr;
};

/// A reader is asked for at most this many bytes of the index at once.
inline constexpr std::size_t kGgufPieceBytes = std::size_t{1} << 18;

/// The longest index that is copied through a reader; the largest published ones stay below 64 MiB.
inline constexpr std::uint64_t kGgufMaxReadIndexBytes = std::uint64_t{1} << 30;

namespace detail {

// The bytes that a cursor walks over: memory as it lies, or the beginning of a reader's file, which
// is loaded piece by piece as the cursor comes to it.
class GgufBytes {
 public:
  // `origin` is the file offset of the first byte of `memory`.
  explicit GgufBytes(Span<const std::byte> memory, std::uint64_t origin = 0) noexcept
      : memory_(memory), origin_(origin), end_(origin + memory.size()) {}

  GgufBytes(const GgufReader& reader, const Allocator& allocator) noexcept
      : loaded_(allocator), reader_(&reader), end_(reader.size(reader.context)) {}

  // File offset behind the last byte.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

  // Returns where `bytes` bytes from file offset `offset` lie; the caller has checked that they exist.
  // With a reader the address holds until the next call.
  [[nodiscard]] Result<const std::byte*> at(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (reader_ == nullptr) return memory_.data() + static_cast<std::size_t>(offset - origin_);
    if (auto r = load(offset + bytes); !r) return pass(r);
    return loaded_.data() + static_cast<std::size_t>(offset);
  }

  // Gives away what was loaded.
  [[nodiscard]] Vector<std::byte> take_loaded() noexcept { return std::move(loaded_); }

 private:
  [[nodiscard]] Result<void> load(std::uint64_t wanted) noexcept {
    if (wanted > kGgufMaxReadIndexBytes) {
      auto error = Error::of(Errc::limit_exceeded, "the index needs ", wanted, " bytes, at most ",
                             kGgufMaxReadIndexBytes, " are read through a reader");
      return std::unexpected<Error>(error.at_offset(loaded_.size()));
    }
    while (loaded_.size() < wanted) {
      const std::size_t have = loaded_.size();
      const std::uint64_t left = end_ - have;
      const std::size_t piece = left < kGgufPieceBytes ? static_cast<std::size_t>(left) : kGgufPieceBytes;
      // Doubling what has arrived keeps the memory in proportion to bytes that were really read.
      if (have + piece > loaded_.capacity()) {
        if (auto r = loaded_.reserve(have + (have > piece ? have : piece)); !r) return r;
      }
      if (auto r = loaded_.resize(have + piece); !r) return r;
      if (!reader_->read(reader_->context, have, piece, loaded_.data() + have)) {
        auto error = Error::of(Errc::io_error, "the reader failed on ", piece, " bytes");
        return std::unexpected<Error>(error.at_offset(have));
      }
    }
    return {};
  }

  Span<const std::byte> memory_;
  Vector<std::byte> loaded_;
  const GgufReader* reader_ = nullptr;
  std::uint64_t origin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
