// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/keys.hpp: the metadata of a file in the making; an optional header.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/model/gguf/writer.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Keys and values in the order in which they came first; setting a key again changes its value.
class Keys {
 public:
  using Value =
      std::variant<std::uint32_t, float, bool, std::string, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                   std::vector<std::uint8_t>, std::vector<float>, std::vector<bool>, std::vector<std::string>>;

  /// `architecture` goes before the names that `of_model` takes.
  explicit Keys(std::string_view architecture) : prefix_(std::string(architecture) + ".") {
    set("general.architecture", std::string(architecture));
  }

  void set(std::string_view key, Value value) {
    for (auto& [name, old] : entries_)
      if (name == key) return void(old = std::move(value));
    entries_.emplace_back(key, std::move(value));
  }
  /// Sets a key of the architecture.
  void of_model(std::string_view key, Value value) { set(prefix_ + std::string(key), std::move(value)); }

  void erase_of_model(std::string_view key) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.first == prefix_ + std::string(key); });
  }

  [[nodiscard]] const Value* find(std::string_view key) const {
    for (const auto& [name, value] : entries_)
      if (name == key) return &value;
    return nullptr;
  }

  /// A number of the architecture, or the first of a list; `otherwise` where there is none.
  [[nodiscard]] std::uint32_t first_of_model(std::string_view key, std::uint32_t otherwise) const {
    const Value* value = find(prefix_ + std::string(key));
    if (value == nullptr) return otherwise;
    if (const auto* number = std::get_if<std::uint32_t>(value)) return *number;
    if (const auto* list = std::get_if<std::vector<std::uint32_t>>(value))
      return list->empty() ? otherwise : list->front();
    if (const auto* list = std::get_if<std::vector<std::int32_t>>(value))
      return list->empty() ? otherwise : static_cast<std::uint32_t>(list->front());
    return otherwise;
  }

  /// Adds all of them to a file.
  [[nodiscard]] Result<void> write(GgufWriter& writer) const {
    for (const auto& [key, value] : entries_)
      if (auto r = std::visit([&](const auto& held) { return add(writer, key, held); }, value); !r) return r;
    return {};
  }

 private:
  template <class T> [[nodiscard]] static Result<void> add(GgufWriter& writer, const std::string& key, const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
      return writer.add(key, std::string_view(value));
    else
      return writer.add(key, value);
  }
  template <class T>
  [[nodiscard]] static Result<void> add(GgufWriter& writer, const std::string& key, const std::vector<T>& list) {
    if constexpr (std::is_same_v<T, std::string>)
      return writer.add_texts(key, list.size(), [&](std::uint64_t i) noexcept { return Text{list[i]}; });
    else
      return writer.add_list(key, list.size(), [&](std::uint64_t i) noexcept { return T(list[i]); });
  }

  struct Text {
    const std::string& text;
    [[nodiscard]] std::string_view view() const noexcept { return text; }
  };

  std::string prefix_;
  std::vector<std::pair<std::string, Value>> entries_;
};

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
