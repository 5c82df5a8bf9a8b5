// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/index.hpp: header, metadata entries and tensor entries of a GGUF file.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/model/gguf/type.hpp>
#include <zrt/model/gguf/value.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// One metadata entry. The key is valid as long as its GgufFile.
struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

/// One tensor of the file. The name is valid as long as its GgufFile.
struct GgufTensor {
  std::string_view name;
  GgmlType type;
  std::uint32_t rank = 0;                         ///< 0 to 4
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};  ///< dims[0] runs fastest; 1 from `rank` on
  std::uint64_t elems = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;        ///< from the beginning of the data section
  std::uint64_t entry_offset = 0;  ///< file offset of the tensor's entry in the index
};

inline constexpr std::uint32_t kGgufDefaultAlignment = 32;
inline constexpr std::uint32_t kGgufMaxAlignment = std::uint32_t{1} << 24;
inline constexpr std::uint64_t kGgufMaxKeyBytes = 65535;  // the format's own limit
inline constexpr std::uint64_t kGgufMaxNameBytes = 64;    // the format's own limit
inline constexpr std::uint32_t kGgufMaxRank = 4;
/// Most metadata entries, and most tensors; far above any model, and each fits 32 bits.
inline constexpr std::uint64_t kGgufMaxEntries = std::uint64_t{1} << 24;

namespace detail {

struct GgufHeader {
  std::uint32_t version = 0;
  std::uint64_t tensors = 0;
  std::uint64_t entries = 0;
  std::uint32_t alignment = kGgufDefaultAlignment;
  std::uint64_t index_end = 0;  // file offset behind the last tensor entry
};

// The least that an entry takes: the length of a name and one character, then what follows it.
inline constexpr std::uint64_t kGgufLeastEntryBytes = 8 + 1 + 4 + 1;
inline constexpr std::uint64_t kGgufLeastTensorBytes = 8 + 1 + 4 + 4 + 8;

[[nodiscard]] inline Result<void> check_count(const GgufCursor& cursor, std::uint64_t at, std::string_view what,
                                              std::uint64_t count, std::uint64_t least) noexcept {
  if (count > kGgufMaxEntries)
    return cursor.fault(Errc::limit_exceeded, at, count, " ", what, " announced, at most ", kGgufMaxEntries,
                        " allowed");
  if (count > cursor.remaining() / least) {
    return cursor.fault(Errc::truncated_file, at, count, " ", what, " of at least ", least, " bytes announced, ",
                        cursor.remaining(), " bytes left");
  }
  return {};
}

[[nodiscard]] inline Result<GgufHeader> read_header(GgufCursor& cursor) noexcept {
  const auto magic = cursor.take(4, "magic");
  if (!magic) return pass(magic);
  const std::string_view letters(reinterpret_cast<const char*>(*magic), 4);
  if (letters != "GGUF")
    return cursor.fault(Errc::invalid_file, 0, "the magic is '", Quoted(letters).view(), "', 'GGUF' expected");

  GgufHeader header;
  const auto version = cursor.number<std::uint32_t>("version");
  if (!version) return pass(version);
  header.version = *version;
  // Versions are small numbers: one whose low half is empty was written most significant byte first.
  if (*version != 0 && (*version & 0xffffu) == 0)
    return cursor.fault(Errc::unsupported_version, 4, "the file is big-endian, a little-endian file expected");
  if (*version == 1)
    return cursor.fault(Errc::unsupported_version, 4, "version 1 has other field widths, version 2 or 3 expected");
  if (*version != 2 && *version != 3)
    return cursor.fault(Errc::unsupported_version, 4, "the version is ", *version, ", 2 or 3 expected");

  const auto tensors = cursor.number<std::uint64_t>("tensor count");
  if (!tensors) return pass(tensors);
  header.tensors = *tensors;
  const auto entries = cursor.number<std::uint64_t>("metadata count");
  if (!entries) return pass(entries);
  header.entries = *entries;
  if (auto r = check_count(cursor, 8, "tensors", *tensors, kGgufLeastTensorBytes); !r) return pass(r);
  if (auto r = check_count(cursor, 16, "metadata entries", *entries, kGgufLeastEntryBytes); !r) return pass(r);
  return header;
}

[[nodiscard]] inline Result<std::uint32_t> read_alignment(const GgufCursor& cursor, const GgufValue& value) noexcept {
  if (value.type() != GgufValueType::u32)
    return cursor.fault(Errc::invalid_metadata, value.offset(), "u32 expected, ", name(value.type()), " found");
  const auto alignment = value.as<std::uint32_t>("general.alignment");
  if (!alignment) return pass(alignment);
  if (*alignment == 0 || (*alignment & (*alignment - 1)) != 0)
    return cursor.fault(Errc::invalid_metadata, value.offset(), *alignment, " is not a power of two");
  // The format asks for a multiple of 8, so that every plain element type lies aligned.
  if (*alignment < 8 || *alignment > kGgufMaxAlignment) {
    return cursor.fault(Errc::invalid_metadata, value.offset(), "the alignment is ", *alignment, ", 8 to ",
                        kGgufMaxAlignment, " expected");
  }
  return *alignment;
}

// Keys are printable ASCII by the format; names may be any text without control characters.
[[nodiscard]] inline Result<std::string_view> read_name(GgufCursor& cursor, std::string_view part, std::uint64_t most,
                                                        bool ascii) noexcept {
  const std::uint64_t at = cursor.offset();
  const auto length = cursor.number<std::uint64_t>(part);
  if (!length) return pass(length);
  if (*length == 0) return cursor.fault(Errc::invalid_file, at, "the ", part, " is empty");
  if (*length > most) {
    return cursor.fault(Errc::invalid_file, at, "the ", part, " has ", *length, " bytes, at most ", most, " expected");
  }
  const auto chars = cursor.take(*length, part);
  if (!chars) return pass(chars);
  const std::string_view text(reinterpret_cast<const char*>(*chars), static_cast<std::size_t>(*length));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f || (ascii && byte > 0x7f)) {
      return cursor.fault(Errc::invalid_file, at + 8 + i, "byte ", i, " of the ", part, " is ", byte,
                          ascii ? ", a printable ASCII character expected" : ", a control character");
    }
  }
  return text;
}

