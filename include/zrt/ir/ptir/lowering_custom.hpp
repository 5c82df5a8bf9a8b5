// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/lowering_custom.hpp: lowering of custom calls: declared results, attributes as bytes of the graph.
#pragma once

#include <zrt/ir/ptir/lowering.hpp>
#include <zrt/ops/custom_call.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

namespace detail {

/// Writes one entry of a map of attributes.
[[nodiscard]] inline Result<void> write_attribute(const Program& program, const MapEntry& entry,
                                                  ops::CustomAttributesWriter& writer) noexcept {
  using enum AttributeKind;
  using Kind = ops::CustomKind;
  const Attribute& a = entry.value;
  const auto begin = [&](Kind kind, std::uint32_t count) { return writer.begin(program.text(entry.key), kind, count); };
  switch (a.kind) {
    case integer:
    case real:
      if (auto r = begin(a.kind == integer ? Kind::integer : Kind::real, 1); !r) return r;
      return writer.word(a.bits);
    case boolean:
      if (auto r = begin(Kind::boolean, 1); !r) return r;
      return writer.boolean(a.bits != 0);
    case string:
      if (auto r = begin(Kind::text, 1); !r) return r;
      return writer.text(program.text(a.range));
    case integers:
    case reals:
    case booleans:
      if (auto r = begin(a.kind == integers ? Kind::integers
                         : a.kind == reals  ? Kind::reals
                                            : Kind::booleans,
                         a.range.count);
          !r)
        return r;
      for (const std::int64_t word : program.words_of(a))
        if (auto r = a.kind == booleans ? writer.boolean(word != 0) : writer.word(static_cast<std::uint64_t>(word)); !r)
          return r;
      return {};
    case strings:
      if (auto r = begin(Kind::texts, a.range.count); !r) return r;
      for (const PoolRange text : program.texts_of(a))
        if (auto r = writer.text(program.text(text)); !r) return r;
      return {};
    case none:
    case dtype:
    case choice:
    case shape:
    case literal:
    case region:
    case map:
      break;  // the verifier has refused it
  }
  return fail(Errc::invalid_params, "custom_call: an attribute holds no primitive value");
}

}  // namespace detail

template <> struct Lowering<ops::CustomCall> {
  using O = ops::CustomCall;
  [[nodiscard]] static Result<void> lower(const LowerCall& c, LoweredValues& out) noexcept {
    const std::string_view target = c.program().text(c.attribute(at<O>("target")).range);
    Vector<zrt::TensorType> results(c.program().allocator);
    for (const TensorType& declared : c.declared()) {
      zrt::TensorType type{declared.dtype, {}};
      for (const Dim dim : declared.shape.view()) {
        const auto extent = c.extent(dim);
        if (!extent)
          return fail(Errc::invalid_argument, "custom_call: a result has an extent ?", c.program().symbol_name(dim),
                      ", which the shapes of the inputs do not determine");
        type.shape = type.shape.appended(*extent);
      }
      if (auto r = results.push_back(type); !r) return r;
    }
    const auto params = ops::CustomCallParams::of(target, results.span());
    if (!params) return pass(params);
    ir::WeightId attributes;
    const auto entries = c.program().entries_of(c.attribute(at<O>("attrs")));
    if (!entries.empty()) {
      ops::CustomAttributesWriter writer(c.program().allocator);
      for (const MapEntry& entry : entries)
        if (auto r = detail::write_attribute(c.program(), entry, writer); !r) return r;
      const auto bytes = writer.bytes();
      attributes = c.builder().constant(bytes, DType::ui8, zrt::Shape{static_cast<std::uint32_t>(bytes.size())});
    }
    append_node<O>(c.builder(), c.in(), {&attributes, 1}, {}, *params, out);
    return {};
  }
};

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
