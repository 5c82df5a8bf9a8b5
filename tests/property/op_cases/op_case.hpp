// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/op_case.hpp: what a random case of an op is made of, and how to draw it.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/core/half.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/ops/kv_page.hpp>
#include <zrt/ops/op_table.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string_view>
#include <support/block_scales.hpp>
#include <vector>

namespace op_cases {

using zrt::Dim;
using zrt::DType;
using zrt::Shape;

/// How far results may lie apart: |a - b| <= relative * |b| + of_largest * max |b| over the result.
///
/// The second part is for what cancels: sums of products, rotations, gelu of negative numbers.
struct Tolerance {
  double relative = 0;
  double of_largest = 0;
};

/// Everything that a case draws comes from here, so that a seed names a case.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + next() % (high - low + 1); }
  bool chance() { return (next() >> 7 & 1u) != 0; }
  float real(float low, float high) { return low + (high - low) * (static_cast<float>(next() >> 8) * 0x1p-24f); }
  template <class T> T one_of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<std::uint32_t>(values.size()) - 1)];
  }
  std::mt19937& engine() { return engine_; }

 private:
  std::uint32_t next() { return static_cast<std::uint32_t>(engine_()); }

  std::mt19937 engine_;
};

/// The only symbol of a case's graph: rows of the batch.
inline constexpr zrt::SymbolId kTokens = 1;
inline constexpr Dim kRows{1, kTokens};

/// A ragged batch: slots with pages anywhere in the pool, and runs of tokens at some of them.
struct Batch {
  static constexpr std::uint32_t kPagesPerSlot = 72;  // positions past two segments of attention
  std::uint32_t bound = 0;                            ///< rows that memory is planned for
  std::uint32_t slot_count = 0;
  std::vector<std::uint32_t> slots, positions, pages;

  std::uint32_t tokens() const { return static_cast<std::uint32_t>(slots.size()); }
  std::uint32_t page_count() const { return slot_count * kPagesPerSlot; }

  static Batch draw(Random& r) {
    Batch b;
    b.slot_count = r.between(1, 3);
    for (std::uint32_t slot = 0; slot < b.slot_count; ++slot) {
      std::uint32_t at = r.one_of({0u, 1u, 15u, 63u, 64u, 200u, 509u, 511u, 512u, 1030u});
      for (std::uint32_t n = r.between(slot == 0 ? 1 : 0, 5); n > 0; --n) {
        b.slots.push_back(slot);
        b.positions.push_back(at++);
      }
    }
    b.bound = b.tokens() + r.between(0, 3);
    b.pages.resize(b.page_count());
    std::iota(b.pages.begin(), b.pages.end(), 0u);
    std::shuffle(b.pages.begin(), b.pages.end(), r.engine());
    return b;
  }
};

/// An input tensor with its data at the batch's number of rows; absent by default.
struct Value {
  bool present = false;
  zrt::TensorType type{};
  std::vector<std::byte> data;
};

/// A weight as a file holds it; absent by default.
struct Stored {
  bool present = false;
  DType dtype = DType::f32;
  Shape shape{};
  std::vector<std::byte> data;
};

/// Fills a region: a graph with the batch's symbol and nothing else.
using Region = std::function<void(zrt::ir::Builder&)>;

/// A random case of O. `state` is given where the op has one; its pages are filled at random.
template <class O> struct Typed {
  typename O::Params params{};
  std::conditional_t<zrt::RepeatsInputs<O>, std::vector<Value>, std::array<Value, zrt::kInputs<O>>> in{};
  std::array<Stored, zrt::kWeights<O>> w{};
  zrt::StateInfo state{};
  std::array<Region, zrt::kRegions<O>> regions{};
};

/// The cases of one op. A specialisation has
/// - `static Typed<O> make(Random&, const Batch&)`: a valid call;
/// - `tolerance`, where the op has an expansion: how far its form in primitives may lie from the op;
/// - `allows(const Mutation&)`, where a change of one operand still leaves a valid call;
/// - `differentiate(F& f)`, where the op has a gradient that tests/unit/gradient.cpp has no case of: builds a function
///   of `f.real(shape)` and hands its value to `f.result`;
/// - `no_vectors`, of a primitive without vectors in tests/data/ptir: why.
template <class O> struct OpCases;

/// A change of one operand that a shape rule must notice.
struct Mutation {
  enum Kind : std::uint8_t { dtype, no_axes, more_axes, missing } kind;
  bool weight;
  std::size_t index;
};

template <class O>
concept StatesNoVectors = requires {
  { OpCases<O>::no_vectors } -> std::convertible_to<std::string_view>;
};

