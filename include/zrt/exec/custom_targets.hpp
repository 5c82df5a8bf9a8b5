// SPDX-License-Identifier: Apache-2.0
// zrt/exec/custom_targets.hpp: the targets of custom calls that a host gives to a backend.
#pragma once

#include <zrt/ops/custom_signature.hpp>

#include <array>
#include <concepts>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// A target whose name ends with its version.
template <class T>
concept HasVersionedTarget = requires { requires ops::is_versioned_name(T::target); };
/// A target with the function that runs a call's shards.
template <class T>
concept RunsCustomCalls =
    requires(const HostCall<ops::CustomCall>& call, const ExecutionContext& step, const Worker& worker) {
      { T::run(call, step, worker) } noexcept -> std::same_as<void>;
    };

/// A kernel behind the name of a custom call: `target`, a name like acme.scale.v1, and `run`, which every
/// worker of a step calls and which splits its outputs among them. May have, the functions noexcept:
///
/// - `attributes`, an array of ops::CustomAttributeField: the attributes that it takes. A call with another one, one of
///   another kind, or without one that is needed is refused when the plan is bound. A target without this list
///   takes any, and its `check` judges them;
/// - `check(const HostCall<ops::CustomCall>&) -> Result<void>`: whether operands, results and attributes are
///   what it takes; asked when the plan is bound;
/// - `scratch(const TypeCall<ops::CustomCall>&, const Extents&) -> CheckedSize`: bytes of its workspace.
template <class T>
concept CustomTarget = HasVersionedTarget<T> && RunsCustomCalls<T>;

namespace exec {

/// A target as its list has it.
struct CustomTargetRow {
  std::string_view name;
  void (*run)(const HostCall<ops::CustomCall>& call, const ExecutionContext& step, const Worker& worker) noexcept;
  Result<void> (*check)(const HostCall<ops::CustomCall>& call) noexcept;
  CheckedSize (*scratch)(const TypeCall<ops::CustomCall>& call, const Extents& bounds) noexcept;
};

namespace detail {

template <class T>
CheckedSize custom_scratch([[maybe_unused]] const TypeCall<ops::CustomCall>& call,
                           [[maybe_unused]] const Extents& bounds) noexcept {
  if constexpr (requires { T::scratch(call, bounds); })
    return T::scratch(call, bounds);
  else
    return 0;
}
template <class... T> consteval bool targets_differ() {
  const std::array<std::string_view, sizeof...(T)> names{T::target...};
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (names[i] == names[k]) return false;
  return true;
}

}  // namespace detail

/// A list of targets by name.
template <class List> struct CustomTargets;
template <class... T> struct CustomTargets<boost::mp11::mp_list<T...>> {
  static_assert((CustomTarget<T> && ...),
                "zrt: a custom target lacks a name like namespace.name.v1 or its run; see exec/custom_targets.hpp");
  static_assert(detail::targets_differ<T...>(), "zrt: two custom targets of a backend have one name");

  static constexpr std::array<CustomTargetRow, sizeof...(T)> kRows{
      CustomTargetRow{T::target, &T::run, &ops::check_custom_call<T>, &detail::custom_scratch<T>}...};

  [[nodiscard]] static const CustomTargetRow* find(const ops::CustomCallParams& params) noexcept {
    std::array<char, ops::CustomCallParams::kMaxTarget> storage{};
    const std::string_view name = params.name(storage);
    for (const CustomTargetRow& row : kRows)
      if (row.name == name) return &row;
    return nullptr;
  }

  /// Workspace of a call; none for a target that is not in the list, which `bind` refuses.
  [[nodiscard]] static CheckedSize scratch(const TypeCall<ops::CustomCall>& call, const Extents& bounds) noexcept {
    const CustomTargetRow* row = find(call.params);
    return row == nullptr ? CheckedSize(0) : row->scratch(call, bounds);
  }

  /// Whether the list has the target of a call.
  ///
  /// Errors: Errc::unimplemented naming the target and the backend.
  [[nodiscard]] static Result<void> check(const ops::CustomCallParams& params, std::string_view backend) noexcept {
    if (find(params) != nullptr) return {};
    std::array<char, ops::CustomCallParams::kMaxTarget> storage{};
    return fail(Errc::unimplemented, backend, " has no custom call target ", params.name(storage));
  }

  /// The target of a call that it takes.
  ///
  /// Errors: Errc::unimplemented naming the target and the backend, and those of ops::check_custom_call.
  [[nodiscard]] static Result<const CustomTargetRow*> bind(const HostCall<ops::CustomCall>& call,
                                                           std::string_view backend) noexcept {
    if (auto r = check(call.params, backend); !r) return pass(r);
    const CustomTargetRow* row = find(call.params);
    if (auto r = row->check(call); !r) return pass(r);
    return row;
  }
};

/// A list behind a name.
template <class Named>
  requires requires { typename Named::List; }
struct CustomTargets<Named> : CustomTargets<typename Named::List> {};

}  // namespace exec

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
