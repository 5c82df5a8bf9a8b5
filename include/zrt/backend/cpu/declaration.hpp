// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/declaration.hpp: the CPU backend's name and device, for sources that call engines compiled elsewhere.
#pragma once

#include <zrt/backend/cpu/policies.hpp>
#include <zrt/exec/device_of.hpp>

#include <boost/mp11/list.hpp>

namespace zrt::inline ZRT_ABI {

namespace cpu {
template <class Types, class Set> class BasicDevice;
}
namespace ir::onnx {
struct AllTargets;
}

/// The CPU with a host's own choices.
///
/// `Types` is a cpu::WeightTypes and `Variants` a cpu::Variants: kernels are compiled for these alone. A
/// model with another type is refused when it is bound, a processor without any of the variants when the
/// engine is opened. Each of `ExtraOps` is an op of the host's with a `cpu::Adapter`, each of `Targets` a
/// CustomTarget, which custom_call runs.
template <class Types = cpu::AllWeightTypes, class Variants = cpu::AllVariants, class ExtraOps = boost::mp11::mp_list<>,
          class Targets = boost::mp11::mp_list<>>
struct BasicCpuBackend;

using CpuBackend = BasicCpuBackend<>;

/// The CPU with every kernel that tensor programs call, those of ONNX files among them; zrt/programs.hpp has these.
using TensorBackend =
    BasicCpuBackend<cpu::AllWeightTypes, cpu::AllVariants, boost::mp11::mp_list<>, ir::onnx::AllTargets>;

template <class Types, class Variants, class ExtraOps, class Targets>
struct DeviceTypes<BasicCpuBackend<Types, Variants, ExtraOps, Targets>> {
  using Device = cpu::BasicDevice<Types, Variants>;
  using Options = detail::NoDeviceOptions;
};

}  // namespace zrt::inline ZRT_ABI
