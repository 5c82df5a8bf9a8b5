// SPDX-License-Identifier: Apache-2.0
// zrt/exec/find_fault.hpp: what broke the contract of an instruction, found in host memory.
#pragma once

#include <zrt/ops/data_fault.hpp>
#include <zrt/ops/op.hpp>
#include <zrt/ops/params.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// Finds the element of the operands `in` of an instruction that broke its op's contract.
using FindFault = std::optional<DataFault> (*)(const ParamBlock& params, Span<const HostTensor> in,
                                               const ExecutionContext& step) noexcept;
using FaultTable = std::array<FindFault, 256>;

namespace detail {

template <class O>
ZRT_COLD std::optional<DataFault> find_fault(const ParamBlock& params, Span<const HostTensor> in,
                                             const ExecutionContext& step) noexcept {
  HostCall<O> call;
  if (!decode_params<O>(params, call.params) || in.size() != call.in.size()) return std::nullopt;
  fill(call.in, in);
  return O::find_fault(call, step);
}

template <class... O> consteval FaultTable fault_table(boost::mp11::mp_list<O...>) {
  FaultTable table{};
  const auto enter = [&]<class Op>(std::type_identity<Op>) {
    if constexpr (FindsFault<Op>) table[number(Op::opcode)] = &find_fault<Op>;
  };
  (enter(std::type_identity<O>{}), ...);
  return table;
}

}  // namespace detail

/// By op number; null for an op that does not tell.
template <class Catalog> inline constexpr FaultTable kFaultTable = detail::fault_table(Catalog{});

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
