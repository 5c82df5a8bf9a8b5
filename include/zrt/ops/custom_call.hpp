// SPDX-License-Identifier: Apache-2.0
// zrt/ops/custom_call.hpp: a kernel that the backend's host provides, by name.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/custom_attributes.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// "namespace.name.v1": at least two parts before a version, none of them empty. Versions count from 1 and have no
/// leading zero, so that each has one name.
[[nodiscard]] constexpr bool is_versioned_name(std::string_view target) noexcept {
  std::size_t parts = 1;
  std::size_t begin = 0;  // of the last part
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] != '.') continue;
    if (i == begin) return false;
    begin = i + 1;
    ++parts;
  }
  if (parts < 3 || target.size() - begin < 2 || target[begin] != 'v' || target[begin + 1] == '0') return false;
  for (std::size_t i = begin + 1; i < target.size(); ++i)
    if (target[i] < '0' || target[i] > '9') return false;
  return true;
}
static_assert(is_versioned_name("gpt_rs.faer.conv2d.nhwc.f32.v1") && is_versioned_name("a.b.v10"));
static_assert(!is_versioned_name("a.b.v0") && !is_versioned_name("a.b.v01"));
static_assert(!is_versioned_name("conv2d.v1") && !is_versioned_name("a..v1") && !is_versioned_name(".a.v1"));
static_assert(!is_versioned_name("a.b.v") && !is_versioned_name("a.b.1") && !is_versioned_name("a.b."));

struct CustomCallParams {
  static constexpr std::size_t kMaxOutputs = 4;
  static constexpr std::size_t kMaxTarget = 112;

  std::array<std::uint32_t, kMaxOutputs * kMaxRank> extent{};  ///< kMaxRank for each output
  std::array<DType, kMaxOutputs> dtype{};
  std::array<std::uint8_t, kMaxOutputs> rank{};
  std::array<std::uint8_t, kMaxTarget> target{};
  std::uint8_t outputs = 0;
  std::uint8_t target_bytes = 0;
  std::array<std::uint8_t, 2> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&CustomCallParams::extent, "extent"}, Member{&CustomCallParams::dtype, "dtype"},
                 Member{&CustomCallParams::rank, "rank"}, Member{&CustomCallParams::target, "target"},
                 Member{&CustomCallParams::outputs, "outputs"}, Member{&CustomCallParams::target_bytes, "target_bytes"},
                 Member{&CustomCallParams::reserved, "reserved"});

  /// Of a call of `target` with these results.
  ///
  /// Errors: Errc::limit_exceeded for more than kMaxOutputs results or a longer name than kMaxTarget.
  [[nodiscard]] static Result<CustomCallParams> of(std::string_view target, Span<const TensorType> results) noexcept {
    if (target.size() > kMaxTarget || results.size() > kMaxOutputs)
      return fail(Errc::limit_exceeded, "custom_call: a target's name of ", target.size(), " bytes and ",
                  results.size(), " results, at most ", kMaxTarget, " and ", kMaxOutputs, " expected");
    CustomCallParams p;
    for (const char c : target) p.target[p.target_bytes++] = static_cast<std::uint8_t>(c);
    for (const TensorType& type : results) {
      for (std::size_t axis = 0; axis < type.shape.rank; ++axis)
        p.extent[p.outputs * std::size_t{kMaxRank} + axis] = type.shape[axis].extent;
      p.rank[p.outputs] = type.shape.rank;
      p.dtype[p.outputs++] = type.dtype;
    }
    return p;
  }
  /// The name of the target in `storage`.
  [[nodiscard]] constexpr std::string_view name(std::array<char, kMaxTarget>& storage) const noexcept {
    const std::size_t size = target_bytes < kMaxTarget ? target_bytes : kMaxTarget;
    for (std::size_t i = 0; i < size; ++i) storage[i] = static_cast<char>(target[i]);
    return {storage.data(), size};
  }
};

/// Runs a target: a type of the host's, listed in its backend, whose name is namespaced and versioned
/// (PTIR `CustomCall`). Operands of any plain type; the results are of the types that the call declares,
/// constant extents, four at most.
///
/// Attributes are bytes of the plan (custom_attributes.hpp). A target is a pure function. One that the
/// backend does not have gives Errc::unimplemented when the plan is bound; nothing takes its place.
struct CustomCall {
  using Params = CustomCallParams;
  static constexpr Opcode opcode{95};
  static constexpr std::string_view name = "custom_call";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"operand"}});
  static constexpr bool repeats_inputs = true;
  static constexpr auto output_roles = std::to_array({Role{"results"}});
  static constexpr bool repeats_outputs = true;
  static constexpr auto weight_roles = std::to_array({Role{"attributes", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr std::size_t least_inputs = 0;
  static constexpr auto attributes =
      attribute_list(attribute::apart("target", AttributeKind::string), attribute::apart("attrs", AttributeKind::map));
  static constexpr bool defined_by_host = true;

  static constexpr Result<void> infer(const TypeCall<CustomCall>& c, OutputTypes<CustomCall>& out) noexcept {
    const CustomCallParams& p = c.params;
    for (const InputInfo& operand : c.in)
      if (auto r = expect_plain<CustomCall>(operand, "operand"); !r) return r;
    if (c.w[0].present() && (c.w[0].dtype != DType::ui8 || c.w[0].shape.rank != 1))
      return bad_dtype<CustomCall>("attributes", "ui8 along one axis", c.w[0].dtype);
    std::array<char, CustomCallParams::kMaxTarget> storage{};
    if (p.target_bytes > CustomCallParams::kMaxTarget || !is_versioned_name(p.name(storage)))
      return bad_params<CustomCall>("the target is not named like namespace.name.v1");
    if (p.outputs > CustomCallParams::kMaxOutputs) return bad_params<CustomCall>("more than 4 results");
    for (std::size_t i = 0; i < p.outputs; ++i) {
      if (p.rank[i] > kMaxRank || !is_dtype(static_cast<std::uint8_t>(p.dtype[i])) || is_block(p.dtype[i]))
        return bad_params<CustomCall>("a result's rank or dtype is out of range");
      TensorType type{p.dtype[i], {}};
      for (std::size_t axis = 0; axis < p.rank[i]; ++axis)
        type.shape = type.shape.appended(p.extent[i * kMaxRank + axis]);
      out.items[out.count++] = type;
    }
    return {};
  }

  /// The attributes of a call.
  [[nodiscard]] static CustomAttributes attributes_of(const HostCall<CustomCall>& c) noexcept {
    return c.w[0].present() ? CustomAttributes({c.w[0].data, c.w[0].cols}) : CustomAttributes();
  }

  static constexpr Gradient gradient = Gradient::none("custom targets state none");

  static constexpr float bound_in_c = kLibmBound;  ///< of all kernels: some call libm
  /// In plan/c/custom_forms.hpp.
  template <class E> static void emit_c(E& f, const Call<E, CustomCall>& c) noexcept { emit_custom_call(f, c); }
};
static_assert(Op<CustomCall>);

}  // namespace zrt::inline ZRT_ABI::ops