template <class O>
concept HasOpCases = requires(Random& r, const Batch& b) {
  { OpCases<O>::make(r, b) } -> std::same_as<Typed<O>>;
};

// --- drawing operands ------------------------------------------------------------------------------

inline std::uint64_t elements(const Shape& shape, const Batch& b) {
  zrt::Extents extents;
  extents.value[kTokens] = b.tokens();
  return shape.elements(extents).raw();
}

template <class T> std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline Value f32(Random& r, const Batch& b, const Shape& shape, float low = -3.0f, float high = 3.0f) {
  std::vector<float> values(elements(shape, b));
  for (float& x : values) x = r.real(low, high);
  return {true, {DType::f32, shape}, bytes_of(values)};
}

inline Value si32(Random& r, const Batch& b, const Shape& shape, std::uint32_t low, std::uint32_t high) {
  std::vector<std::int32_t> values(elements(shape, b));
  for (std::int32_t& x : values) x = static_cast<std::int32_t>(r.between(low, high));
  return {true, {DType::si32, shape}, bytes_of(values)};
}

/// A plain type, 4-bit and complex ones included.
inline DType plain_type(Random& r) {
  for (;;) {
    const zrt::DTypeInfo& row = zrt::kDTypes[r.between(0, static_cast<std::uint32_t>(zrt::kDTypes.size()) - 1)];
    if (row.kind != zrt::DTypeKind::block) return row.dtype;
  }
}

/// A type that is computed with.
inline DType computed_type(Random& r) {
  for (;;)
    if (const DType dtype = plain_type(r); zrt::is_computed(dtype)) return dtype;
}
/// A type of numbers that is computed with.
inline DType number_type(Random& r) {
  for (;;)
    if (const DType dtype = computed_type(r); dtype != DType::i1) return dtype;
}

/// Elements with any bits, but an i1's are 0 and 1.
inline Value plain(Random& r, const Batch& b, const Shape& shape, DType dtype) {
  Value value{true, {dtype, shape}, std::vector<std::byte>(zrt::bytes_of(dtype, elements(shape, b)))};
  for (std::byte& byte : value.data) byte = static_cast<std::byte>(r.between(0, dtype == DType::i1 ? 1 : 255));
  return value;
}
inline Value plain(Random& r, const Batch& b, const Shape& shape) { return plain(r, b, shape, plain_type(r)); }

inline DType integer_type(Random& r) {
  for (;;)
    if (const DType dtype = number_type(r); !zrt::is_float(dtype)) return dtype;
}
inline DType float_type(Random& r) {
  return r.one_of({DType::fp8_e4m3, DType::fp8_e5m2, DType::bf16, DType::f16, DType::f32, DType::f64});
}

/// Numbers from `low` to `high`, rounded to `dtype`.
inline Value numbers(Random& r, const Batch& b, const Shape& shape, DType dtype, float low, float high) {
  const Value from = f32(r, b, shape, low, high);
  const std::uint64_t count = elements(shape, b);
  Value value{true, {dtype, shape}, std::vector<std::byte>(zrt::bytes_of(dtype, count))};
  zrt::cast_elements(DType::f32, from.data.data(), dtype, value.data.data(), 0, count);
  return value;
}

/// A shape of one to five axes, some of them empty, the first of which may be the rows.
inline Shape plain_shape(Random& r, bool rows = true) {
  Shape shape;
  for (std::uint32_t rank = r.between(1, 5); rank > 0; --rank)
    shape = shape.appended(shape.rank == 0 && rows && r.chance() ? kRows : Dim(r.between(r.between(0, 1), 6)));
  return shape;
}

/// si32 or si64 indices from `low` to `end` - 1.
inline Value indices(Random& r, const Batch& b, const Shape& shape, std::uint32_t end, std::int64_t low = 0) {
  std::vector<std::int64_t> wide(elements(shape, b));
  for (std::int64_t& x : wide) x = low + r.between(0, static_cast<std::uint32_t>(end - low) - 1);
  if (r.chance()) return {true, {DType::si64, shape}, bytes_of(wide)};
  return {true, {DType::si32, shape}, bytes_of(std::vector<std::int32_t>(wide.begin(), wide.end()))};
}

/// The batch's positions as an input.
inline Value positions(const Batch& b) { return {true, {DType::si32, Shape{kRows}}, bytes_of(b.positions)}; }

/// The batch's positions, or the same in another order: an op takes what it is given, not the step's.
inline Value other_positions(Random& r, const Batch& b) {
  Batch other = b;
  if (r.chance()) std::reverse(other.positions.begin(), other.positions.end());
  return positions(other);
}

