// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/file.hpp: an opened GGUF file: metadata by key, tensors by name, data where it lies.
#pragma once

#include <zrt/core/file_mapping.hpp>
#include <zrt/core/span.hpp>
#include <zrt/model/gguf/index.hpp>
#include <zrt/model/gguf/name_order.hpp>
#include <zrt/model/gguf/placement.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// A GGUF file of version 2 or 3 whose whole index has been checked. Move-only.
///
/// Opening takes memory in proportion to the index that the file really holds. All keys, names, values
/// and pointers to entries are valid as long as the GgufFile (or the one it was moved to); const calls
/// may run on any number of threads at once, `read_tensor` as far as the caller's reader allows it.
class GgufFile {
 public:
  /// Opens the file at `path` by mapping it.
  [[nodiscard]] static Result<GgufFile> open(std::string_view path, Allocator allocator = system_allocator()) noexcept {
    auto mapping = FileMapping::open(path, allocator);
    if (!mapping) return pass(mapping);
    GgufFile file(allocator);
    file.mapping_ = std::move(*mapping);
    file.memory_ = file.mapping_.span();
    return index_memory(std::move(file));
  }
  [[nodiscard]] static Result<GgufFile> open(const char* path, Allocator allocator = system_allocator()) noexcept {
    if (path == nullptr) return fail(Errc::invalid_argument, "the path is null");
    return open(std::string_view(path), allocator);
  }

  /// Opens a file that lies in memory, which the caller keeps. Tensors have the alignment that `memory`
  /// has, up to the file's own.
  [[nodiscard]] static Result<GgufFile> open(Span<const std::byte> memory,
                                             Allocator allocator = system_allocator()) noexcept {
    GgufFile file(allocator);
    file.memory_ = memory;
    return index_memory(std::move(file));
  }

  /// Opens a file through `reader`, whose context the caller keeps. The index is read in bounded pieces
  /// and kept; tensor data only by `read_tensor`.
  [[nodiscard]] static Result<GgufFile> open(const GgufReader& reader,
                                             Allocator allocator = system_allocator()) noexcept;

  [[nodiscard]] std::uint32_t version() const noexcept { return header_.version; }
  /// Every tensor's data begins at a multiple of this many bytes from the data section's beginning.
  [[nodiscard]] std::uint32_t alignment() const noexcept { return header_.alignment; }
  /// Size of the whole file in bytes.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  /// File offset of the data section.
  [[nodiscard]] std::uint64_t data_offset() const noexcept { return data_offset_; }

  /// All metadata entries, in the file's order.
  [[nodiscard]] Span<const GgufEntry> entries() const noexcept { return entries_.span(); }
  /// All tensors, in the file's order.
  [[nodiscard]] Span<const GgufTensor> tensors() const noexcept { return tensors_.span(); }

