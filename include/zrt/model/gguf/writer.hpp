// SPDX-License-Identifier: Apache-2.0
// zrt/model/gguf/writer.hpp: writes a GGUF file of version 3 from front to back, tensor by tensor.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/little_endian.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/model/gguf/index.hpp>

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What arrays of a file in the making hold.
template <class T>
concept GgufElement = std::same_as<T, bool> || std::same_as<T, float> || std::same_as<T, std::uint32_t> ||
                      std::same_as<T, std::int32_t> || std::same_as<T, std::uint8_t>;

/// Takes the bytes of a file in order.
struct ByteSink {
  void* context = nullptr;
  Result<void> (*write)(void* context, Span<const std::byte> bytes) noexcept = nullptr;
};

/// Writes a GGUF file: metadata and tensors are announced first, then `begin` writes the index, then each tensor's bytes
/// follow in the order in which they were announced. Memory: the index alone.
///
/// After an error nothing more may be written. Errors: those of the sink; Errc::size_overflow and Errc::out_of_memory;
/// Errc::invalid_argument for bytes that are more or fewer than announced.
class GgufWriter {
 public:
  /// `alignment`, a power of two, is that of tensor data; the caller adds general.alignment where it is not 32.
  GgufWriter(ByteSink sink, const Allocator& allocator, std::uint32_t alignment = kGgufDefaultAlignment) noexcept
      : sink_(sink), alignment_(alignment), entries_(allocator), tensors_(allocator), sizes_(allocator) {}

  /// Adds a number, a bool or a string.
  template <class T>
    requires(std::same_as<T, bool> || std::same_as<T, float> || std::same_as<T, std::uint32_t> ||
             std::same_as<T, std::string_view>)
  [[nodiscard]] Result<void> add(std::string_view key, T value) noexcept {
    constexpr GgufValueType type = std::same_as<T, bool>            ? GgufValueType::boolean
                                   : std::same_as<T, float>         ? GgufValueType::f32
                                   : std::same_as<T, std::uint32_t> ? GgufValueType::u32
                                                                    : GgufValueType::string;
    if (auto r = begin_entry(key, type); !r) return r;
    if constexpr (std::same_as<T, std::string_view>)
      return put_text(entries_, value);
    else
      return put_element(entries_, value);
  }
  /// Adds an array of numbers.
  [[nodiscard]] Result<void> add_list(std::string_view key, Span<const std::uint32_t> values) noexcept {
    return add_list(key, values.size(), [&](std::uint64_t i) noexcept { return values[static_cast<std::size_t>(i)]; });
  }
  /// Adds an array of `count` numbers or bools, `at(i)` each.
  template <class At>
    requires GgufElement<std::invoke_result_t<At, std::uint64_t>>
  [[nodiscard]] Result<void> add_list(std::string_view key, std::uint64_t count, At at) noexcept {
    using T = std::invoke_result_t<At, std::uint64_t>;
    constexpr GgufValueType type = std::same_as<T, bool>           ? GgufValueType::boolean
                                   : std::same_as<T, float>        ? GgufValueType::f32
                                   : std::same_as<T, std::int32_t> ? GgufValueType::i32
                                   : std::same_as<T, std::uint8_t> ? GgufValueType::u8
                                                                   : GgufValueType::u32;
    if (auto r = begin_entry(key, GgufValueType::array); !r) return r;
    if (auto r = begin_array(type, count); !r) return r;
    for (std::uint64_t i = 0; i < count; ++i)
      if (auto r = put_element(entries_, at(i)); !r) return r;
    return {};
  }
  /// Adds an array of `count` texts, `at(i)` each, as something with a view().
  template <class At> [[nodiscard]] Result<void> add_texts(std::string_view key, std::uint64_t count, At at) noexcept {
    if (auto r = begin_entry(key, GgufValueType::array); !r) return r;
    if (auto r = begin_array(GgufValueType::string, count); !r) return r;
    for (std::uint64_t i = 0; i < count; ++i)
      if (auto r = put_text(entries_, at(i).view()); !r) return r;
    return {};
  }
  /// Adds a value of another file as it is.
  [[nodiscard]] Result<void> add(const GgufEntry& entry) noexcept {
    const GgufValue& value = entry.value;
    const Span<const std::byte> payload = detail::GgufValueAccess::payload(value);
    if (auto r = begin_entry(entry.key, value.type()); !r) return r;
    if (value.type() == GgufValueType::array)
      if (auto r = begin_array(value.element_type(), value.count()); !r) return r;
    if (value.type() == GgufValueType::string)
      if (auto r = put(entries_, std::uint64_t{payload.size()}); !r) return r;
    return entries_.append(payload);
  }

