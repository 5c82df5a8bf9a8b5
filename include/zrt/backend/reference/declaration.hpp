// SPDX-License-Identifier: Apache-2.0
// zrt/backend/reference/declaration.hpp: the oracle's name and device, for sources that call engines compiled elsewhere.
#pragma once

#include <zrt/exec/device_of.hpp>
#include <zrt/ops/catalog.hpp>

namespace zrt::inline ZRT_ABI {

namespace reference {
struct Device;
}

/// Claims exactly the ops of a catalog that have a reference, and runs nothing but their references. Each of
/// `Targets` is a CustomTarget of the host's.
template <class Catalog, class Targets = boost::mp11::mp_list<>> struct BasicReferenceBackend;

using ReferenceBackend = BasicReferenceBackend<ops::Catalog>;

template <class Catalog, class Targets> struct DeviceTypes<BasicReferenceBackend<Catalog, Targets>> {
  using Device = reference::Device;
  using Options = detail::NoDeviceOptions;
};

}  // namespace zrt::inline ZRT_ABI
