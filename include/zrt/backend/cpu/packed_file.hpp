// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/packed_file.hpp: packed weights kept in a file, which the next start maps in place of packing.
#pragma once

#include <zrt/backend/cpu/packed_weight.hpp>
#include <zrt/core/checksum.hpp>
#include <zrt/core/file_mapping.hpp>
#include <zrt/core/file_replacement.hpp>
#include <zrt/core/hash.hpp>
#include <zrt/ops/host.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

/// What a packed weight is made of. Equal keys of one model name equal bytes.
struct PackedKey {
  std::uint64_t source = 0;  ///< hash of pieces of the weight from its first byte to its last
  std::uint64_t form = 0;    ///< hash of the packed form
  std::uint32_t dtype = 0;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::uint32_t matrix_rows = 0;

  friend bool operator==(const PackedKey&, const PackedKey&) = default;

  [[nodiscard]] static PackedKey of(const HostWeight& w, const PackedForm& form, std::uint32_t matrix_rows) noexcept {
    return {pieces(w), hash_of(form), static_cast<std::uint32_t>(w.dtype), w.rows, w.cols, matrix_rows};
  }

 private:
  static constexpr std::size_t kPieces = 16, kPieceBytes = 64;

  [[nodiscard]] static std::uint64_t pieces(const HostWeight& w) noexcept {
    const std::string_view bytes(reinterpret_cast<const char*>(w.data), w.rows * w.row_bytes);
    if (bytes.size() <= kPieces * kPieceBytes) return hash_bytes(bytes);
    std::array<std::uint64_t, kPieces> hashes{};
    for (std::size_t i = 0; i < kPieces; ++i)
      hashes[i] = hash_bytes(bytes.substr((bytes.size() - kPieceBytes) / (kPieces - 1) * i, kPieceBytes));
    return hash_bytes({reinterpret_cast<const char*>(hashes.data()), sizeof hashes});
  }
  [[nodiscard]] static std::uint64_t hash_of(const PackedForm& form) noexcept {
    const std::array<std::uint64_t, 6> fields{
        form.bits, static_cast<std::uint32_t>(form.lowest), form.run,
        form.part, static_cast<std::uint64_t>(form.scale),  form.has_offset ? 1u : 0u};
    const std::uint64_t hash = hash_bytes({reinterpret_cast<const char*>(fields.data()), sizeof fields});
    if (form.levels == nullptr) return hash;
    return hash ^ hash_bytes({reinterpret_cast<const char*>(form.levels), 16});
  }
};

/// Packed weights of one model in a file, mapped. It is of this machine's byte order and of this layout of packed weights.
///
/// The file: a head, an entry for each weight, then the weights, each at a multiple of 64 bytes.
class PackedFile {
  /// The last character names the layout.
  static constexpr std::array<char, 8> kMagic{'z', 'r', 't', 'p', 'a', 'c', 'k', '1'};
  struct Head {
    std::array<char, 8> magic = kMagic;
    std::uint64_t model = 0;
    std::uint64_t count = 0;
    std::uint64_t checksum = 0;  ///< of the entries
  };
  struct Entry {
    PackedKey key;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;
  };
  static_assert(sizeof(Head) == 32 && sizeof(Entry) == 56);

 public:
  PackedFile() = default;

  /// Maps a file of a model's packed weights.
  ///
  /// Errors: Errc::io_error for what cannot be read; Errc::invalid_argument for another model or layout;
  /// Errc::invalid_file for any other file and for a damaged list of weights.
  [[nodiscard]] static Result<PackedFile> open(std::string_view path, std::uint64_t model,
                                               const Allocator& allocator) noexcept {
    auto mapping = FileMapping::open(path, allocator);
    if (!mapping) return pass(mapping);
    PackedFile file;
    file.mapping_ = std::move(*mapping);
    const Span<const std::byte> bytes = file.mapping_.span();
    Head head;
    if (bytes.size() < sizeof head)
      return fail(Errc::invalid_file, "packed weights: ", bytes.size(), " bytes are no head");
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.magic != Head{}.magic) return fail(Errc::invalid_file, "packed weights: the file is of another layout");
    if (head.model != model) return fail(Errc::invalid_argument, "packed weights: the file is of another model");
    if (head.count > (bytes.size() - sizeof head) / sizeof(Entry))
      return fail(Errc::invalid_file, "packed weights: ", head.count, " entries in ", bytes.size(), " bytes");
    const auto list = bytes.subspan(sizeof head, static_cast<std::size_t>(head.count) * sizeof(Entry));
    if (checksum(list) != head.checksum)
      return fail(Errc::invalid_file, "packed weights: the list of weights is damaged");
    file.list_ = list;
    return file;
  }

  /// The packed bytes of a weight, `bytes` of them, or null: where the file has none, or damaged ones. Reads them once.
  [[nodiscard]] const std::byte* find(const PackedKey& key, std::uint64_t bytes) const noexcept {
    const Span<const std::byte> all = mapping_.span();
    for (std::size_t at = 0; at < list_.size(); at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, list_.data() + at, sizeof entry);
      if (!(entry.key == key) || entry.bytes != bytes) continue;
      if (entry.offset % 64 != 0 || entry.offset > all.size() || bytes > all.size() - entry.offset) return nullptr;
      const auto found = all.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(bytes));
      return checksum(found) == entry.checksum ? found.data() : nullptr;
    }
    return nullptr;
  }

  /// Writes a file of weights, which takes its name when it is complete. Weights: a range of things with `key`, `data` and
  /// `bytes`.
  ///
  /// Errors: those of FileReplacement; Errc::out_of_memory.
  template <class Weights>
  [[nodiscard]] static Result<void> write(std::string_view path, std::uint64_t model, const Weights& weights,
                                          const Allocator& allocator) noexcept {
    FileReplacement file(allocator);
    if (auto r = file.open(path); !r) return r;
    Vector<Entry> listed(allocator);
    std::uint64_t end = align_up(sizeof(Head) + weights.size() * sizeof(Entry), 64);
    for (const auto& w : weights) {
      const Entry entry{w.key, end, w.bytes, checksum({w.data, static_cast<std::size_t>(w.bytes)})};
      if (auto r = listed.push_back(entry); !r) return r;
      end = align_up(end + w.bytes, 64);
    }
    const Span<const std::byte> list(reinterpret_cast<const std::byte*>(listed.data()), listed.size() * sizeof(Entry));
    Head head;
    head.model = model;
    head.count = listed.size();
    head.checksum = checksum(list);
    std::uint64_t at = 0;
    const auto put = [&](Span<const std::byte> bytes, std::uint64_t place) -> Result<void> {
      static constexpr std::array<std::byte, 64> kNothing{};
      if (auto r = file.write({kNothing.data(), static_cast<std::size_t>(place - at)}); !r) return r;
      at = place + bytes.size();
      return file.write(bytes);
    };
    if (auto r = put({reinterpret_cast<const std::byte*>(&head), sizeof head}, 0); !r) return r;
    if (auto r = put(list, sizeof head); !r) return r;
    std::size_t i = 0;
    for (const auto& w : weights)
      if (auto r = put({w.data, static_cast<std::size_t>(w.bytes)}, listed[i++].offset); !r) return r;
    return file.commit();
  }

 private:
  FileMapping mapping_;
  Span<const std::byte> list_{};
};

}  // namespace zrt::inline ZRT_ABI::cpu
