// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/value.hpp: dynamic values: what chat templates compute with, and what JSON reads as.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/core/vector.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace zrt::inline ZRT_ABI::text::chat {

/// What a Value is.
enum class Kind : std::uint8_t {
  undefined,  ///< a name or a place that holds nothing; `text` names it
  none,
  boolean,  ///< `integer` is 0 or 1
  integer,
  real,    ///< `text` has the digits of a whole number that `integer` cannot hold, and is empty for any other
  string,  ///< `integer` is 1 for one that counts as markup
  list,
  tuple,
  dict,
  space,   ///< a template's namespace: a dict whose attributes can be set
  macro,   ///< a template's macro; `integer` names it
  loop,    ///< a template's loop; `integer` names it
  method,  ///< a method that was not called; `text` is its name
};

/// A value of a Values. Copies of a list or dict are the same list or dict.
struct Value {
  Kind kind = Kind::undefined;
  std::uint32_t index = 0;  ///< of a list, tuple or dict
  std::int64_t integer = 0;
  double real = 0.0;
  std::string_view text{};

  [[nodiscard]] static Value none() noexcept { return {.kind = Kind::none}; }
  [[nodiscard]] static Value of(bool value) noexcept { return {.kind = Kind::boolean, .integer = value ? 1 : 0}; }
  [[nodiscard]] static Value of(std::int64_t value) noexcept { return {.kind = Kind::integer, .integer = value}; }
  [[nodiscard]] static Value of(double value) noexcept { return {.kind = Kind::real, .real = value}; }
  /// Views `value`, which outlives it.
  [[nodiscard]] static Value of(std::string_view value) noexcept { return {.kind = Kind::string, .text = value}; }
  [[nodiscard]] static Value undefined(std::string_view name) noexcept { return {.text = name}; }

  /// The text of a string; nothing for any other value.
  [[nodiscard]] std::string_view string_or_empty() const noexcept {
    return kind == Kind::string ? text : std::string_view{};
  }
  [[nodiscard]] bool is(Kind other) const noexcept { return kind == other; }
  [[nodiscard]] bool is_string() const noexcept { return kind == Kind::string; }
  [[nodiscard]] bool is_dict() const noexcept { return kind == Kind::dict; }
  [[nodiscard]] bool is_sequence() const noexcept { return kind == Kind::list || kind == Kind::tuple; }
  [[nodiscard]] bool is_integral() const noexcept { return kind == Kind::integer || kind == Kind::boolean; }
  [[nodiscard]] bool is_number() const noexcept { return is_integral() || kind == Kind::real; }
  [[nodiscard]] bool absent() const noexcept { return kind == Kind::undefined || kind == Kind::none; }
  /// A whole number, whatever holds it.
  [[nodiscard]] bool is_whole() const noexcept {
    return kind == Kind::integer || (kind == Kind::real && !text.empty());
  }
  [[nodiscard]] double as_real() const noexcept { return is(Kind::real) ? real : static_cast<double>(integer); }
};

/// A key of a dict and what it holds.
struct Entry {
  Value key;
  Value value;
};

/// Owns the texts, lists and dicts of values, and frees them together.
///
/// The first error is kept and later calls do nothing more: whoever makes many values asks `ok()` now and then.
class Values {
 public:
  /// Most keys of a dict, which is searched from its beginning.
  static constexpr std::size_t kMostKeys = 4096;