/// A shape of one to three axes whose first may be the rows.
inline Shape any_shape(Random& r, std::uint32_t last) {
  switch (r.between(0, 3)) {
    case 0:
      return Shape{last};
    case 1:
      return Shape{kRows, last};
    case 2:
      return Shape{kRows, r.between(1, 3), last};
    default:
      return Shape{r.between(1, 4), last};
  }
}

inline Stored vector(Random& r, std::uint32_t size, float low = -1.0f, float high = 1.0f) {
  std::vector<float> values(size);
  for (float& x : values) x = r.real(low, high);
  return {true, DType::f32, Shape{size}, bytes_of(values)};
}

inline Stored maybe(Random& r, Stored weight) { return r.chance() ? weight : Stored{}; }

/// Every type that weights may have in this build.
inline DType any_type(Random& r) {
  std::uint32_t i = r.between(0, static_cast<std::uint32_t>(zrt::quant::kRowFunctions.size()) - 1);
  return zrt::quant::kRowFunctions[i].dtype;
}

/// A matrix of a weight type. Blocks are random bytes with a scale that keeps values near 1.
inline Stored matrix(Random& r, DType dtype, std::uint32_t rows, std::uint32_t cols) {
  Stored w{true, dtype, Shape{rows, cols}, {}};
  const zrt::DTypeInfo& type = zrt::info(dtype);
  w.data.resize(rows * zrt::bytes_of(dtype, cols));
  for (std::size_t at = 0; at < w.data.size(); at += type.block_bytes) {
    if (type.block_elems == 1) {
      const float x = r.real(-1.0f, 1.0f);
      const std::uint16_t half = dtype == DType::f16 ? zrt::to_f16(x).bits : zrt::to_bf16(x).bits;
      if (dtype == DType::f32)
        std::memcpy(w.data.data() + at, &x, 4);
      else
        std::memcpy(w.data.data() + at, &half, 2);
    } else {
      for (std::size_t i = 0; i < type.block_bytes; ++i) w.data[at + i] = static_cast<std::byte>(r.between(0, 255));
      const float span = type.block_elems == 256 ? 0.05f : 1.0f;
      const auto near_zero = [&] { return r.real(0.001f, 0.02f) * (r.chance() ? span : -span); };
      const float scale = near_zero(), offset = near_zero();
      zrt::test::set_scales(dtype, w.data.data() + at, scale, offset);
    }
  }
  return w;
}

/// A matrix of any type for `cols` columns.
inline Stored matrix(Random& r, std::uint32_t rows, std::uint32_t cols) {
  DType dtype = any_type(r);
  while (cols % zrt::info(dtype).block_elems != 0) dtype = any_type(r);
  return matrix(r, dtype, rows, cols);
}

/// A width that sometimes fits blocks and sometimes ends inside a vector.
inline std::uint32_t any_width(Random& r) { return r.one_of({32 * r.between(1, 9), 256u, r.between(2, 150)}); }

inline zrt::StateInfo kv_state(Random& r, std::uint32_t heads, std::uint32_t key_dim, std::uint32_t value_dim) {
  return {zrt::StateLifecycle::kv_paged,
          zrt::kPageTypes[r.between(0, static_cast<std::uint32_t>(zrt::kPageTypes.size()) - 1)],
          0,
          0,
          {heads, key_dim, value_dim, 0}};
}

// --- the same case without its type ----------------------------------------------------------------

struct Case {
  const zrt::OpRow* row = nullptr;
  std::vector<std::byte> params;
  std::vector<Value> in;
  std::vector<Stored> w;
  zrt::StateInfo state{};
  std::vector<Region> regions;

  zrt::ParamBlock block() const { return {row->params_version, row->opcode, params}; }
};

template <class O> Case case_of(const Typed<O>& typed) {
  Case c;
  c.row = &zrt::detail::kOpRow<O>;
  c.params.resize(c.row->params_bytes);
  zrt::encode_params(typed.params, std::span<std::byte>(c.params));
  c.in.assign(typed.in.begin(), typed.in.end());
  c.w.assign(typed.w.begin(), typed.w.end());
  c.state = typed.state;
  c.regions.assign(typed.regions.begin(), typed.regions.end());
  return c;
}
template <class O> Case draw(Random& r, const Batch& b) { return case_of<O>(OpCases<O>::make(r, b)); }

/// The regions of a case, for a graph with the table of `g` and one symbol.
inline std::vector<zrt::ir::Graph> region_graphs(const Case& c, const zrt::OpTable& table, const Batch& b) {
  std::vector<zrt::ir::Graph> graphs;
  for (const Region& fill : c.regions) {
    zrt::ir::Builder g(table);
    (void)g.symbol("tokens", b.bound);
    fill(g);
    auto graph = g.finish();
    if (graph) graphs.push_back(std::move(*graph));
  }
  return graphs;
}

}  // namespace op_cases
