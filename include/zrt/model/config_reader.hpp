// SPDX-License-Identifier: Apache-2.0
// zrt/model/config_reader.hpp: a file's keys of its architecture, read one by one; those that nobody reads are refused.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/core/name.hpp>
#include <zrt/core/span.hpp>
#include <zrt/model/gguf.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What the host chooses before a model's config is read.
struct HostChoice {
  std::uint32_t context = 0;  ///< positions of a slot; 0: as many as the model was trained for, at most 4096
  DType kv_dtype = DType::f16;
  bool embeddings = false;        ///< hidden states are wanted, not logits
  bool given_embeddings = false;  ///< rows of embeddings may stand in place of tokens
};

/// Values of a key that change nothing for a family that does not read it.
enum class Neutral : std::uint8_t {
  any,          ///< pure information
  zero,         ///< 0 or false
  zero_or_one,  ///< of a factor
  yes,          ///< true, or any number but 0
};

/// A key "<architecture>.<name>" that may stand in a file although its family does not read it.
struct NeutralKey {
  std::string_view name;
  Neutral value = Neutral::zero;
};

/// Reads the keys "<architecture>.<key>" of a file and remembers which.
///
/// It keeps the first error, which `finish` returns: Errc::missing_metadata or invalid_metadata naming the key, or what
/// a family refuses. After an error calls return values within their bounds. A call with a fallback returns it where the
/// file lacks the key. `file` must outlive the reader.
class ConfigReader {
 public:
  /// A family reads at most this many keys.
  static constexpr std::size_t kMostKeys = 128;

  explicit ConfigReader(const GgufFile& file, std::string_view architecture, const HostChoice& host = {}) noexcept
      : file_(file), architecture_(architecture), host_(host) {}

  /// The key as the file spells it.
  [[nodiscard]] Name name_of(std::string_view key) const noexcept { return Name::of(architecture_, ".", key); }
  [[nodiscard]] const GgufFile& file() const noexcept { return file_; }
  [[nodiscard]] const HostChoice& host() const noexcept { return host_; }
  [[nodiscard]] std::string_view architecture() const noexcept { return architecture_; }

  /// Whether the file says anything of a key.
  [[nodiscard]] bool has(std::string_view key) const noexcept { return file_.find(name_of(key).view()) != nullptr; }

  /// A number from 1 to `most`, or an array of such numbers that are all equal. Choose `most` so that every product of
  /// sizes fits 64 bits.
  [[nodiscard]] std::uint32_t count(std::string_view key, std::uint32_t most) noexcept {
    const GgufValue* value = required(key);
    return value == nullptr ? 1 : one_count(*value, key, most);
  }
  [[nodiscard]] std::uint32_t count(std::string_view key, std::uint32_t most, std::uint32_t fallback) noexcept {
    const GgufValue* value = look(key);
    return value == nullptr ? fallback : one_count(*value, key, most);
  }
  /// A number from 0 to `most`.
  [[nodiscard]] std::uint32_t count_or_zero(std::string_view key, std::uint32_t most, std::uint32_t fallback) noexcept {
    const GgufValue* value = look(key);
    if (value == nullptr) return fallback;
    return kept(value->as<std::uint32_t>(name_of(key).view()), 1u) == 0 ? 0 : one_count(*value, key, most);
  }
  /// A number from `least`, 0 or 1, to `most` for each of `layers`: one for all, or an array of as many. Returns whether
  /// the key is there; else `layers` stays as it is.
  bool per_layer(std::string_view key, std::uint32_t most, Span<std::uint32_t> layers,
                 std::uint32_t least = 1) noexcept {
    const GgufValue* value = look(key);
    if (value == nullptr) return false;
    if (value->type() != GgufValueType::array) {
      const std::uint32_t number = in_range(*value, key, most, least);
      for (std::uint32_t& layer : layers) layer = number;
    } else if (expect_layers(*value, key, layers.size())) {
      for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = in_range(element(*value, i), key, most, least);
    }
    return true;
  }
  /// A truth value, or a number that is one unless it is 0.
  [[nodiscard]] bool flag(std::string_view key, bool fallback) noexcept {
    const GgufValue* value = look(key);
    return value == nullptr ? fallback : number_of(*value, key) != 0.0;
  }
  /// A truth value for each of `layers`, from an array of as many. Returns whether the key is there and an array.
  bool flag_per_layer(std::string_view key, Span<std::uint8_t> layers) noexcept {
    const GgufValue* value = file_.find(name_of(key).view());
    if (value == nullptr || value->type() != GgufValueType::array) return false;
    (void)look(key);
    if (expect_layers(*value, key, layers.size()))
      for (std::size_t i = 0; i < layers.size(); ++i) layers[i] = number_of(element(*value, i), key) != 0.0 ? 1 : 0;
    return true;
  }
  /// A positive number.
  [[nodiscard]] float number(std::string_view key) noexcept {
    const GgufValue* value = required(key);
    return value == nullptr ? 1.0f : positive(*value, key);
  }
  [[nodiscard]] float number(std::string_view key, float fallback) noexcept {
    const GgufValue* value = look(key);
    return value == nullptr ? fallback : positive(*value, key);
  }
  /// A number of 0 or more.
  [[nodiscard]] float number_or_zero(std::string_view key, float fallback) noexcept {
    const GgufValue* value = look(key);
    if (value == nullptr) return fallback;
    return kept(value->as<float>(name_of(key).view()), 1.0f) == 0.0f ? 0.0f : positive(*value, key);
  }
  /// Any number, negative ones included.
  [[nodiscard]] float any_number(std::string_view key, float fallback) noexcept {
    const GgufValue* value = look(key);
    return value == nullptr ? fallback : kept(value->as<float>(name_of(key).view()), fallback);
  }
  /// A positive factor; 0 in the file means `zero`.
  [[nodiscard]] float scale(std::string_view key, float fallback, float zero = 1.0f) noexcept {
    const float found = number_or_zero(key, fallback);
    return found == 0.0f ? zero : found;
  }
  /// A text.
  [[nodiscard]] std::string_view text(std::string_view key, std::string_view fallback) noexcept {
    const GgufValue* value = look(key);
    return value == nullptr ? fallback : kept(value->as<std::string_view>(name_of(key).view()), fallback);
  }

