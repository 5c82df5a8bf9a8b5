// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/rules_region.hpp: type rules of control flow, from the signatures of regions, of literals and of custom calls.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/ptir/program_rule.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// An error about entry `index` of a region's parameters or results.
[[nodiscard]] inline std::unexpected<Error> bad_entry(const ProgramCall& c, std::size_t field, std::string_view what,
                                                      std::size_t index, const TensorType& found,
                                                      const TensorType& expected) noexcept {
  return c.rule.no(found.dtype != expected.dtype ? Errc::dtype_mismatch : Errc::shape_mismatch, what, " ", index,
                   " of ", c.rule.op.fields_[field].name, " is ", found, ", expected ", expected);
}

[[nodiscard]] inline std::unexpected<Error> bad_count(const ProgramCall& c, std::size_t field, std::string_view what,
                                                      std::size_t found, std::size_t expected) noexcept {
  return c.rule.no(Errc::invalid_params, c.rule.op.fields_[field].name, " has ", found, " ", what, "s, expected ",
                   expected);
}

/// The parameters of the region of `field` take `arguments`.
[[nodiscard]] inline Result<void> takes(const ProgramCall& c, std::size_t field,
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
[[nodiscard]] inline Result<void> feeds(const ProgramCall& c, std::size_t field, std::size_t first, std::size_t count,
                                        const Region& carry) noexcept {
  const auto results = c.region(field).results.span();
  for (std::size_t i = 0; i < count; ++i)
    if (!compatible(results[first + i].type, carry.parameters[i].type))
      return bad_entry(c, field, "result", first + i, results[first + i].type, carry.parameters[i].type);
  return {};
}

/// Translates `type`, of a value of the region of `field`, for the caller that passes `arguments`: an extent that a
/// parameter names becomes the argument's extent. All other names belong to the regions around.
[[nodiscard]] inline TensorType seen_outside(const ProgramCall& c, std::size_t field, Span<const TensorType> arguments,
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
inline void close(ProgramCall& c) noexcept { c.tuple = c.out.size() != 1; }

}  // namespace detail

template <> struct ProgramRule<ops::Cond> {
  [[nodiscard]] static Result<void> infer(ProgramCall& c) noexcept {
    constexpr std::size_t kTrue = at<ops::Cond>("true_region");
    constexpr std::size_t kFalse = at<ops::Cond>("false_region");
    if (c.rule.in[0].dtype != DType::i1) return c.rule.wrong(Errc::dtype_mismatch, 0, "i1[]");
    if (c.rule.in[0].shape.rank != 0) return c.rule.wrong(Errc::shape_mismatch, 0, "i1[]");
    for (const std::size_t field : {kTrue, kFalse})
      if (auto r = detail::takes(c, field, c.rule.in.subspan(1)); !r) return r;
    const auto yes = c.region(kTrue).results.span();
    const auto no = c.region(kFalse).results.span();
    if (yes.size() != no.size()) return detail::bad_count(c, kFalse, "result", no.size(), yes.size());
    for (std::size_t i = 0; i < yes.size(); ++i) {
      if (!compatible(no[i].type, yes[i].type))
        return detail::bad_entry(c, kFalse, "result", i, no[i].type, yes[i].type);
      // Either region may run: only what both say is known.
      TensorType either = detail::seen_outside(c, kTrue, c.rule.in.subspan(1), yes[i].type);
      const TensorType other = detail::seen_outside(c, kFalse, c.rule.in.subspan(1), no[i].type);
      for (std::size_t axis = 0; axis < either.shape.size(); ++axis)
        if (either.shape[axis] != other.shape[axis]) either.shape.dims[axis] = Dim::any();
      if (auto r = c.give(either); !r) return r;
    }
    detail::close(c);
    return {};
  }
};

template <> struct ProgramRule<ops::WhileLoop> {
  [[nodiscard]] static Result<void> infer(ProgramCall& c) noexcept {
    constexpr std::size_t kCond = at<ops::WhileLoop>("cond_region");
    constexpr std::size_t kBody = at<ops::WhileLoop>("body_region");
    for (const std::size_t field : {kCond, kBody})
      if (auto r = detail::takes(c, field, c.rule.in); !r) return r;
    const Region& condition = c.region(kCond);
    const Region& body = c.region(kBody);
    if (condition.results.size() != c.rule.in.size() + 1)
      return detail::bad_count(c, kCond, "result", condition.results.size(), c.rule.in.size() + 1);
    if (!(condition.results[0].type == TensorType{DType::i1, {}}))
      return detail::bad_entry(c, kCond, "result", 0, condition.results[0].type, {DType::i1, {}});
    if (body.results.size() != c.rule.in.size())
      return detail::bad_count(c, kBody, "result", body.results.size(), c.rule.in.size());
    if (auto r = detail::feeds(c, kCond, 1, c.rule.in.size(), body); !r) return r;
    if (auto r = detail::feeds(c, kBody, 0, c.rule.in.size(), condition); !r) return r;
    // What the loop returns is a carry of the condition.
    for (std::size_t i = 0; i < c.rule.in.size(); ++i)
      if (auto r = c.give(detail::seen_outside(c, kCond, c.rule.in, condition.results[i + 1].type)); !r) return r;
    detail::close(c);
    return {};
  }
};

template <> struct ProgramRule<ops::Scan> {
  [[nodiscard]] static Result<void> infer(ProgramCall& c) noexcept {
    constexpr std::size_t kBody = at<ops::Scan>("body_region");
    const std::int64_t carries = c.rule.integer(at<ops::Scan>("carry_count"));
    const std::int64_t outputs = c.rule.integer(at<ops::Scan>("scan_output_count"));
    if (carries < 0 || static_cast<std::uint64_t>(carries) >= c.rule.in.size())
      return c.rule.no(Errc::invalid_params, "carry_count is ", carries, ", expected less than the ", c.rule.in.size(),
                       " operands");
    const auto carry_count = static_cast<std::size_t>(carries);
    const Region& body = c.region(kBody);
    if (outputs < 0 || body.results.size() < carry_count ||
        static_cast<std::uint64_t>(outputs) != body.results.size() - carry_count)
      return c.rule.no(Errc::invalid_params, "body_region has ", body.results.size(),
                       " results, expected carry_count = ", carries, " and scan_output_count = ", outputs);
    if (body.parameters.size() != c.rule.in.size())
      return detail::bad_count(c, kBody, "parameter", body.parameters.size(), c.rule.in.size());
    Dim steps = Dim::any();
    Vector<TensorType> arguments(c.program.allocator);
    for (std::size_t i = 0; i < c.rule.in.size(); ++i) {
      TensorType slice = c.rule.in[i];
      if (i >= carry_count) {
        if (slice.shape.rank == 0) return c.rule.wrong(Errc::shape_mismatch, i, "a leading time axis");
        if (!unify(steps, slice.shape[0], steps)) return c.rule.wrong(Errc::shape_mismatch, i, steps, " time steps");
        slice.shape = {};
        for (std::size_t axis = 1; axis < c.rule.in[i].shape.size(); ++axis)
          slice.shape.append(c.rule.in[i].shape[axis]);
      }
      if (!compatible(body.parameters[i].type, slice))
        return detail::bad_entry(c, kBody, "parameter", i, body.parameters[i].type, slice);
      if (auto r = arguments.push_back(slice); !r) return r;
    }
    if (auto r = detail::feeds(c, kBody, 0, carry_count, body); !r) return r;
    // Without a step the carries leave as they came, so their types are those of the parameters.
    for (std::size_t i = 0; i < carry_count; ++i)
      if (auto r = c.give(detail::seen_outside(c, kBody, arguments.span(), body.parameters[i].type)); !r) return r;
    for (std::size_t i = carry_count; i < body.results.size(); ++i) {
      const TensorType one = detail::seen_outside(c, kBody, arguments.span(), body.results[i].type);
      TensorType stacked{one.dtype, {steps}};
      for (const Dim dim : one.shape.view()) stacked.shape.append(dim);
      if (auto r = c.give(stacked); !r) return r;
    }
    detail::close(c);
    return {};
  }
};

template <> struct ProgramRule<ops::Constant> {
  [[nodiscard]] static Result<void> infer(ProgramCall& c) noexcept {
    return c.give(c.rule.literal(at<ops::Constant>("value")));
  }
};

/// The declared output is authoritative.
template <> struct ProgramRule<ops::CustomCall> {
  [[nodiscard]] static Result<void> infer(ProgramCall& c) noexcept {
    const std::string_view target = c.program.text(c.attributes[at<ops::CustomCall>("target")].range);
    if (!ops::is_versioned_name(target))
      return c.rule.no(Errc::invalid_params, "target is ", slice(target, 0, 60), ", expected namespace.name.v1");
    for (const TensorType& type : c.program.types_of(c.declared))
      if (auto r = c.give(type); !r) return r;
    c.tuple = c.declared.tuple;
    return {};
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
