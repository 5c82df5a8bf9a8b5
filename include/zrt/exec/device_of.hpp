// SPDX-License-Identifier: Apache-2.0
// zrt/exec/device_of.hpp: what the callers of an engine name of its backend: the device, and what a host chooses of it.
#pragma once

#include <zrt/core/config.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// A backend of whose device a host chooses something.
template <class B>
concept TakesDeviceOptions = requires { typename B::DeviceOptions; };

namespace detail {

struct NoDeviceOptions {};
template <class B> struct DeviceOptionsChoice {
  using type = NoDeviceOptions;
};
template <TakesDeviceOptions B> struct DeviceOptionsChoice<B> {
  using type = typename B::DeviceOptions;
};

}  // namespace detail

/// The device of B and its options. A backend specialises this beside its declaration where engines are to be called
/// without its definition.
template <class B> struct DeviceTypes {
  using Device = typename B::Device;
  using Options = typename detail::DeviceOptionsChoice<B>::type;
};

template <class B> using DeviceOf = typename DeviceTypes<B>::Device;
/// What a host says about the device that an engine on B opens, in B's own terms: `B::DeviceOptions`, which B's device
/// then takes as its third argument. An empty type where B names none.
template <class B> using DeviceOptionsOf = typename DeviceTypes<B>::Options;

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