  /// Keeps an error of `code`, whose text is the pieces one after the other, if it is the first.
  template <class... Pieces> void refuse(Errc code, const Pieces&... pieces) noexcept {
    keep(Error::of(code, pieces...));
  }
  /// Refuses a key, if the file has it, unless its number `holds`.
  template <class Holds> void expect(std::string_view key, std::string_view expected, Holds holds) noexcept {
    const GgufValue* value = look(key);
    if (value != nullptr && !failed_ && !holds(number_of(*value, key)))
      refuse(Errc::unimplemented, name_of(key).view(), " changes what the model computes, but its family does not ",
             "read it; expected ", expected);
  }

  /// A hash of every key that was read, with its value.
  [[nodiscard]] std::uint64_t values() const noexcept {
    std::uint64_t hash = 0;
    for (const GgufEntry& entry : file_.entries()) {
      if (!is_read(entry.value)) continue;
      const Span<const std::byte> bytes = detail::GgufValueAccess::payload(entry.value);
      hash = hash * 31 + hash_bytes(entry.key);
      hash = hash * 31 + hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    return hash;
  }

  /// Returns the first error. Without any, refuses what the file says of its architecture beyond what was read and what
  /// `neutral` lists.
  ///
  /// Errors: Errc::unimplemented naming the key, what was found and what is expected; invalid_metadata for a neutral key
  /// of another type.
  [[nodiscard]] Result<void> finish(Span<const NeutralKey> neutral) noexcept {
    for (const NeutralKey& key : neutral) {
      const GgufValue* value = file_.find(name_of(key.name).view());
      if (value != nullptr && !failed_ && !is_read(*value)) check(key, *value);
    }
    for (const GgufEntry& entry : file_.entries()) {
      if (failed_) return std::unexpected<Error>(first_);
      const std::string_view key = entry.key;
      if (!key.starts_with(architecture_) || key.size() <= architecture_.size() || key[architecture_.size()] != '.' ||
          is_read(entry.value) ||
          lists(neutral, {key.data() + architecture_.size() + 1, key.size() - architecture_.size() - 1}))
        continue;
      Error error = Error::of(Errc::unimplemented, key, " is ");
      append(error, entry.value).append(", but its family does not read it; expected no such key");
      keep(error);
    }
    if (failed_) return std::unexpected<Error>(first_);
    return {};
  }

 private:
  void keep(const Error& error) noexcept {
    if (!failed_) first_ = error;
    failed_ = true;
  }
  template <class T> [[nodiscard]] T kept(const Result<T>& value, T otherwise) noexcept {
    if (value) return *value;
    keep(value.error());
    return otherwise;
  }

  [[nodiscard]] bool is_read(const GgufValue& value) const noexcept {
    for (std::size_t i = 0; i < reads_; ++i)
      if (read_[i] == &value) return true;
    return false;
  }
  [[nodiscard]] static bool lists(Span<const NeutralKey> neutral, std::string_view name) noexcept {
    for (const NeutralKey& key : neutral)
      if (key.name == name) return true;
    return false;
  }

  /// The value of the key, or null; it counts as read.
  [[nodiscard]] const GgufValue* look(std::string_view key) noexcept {
    const GgufValue* value = file_.find(name_of(key).view());
    if (value == nullptr || is_read(*value)) return value;
    if (reads_ == kMostKeys)
      refuse(Errc::limit_exceeded, "more than ", kMostKeys, " keys of ", architecture_, " are read");
    else
      read_[reads_++] = value;
    return value;
  }
  [[nodiscard]] const GgufValue* required(std::string_view key) noexcept {
    const GgufValue* value = look(key);
    // The file's own error names the key.
    if (value == nullptr) keep(file_.get<std::uint32_t>(name_of(key).view()).error());
    return value;
  }

  [[nodiscard]] std::uint32_t in_range(const GgufValue& value, std::string_view key, std::uint32_t most,
                                       std::uint32_t least = 1) noexcept {
    const Name full = name_of(key);
    const std::uint32_t found = kept(value.as<std::uint32_t>(full.view()), 1u);
    if (found >= least && found <= most) return found;
    refuse(Errc::invalid_metadata, full.view(), " is ", found, ", expected ", least, "..", most);
    return 1;
  }
  [[nodiscard]] std::uint32_t one_count(const GgufValue& value, std::string_view key, std::uint32_t most) noexcept {
    if (value.type() != GgufValueType::array || value.count() == 0) return in_range(value, key, most);
    const std::uint32_t first = in_range(element(value, 0), key, most);
    for (std::uint64_t i = 1; i < value.count(); ++i) {
      const std::uint32_t other = in_range(element(value, i), key, most);
      if (other == first || failed_) continue;
      refuse(Errc::unimplemented, name_of(key).view(), " is ", first, " and ", other,
             " in different layers, expected the same in all");
    }
    return first;
  }
  [[nodiscard]] float positive(const GgufValue& value, std::string_view key) noexcept {
    const Name full = name_of(key);
    const float found = kept(value.as<float>(full.view()), 1.0f);
    if (found > 0.0f && found < 3e38f) return found;
    refuse(Errc::invalid_metadata, full.view(), " must be a positive number");
    return 1.0f;
  }
  /// A number or a truth value as a number.
  [[nodiscard]] double number_of(const GgufValue& value, std::string_view key) noexcept {
    const Name full = name_of(key);
    if (value.type() == GgufValueType::f32 || value.type() == GgufValueType::f64)
      return kept(value.as<double>(full.view()), 0.0);
    if (value.type() == GgufValueType::boolean) return kept(value.as<bool>(full.view()), false) ? 1.0 : 0.0;
    return static_cast<double>(kept(value.as<std::int64_t>(full.view()), std::int64_t{0}));
  }
  [[nodiscard]] GgufValue element(const GgufValue& array, std::uint64_t i) noexcept {
    return kept(array.element(i), GgufValue{});
  }
  [[nodiscard]] bool expect_layers(const GgufValue& array, std::string_view key, std::size_t layers) noexcept {
    if (array.count() == layers) return true;
    refuse(Errc::invalid_metadata, name_of(key).view(), " has ", array.count(), " values, expected one for each of ",
           layers, " layers");
    return false;
  }

  void check(const NeutralKey& key, const GgufValue& value) noexcept {
    if (key.value == Neutral::any) return;
    const double x = number_of(value, key.name);
    const bool holds =
        key.value == Neutral::yes ? x != 0.0 : x == 0.0 || (key.value == Neutral::zero_or_one && x == 1.0);
    if (holds || failed_) return;
    Error error = Error::of(Errc::unimplemented, name_of(key.name).view(), " is ");
    append(error, value)
        .append(", which changes what the model computes, but its family does not read it; expected ")
        .append(key.value == Neutral::yes    ? "true"
                : key.value == Neutral::zero ? "0"
                                             : "0 or 1");
    keep(error);
  }

  /// Appends a value as a reader of the message knows it from the file.
  static Error& append(Error& error, const GgufValue& value) noexcept {
    switch (value.type()) {
      case GgufValueType::string:
        return error.append(value.as<std::string_view>().value_or("a text"));
      case GgufValueType::boolean:
        return error.append(value.as<bool>().value_or(false) ? "true" : "false");
      case GgufValueType::array:
        return error.append("an array of ").append(value.count()).append(" ").append(name(value.element_type()));
      case GgufValueType::f32:
      case GgufValueType::f64:
        return append(error, value.as<double>().value_or(0.0));
      case GgufValueType::u64:
        return error.append(value.as<std::uint64_t>().value_or(0));
      case GgufValueType::u8:
      case GgufValueType::i8:
      case GgufValueType::u16:
      case GgufValueType::i16:
      case GgufValueType::u32:
      case GgufValueType::i32:
      case GgufValueType::i64:
        break;
    }
    return error.append(value.as<std::int64_t>().value_or(0));
  }
  /// Up to six digits behind the point.
  static Error& append(Error& error, double x) noexcept {
    if (!(x > -1e12 && x < 1e12)) return error.append("a number beyond 10^12, or none");
    if (x < 0.0) error.append('-');
    const auto millionths = static_cast<std::uint64_t>((x < 0.0 ? -x : x) * 1e6 + 0.5);
    error.append(millionths / 1000000);
    std::uint64_t rest = millionths % 1000000;
    if (rest == 0) return error;
    error.append('.');
    for (std::uint64_t unit = 100000; rest != 0; rest %= unit, unit /= 10) error.append(rest / unit);
    return error;
  }

  const GgufFile& file_;
  std::string_view architecture_;
  HostChoice host_;
  std::array<const GgufValue*, kMostKeys> read_{};
  std::size_t reads_ = 0;
  bool failed_ = false;
  Error first_{};
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
