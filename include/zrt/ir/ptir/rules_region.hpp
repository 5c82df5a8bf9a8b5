// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/rules_region.hpp: type rules of control flow, from the signatures of regions.
#pragma once

#include <zrt/ir/ptir/rule.hpp>

namespace zrt::inline ZRT_ABI::ir::ptir::rules {

/// An error about entry `index` of a region's parameters or results.
template <class... Pieces>
[[nodiscard]] inline std::unexpected<Error> bad_entry(const RuleCall& c, std::size_t field, std::string_view what,
                                                      std::size_t index, const TensorType& found,
                                                      const TensorType& expected) noexcept {
  Error error = c.no(Errc::shape_mismatch, what, " ", index, " of ", c.op.fields_[field].name, " is ").error();
  if (found.dtype != expected.dtype)
    error = c.no(Errc::dtype_mismatch, what, " ", index, " of ", c.op.fields_[field].name, " is ").error();
  append_type(error, c.program, found).append(", expected ");
  return std::unexpected<Error>(append_type(error, c.program, expected));
}

[[nodiscard]] inline std::unexpected<Error> bad_count(const RuleCall& c, std::size_t field, std::string_view what,
                                                      std::size_t found, std::size_t expected) noexcept {
  return c.no(Errc::invalid_params, c.op.fields_[field].name, " has ", found, " ", what, "s, expected ", expected);
}

/// The parameters of the region of `field` take `arguments`.
[[nodiscard]] inline Result<void> takes(const RuleCall& c, std::size_t field,
                                        Span<const TensorType> arguments) noexcept {
  const auto parameters = c.region(field).parameters.span();
  if (parameters.size() != arguments.size())
    return bad_count(c, field, "parameter", parameters.size(), arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!compatible(parameters[i].type, arguments[i]))
      return bad_entry(c, field, "parameter", i, parameters[i].type, arguments[i]);
  return {};
}

/// Results `first` on of the region of `field` may go where the first parameters of `carry` are.
[[nodiscard]] inline Result<void> feeds(const RuleCall& c, std::size_t field, std::size_t first, std::size_t count,
                                        const Region& carry) noexcept {
  const auto results = c.region(field).results.span();
  for (std::size_t i = 0; i < count; ++i)
    if (!compatible(results[first + i].type, carry.parameters[i].type))
      return bad_entry(c, field, "result", first + i, results[first + i].type, carry.parameters[i].type);
  return {};
}

/// `type`, of a value of the region of `field`, as whoever calls the region with `arguments` knows it: an extent that a
/// parameter names is what the argument has in its place. Other names are those of the regions around.
[[nodiscard]] inline TensorType seen_outside(const RuleCall& c, std::size_t field, Span<const TensorType> arguments,
                                             TensorType type) noexcept {
  const auto parameters = c.region(field).parameters.span();
  const auto outside = [&](Dim named) {
    Dim known = Dim::any();
    bool found = false;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      for (std::size_t axis = 0; axis < arguments[i].shape.size(); ++axis)
        if (parameters[i].type.shape[axis] == named) {
          // Extents that differ are found when the program is lowered.
          (void)unify(known, arguments[i].shape[axis], known);
          found = true;
        }
    return found ? known : named;
  };
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis)
    if (type.shape[axis].is_symbol()) type.shape.dims[axis] = outside(type.shape[axis]);
  return type;
}

/// One value leaves as a tensor, any other number as a tuple.
inline void close(RuleCall& c) noexcept { c.tuple = c.out.size() != 1; }

[[nodiscard]] inline Result<void> cond(RuleCall& c) noexcept {
  constexpr std::size_t kTrue = field_index("cond", "true_region");
  constexpr std::size_t kFalse = field_index("cond", "false_region");
  if (c.in[0].dtype != DType::i1) return c.wrong(Errc::dtype_mismatch, 0, "i1[]");
  if (c.in[0].shape.rank != 0) return c.wrong(Errc::shape_mismatch, 0, "i1[]");
  for (const std::size_t field : {kTrue, kFalse})
    if (auto r = takes(c, field, c.in.subspan(1)); !r) return r;
  const auto yes = c.region(kTrue).results.span();
  const auto no = c.region(kFalse).results.span();
  if (yes.size() != no.size()) return bad_count(c, kFalse, "result", no.size(), yes.size());
  for (std::size_t i = 0; i < yes.size(); ++i) {
    if (!compatible(no[i].type, yes[i].type)) return bad_entry(c, kFalse, "result", i, no[i].type, yes[i].type);
    // Either region may run: only what both say is known.
    TensorType either = seen_outside(c, kTrue, c.in.subspan(1), yes[i].type);
    const TensorType other = seen_outside(c, kFalse, c.in.subspan(1), no[i].type);
    for (std::size_t axis = 0; axis < either.shape.size(); ++axis)
      if (either.shape[axis] != other.shape[axis]) either.shape.dims[axis] = Dim::any();
    if (auto r = c.give(either); !r) return r;
  }
  close(c);
  return {};
}

