// SPDX-License-Identifier: Apache-2.0
// tests/tools/gguf_walk.hpp: asks an opened GGUF file for everything that it can tell.
#pragma once

#include <zrt/model/gguf.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace zrt::test {

/// Serves memory through the reader interface; the reads after the first `allowed` fail.
struct MemoryReader {
  std::span<const std::byte> bytes;
  std::uint64_t allowed = ~std::uint64_t{0};
  std::uint64_t reads = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t claimed_extra = 0;  // by which the stated size exceeds the real one

  [[nodiscard]] model::GgufReader reader() noexcept {
    return {this,
            [](void* context) noexcept {
              const auto* self = static_cast<MemoryReader*>(context);
              return static_cast<std::uint64_t>(self->bytes.size()) + self->claimed_extra;
            },
            [](void* context, std::uint64_t offset, std::size_t count, std::byte* to) noexcept {
              auto* self = static_cast<MemoryReader*>(context);
              if (self->reads++ >= self->allowed) return false;
              if (offset > self->bytes.size() || count > self->bytes.size() - offset) return false;
              self->read_bytes += count;
              std::memcpy(to, self->bytes.data() + offset, count);
              return true;
            }};
  }
};

namespace detail {

inline std::uint64_t sum(std::span<const std::byte> bytes) noexcept {
  std::uint64_t total = bytes.size();
  for (std::byte b : bytes) total = total * 31 + std::to_integer<std::uint64_t>(b);
  return total;
}

inline std::uint64_t sum(std::string_view text) noexcept { return sum(std::as_bytes(std::span(text))); }

template <class T> std::uint64_t sum(const Result<T>& result) noexcept {
  if (!result) return sum(result.error().text()) + result.error().offset();
  if constexpr (std::is_same_v<T, std::string_view>)
    return sum(*result);
  else if constexpr (std::is_floating_point_v<T>)
    return *result == *result ? 1 : 2;
  else
    return static_cast<std::uint64_t>(*result);
}

template <class T> std::uint64_t sum_list(const model::GgufValue& value) noexcept {
  const auto list = value.list<T>(system_allocator(), "walk");
  if (!list) return sum(list.error().text());
  std::uint64_t total = list->size();
  for (const T& element : *list) total += sum(Result<T>(element));
  return total;
}

inline std::uint64_t sum_value(const model::GgufValue& value, int depth) noexcept {
  std::uint64_t total = sum(name(value.type())) + value.offset();
  total += sum(value.as<bool>()) + sum(value.as<std::string_view>()) + sum(value.as<float>()) + sum(value.as<double>());
  total += sum(value.as<std::uint8_t>()) + sum(value.as<std::int8_t>()) + sum(value.as<std::uint16_t>()) +
           sum(value.as<std::int16_t>()) + sum(value.as<std::uint32_t>()) + sum(value.as<std::int32_t>()) +
           sum(value.as<std::uint64_t>()) + sum(value.as<std::int64_t>());
  total += sum_list<bool>(value) + sum_list<std::int32_t>(value) + sum_list<float>(value) +
           sum_list<std::string_view>(value);
  for (std::uint64_t i : {std::uint64_t{0}, std::uint64_t{1}, value.count() / 2, value.count() - 1, value.count()}) {
    const auto element = value.element(i);
    total += element ? element->count() : sum(element.error().text());
  }
  const auto elements = value.list<model::GgufValue>(system_allocator());
  if (elements && depth < 6)
    for (const model::GgufValue& element : *elements)
      if (element.type() == model::GgufValueType::array) total += sum_value(element, depth + 1);
  return total;
}

}  // namespace detail

/// Reads every value in every way and every tensor's bytes; returns a number made of all of them.
inline std::uint64_t walk(const model::GgufFile& file) noexcept {
  std::uint64_t total = file.version() + file.alignment() + file.file_bytes() + file.data_offset();
  for (const model::GgufEntry& entry : file.entries()) {
    const model::GgufValue* found = file.find(entry.key);
    total += detail::sum(entry.key) + (found == &entry.value ? 1u : 0u);
    total += detail::sum_value(entry.value, 0);
    total += detail::sum(file.get<std::uint32_t>(entry.key)) + detail::sum(file.get_or<float>(entry.key, 1.0f));
    if (const auto array = file.array(entry.key)) total += name(array->element_type()).size();
    if (const auto strings = file.strings(entry.key)) total += strings->size();
  }
  total += file.find("no such key") == nullptr ? 1u : 0u;
  total += detail::sum(file.get<bool>("no such key")) + detail::sum(file.get_or<std::int64_t>("no such key", 5));
  for (const model::GgufTensor& tensor : file.tensors()) {
    total += detail::sum(tensor.name) + detail::sum(tensor.type.name()) + tensor.bytes + tensor.elems;
    total += file.find_tensor(tensor.name) == &tensor ? 1u : 0u;
    total += detail::sum(file.data(tensor));
    std::byte few[64];
    const std::size_t count = tensor.bytes < sizeof(few) ? static_cast<std::size_t>(tensor.bytes) : sizeof(few);
    const auto read = file.read_tensor(tensor, std::span(few, count), tensor.bytes - count);
    total += read ? detail::sum(std::span<const std::byte>(few, count)) : detail::sum(read.error().text());
    if (const auto past = file.read_tensor(tensor, few, tensor.bytes); !past) total += detail::sum(past.error().text());
  }
  total += file.find_tensor("no such tensor") == nullptr ? 1u : 0u;
  return total;
}

}  // namespace zrt::test
