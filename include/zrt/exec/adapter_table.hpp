// SPDX-License-Identifier: Apache-2.0
// zrt/exec/adapter_table.hpp: a backend's adapters by op number, made from its claims.
#pragma once

#include <zrt/exec/backend.hpp>
#include <zrt/exec/operands.hpp>

#include <array>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// One row of the table (runtime contract, AdapterTable and AdapterCapabilities).
template <class B> struct BindEntry {
  /// Checks the parameter block, builds the typed call and records it; null for an op not claimed.
  Result<void> (*record)(typename B::Recorder& recorder, const BoundOperands<B>& operands) noexcept = nullptr;
  /// Workspace bytes with the symbols at their bounds.
  Result<std::uint64_t> (*scratch)(const OperandInfo& operands, const Extents& bounds) noexcept = nullptr;
  AdapterCapability capability{};
};

/// What B's adapter of an op states about itself.
template <class B, class O> [[nodiscard]] consteval AdapterCapability capability_of() noexcept {
  if constexpr (AdapterStatesCapability<B, O>)
    return Adapter<B, O>::capability;
  else
    return {};
}

/// What a backend's adapters state about themselves, by op number.
using CapabilityTable = std::array<AdapterCapability, 256>;

namespace detail {

template <class B, class O>
ZRT_COLD Result<void> record_row(typename B::Recorder& recorder, const BoundOperands<B>& operands) noexcept {
  // The operands have been checked; a caller that checks nothing shows in a debug build.
  ZRT_ASSERT((RepeatsInputs<O> || operands.inputs.size() == kInputs<O>) &&
             (RepeatsOutputs<O> || operands.outputs.size() == kOutputs<O>) && operands.weights.size() == kWeights<O> &&
             (operands.state != nullptr) == (O::lifecycle != StateLifecycle::none));
  Call<B, O> call;
  if (auto r = decode_params<O>(operands.params, call.params); !r) return r;
  auto tensor = [](const TensorHandle<B>& handle) { return handle.tensor; };
  fill(call.in, operands.inputs, tensor);
  fill(call.out, operands.outputs, tensor);
  fill(call.w, operands.weights);
  if constexpr (HasRegions<O>) fill(call.region, operands.regions);
  if constexpr (O::lifecycle != StateLifecycle::none) call.state = operands.state->block;
  return Adapter<B, O>::record(recorder, call);
}

template <class B, class O>
ZRT_COLD Result<std::uint64_t> scratch_row(const OperandInfo& operands,
                                           [[maybe_unused]] const Extents& bounds) noexcept {
  if constexpr (AdapterNeedsScratch<B, O>) {
    TypeCall<O> call;
    if (auto r = fill_type_call<O>(operands, call); !r) return pass(r);
    return Adapter<B, O>::scratch(call, bounds).get("a kernel's workspace");
  } else {
    return 0;
  }
}

/// The entry of an op that B claims; the assertion names both in every compiler's message.
template <class B, class O> consteval BindEntry<B> entry() {
  static_assert(HasAdapter<B, O>,
                "zrt: a list of ops holds one that the backend claims and has no adapter for; "
                "specialise its Adapter, for the CPU zrt::cpu::Adapter<Op>");
  if constexpr (HasAdapter<B, O>)
    return {&record_row<B, O>, &scratch_row<B, O>, capability_of<B, O>()};
  else
    return {};
}

template <class B, class... O> consteval std::array<BindEntry<B>, 256> entries(boost::mp11::mp_list<O...>) {
  std::array<BindEntry<B>, 256> table{};
  ((table[number(O::opcode)] = entry<B, O>()), ...);
  return table;
}

template <class B, class... O> consteval CapabilityTable capabilities(boost::mp11::mp_list<O...>) {
  CapabilityTable table{};
  ((table[number(O::opcode)] = capability_of<B, O>()), ...);
  return table;
}

}  // namespace detail

/// Of all that B claims; compiles no adapter.
template <class B> inline constexpr CapabilityTable kCapabilities = detail::capabilities<B>(typename B::Claims{});

/// Entries by op number.
template <class B> using AdapterTable = std::array<BindEntry<B>, 256>;

/// B's adapters for what it claims of a list of ops; the rest of the list has none.
template <class B, class List = typename B::Claims>
inline constexpr AdapterTable<B> kAdapterTable =
    detail::entries<B>(boost::mp11::mp_copy_if_q<List, zrt::detail::ClaimedBy<B>>{});

/// The table of all that B claims, or of what it claims of a list, behind a call: a source that declares
/// `extern template struct AllAdapters<B>` compiles no adapter of B.
template <class B, class List = typename B::Claims> struct AllAdapters {
  [[nodiscard]] static const AdapterTable<B>& table() noexcept;
};
template <class B, class List> const AdapterTable<B>& AllAdapters<B, List>::table() noexcept {
  return kAdapterTable<B, List>;
}

/// A list of ops as binding sees it: their rows, and the adapters of backend B.
template <class B> struct OpAdapters {
  const OpTable* rows;
  const AdapterTable<B>* adapters;

  /// Rows of some list, with all adapters that B has.
  OpAdapters(const OpTable& table) noexcept : rows(&table), adapters(&AllAdapters<B>::table()) {}
  /// Rows of a list, with B's adapters of its ops.
  template <class List> [[nodiscard]] static OpAdapters of() noexcept {
    // A list of all that B claims takes the table that may be compiled elsewhere.
    if constexpr (OpSet::of(List{}).contains(OpSet::of(typename B::Claims{})))
      return OpAdapters(kOpTable<List>);
    else
      return with_rows<List>(kOpTable<List>);
  }
  /// Rows that may be compiled elsewhere, with B's adapters of a list of ops.
  template <class List> [[nodiscard]] static OpAdapters with_rows(const OpTable& table) noexcept {
    return OpAdapters(table, AllAdapters<B, List>::table());
  }
  [[nodiscard]] const OpRow* row(Opcode opcode) const noexcept { return (*rows)[number(opcode)]; }
  [[nodiscard]] const BindEntry<B>& adapter(Opcode opcode) const noexcept { return (*adapters)[number(opcode)]; }

 private:
  constexpr OpAdapters(const OpTable& table, const AdapterTable<B>& entries) noexcept
      : rows(&table), adapters(&entries) {}
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