[[nodiscard]] inline Result<void> while_loop(RuleCall& c) noexcept {
  constexpr std::size_t kCond = field_index("while_loop", "cond_region");
  constexpr std::size_t kBody = field_index("while_loop", "body_region");
  for (const std::size_t field : {kCond, kBody})
    if (auto r = takes(c, field, c.in); !r) return r;
  const Region& condition = c.region(kCond);
  const Region& body = c.region(kBody);
  if (condition.results.size() != c.in.size() + 1)
    return bad_count(c, kCond, "result", condition.results.size(), c.in.size() + 1);
  if (!(condition.results[0].type == TensorType{DType::i1, {}}))
    return bad_entry(c, kCond, "result", 0, condition.results[0].type, {DType::i1, {}});
  if (body.results.size() != c.in.size()) return bad_count(c, kBody, "result", body.results.size(), c.in.size());
  if (auto r = feeds(c, kCond, 1, c.in.size(), body); !r) return r;
  if (auto r = feeds(c, kBody, 0, c.in.size(), condition); !r) return r;
  // What the loop returns is a carry of the condition.
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (auto r = c.give(seen_outside(c, kCond, c.in, condition.results[i + 1].type)); !r) return r;
  close(c);
  return {};
}

[[nodiscard]] inline Result<void> scan(RuleCall& c) noexcept {
  constexpr std::size_t kBody = field_index("scan", "body_region");
  const std::int64_t carries = c.integer(field_index("scan", "carry_count"));
  const std::int64_t outputs = c.integer(field_index("scan", "scan_output_count"));
  if (carries < 0 || static_cast<std::uint64_t>(carries) >= c.in.size())
    return c.no(Errc::invalid_params, "carry_count is ", carries, ", expected less than the ", c.in.size(),
                " operands");
  const auto carry_count = static_cast<std::size_t>(carries);
  const Region& body = c.region(kBody);
  if (outputs < 0 || body.results.size() < carry_count ||
      static_cast<std::uint64_t>(outputs) != body.results.size() - carry_count)
    return c.no(Errc::invalid_params, "body_region has ", body.results.size(),
                " results, expected carry_count = ", carries, " and scan_output_count = ", outputs);
  if (body.parameters.size() != c.in.size())
    return bad_count(c, kBody, "parameter", body.parameters.size(), c.in.size());
  Dim steps = Dim::any();
  Vector<TensorType> arguments(c.program.allocator);
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    TensorType slice = c.in[i];
    if (i >= carry_count) {
      if (slice.shape.rank == 0) return c.wrong(Errc::shape_mismatch, i, "a leading time axis");
      if (!unify(steps, slice.shape[0], steps))
        return c.wrong(Errc::shape_mismatch, i, steps.constant(), " time steps");
      slice.shape = {};
      for (std::size_t axis = 1; axis < c.in[i].shape.size(); ++axis) slice.shape.append(c.in[i].shape[axis]);
    }
    if (!compatible(body.parameters[i].type, slice))
      return bad_entry(c, kBody, "parameter", i, body.parameters[i].type, slice);
    if (auto r = arguments.push_back(slice); !r) return r;
  }
  if (auto r = feeds(c, kBody, 0, carry_count, body); !r) return r;
  // Without a step the carries leave as they came, so their types are those of the parameters.
  for (std::size_t i = 0; i < carry_count; ++i)
    if (auto r = c.give(seen_outside(c, kBody, arguments.span(), body.parameters[i].type)); !r) return r;
  for (std::size_t i = carry_count; i < body.results.size(); ++i) {
    const TensorType one = seen_outside(c, kBody, arguments.span(), body.results[i].type);
    TensorType stacked{one.dtype, {steps}};
    for (const Dim dim : one.shape.view()) stacked.shape.append(dim);
    if (auto r = c.give(stacked); !r) return r;
  }
  close(c);
  return {};
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir::rules
