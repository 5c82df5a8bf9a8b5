// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/payload.hpp: the dwords of one packet, written field by field as the catalog describes them.
#pragma once

#include <zrt/backend/pm4/catalog.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

namespace detail {

/// Writes `value` into a field of a packet whose payload begins at `words`; the error names packet and field.
[[nodiscard]] constexpr Result<void> put(const Packet& packet, const BitField& field, Generation generation,
                                         std::uint64_t value, Span<std::uint32_t> words) noexcept {
  if (!holds(field.defined & field.acts, generation)) return {};
  if (value > field.most())
    return fail(Errc::invalid_argument, packet.name, '.', field.name, " is ", std::string_view(Hex(value)),
                ", at most ", std::string_view(Hex(field.most())), " expected");
  if (value % field.alignment != 0)
    return fail(Errc::invalid_argument, packet.name, '.', field.name, " is ", std::string_view(Hex(value)),
                ", a multiple of ", field.alignment, " expected");
  if (!field.values.empty() && field.name_of(value).empty())
    return fail(Errc::invalid_argument, packet.name, '.', field.name, " has no value ", value);
  field.set(words, 1, value);
  return {};
}

}  // namespace detail

/// The fields of a packet of kind `kind` as they are filled; keeps its first error.
///
/// A field that the generation lacks, or where it does nothing, stays 0.
template <const Packet& kind> class Payload {
 public:
  /// A field of the packet by its name; a name that the packet lacks does not compile.
  struct Name {
    // NOLINTNEXTLINE: a name is a field
    consteval Name(const char* text) noexcept : index(0) {
      while (index < kind.fields.size() && kind.fields[index].name != text) ++index;
      if (index == kind.fields.size()) detail::no_field_of_this_name();
    }
    std::size_t index;
  };

  constexpr explicit Payload(Generation generation) noexcept : generation_(generation) {}

  constexpr Payload& put(Name name, std::uint64_t value) noexcept {
    if (!status_) return *this;
    // Fields of the same name, one per generation, follow it.
    for (std::size_t i = name.index; i < kind.fields.size(); ++i)
      if (kind.fields[i].name == kind.fields[name.index].name && holds(kind.fields[i].defined, generation_))
        status_ = detail::put(kind, kind.fields[i], generation_, value, words_);
    return *this;
  }

  [[nodiscard]] constexpr const Result<void>& status() const noexcept { return status_; }
  [[nodiscard]] constexpr Span<const std::uint32_t> words() const noexcept { return words_; }

 private:
  Generation generation_;
  Result<void> status_{};
  std::array<std::uint32_t, kind.fixed()> words_{};
};

/// A value of `list` by its name; a name that the list lacks does not compile.
[[nodiscard]] consteval std::uint64_t named_value(Span<const NamedValue> list, std::string_view name) noexcept {
  for (const NamedValue& named : list)
    if (named.name == name) return named.value;
  detail::no_field_of_this_name();
  return 0;
}

}  // namespace zrt::inline ZRT_ABI::pm4
