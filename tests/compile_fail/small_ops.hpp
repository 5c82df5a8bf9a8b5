// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/small_ops.hpp: an op and a backend to break in one place each.
#pragma once

#include <zrt/backend/reference.hpp>

namespace compile_fail {

/// Copies nothing to nothing; a well-formed op in every other respect.
template <std::uint8_t Number, zrt::Rung R = zrt::Rung::fused, class P = zrt::NoParams> struct SmallOp {
  using Params = P;
  static constexpr zrt::Opcode opcode{Number};
  static constexpr std::string_view name = "small";
  static constexpr zrt::Rung rung = R;
  static constexpr std::array input_roles{zrt::Role{"x"}};
  static constexpr std::array output_roles{zrt::Role{"y"}};
  static constexpr auto weight_roles = zrt::kNoRoles;
  static constexpr auto may_alias = zrt::kNoAlias;
  static constexpr zrt::StateLifecycle lifecycle = zrt::StateLifecycle::none;

  static constexpr zrt::Gradient gradient = zrt::Gradient::stops();
  static constexpr zrt::NoForm emit_c{"it computes nothing"};

  template <class C, class Out> static zrt::Result<void> infer(const C& c, Out& out) noexcept {
    out[0] = c.in[0].type;
    return {};
  }
  template <class C> static void reference(const C&, const zrt::ExecutionContext&, const zrt::Worker&) noexcept {}
};

/// A backend in host memory that claims `ClaimList`.
template <class ClaimList, class UnsupportedList = boost::mp11::mp_list<>> struct SmallBackend {
  static constexpr std::string_view name = "small";
  using Tensor = zrt::HostTensor;
  using Weight = zrt::HostWeight;
  using State = zrt::HostState;
  using Scratch = zrt::Span<std::byte>;
  using Memory = zrt::Buffer;
  using Device = zrt::reference::Device;
  using Program = zrt::reference::Program;
  using Recorder = zrt::reference::Recorder;
  using Claims = ClaimList;
  using Unsupported = UnsupportedList;
};

}  // namespace compile_fail
