// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/json.hpp: JSON files of a model's folder, within bounds; an optional header that needs nlohmann-json.
//
// It uses containers of the standard library, whose allocation failures are exceptions. Nothing else
// here throws.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/model/gguf/value.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// A vocabulary is an object of hundreds of thousands of members, so members are looked up in a tree.
using HubJson = nlohmann::json;

/// Deeper than any file of a model goes.
inline constexpr std::size_t kMaxJsonDepth = 64;

namespace detail {

using model::detail::Quoted;

/// Takes what nlohmann-json reads and makes values of it; keeps the first fault with its place.
class JsonBuilder {
 public:
  [[nodiscard]] const Error& error() const noexcept { return error_; }
  [[nodiscard]] HubJson take() noexcept { return std::move(root_); }

  // The names are those that nlohmann-json calls.
  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(HubJson::number_integer_t value) { return add(value) != nullptr; }
  bool number_unsigned(HubJson::number_unsigned_t value) { return add(value) != nullptr; }
  bool number_float(HubJson::number_float_t value, const HubJson::string_t&) { return add(value) != nullptr; }
  bool string(HubJson::string_t& value) { return add(std::move(value)) != nullptr; }
  bool binary(HubJson::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(HubJson::object()); }
  bool start_array(std::size_t) { return open(HubJson::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(HubJson::string_t& name) {
    const auto [at, added] = open_.back()->get_ref<HubJson::object_t&>().try_emplace(std::move(name));
    member_ = &at->second;
    if (added) return true;
    error_ = Error::of(Errc::duplicate_name, "an object has '", Quoted(at->first).view(), "' twice");
    return false;
  }
  bool parse_error(std::size_t position, const std::string& token, const HubJson::exception&) {
    error_ = Error::of(Errc::invalid_file, "expected JSON, found '", Quoted(slice(token, 0, 40)).view(), "'");
    error_.at_offset(position == 0 ? 0 : position - 1);
    return false;
  }

 private:
  template <class T> HubJson* add(T&& value) {
    HubJson* place = &root_;
    if (!open_.empty() && open_.back()->is_array()) place = &open_.back()->emplace_back();
    if (!open_.empty() && open_.back()->is_object()) place = member_;
    *place = std::forward<T>(value);
    return place;
  }
  bool open(HubJson&& value) {
    if (open_.size() == kMaxJsonDepth) {
      error_ = Error::of(Errc::limit_exceeded, "the text is nested more than ", kMaxJsonDepth, " deep");
      return false;
    }
    open_.push_back(add(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  HubJson root_;
  std::vector<HubJson*> open_;  // a parent does not grow while a child is open, so these stay where they are
  HubJson* member_ = nullptr;
  Error error_{};
};

}  // namespace detail

/// Parses JSON text.
///
/// Errors: Errc::invalid_file with its place for text that is no JSON; Errc::duplicate_name for a name twice in an
/// object; Errc::limit_exceeded for text that is nested deeper than kMaxJsonDepth.
[[nodiscard]] inline Result<HubJson> parse_json(std::string_view text) {
  detail::JsonBuilder builder;
  if (!HubJson::sax_parse(text, &builder)) return std::unexpected<Error>(builder.error());
  return builder.take();
}

/// The member `name` of an object, or null for one that is absent, is JSON's null, or whose object is none.
[[nodiscard]] inline const HubJson* find(const HubJson* object, std::string_view name) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto at = object->find(name);
  return at == object->end() || at->is_null() ? nullptr : &*at;
}

/// The text of a string, or nothing for any other value and none.
[[nodiscard]] inline std::string_view text_of(const HubJson* value) {
  return value != nullptr && value->is_string() ? std::string_view(value->get_ref<const std::string&>())
                                                : std::string_view{};
}

/// Whether the value is a number from 0 to 2^32 - 1, which `number` then holds.
[[nodiscard]] inline bool is_count(const HubJson* value, std::uint32_t& number) {
  if (value == nullptr || !value->is_number_unsigned()) return false;
  const auto wide = value->get<std::uint64_t>();
  number = static_cast<std::uint32_t>(wide);
  return wide <= 0xffffffffu;
}

/// Whether the value is `true`.
[[nodiscard]] inline bool is_true(const HubJson* value) {
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