  /// Errors: Errc::limit_exceeded past about `most_bytes`, Errc::out_of_memory.
  explicit Values(Allocator allocator = system_allocator(), std::size_t most_bytes = std::size_t{64} << 20) noexcept
      : allocator_(allocator), chunks_(allocator), lists_(allocator), dicts_(allocator), most_bytes_(most_bytes) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] const Error& error() const noexcept { return error_; }
  [[nodiscard]] const Allocator& allocator() const noexcept { return allocator_; }
  void fail(const Error& error) noexcept {
    if (ok_) error_ = error;
    ok_ = false;
  }

  /// Copies a text. `given` says of each byte whether somebody else wrote it; without it, all are as `give` said.
  [[nodiscard]] Value string(std::string_view text, Span<const bool> given = {}) noexcept {
    if (text.empty() || !take(text.size())) return Value::of(std::string_view{});
    if (chunks_.empty() || chunks_.back().text.capacity() - chunks_.back().text.size() < text.size())
      if (!add_chunk(text.size())) return Value::of(std::string_view{});
    Chunk& chunk = chunks_.back();
    const std::size_t at = chunk.text.size();
    (void)chunk.text.append(Span<const char>(text.data(), text.size()));  // there is room: texts never move
    for (std::size_t i = 0; i < text.size(); ++i) keep(chunk.given.push_back(given.empty() ? gives_ : given[i]));
    return Value::of(std::string_view(chunk.text.data() + at, text.size()));
  }
  /// Whether texts copied from now on are written by somebody else. Returns what was said before.
  bool give(bool gives) noexcept { return std::exchange(gives_, gives); }
  /// Which bytes of `text`, a part of a text of these values or any other, somebody else wrote; empty for none.
  [[nodiscard]] Span<const bool> given(std::string_view text) const noexcept {
    // As numbers, because pointers into different texts have no order.
    const auto at = reinterpret_cast<std::uintptr_t>(text.data());
    for (const Chunk& chunk : chunks_) {
      const auto begin = reinterpret_cast<std::uintptr_t>(chunk.text.begin());
      if (at < begin || at - begin >= chunk.text.size()) continue;
      return chunk.given.span().subspan(static_cast<std::size_t>(text.data() - chunk.text.begin()), text.size());
    }
    return {};
  }
  [[nodiscard]] bool any_given(std::string_view text) const noexcept {
    for (const bool given_byte : given(text))
      if (given_byte) return true;
    return false;
  }

  [[nodiscard]] Value list(Kind kind = Kind::list) noexcept { return {.kind = kind, .index = add(lists_)}; }
  [[nodiscard]] Value dict(Kind kind = Kind::dict) noexcept { return {.kind = kind, .index = add(dicts_)}; }

  /// The elements of a list or tuple; none for anything else.
  [[nodiscard]] Span<Value> items(const Value& list) noexcept {
    return list.is_sequence() && list.index < lists_.size() ? lists_[list.index].span() : Span<Value>{};
  }
  /// The entries of a dict or namespace, in the order in which they came; none for anything else.
  [[nodiscard]] Span<Entry> entries(const Value& dict) noexcept {
    return (dict.is_dict() || dict.is(Kind::space)) && dict.index < dicts_.size() ? dicts_[dict.index].span()
                                                                                  : Span<Entry>{};
  }

  void push(const Value& list, const Value& item) noexcept {
    if (list.index >= lists_.size() || !take(sizeof item)) return;
    keep(lists_[list.index].push_back(item));
  }
  /// Takes the element at `at` out of a list.
  Value remove(const Value& list, std::size_t at) noexcept {
    Vector<Value>& items = lists_[list.index];
    const Value removed = items[at];
    for (; at + 1 < items.size(); ++at) items[at] = items[at + 1];
    items.pop_back();
    return removed;
  }
  /// Puts `item` before the element at `at`, which is at most the size.
  void insert(const Value& list, std::size_t at, const Value& item) noexcept {
    push(list, item);
    if (!ok_) return;
    Vector<Value>& items = lists_[list.index];
    for (std::size_t i = items.size() - 1; i > at; --i) std::swap(items[i], items[i - 1]);
  }

  /// The value of the key `key`, or null.
  [[nodiscard]] Value* find(const Value& dict, std::string_view key) noexcept {
    for (Entry& entry : entries(dict))
      if (entry.key.is_string() && entry.key.text == key) return &entry.value;
    return nullptr;
  }
  /// The value of the key `key`, or an undefined one.
  [[nodiscard]] Value get(const Value& dict, std::string_view key) noexcept {
    const Value* found = find(dict, key);
    return found != nullptr ? *found : Value::undefined(key);
  }
  /// Sets a text key, which outlives this, as literals and kept texts do.
  void set(const Value& dict, std::string_view key, const Value& value) noexcept {
    if (Value* found = find(dict, key); found != nullptr)
      *found = value;
    else
      append(dict, {Value::of(key), value});
  }
  /// Appends an entry whose key the dict does not hold.
  void append(const Value& dict, const Entry& entry) noexcept {
    if (dict.index >= dicts_.size() || !take(sizeof entry)) return;
    if (dicts_[dict.index].size() >= kMostKeys)
      return fail(Error::of(Errc::limit_exceeded, "a dict has more than ", kMostKeys, " keys"));
    keep(dicts_[dict.index].push_back(entry));
  }
  void erase(const Value& dict, std::size_t at) noexcept {
    Vector<Entry>& entries = dicts_[dict.index];
    for (; at + 1 < entries.size(); ++at) entries[at] = entries[at + 1];
    entries.pop_back();
  }

  /// Copies a value of another Values, or of this one, with all that it holds.
  [[nodiscard]] Value copy(Values& from, const Value& value, std::uint32_t depth = 0) noexcept {
    if (depth > 128) {
      fail(Error::of(Errc::limit_exceeded, "a value is nested more than 128 deep"));
      return {};
    }
    if (value.is_string()) return string(value.text);
    if (value.is(Kind::real) && !value.text.empty()) {
      Value number = value;
      number.text = string(value.text).text;
      return number;
    }
    if (value.is_sequence()) {
      const Value to = list(value.kind);
      for (std::size_t i = 0; ok_ && i < from.items(value).size(); ++i)
        push(to, copy(from, Value(from.items(value)[i]), depth + 1));
      return to;
    }
    if (!value.is_dict()) return value;
    const Value to = dict();
    for (std::size_t i = 0; ok_ && i < from.entries(value).size(); ++i) {
      const Entry entry = from.entries(value)[i];
      const Value key = copy(from, entry.key, depth + 1);
      append(to, {key, copy(from, entry.value, depth + 1)});
    }
    return to;
  }

 private:
  struct Chunk {
    Vector<char> text;
    Vector<bool> given;  ///< by byte
  };

  template <class T> [[nodiscard]] std::uint32_t add(Vector<Vector<T>>& to) noexcept {
    if (take(sizeof(Vector<T>))) keep(to.push_back(Vector<T>(allocator_)));
    return ok_ ? static_cast<std::uint32_t>(to.size() - 1) : ~std::uint32_t{0};
  }
  /// Chunks grow, so that there are few of them to look for a text in.
  [[nodiscard]] bool add_chunk(std::size_t least) noexcept {
    Chunk chunk{Vector<char>(allocator_), Vector<bool>(allocator_)};
    const std::size_t size = used_ / 4 < 4096 ? 4096 : used_ / 4;
    keep(chunk.text.reserve(size < least ? least : size));
    if (ok_) keep(chunk.given.reserve(chunk.text.capacity()));
    if (ok_) keep(chunks_.push_back(std::move(chunk)));
    return ok_;
  }
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    if (bytes > most_bytes_ - used_)
      fail(Error::of(Errc::limit_exceeded, "the values take more than ", most_bytes_, " bytes"));
    else
      used_ += bytes;
    return ok_;
  }
  void keep(const Result<void>& result) noexcept {
    if (!result) fail(result.error());
  }

  Allocator allocator_;
  Vector<Chunk> chunks_;
  Vector<Vector<Value>> lists_;
  Vector<Vector<Entry>> dicts_;
  std::size_t most_bytes_;
  std::size_t used_ = 0;
  bool gives_ = false;
  bool ok_ = true;
  Error error_{};
};

}  // namespace zrt::inline ZRT_ABI::text::chat