  /// Announces a tensor of `dims`, the first of which runs fastest, whose rows are whole blocks.
  [[nodiscard]] Result<void> add_tensor(std::string_view name, const GgmlType& type,
                                        Span<const std::uint64_t> dims) noexcept {
    const std::uint64_t row = dims.empty() ? 1 : dims[0];
    if (row % type.block_elems() != 0)
      return fail(Errc::invalid_argument, "tensor '", detail::Quoted(name).view(), "': rows of ", row,
                  " elements are no whole blocks of ", type.block_elems());
    CheckedSize bytes(row / type.block_elems());
    bytes = bytes * CheckedSize(type.block_bytes());
    for (std::size_t axis = 1; axis < dims.size(); ++axis) bytes = bytes * CheckedSize(dims[axis]);
    const auto size = bytes.get(detail::Quoted(name).view());
    if (!size) return pass(size);
    if (auto r = put_text(tensors_, name); !r) return r;
    if (auto r = put(tensors_, static_cast<std::uint32_t>(dims.size())); !r) return r;
    for (const std::uint64_t dim : dims)
      if (auto r = put(tensors_, dim); !r) return r;
    if (auto r = put(tensors_, type.id); !r) return r;
    if (auto r = put(tensors_, offset_); !r) return r;
    const auto next = (CheckedSize(offset_) + CheckedSize(*size)).aligned(alignment_).get("the file");
    if (!next) return pass(next);
    offset_ = *next;
    return sizes_.push_back(*size);
  }

  /// Writes the index.
  [[nodiscard]] Result<void> begin() noexcept {
    Vector<std::byte> head(entries_.allocator());
    constexpr std::string_view kMagic = "GGUF";
    if (auto r = head.append({reinterpret_cast<const std::byte*>(kMagic.data()), kMagic.size()}); !r) return r;
    if (auto r = put(head, std::uint32_t{3}); !r) return r;
    if (auto r = put(head, std::uint64_t{sizes_.size()}); !r) return r;
    if (auto r = put(head, entry_count_); !r) return r;
    for (const Span<const std::byte> part : {head.span(), entries_.span(), tensors_.span()})
      if (auto r = sink_.write(sink_.context, part); !r) return r;
    return pad(head.size() + entries_.size() + tensors_.size());
  }

  /// Writes the next bytes of the tensor that is not complete yet.
  [[nodiscard]] Result<void> write(Span<const std::byte> bytes) noexcept {
    if (at_ == sizes_.size() || bytes.size() > sizes_[at_] - written_)
      return fail(Errc::invalid_argument, bytes.size(), " bytes written to tensor ", at_, " of ", sizes_.size(), ", ",
                  at_ == sizes_.size() ? 0 : sizes_[at_] - written_, " expected");
    if (auto r = sink_.write(sink_.context, bytes); !r) return r;
    written_ += bytes.size();
    if (written_ < sizes_[at_]) return {};
    const std::uint64_t size = sizes_[at_];
    written_ = 0;
    ++at_;
    return pad(size);
  }

  /// Demands that every tensor is complete.
  [[nodiscard]] Result<void> finish() const noexcept {
    if (at_ == sizes_.size()) return {};
    return fail(Errc::invalid_argument, "the file ends in tensor ", at_, " of ", sizes_.size());
  }

 private:
  [[nodiscard]] static Result<void> put_bytes(Vector<std::byte>& to, const void* from, std::size_t size) noexcept {
    return to.append({static_cast<const std::byte*>(from), size});
  }
  template <std::unsigned_integral T> [[nodiscard]] static Result<void> put(Vector<std::byte>& to, T value) noexcept {
    std::byte bytes[sizeof(T)];
    write_little(bytes, value);
    return put_bytes(to, bytes, sizeof bytes);
  }
  template <GgufElement T> [[nodiscard]] static Result<void> put_element(Vector<std::byte>& to, T value) noexcept {
    if constexpr (std::same_as<T, bool>)
      return put(to, static_cast<std::uint8_t>(value ? 1 : 0));
    else if constexpr (std::same_as<T, std::uint8_t>)
      return put(to, value);
    else
      return put(to, std::bit_cast<std::uint32_t>(value));
  }
  [[nodiscard]] static Result<void> put_text(Vector<std::byte>& to, std::string_view text) noexcept {
    if (auto r = put(to, std::uint64_t{text.size()}); !r) return r;
    return put_bytes(to, text.data(), text.size());
  }
  [[nodiscard]] Result<void> begin_entry(std::string_view key, GgufValueType type) noexcept {
    ++entry_count_;
    if (auto r = put_text(entries_, key); !r) return r;
    return put(entries_, static_cast<std::uint32_t>(type));
  }
  [[nodiscard]] Result<void> begin_array(GgufValueType type, std::uint64_t count) noexcept {
    if (auto r = put(entries_, static_cast<std::uint32_t>(type)); !r) return r;
    return put(entries_, count);
  }
  [[nodiscard]] Result<void> pad(std::uint64_t size) noexcept {
    constexpr std::byte kZeros[64]{};
    std::uint64_t left = align_up(size, alignment_) - size;
    while (left != 0) {
      const std::uint64_t part = left < sizeof kZeros ? left : sizeof kZeros;
      if (auto r = sink_.write(sink_.context, {kZeros, static_cast<std::size_t>(part)}); !r) return r;
      left -= part;
    }
    return {};
  }

  ByteSink sink_;
  std::uint32_t alignment_;
  std::uint64_t entry_count_ = 0;
  Vector<std::byte> entries_;
  Vector<std::byte> tensors_;
  Vector<std::uint64_t> sizes_;
  std::uint64_t offset_ = 0;   // of the next tensor, from the beginning of the data
  std::uint64_t written_ = 0;  // of tensor at_
  std::size_t at_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
