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
#include <optional>

namespace zrt::inline ZRT_ABI::cpu {

/// A model whose packed weights are kept: its bytes, and a number that no other contents of them have.
struct PackedModel {
  Span<const std::byte> bytes{};
  std::uint64_t id = 0;
};

/// Which weight of a model, in which form.
struct PackedKey {
  std::uint64_t place = 0;  ///< of its first byte among the model's
  std::uint64_t form = 0;   ///< hash of the packed form
  std::uint32_t dtype = 0;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::uint32_t matrix_rows = 0;

  friend bool operator==(const PackedKey&, const PackedKey&) = default;

  /// Nothing for a weight that is no part of the model's bytes.
  [[nodiscard]] static std::optional<PackedKey> of(const PackedModel& model, const HostWeight& w,
                                                   const PackedForm& form, std::uint32_t matrix_rows) noexcept {
    const auto place = reinterpret_cast<std::uintptr_t>(w.data) - reinterpret_cast<std::uintptr_t>(model.bytes.data());
    if (place >= model.bytes.size()) return std::nullopt;
    return PackedKey{place, hash_of(form), static_cast<std::uint32_t>(w.dtype), w.rows, w.cols, matrix_rows};
  }

 private:
  [[nodiscard]] static std::uint64_t hash_of(const PackedForm& form) noexcept {
    const std::array<std::uint64_t, 6> fields{form.bits,
                                              static_cast<std::uint32_t>(form.lowest),
                                              form.run,
                                              form.part,
                                              static_cast<std::uint64_t>(form.scale),
                                              (form.has_offset ? 1u : 0u) | (form.half_factors ? 2u : 0u)};
    const std::uint64_t hash = hash_bytes({reinterpret_cast<const char*>(fields.data()), sizeof fields});
    if (form.levels == nullptr) return hash;
    return hash ^ hash_bytes({reinterpret_cast<const char*>(form.levels), 16});
  }
};

/// A weight in packed form, where it lies.
struct KeptWeight {
  PackedKey key;
  Span<const std::byte> bytes{};
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
    if (std::memcmp(head.magic.data(), kMagic.data(), kMagic.size() - 1) != 0)
      return fail(Errc::invalid_file, "packed weights: the file holds something else");
    if (head.magic != kMagic) return fail(Errc::invalid_argument, "packed weights: the file is of another layout");
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
    for (std::size_t i = 0; i < size(); ++i) {
      const Entry entry = at(i);
      if (entry.key == key && entry.bytes == bytes) return whole(entry) ? bytes_of(entry).data() : nullptr;
    }
    return nullptr;
  }
  /// How many weights there are.
  [[nodiscard]] std::size_t size() const noexcept { return list_.size() / sizeof(Entry); }
  /// Weight `i`; no bytes where they are damaged. Reads them once.
  [[nodiscard]] KeptWeight operator[](std::size_t i) const noexcept {
    const Entry entry = at(i);
    return {entry.key, whole(entry) ? bytes_of(entry) : Span<const std::byte>{}};
  }

  /// Writes a file of weights, which takes its name when it is complete.
  ///
  /// Errors: those of FileReplacement; Errc::out_of_memory.
  [[nodiscard]] static Result<void> write(std::string_view path, std::uint64_t model, Span<const KeptWeight> weights,
                                          const Allocator& allocator) noexcept {
    FileReplacement file(allocator);
    if (auto r = file.open(path); !r) return r;
    Vector<Entry> listed(allocator);
    std::uint64_t end = align_up(sizeof(Head) + weights.size() * sizeof(Entry), 64);
    for (const KeptWeight& w : weights) {
      if (auto r = listed.push_back(Entry{w.key, end, w.bytes.size(), checksum(w.bytes)}); !r) return r;
      end = align_up(end + w.bytes.size(), 64);
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
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (auto r = put(weights[i].bytes, listed[i].offset); !r) return r;
    return file.commit();
  }

 private:
  [[nodiscard]] Entry at(std::size_t i) const noexcept {
    Entry entry;
    std::memcpy(&entry, list_.data() + i * sizeof entry, sizeof entry);
    return entry;
  }
  [[nodiscard]] Span<const std::byte> bytes_of(const Entry& entry) const noexcept {
    return mapping_.span().subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.bytes));
  }
  [[nodiscard]] bool whole(const Entry& entry) const noexcept {
    const std::uint64_t all = mapping_.span().size();
    return entry.offset % 64 == 0 && entry.offset <= all && entry.bytes <= all - entry.offset &&
           checksum(bytes_of(entry)) == entry.checksum;
  }

  FileMapping mapping_;
  Span<const std::byte> list_{};
};

}  // namespace zrt::inline ZRT_ABI::cpu