[[nodiscard]] inline Result<GgufEntry> read_entry(GgufCursor& cursor) noexcept {
  GgufEntry entry;
  const auto key = read_name(cursor, "key", kGgufMaxKeyBytes, true);
  if (!key) return pass(key);
  entry.key = *key;
  cursor.enter_named("metadata", *key);
  const auto type = read_value_type(cursor, "value type");
  if (!type) return pass(type);
  const auto value = GgufValueAccess::read(cursor, *type, 0);
  if (!value) return pass(value);
  entry.value = *value;
  return entry;
}

[[nodiscard]] inline Result<void> read_tensor_dims(GgufCursor& cursor, GgufTensor& tensor) noexcept {
  const auto rank = cursor.number<std::uint32_t>("rank");
  if (!rank) return pass(rank);
  if (*rank > kGgufMaxRank) {
    return cursor.fault(Errc::unsupported_tensor_rank, cursor.offset() - 4, "the rank is ", *rank, ", at most ",
                        kGgufMaxRank, " expected");
  }
  tensor.rank = *rank;
  tensor.elems = 1;
  for (std::uint32_t d = 0; d < *rank; ++d) {
    const auto dim = cursor.number<std::uint64_t>("dimensions");
    if (!dim) return pass(dim);
    if (*dim == 0) return cursor.fault(Errc::invalid_file, cursor.offset() - 8, "dimension ", d, " is zero");
    // Element counts also fit the signed 64-bit numbers that hosts compute with.
    if (!mul_fits(tensor.elems, *dim, tensor.elems) || tensor.elems > std::numeric_limits<std::int64_t>::max()) {
      return cursor.fault(Errc::size_overflow, cursor.offset() - 8, "dimension ", d, " is ", *dim,
                          ", and the number of elements does not fit 63 bits");
    }
    tensor.dims[d] = *dim;
  }
  return {};
}

[[nodiscard]] inline Result<void> read_tensor_type(GgufCursor& cursor, GgufTensor& tensor) noexcept {
  const auto id = cursor.number<std::uint32_t>("type");
  if (!id) return pass(id);
  const std::uint64_t at = cursor.offset() - 4;
  const GgmlType* type = find_ggml_type(*id);
  if (type == nullptr && !removed_ggml_type(*id).empty()) {
    return cursor.fault(Errc::unsupported_weight_type, at, "the type is ", *id, " (", removed_ggml_type(*id),
                        "), which ggml removed; convert the file again");
  }
  if (type == nullptr)
    return cursor.fault(Errc::unsupported_weight_type, at, "the type is ", *id, ", which is not known");
  tensor.type = *type;
  if (tensor.dims[0] % type->block_elems() != 0) {
    return cursor.fault(Errc::invalid_file, at, "dimension 0 is ", tensor.dims[0], ", a multiple of ",
                        type->block_elems(), " expected for ", type->name());
  }
  if (!mul_fits<std::uint64_t>(tensor.elems / type->block_elems(), type->block_bytes(), tensor.bytes))
    return cursor.fault(Errc::size_overflow, at, "the size of ", tensor.elems, " elements does not fit 64 bits");
  return {};
}

[[nodiscard]] inline Result<GgufTensor> read_tensor_entry(GgufCursor& cursor) noexcept {
  GgufTensor tensor;
  tensor.entry_offset = cursor.offset();
  const auto text = read_name(cursor, "name", kGgufMaxNameBytes, false);
  if (!text) return pass(text);
  tensor.name = *text;
  cursor.enter_named("tensor", *text);
  if (auto r = read_tensor_dims(cursor, tensor); !r) return pass(r);
  if (auto r = read_tensor_type(cursor, tensor); !r) return pass(r);
  const auto offset = cursor.number<std::uint64_t>("offset");
  if (!offset) return pass(offset);
  tensor.offset = *offset;
  return tensor;
}

// Walks the whole index once. `sink.entry` and `sink.tensor` get what was read and may fail; views in
// it hold as long as the cursor's bytes do.
template <class Sink> [[nodiscard]] Result<GgufHeader> walk_index(GgufCursor cursor, Sink& sink) noexcept {
  auto header = read_header(cursor);
  if (!header) return header;
  for (std::uint64_t i = 0; i < header->entries; ++i) {
    cursor.enter("metadata entry", i);
    const auto entry = read_entry(cursor);
    if (!entry) return pass(entry);
    // The cursor owns a copy of the name; the entry's own view may have moved with the bytes.
    if (cursor.is_named("general.alignment")) {
      const auto alignment = read_alignment(cursor, entry->value);
      if (!alignment) return pass(alignment);
      header->alignment = *alignment;
    }
    if (auto r = sink.entry(*entry); !r) return pass(r);
  }
  for (std::uint64_t i = 0; i < header->tensors; ++i) {
    cursor.enter("tensor", i);
    const auto tensor = read_tensor_entry(cursor);
    if (!tensor) return pass(tensor);
    if (auto r = sink.tensor(*tensor); !r) return pass(r);
  }
  header->index_end = cursor.offset();
  return header;
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
