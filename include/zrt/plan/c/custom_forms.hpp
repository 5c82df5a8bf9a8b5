// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/custom_forms.hpp: custom calls in C, found by their target.
#pragma once

#include <zrt/ir/graph.hpp>
#include <zrt/plan/c/emit_custom.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// A target of custom calls that C has a form for.
struct CustomFormRow {
  std::string_view name;
  Result<void> (*check)(const HostCall<ops::CustomCall>& call) noexcept = nullptr;
  CheckedSize (*scratch)(const TypeCall<ops::CustomCall>& call, const Extents& bounds) noexcept = nullptr;
  void (*emit)(const CustomText& text) noexcept = nullptr;
};

namespace detail {

template <class... T> consteval auto custom_form_rows(boost::mp11::mp_list<T...>) {
  const auto row = []<class Target>(std::type_identity<Target>) {
    CustomFormRow made{Target::target, &ops::check_custom_call<Target>, nullptr, &CustomForm<Target>::emit};
    if constexpr (requires { &Target::scratch; }) made.scratch = &Target::scratch;
    return made;
  };
  return std::to_array<CustomFormRow>({row(std::type_identity<T>{})...});
}

inline constexpr auto kCustomForms = custom_form_rows(ir::onnx::Targets{});

}  // namespace detail

/// The form of a target, or null.
[[nodiscard]] inline const CustomFormRow* find_custom_form(std::string_view target) noexcept {
  for (const CustomFormRow& row : detail::kCustomForms)
    if (row.name == target) return &row;
  return nullptr;
}
[[nodiscard]] inline bool has_custom_form(std::string_view target) noexcept {
  return find_custom_form(target) != nullptr;
}
/// The form of the target of a call.
///
/// Errors: Errc::unimplemented naming the target.
[[nodiscard]] inline Result<const CustomFormRow*> find_custom_form(const ops::CustomCallParams& params) noexcept {
  std::array<char, ops::CustomCallParams::kMaxTarget> storage{};
  const std::string_view target = params.name(storage);
  const CustomFormRow* row = find_custom_form(target);
  if (row == nullptr)
    return fail(Errc::unimplemented, "custom_call: ", target,
                " has no form in C, since what it computes is its host's");
  return row;
}

/// Checks the custom calls of a graph, in its regions too, before passes drop those that nobody reads.
///
/// Errors: Errc::unimplemented naming the target, with the node of the graph.
[[nodiscard]] inline Result<void> check_custom_forms(const ir::Graph& graph) noexcept {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& n = graph.nodes[i];
    Result<void> found;
    if (n.opcode == ops::CustomCall::opcode) {
      if (const auto params = decode_params<ops::CustomCall>(graph.node_params(n)); params)
        if (const auto row = find_custom_form(*params); !row) found = pass(row);
    }
    for (const std::uint32_t region : graph.node_regions(n))
      if (found) found = check_custom_forms(graph.regions[region]);
    if (found) continue;
    Error error = found.error();
    return std::unexpected<Error>(
        error.in_phase(Phase::graph).at_instruction(static_cast<std::uint32_t>(i), number(n.opcode)));
  }
  return {};
}

/// What a known target computes as its reference does; another's host alone knows what to write.
inline void emit_custom_call(Context& f, const EmitCall<ops::CustomCall>& c) noexcept {
  const auto row = find_custom_form(c.params);
  if (!row) return f.w.set(row.error());
  const ops::CustomAttributes attributes(f.attributes);
  HostCall<ops::CustomCall> types;
  const auto of = [](const Tensor& x) { return HostTensor{nullptr, x.type}; };
  fill(types.in, c.in, of);
  fill(types.out, c.out, of);
  types.params = c.params;
  if (!f.attributes.empty())
    types.w[0] = {f.attributes.data(), DType::ui8, 1, static_cast<std::uint32_t>(f.attributes.size()),
                  f.attributes.size()};
  if (auto r = (*row)->check(types); !r) return f.w.set(r.error());
  if (c.out[0].elements() != 0) (*row)->emit({f, c, attributes});
}

/// Bytes of the workspace of a call.
[[nodiscard]] inline Result<std::uint64_t> custom_call_scratch(const OperandInfo& operands) noexcept {
  TypeCall<ops::CustomCall> call;
  if (auto r = fill_type_call<ops::CustomCall>(operands, call); !r) return pass(r);
  const auto row = find_custom_form(call.params);
  if (!row || (*row)->scratch == nullptr) return std::uint64_t{0};
  return (*row)->scratch(call, Extents{}).get("a custom call's workspace");
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