  /// Returns the metadata value of `key`, or null.
  [[nodiscard]] const GgufValue* find(std::string_view key) const noexcept {
    const GgufEntry* entry = entry_order_.find(entries(), key);
    return entry != nullptr ? &entry->value : nullptr;
  }
  /// Returns the tensor called `name`, or null.
  [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const noexcept {
    return tensor_order_.find(tensors(), name);
  }

  /// Returns the value of `key` as a T, as GgufValue::as reads it.
  ///
  /// Fails with Errc::missing_metadata or Errc::invalid_metadata; the text names the key.
  template <GgufReadable T> [[nodiscard]] Result<T> get(std::string_view key) const noexcept {
    const GgufValue* value = find(key);
    if (value == nullptr) return missing(key);
    return value->as<T>(key);
  }

  /// Returns the value of `key` as a T, or `otherwise` when the key is absent. A value of a wrong type
  /// is an error all the same.
  template <GgufReadable T> [[nodiscard]] Result<T> get_or(std::string_view key, T otherwise) const noexcept {
    const GgufValue* value = find(key);
    if (value == nullptr) return otherwise;
    return value->as<T>(key);
  }

  /// Returns the value of `key`, which must be an array.
  [[nodiscard]] Result<GgufValue> array(std::string_view key) const noexcept {
    const GgufValue* value = find(key);
    if (value == nullptr) return missing(key);
    if (value->type() != GgufValueType::array) {
      auto error = Error::of(Errc::invalid_metadata, "metadata '", detail::Quoted(key).view(), "': array expected, ",
                             name(value->type()), " found");
      return std::unexpected<Error>(error.at_offset(value->offset()));
    }
    return *value;
  }

  /// Returns all elements of the array `key` as T: numbers, bools, strings, or GgufValue for nested arrays.
  template <class T>
    requires(GgufReadable<T> || std::same_as<T, GgufValue>)
  [[nodiscard]] Result<Vector<T>> list(std::string_view key) const noexcept {
    const GgufValue* value = find(key);
    if (value == nullptr) return missing(key);
    return value->template list<T>(allocator_, key);
  }

  /// Returns all strings of the array `key`; the views are valid as long as this file.
  [[nodiscard]] Result<Vector<std::string_view>> strings(std::string_view key) const noexcept {
    return list<std::string_view>(key);
  }

  /// True when tensor data lies in memory: the file was opened by path or from a span.
  [[nodiscard]] bool has_data() const noexcept { return !reader_; }
  /// The whole file, mapped or in the host's memory; empty without has_data().
  [[nodiscard]] Span<const std::byte> memory() const noexcept { return memory_; }
  /// When the file was last written, as FileMapping says; 0 for one in the host's memory.
  [[nodiscard]] std::uint64_t modified() const noexcept { return mapping_.modified(); }
  /// Of a file that was opened by its path: lets the system take back the memory of what has been read so far.
  void release_pages() const noexcept { mapping_.release_pages(); }

  /// Returns the bytes of `tensor`, one of this file's, where they lie; empty without has_data().
  [[nodiscard]] Span<const std::byte> data(const GgufTensor& tensor) const noexcept {
    if (!has_data()) return {};
    return memory_.subspan(static_cast<std::size_t>(data_offset_ + tensor.offset),
                           static_cast<std::size_t>(tensor.bytes));
  }

  /// Copies bytes of `tensor`, one of this file's, from its byte `first` on, until `to` is full.
  ///
  /// Fails with Errc::invalid_argument when the tensor has fewer, Errc::io_error when the reader fails.
  [[nodiscard]] Result<void> read_tensor(const GgufTensor& tensor, Span<std::byte> to,
                                         std::uint64_t first = 0) const noexcept {
    if (first > tensor.bytes || to.size() > tensor.bytes - first) {
      return fail(Errc::invalid_argument, "tensor '", detail::Quoted(tensor.name).view(), "': ", to.size(),
                  " bytes from byte ", first, " asked for, ", tensor.bytes, " bytes present");
    }
    if (to.empty()) return {};
    if (has_data()) {
      std::memcpy(to.data(), data(tensor).data() + first, to.size());
      return {};
    }
    const std::uint64_t at = data_offset_ + tensor.offset + first;
    if (reader_->read(reader_->context, at, to.size(), to.data())) return {};
    auto error = Error::of(Errc::io_error, "tensor '", detail::Quoted(tensor.name).view(), "': the reader failed on ",
                           to.size(), " bytes");
    return std::unexpected<Error>(error.at_offset(at));
  }

 private:
  explicit GgufFile(const Allocator& allocator) noexcept
      : allocator_(allocator),
        loaded_(allocator),
        entries_(allocator),
        tensors_(allocator),
        entry_order_(allocator),
        tensor_order_(allocator) {}

  // Takes what the index holds into the lists of `file`.
  struct Collect {
    GgufFile& file;
    [[nodiscard]] Result<void> entry(const GgufEntry& entry) noexcept { return file.entries_.push_back(entry); }
    [[nodiscard]] Result<void> tensor(const GgufTensor& tensor) noexcept { return file.tensors_.push_back(tensor); }
  };

  // Only walks: a reader's bytes move while they are loaded.
  struct Ignore {
    [[nodiscard]] Result<void> entry(const GgufEntry&) noexcept { return {}; }
    [[nodiscard]] Result<void> tensor(const GgufTensor&) noexcept { return {}; }
  };

  [[nodiscard]] static std::unexpected<Error> missing(std::string_view key) noexcept {
    return fail(Errc::missing_metadata, "metadata '", detail::Quoted(key).view(), "' is absent");
  }

  [[nodiscard]] static Result<GgufFile> index_memory(GgufFile file) noexcept {
    file.file_bytes_ = file.memory_.size();
    if (auto r = file.index(file.memory_); !r) return pass(r);
    return file;
  }

  [[nodiscard]] Result<void> index(Span<const std::byte> bytes) noexcept {
    detail::GgufBytes source(bytes);
    Collect collect{*this};
    const auto header = detail::walk_index(detail::GgufCursor(source), collect);
    if (!header) return pass(header);
    header_ = *header;

    const auto twin_entry = entry_order_.build(entries());
    if (!twin_entry) return pass(twin_entry);
    if (*twin_entry != EntryOrder::kAbsent) {
      const GgufEntry& twin = entries_[*twin_entry];
      return duplicate("metadata key", twin.key, *twin_entry, bytes);
    }
    const auto twin_tensor = tensor_order_.build(tensors());
    if (!twin_tensor) return pass(twin_tensor);
    if (*twin_tensor != TensorOrder::kAbsent) {
      const GgufTensor& twin = tensors_[*twin_tensor];
      return duplicate("tensor name", twin.name, *twin_tensor, bytes);
    }

    const auto data_offset = detail::place_tensors(header_, tensors(), file_bytes_, allocator_);
    if (!data_offset) return pass(data_offset);
    data_offset_ = *data_offset;
    return {};
  }

  [[nodiscard]] static std::unexpected<Error> duplicate(std::string_view what, std::string_view name,
                                                        std::uint32_t number, Span<const std::byte> bytes) noexcept {
    auto error = Error::of(Errc::duplicate_name, what, " '", detail::Quoted(name).view(), "' of entry ", number,
                           " appeared before");
    const auto* first = reinterpret_cast<const char*>(bytes.data());
    return std::unexpected<Error>(error.at_offset(static_cast<std::uint64_t>(name.data() - first)));
  }

  using EntryOrder = detail::NameOrder<GgufEntry, &GgufEntry::key>;
  using TensorOrder = detail::NameOrder<GgufTensor, &GgufTensor::name>;

  Allocator allocator_;
  FileMapping mapping_;
  Span<const std::byte> memory_;
  Vector<std::byte> loaded_;
  std::optional<GgufReader> reader_;
  detail::GgufHeader header_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t data_offset_ = 0;
  Vector<GgufEntry> entries_;
  Vector<GgufTensor> tensors_;
  EntryOrder entry_order_;
  TensorOrder tensor_order_;
};

inline Result<GgufFile> GgufFile::open(const GgufReader& reader, Allocator allocator) noexcept {
  if (reader.size == nullptr || reader.read == nullptr)
    return fail(Errc::invalid_argument, "a reader without size or read function");
  GgufFile file(allocator);
  file.reader_ = reader;
  detail::GgufBytes source(reader, allocator);
  file.file_bytes_ = source.end();
  Ignore ignore;
  if (const auto header = detail::walk_index(detail::GgufCursor(source), ignore); !header) return pass(header);
  file.loaded_ = source.take_loaded();
  if (auto r = file.index(file.loaded_.span()); !r) return pass(r);
  return file;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
