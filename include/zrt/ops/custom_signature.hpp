// SPDX-License-Identifier: Apache-2.0
// zrt/ops/custom_signature.hpp: which attributes a target of custom calls takes, and whether it takes a call.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ops/custom_call.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

/// An attribute of a target: its name and what it holds. A call has each that is not optional.
struct CustomAttributeField {
  std::string_view key;
  CustomKind kind;
  bool optional = false;
};
/// What an attribute of that kind is, in words.
[[nodiscard]] constexpr std::string_view describe(CustomKind kind) noexcept {
  switch (kind) {
    case CustomKind::integer:
      return "an integer";
    case CustomKind::real:
      return "a real";
    case CustomKind::boolean:
      return "a boolean";
    case CustomKind::text:
      return "a text";
    case CustomKind::integers:
      return "a list of integers";
    case CustomKind::reals:
      return "a list of reals";
    case CustomKind::booleans:
      return "a list of booleans";
    case CustomKind::texts:
      return "a list of texts";
  }
  return "nothing";
}

/// The list of a target without attributes.
inline constexpr std::array<CustomAttributeField, 0> kNoCustomAttributes{};

/// T says its attributes: `attributes`, an array of CustomAttributeField.
template <class T>
concept ListsAttributes = requires {
  { Span<const CustomAttributeField>(T::attributes) };
};

/// Checks the attributes of a call of `target` against those that it takes.
///
/// Errors: Errc::invalid_params naming an attribute that the target does not have, one of another kind than it has,
/// or one that the call lacks.
[[nodiscard]] inline Result<void> check_attributes(std::string_view target, CustomAttributes given,
                                                   Span<const CustomAttributeField> taken) noexcept {
  CustomAttributes rest = given;
  CustomAttribute attribute;
  while (rest.next(attribute)) {
    const CustomAttributeField* field = nullptr;
    for (const CustomAttributeField& one : taken)
      if (one.key == attribute.key()) field = &one;
    if (field == nullptr)
      return fail(Errc::invalid_params, target, " has no attribute ", slice(attribute.key(), 0, 40));
    if (field->kind != attribute.kind())
      return fail(Errc::invalid_params, target, ": attribute ", field->key, " is ", describe(attribute.kind()),
                  ", expected ", describe(field->kind));
  }
  for (const CustomAttributeField& field : taken)
    if (!field.optional && !given.find(field.key))
      return fail(Errc::invalid_params, target, " needs the attribute ", field.key, ", ", describe(field.kind));
  return {};
}

/// Whether the target T takes a call: the attributes that it lists, then what its own `check` says, where T has
/// these. Where it lists none, any attributes pass on to `check`.
///
/// Errors: Errc::invalid_params for bytes that are no attributes, those of check_attributes, and the target's own.
template <class T>
[[nodiscard]] Result<void> check_custom_call([[maybe_unused]] const HostCall<CustomCall>& call) noexcept {
  const CustomAttributes given = CustomCall::attributes_of(call);
  if (!given.well_formed())
    return fail(Errc::invalid_params, T::target, ": the attributes of the call are not well-formed");
  if constexpr (ListsAttributes<T>)
    if (auto r = check_attributes(T::target, given, T::attributes); !r) return r;
  if constexpr (requires { T::check(call); }) return T::check(call);
  return {};
}

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
