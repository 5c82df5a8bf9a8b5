// SPDX-License-Identifier: Apache-2.0
// zrt/ir/ptir/builder.hpp: programs of the portable tensor IR written as C++ expressions.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/ir/ptir/verify.hpp>

#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::ptir {

class Builder;

/// A tensor of a program under construction. Valid as long as its builder stays where it is.
class Tensor {
 public:
  [[nodiscard]] const TensorType& type() const noexcept { return type_; }
  [[nodiscard]] DType dtype() const noexcept { return type_.dtype; }
  [[nodiscard]] const Shape& shape() const noexcept { return type_.shape; }
  [[nodiscard]] std::int64_t rank() const noexcept { return type_.shape.rank; }
  [[nodiscard]] Builder& builder() const noexcept { return *builder_; }
  [[nodiscard]] const Operand& operand() const noexcept { return operand_; }

 private:
  friend Builder;
  friend class Results;
  Tensor(Builder& builder, RegionId region, const Operand& operand, const TensorType& type) noexcept
      : builder_(&builder), region_(region), operand_(operand), type_(type) {}

  Builder* builder_;
  RegionId region_;
  Operand operand_;
  TensorType type_;
};

/// What an instruction with any number of results gave.
class Results {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Result `index`; an index past the end is an error of the builder.
  [[nodiscard]] Tensor operator[](std::size_t index) const noexcept;

 private:
  friend Builder;
  Results(Builder& builder, RegionId region, ValueId id, bool tuple, PoolRange types) noexcept
      : builder_(&builder), region_(region), id_(id), tuple_(tuple), types_(types), count_(types.count) {}

  Builder* builder_;
  RegionId region_;
  ValueId id_;
  bool tuple_;
  PoolRange types_;
  std::size_t count_;
};

using Ints = Span<const std::int64_t>;
using Tensors = Span<const Tensor>;

/// In what a sum is kept, and what leaves; left out, by the defaults of the specification.
struct FoldTypes {
  std::optional<DType> accumulator{};
  std::optional<DType> result{};
};

/// The axes of a dot_general.
struct DotAxes {
  std::initializer_list<std::int64_t> batch_lhs{}, batch_rhs{}, contract_lhs{}, contract_rhs{};
};

/// The lists of reduce_window and extract_patches, one entry per axis; base_dilation only of the former.
struct Window {
  Ints size{}, strides{}, low{}, high{}, base_dilation{}, dilation{};
};

/// Builds a program, infers every output type and keeps the first error, which `finish` returns.
///
/// Elementwise methods and operators insert the broadcast_to that the IR demands: shapes are aligned at
/// the right, and an extent of 1 stretches. Dtypes are never converted. After an error every call does
/// nothing of use. The builder must not move while tensors of it are in use.
class Builder {
 public:
  explicit Builder(Allocator allocator = system_allocator()) noexcept : program_(allocator) { (void)open("main"); }
  /// Goes on with a program whose region 0, where it has one, is empty: attributes may lie in its pools and
  /// name its regions.
  explicit Builder(Program&& begun) noexcept : program_(std::move(begun)) {
    if (program_.regions.empty()) {
      (void)open("main");
      return;
    }
    keep(next_ids_.resize(program_.regions.size()));
    if (!current().parameters.empty() || !current().instructions.empty())
      set(Error::of(Errc::invalid_argument, "region 0 of the program to go on with is not empty"));
    if (current().name.view().empty()) current().name = "main";
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // --- structure ---

  /// The dynamic extent of that name.
  [[nodiscard]] Dim dim(std::string_view name) noexcept {
    const auto found = program_.dim(name);
    if (!found) set(found.error());
    return found ? *found : Dim(0);
  }
  /// Adds a parameter to the region under construction.
  [[nodiscard]] Tensor parameter(const TensorType& type, const Name& name = {}) noexcept {
    if (const auto r = check_type(program_, type, "a parameter"); !r) set(r.error());
    const ValueId id = next_id();
    keep(current().parameters.push_back({id, name, type}));
    return {*this, region_, Operand::value(id), type};
  }
  /// Adds a result to the region under construction.
  void result(const Tensor& x) noexcept {
    if (belongs(x)) keep(current().results.push_back({x.operand_, x.type_}));
  }
  /// Makes a region: what `fill` builds stands in it, and what it may use are its own parameters.
  template <class F> [[nodiscard]] RegionId region(const Name& name, const F& fill) noexcept {
    const RegionId outer = region_;
    const RegionId made = open(name);
    fill();
    region_ = outer;
    return made;
  }
  /// Takes back `first` and the regions made after it, none of which an instruction names yet.
  void drop_regions(RegionId first) noexcept {
    if (first <= region_) return;
    while (program_.regions.size() > first) {
      program_.regions.pop_back();
      next_ids_.pop_back();
    }
  }
  /// The node that the instructions come from that are built from now on, by its number in the program's origins.
  void origin(std::uint32_t node) noexcept { origin_ = node; }
  [[nodiscard]] std::uint32_t origin() const noexcept { return origin_; }
  /// Adds a node of the file that the program is read from; 0 after an error.
  [[nodiscard]] std::uint32_t add_origin(std::string_view name, Span<const std::string_view> inputs) noexcept {
    const auto made = program_.origins.add(name, inputs);
    keep(made);
    return made ? *made : 0;
  }
  /// Says what the indices of the node under construction are to its file.
  void origin_indices(Origins::Indices meaning, const Shape& places = {}) noexcept {
    program_.origins.indices(origin_, meaning, places);
  }
  /// The id that the next value of the region under construction gets; ids ascend.
  [[nodiscard]] ValueId next_value() const noexcept { return region_ < next_ids_.size() ? next_ids_[region_] : 0; }
  /// What is built so far, to look at: nothing has verified it.
  [[nodiscard]] const Program& program() const noexcept { return program_; }
  /// The instructions of the region under construction.
  [[nodiscard]] Span<const Instruction> instructions() const noexcept {
    return region_ < program_.regions.size() ? program_.regions[region_].instructions.span()
                                             : Span<const Instruction>();
  }
  /// Gives the value of `x` a name, which text, JSON and drawings show.
  Tensor name(const Tensor& x, const Name& name) noexcept {
    if (!belongs(x) || x.operand_.kind == Operand::Kind::literal) return x;
    for (Parameter& p : current().parameters)
      if (p.id == x.operand_.id) p.name = name;
    for (Instruction& i : current().instructions)
      if (i.id == x.operand_.id) i.name = name;
    return x;
  }

  // --- sources ---

  /// An inline literal, an operand without an instruction.
  [[nodiscard]] Tensor literal(const TensorType& type, Span<const std::byte> data) noexcept {
    return {*this, region_, Operand::literal(pool(type, data)), type};
  }
  /// A scalar of `dtype` as an inline literal; a `value` that the dtype does not hold is rounded, one
  /// outside its range an error.
  [[nodiscard]] Tensor scalar(DType dtype, double value) noexcept {
    std::array<std::byte, 16> bytes{};
    const Span<std::byte> data(bytes.data(), is_ptir_dtype(dtype) ? info(dtype).block_bytes : std::size_t{0});
    if (!encode(dtype, value, data))
      set(Error::of(Errc::invalid_params, "a scalar is no number of ",
                    is_ptir_dtype(dtype) ? zrt::name(dtype) : "a block type"));
    return literal({dtype, {}}, data);
  }
  [[nodiscard]] Tensor constant(const TensorType& type, Span<const std::byte> data) noexcept {
    return single<ops::Constant>({}, {Attribute::literal(pool(type, data))});
  }
  [[nodiscard]] Tensor constant(float value) noexcept { return constant({DType::f32, {}}, bytes_of(value)); }
  [[nodiscard]] Tensor constant(double value) noexcept { return constant({DType::f64, {}}, bytes_of(value)); }
  [[nodiscard]] Tensor constant(std::int32_t value) noexcept { return constant({DType::si32, {}}, bytes_of(value)); }
  [[nodiscard]] Tensor constant(std::int64_t value) noexcept { return constant({DType::si64, {}}, bytes_of(value)); }
  [[nodiscard]] Tensor constant(bool value) noexcept { return constant({DType::i1, {}}, bytes_of(value)); }
  [[nodiscard]] Tensor constant(const Shape& shape, Span<const float> data) noexcept {
    return constant({DType::f32, shape}, as_bytes(data));
  }
  [[nodiscard]] Tensor iota(const Shape& shape, DType dtype, std::int64_t axis) noexcept {
    return single<ops::Iota>({}, {extents(shape), Attribute::dtype(dtype), Attribute::integer(axis)});
  }
  [[nodiscard]] Tensor rng_uniform(const Shape& shape, DType dtype, std::int64_t seed, std::int64_t stream) noexcept {
    return single<ops::RngUniform>(
        {}, {extents(shape), Attribute::dtype(dtype), Attribute::integer(seed), Attribute::integer(stream)});
  }
  [[nodiscard]] Tensor rng_normal(const Shape& shape, DType dtype, std::int64_t seed, std::int64_t stream) noexcept {
    return single<ops::RngNormal>(
        {}, {extents(shape), Attribute::dtype(dtype), Attribute::integer(seed), Attribute::integer(stream)});
  }
  /// The same numbers under a seed that the program computes or takes in: a scalar of si64.
  [[nodiscard]] Tensor rng_uniform(const Shape& shape, DType dtype, const Tensor& seed, std::int64_t stream) noexcept {
    return single<ops::RngUniform>({seed}, {extents(shape), Attribute::dtype(dtype), {}, Attribute::integer(stream)});
  }
  [[nodiscard]] Tensor rng_normal(const Shape& shape, DType dtype, const Tensor& seed, std::int64_t stream) noexcept {
    return single<ops::RngNormal>({seed}, {extents(shape), Attribute::dtype(dtype), {}, Attribute::integer(stream)});
  }

  // --- elementwise ---

  Tensor neg(const Tensor& x) noexcept { return unary(ops::UnaryKind::neg, x); }
  Tensor abs(const Tensor& x) noexcept { return unary(ops::UnaryKind::abs, x); }
  Tensor exp(const Tensor& x) noexcept { return unary(ops::UnaryKind::exp, x); }
  Tensor log(const Tensor& x) noexcept { return unary(ops::UnaryKind::log, x); }
  Tensor tanh(const Tensor& x) noexcept { return unary(ops::UnaryKind::tanh, x); }
  Tensor erf(const Tensor& x) noexcept { return unary(ops::UnaryKind::erf, x); }
  Tensor rsqrt(const Tensor& x) noexcept { return unary(ops::UnaryKind::rsqrt, x); }
  Tensor reciprocal(const Tensor& x) noexcept { return unary(ops::UnaryKind::reciprocal, x); }

  Tensor add(Tensor a, Tensor b) noexcept { return binary(ops::BinaryKind::add, a, b); }
  Tensor sub(Tensor a, Tensor b) noexcept { return binary(ops::BinaryKind::sub, a, b); }
  Tensor mul(Tensor a, Tensor b) noexcept { return binary(ops::BinaryKind::mul, a, b); }
  Tensor div(Tensor a, Tensor b) noexcept { return binary(ops::BinaryKind::div, a, b); }
  Tensor maximum(Tensor a, Tensor b) noexcept { return binary(ops::BinaryKind::maximum, a, b); }
  Tensor minimum(Tensor a, Tensor b) noexcept { return binary(ops::BinaryKind::minimum, a, b); }

  Tensor lt(Tensor a, Tensor b) noexcept { return compare(ops::CompareKind::lt, a, b); }
  Tensor le(Tensor a, Tensor b) noexcept { return compare(ops::CompareKind::le, a, b); }
  Tensor eq(Tensor a, Tensor b) noexcept { return compare(ops::CompareKind::eq, a, b); }
  Tensor ge(Tensor a, Tensor b) noexcept { return compare(ops::CompareKind::ge, a, b); }
  Tensor gt(Tensor a, Tensor b) noexcept { return compare(ops::CompareKind::gt, a, b); }
  Tensor ne(Tensor a, Tensor b) noexcept { return compare(ops::CompareKind::ne, a, b); }

  Tensor select(Tensor pred, Tensor on_true, Tensor on_false) noexcept {
    align({&pred, &on_true, &on_false});
    return single<ops::Select>({pred, on_true, on_false});
  }
  Tensor clamp(Tensor x, Tensor lo, Tensor hi) noexcept {
    align({&x, &lo, &hi});
    return single<ops::Clamp>({x, lo, hi});
  }
  Tensor cast(const Tensor& x, DType dtype) noexcept { return single<ops::Cast>({x}, {Attribute::dtype(dtype)}); }
  Tensor stop_gradient(const Tensor& x) noexcept { return single<ops::StopGradient>({x}); }

  // --- folds ---

  Tensor reduce_sum(const Tensor& x, std::initializer_list<std::int64_t> axes, bool keepdims = false,
                    FoldTypes types = {}) noexcept {
    return reduce(ops::ReduceKind::sum, x, axes, keepdims, types);
  }
  Tensor reduce_max(const Tensor& x, std::initializer_list<std::int64_t> axes, bool keepdims = false,
                    FoldTypes types = {}) noexcept {
    return reduce(ops::ReduceKind::maximum, x, axes, keepdims, types);
  }
  Tensor reduce_min(const Tensor& x, std::initializer_list<std::int64_t> axes, bool keepdims = false,
                    FoldTypes types = {}) noexcept {
    return reduce(ops::ReduceKind::minimum, x, axes, keepdims, types);
  }
  Tensor arg_max(const Tensor& x, std::int64_t axis, bool keepdims = false, DType dtype = DType::si32) noexcept {
    return single<ops::ArgMax>({x}, {Attribute::integer(axis), Attribute::boolean(keepdims), Attribute::dtype(dtype)});
  }
  Tensor dot_general(const Tensor& lhs, const Tensor& rhs, const DotAxes& axes, FoldTypes types = {}) noexcept {
    return single<ops::DotGeneral>(
        {lhs, rhs}, {ints(axes.batch_lhs), ints(axes.batch_rhs), ints(axes.contract_lhs), ints(axes.contract_rhs),
                     optional(types.accumulator), optional(types.result)});
  }
  /// Contracts the last axis of `lhs` with the first of `rhs`.
  Tensor dot(const Tensor& lhs, const Tensor& rhs, FoldTypes types = {}) noexcept {
    return dot_general(lhs, rhs, {.contract_lhs = {-1}, .contract_rhs = {0}}, types);
  }
  Tensor reduce_window(std::uint64_t kind, const Tensor& x, const Window& w, FoldTypes types = {}) noexcept {
    return single<ops::ReduceWindow>(
        {x}, {Attribute::choice(kind), ints(w.size), ints(w.strides), ints(w.low), ints(w.high), ints(w.base_dilation),
              ints(w.dilation), optional(types.accumulator), optional(types.result)});
  }
  Tensor extract_patches(const Tensor& x, const Window& w) noexcept {
    return single<ops::ExtractPatches>(
        {x}, {ints(w.size), ints(w.strides), ints(w.low), ints(w.high), ints(w.dilation), Attribute{}});
  }
  /// Values and indices.
  Results top_k(const Tensor& x, std::int64_t k, std::int64_t axis = -1, bool largest = true,
                DType indices = DType::si32) noexcept {
    return emit<ops::TopK>(
        {x}, {Attribute::integer(k), Attribute::integer(axis), Attribute::boolean(largest), Attribute::dtype(indices)});
  }
  Tensor segment_reduce(std::uint64_t kind, const Tensor& x, const Tensor& ids, std::int64_t segments) noexcept {
    return single<ops::SegmentReduce>({x, ids}, {Attribute::choice(kind), Attribute::integer(segments), Attribute{},
                                                 Attribute::boolean(false), Attribute::boolean(false)});
  }
  Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double epsilon = 1e-5,
                    std::int64_t axis = -1) noexcept {
    return single<ops::LayerNorm>({x, gamma, beta}, {Attribute::real(epsilon), Attribute::integer(axis)});
  }
  /// The specification's stable softmax over the last axis.
  Tensor softmax(const Tensor& x) noexcept {
    const Tensor e = exp(sub(x, reduce_max(x, {-1}, true)));
    return div(e, reduce_sum(e, {-1}, true));
  }

  // --- shape ---

  /// One entry may be -1.
  Tensor reshape(const Tensor& x, const Shape& shape) noexcept { return single<ops::Reshape>({x}, {extents(shape)}); }
  Tensor transpose(const Tensor& x, std::initializer_list<std::int64_t> perm) noexcept {
    return single<ops::Transpose>({x}, {ints(perm)});
  }
  Tensor broadcast_to(const Tensor& x, const Shape& shape) noexcept {
    return single<ops::BroadcastTo>({x}, {extents(shape)});
  }
  Tensor slice(const Tensor& x, std::initializer_list<std::int64_t> starts, const Shape& sizes) noexcept {
    return single<ops::Slice>({x}, {ints(starts), extents(sizes)});
  }
  Tensor concat(std::initializer_list<Tensor> xs, std::int64_t axis) noexcept {
    return single<ops::Concat>(xs, {Attribute::integer(axis)});
  }
  /// `value` must be a literal, as `scalar` makes one.
  Tensor pad(const Tensor& x, std::initializer_list<std::int64_t> low, std::initializer_list<std::int64_t> high,
             std::initializer_list<std::int64_t> interior, const Tensor& value) noexcept {
    if (value.operand_.kind != Operand::Kind::literal)
      set(Error::of(Errc::invalid_argument, "pad: value is computed, expected a literal"));
    return single<ops::Pad>({x}, {ints(low), ints(high), ints(interior), Attribute::literal(value.operand_.id)});
  }
  Tensor tile(const Tensor& x, std::initializer_list<std::int64_t> repeats) noexcept {
    return single<ops::Tile>({x}, {ints(repeats)});
  }

  // --- indexing ---

  Tensor take(const Tensor& x, const Tensor& indices) noexcept { return single<ops::Take>({x, indices}); }
  Tensor gather(const Tensor& x, const Tensor& indices, std::int64_t axis) noexcept {
    return single<ops::Gather>({x, indices}, {Attribute::integer(axis)});
  }
  Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& updates,
                     std::initializer_list<std::int64_t> window, std::initializer_list<std::int64_t> inserted,
                     std::initializer_list<std::int64_t> places,
                     std::optional<std::int64_t> index_vector_dim = {}) noexcept {
    return single<ops::ScatterAdd>({x, indices, updates},
                                   {ints(window), ints(inserted), ints(places), optional(index_vector_dim)});
  }
  Tensor scatter_reduce(std::uint64_t kind, const Tensor& x, const Tensor& indices, const Tensor& updates,
                        std::int64_t axis) noexcept {
    return single<ops::ScatterReduce>({x, indices, updates}, {Attribute::integer(axis), Attribute::choice(kind)});
  }
  Tensor dynamic_slice(const Tensor& x, const Tensor& start, const Shape& sizes) noexcept {
    return single<ops::DynamicSlice>({x, start}, {extents(sizes)});
  }
  Tensor dynamic_update_slice(const Tensor& x, const Tensor& update, const Tensor& start) noexcept {
    return single<ops::DynamicUpdateSlice>({x, update, start}, {extents(update.shape())});
  }

  // --- control flow ---

  Results cond(const Tensor& pred, RegionId on_true, RegionId on_false,
               std::initializer_list<Tensor> arguments) noexcept {
    Vector<Tensor> all(program_.allocator);
    keep(all.push_back(pred));
    for (const Tensor& argument : arguments) keep(all.push_back(argument));
    return emit<ops::Cond>(all.span(), {Attribute::region(on_true), Attribute::region(on_false)});
  }
  Results while_loop(RegionId condition, RegionId body, std::initializer_list<Tensor> carry) noexcept {
    return emit<ops::WhileLoop>(carry, {Attribute::region(condition), Attribute::region(body)});
  }
  /// The first `carries` of `operands` are carried, the others are scanned along their first axis.
  Results scan(RegionId body, std::int64_t carries, std::int64_t outputs,
               std::initializer_list<Tensor> operands) noexcept {
    return emit<ops::Scan>(operands,
                           {Attribute::region(body), Attribute::integer(carries), Attribute::integer(outputs)});
  }

  // --- quantisation ---

  Tensor quantize(const Tensor& x, const Tensor& scale, const Tensor& zero, DType to,
                  std::optional<std::int64_t> axis = {}) noexcept {
    return single<ops::Quantize>({x, scale, zero}, {Attribute::dtype(to), optional(axis)});
  }
  Tensor dequantize(const Tensor& x, const Tensor& scale, const Tensor& zero, DType to,
                    std::optional<std::int64_t> axis = {}) noexcept {
    return single<ops::Dequantize>({x, scale, zero}, {Attribute::dtype(to), optional(axis)});
  }
  Tensor requantize(const Tensor& x, const Tensor& from_scale, const Tensor& from_zero, const Tensor& to_scale,
                    const Tensor& to_zero, DType to, std::optional<std::int64_t> axis = {}) noexcept {
    return single<ops::Requantize>({x, from_scale, from_zero, to_scale, to_zero},
                                   {Attribute::dtype(to), optional(axis)});
  }

  // --- custom calls ---

  /// A named attribute of a custom call, for `custom_call`.
  [[nodiscard]] MapEntry entry(std::string_view key, const Attribute& value) noexcept {
    return {kept(program_.add_text(key)), value};
  }
  [[nodiscard]] Attribute string(std::string_view text) noexcept {
    return {AttributeKind::string, 0, kept(program_.add_text(text))};
  }
  [[nodiscard]] Attribute ints(Ints values) noexcept {
    return {AttributeKind::integers, 0, kept(program_.add(program_.words, values))};
  }
  [[nodiscard]] Attribute ints(std::initializer_list<std::int64_t> values) noexcept {
    return ints(Ints(values.begin(), values.size()));
  }
  [[nodiscard]] Attribute reals(Span<const double> values) noexcept {
    Vector<std::int64_t> words(program_.allocator);
    for (const double value : values) keep(words.push_back(std::bit_cast<std::int64_t>(value)));
    return {AttributeKind::reals, 0, kept(program_.add(program_.words, words.span()))};
  }
  [[nodiscard]] Attribute booleans(Span<const bool> values) noexcept {
    Vector<std::int64_t> words(program_.allocator);
    for (const bool value : values) keep(words.push_back(value ? 1 : 0));
    return {AttributeKind::booleans, 0, kept(program_.add(program_.words, words.span()))};
  }
  [[nodiscard]] Attribute strings(Span<const std::string_view> values) noexcept {
    Vector<PoolRange> texts(program_.allocator);
    for (const std::string_view value : values) keep(texts.push_back(kept(program_.add_text(value))));
    return {AttributeKind::strings, 0, kept(program_.add(program_.texts, texts.span()))};
  }
  /// Calls a backend's kernel by name; `outputs` are what it gives, as a tuple unless `tuple` is false.
  Results custom_call(std::string_view target, Tensors operands, std::initializer_list<MapEntry> attributes,
                      Span<const TensorType> outputs, bool tuple) noexcept {
    const Attribute map{AttributeKind::map, 0,
                        kept(program_.add(program_.entries, Span(attributes.begin(), attributes.size())))};
    const ValueType declared{tuple, kept(program_.add(program_.types, outputs))};
    return emit<ops::CustomCall>(operands, {string(target), map}, declared);
  }
  Results custom_call(std::string_view target, std::initializer_list<Tensor> operands,
                      std::initializer_list<MapEntry> attributes, std::initializer_list<TensorType> outputs,
                      bool tuple) noexcept {
    return custom_call(target, Tensors(operands.begin(), operands.size()), attributes,
                       Span(outputs.begin(), outputs.size()), tuple);
  }

  // --- any op ---

  /// Applies op O; `attributes` are one for each that it lists, in its order. Only a custom call has `declared` types.
  template <ProgramOp O>
  Results emit(Tensors operands, std::initializer_list<Attribute> attributes, const ValueType& declared = {}) noexcept {
    return emit(O::name, operands, Span(attributes.begin(), attributes.size()), declared);
  }
  template <ProgramOp O>
  Results emit(std::initializer_list<Tensor> operands, std::initializer_list<Attribute> attributes = {},
               const ValueType& declared = {}) noexcept {
    return emit<O>(Tensors(operands.begin(), operands.size()), attributes, declared);
  }

  /// Applies an op by name; `attributes` are one for each of its fields, in the order of the table.
  Results emit(std::string_view op, Tensors operands, std::initializer_list<Attribute> attributes,
               const ValueType& declared = {}) noexcept {
    return emit(op, operands, Span(attributes.begin(), attributes.size()), declared);
  }
  /// The same with attributes that lie elsewhere. Only a custom call has `declared` types, as a tuple or not.
  Results apply(std::string_view op, Tensors operands, Span<const Attribute> attributes,
                Span<const TensorType> declared = {}, bool tuple = false) noexcept {
    return emit(op, operands, attributes, ValueType{tuple, kept(program_.add(program_.types, declared))});
  }

  /// Where the program's memory comes from.
  [[nodiscard]] const Allocator& allocator() const noexcept { return program_.allocator; }

  /// Records an error as if a call had met it; the first one counts.
  void set(const Error& error) noexcept { set(error, error); }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// The first error, meaningful once `failed`.
  [[nodiscard]] const Error& error() const noexcept { return error_; }
  /// The first error without the place where the program under construction has it.
  [[nodiscard]] const Error& cause() const noexcept { return cause_; }
  /// The operand that the first error is about, where an op's type rule refused one.
  [[nodiscard]] const Mismatch& mismatch() const noexcept { return mismatch_; }

  /// Gives the program away, verified, or returns the first error.
  [[nodiscard]] Result<Program> finish() noexcept {
    if (failed_) return std::unexpected<Error>(error_);
    if (const auto r = verify(program_); !r) return pass(r);
    return std::move(program_);
  }

 private:
  friend Results;

  template <class T> [[nodiscard]] static Span<const std::byte> bytes_of(const T& value) noexcept {
    return as_bytes(Span(&value, 1));
  }
  void set(const Error& error, const Error& cause) noexcept {
    if (!failed_) {
      error_ = error;
      cause_ = cause;
    }
    failed_ = true;
  }
  template <class T> void keep(const Result<T>& r) noexcept {
    if (!r) set(r.error());
  }
  [[nodiscard]] PoolRange kept(const Result<PoolRange>& r) noexcept {
    keep(r);
    return r ? *r : PoolRange{};
  }
  [[nodiscard]] std::uint32_t pool(const TensorType& type, Span<const std::byte> data) noexcept {
    const auto index = program_.add_literal(type, data);
    keep(index);
    if (!index) return 0;
    if (const auto r = check_literal(program_, *index); !r) set(r.error());
    return *index;
  }
  [[nodiscard]] Attribute extents(const Shape& shape) noexcept {
    Vector<std::int64_t> codes(program_.allocator);
    if (shape.rank > kMaxRank)
      set(Error::of(Errc::unsupported_tensor_rank, "a shape has ", unsigned{shape.rank}, " axes, at most ",
                    unsigned{kMaxRank}, " expected"));
    for (const Dim dim : shape.view()) keep(codes.push_back(dim.code()));
    return {AttributeKind::shape, 0, kept(program_.add(program_.words, codes.span()))};
  }
  [[nodiscard]] static Attribute optional(std::optional<DType> dtype) noexcept {
    return dtype ? Attribute::dtype(*dtype) : Attribute{};
  }
  [[nodiscard]] static Attribute optional(std::optional<std::int64_t> value) noexcept {
    return value ? Attribute::integer(*value) : Attribute{};
  }
  /// Writes a number as an element of `dtype`, through the rules of the text form.
  [[nodiscard]] bool encode(DType dtype, double value, Span<std::byte> data) noexcept {
    if (data.empty()) return false;
    const ElementForm form = element_form(dtype);
    String text(program_.allocator);
    const bool whole = is_integer(dtype) || is_boolean(dtype);
    if (whole && (value != value || value < -0x1p63 || value >= 0x1p63)) return false;
    keep(whole ? append_integer(text, static_cast<std::int64_t>(value)) : append_real(text, value));
    const auto bits = parse_part(form, text.view());
    if (!bits) return false;
    write_part(data, form, 0, *bits);
    return true;
  }

  [[nodiscard]] RegionId open(const Name& name) noexcept {
    Region made(program_.allocator);
    made.name = name;
    Vector<ValueId>& counters = next_ids_;
    keep(counters.push_back(0));
    keep(program_.regions.push_back(std::move(made)));
    region_ = static_cast<RegionId>(program_.regions.size() - 1);
    return region_;
  }
  [[nodiscard]] Region& current() noexcept {
    return region_ < program_.regions.size() ? program_.regions[region_] : lost_;
  }
  [[nodiscard]] ValueId next_id() noexcept { return region_ < next_ids_.size() ? next_ids_[region_]++ : 0; }
  [[nodiscard]] bool belongs(const Tensor& x) noexcept {
    if (x.builder_ != this || (x.region_ != region_ && x.operand_.kind != Operand::Kind::literal))
      set(Error::of(Errc::invalid_argument, "value %", x.operand_.id, " belongs to another region, expected one of @",
                    region_));
    return !failed_;
  }
  [[nodiscard]] Results nothing() noexcept { return {*this, region_, 0, false, {}}; }

  Results emit(std::string_view op, Tensors operands, Span<const Attribute> attributes,
               const ValueType& declared) noexcept {
    Instruction i;
    i.id = next_id();
    i.output = declared;
    Vector<TensorType> types(program_.allocator);
    Vector<Operand> refs(program_.allocator);
    for (const Tensor& x : operands) {
      if (!belongs(x)) return nothing();
      keep(types.push_back(x.type_));
      keep(refs.push_back(x.operand_));
    }
    const OpInfo* row = find_op(op);
    if (row == nullptr) set(Error::of(Errc::unsupported_opcode, op, " is no operation of the portable tensor IR"));
    if (failed_) return nothing();
    i.opcode = row->opcode;
    i.operands = kept(program_.add(program_.operands, refs.span()));
    i.attributes = kept(program_.add(program_.attributes, attributes));
    if (failed_) return nothing();
    const auto inferred = infer(program_, i, types.span(), &mismatch_);
    if (!inferred) {
      set(detail::located(inferred.error(), region_, &i, current().instructions.size()), inferred.error());
      return nothing();
    }
    i.output = {inferred->tuple, kept(program_.add(program_.types, inferred->elements.span()))};
    i.origin = origin_;
    keep(current().instructions.push_back(i));
    if (failed_) return nothing();
    return {*this, region_, i.id, i.output.tuple, i.output.elements};
  }

  template <ProgramOp O>
  Tensor single(std::initializer_list<Tensor> operands, std::initializer_list<Attribute> attributes = {}) noexcept {
    return emit<O>(operands, attributes)[0];
  }
  Tensor unary(ops::UnaryKind kind, const Tensor& x) noexcept {
    return single<ops::ElementwiseUnary>({x}, {Attribute::choice(kind)});
  }
  Tensor binary(ops::BinaryKind kind, Tensor a, Tensor b) noexcept {
    align({&a, &b});
    return single<ops::ElementwiseBinary>({a, b}, {Attribute::choice(kind)});
  }
  Tensor compare(ops::CompareKind kind, Tensor a, Tensor b) noexcept {
    align({&a, &b});
    return single<ops::Compare>({a, b}, {Attribute::choice(kind)});
  }
  Tensor reduce(ops::ReduceKind kind, const Tensor& x, std::initializer_list<std::int64_t> axes, bool keepdims,
                FoldTypes types) noexcept {
    return single<ops::Reduce>({x}, {Attribute::choice(kind), ints(axes), Attribute::boolean(keepdims),
                                     optional(types.accumulator), optional(types.result)});
  }

  /// Brings tensors to their common shape. Extents that cannot agree are left to the op's type rule.
  void align(std::initializer_list<Tensor*> tensors) noexcept {
    Shape common;
    for (const Tensor* x : tensors)
      if (x->shape().rank > common.rank) common.rank = x->shape().rank;
    for (Dim& d : common.dims) d = Dim(1);
    const auto place = [&](const Tensor& x, std::size_t axis) { return common.size() - x.shape().size() + axis; };
    for (const Tensor* x : tensors)
      for (std::size_t axis = 0; axis < x->shape().size(); ++axis) {
        Dim& d = common.dims[place(*x, axis)];
        if (d.is_constant(1)) d = x->shape()[axis];
      }
    for (Tensor* x : tensors) {
      bool stretched = x->shape().rank != common.rank;
      for (std::size_t axis = 0; axis < x->shape().size(); ++axis)
        stretched = stretched || (x->shape()[axis].is_constant(1) && !common[place(*x, axis)].is_constant(1));
      if (stretched) *x = broadcast_to(*x, common);
    }
  }

  Program program_;
  RegionId region_ = 0;
  std::uint32_t origin_ = 0;  ///< of the instructions that come next
  Vector<ValueId> next_ids_{program_.allocator};
  Region lost_{program_.allocator};  ///< what goes in after the memory for a region was missing
  bool failed_ = false;
  Error error_{};
  Error cause_{};
  Mismatch mismatch_{};
};

inline Tensor Results::operator[](std::size_t index) const noexcept {
  const auto types = builder_->program_.types_of({tuple_, types_});
  if (index >= types.size()) {
    builder_->set(
        Error::of(Errc::invalid_argument, "result ", index, " is asked for, expected less than ", types.size()));
    return {*builder_, region_, Operand::value(id_), TensorType{}};
  }
  const auto element = static_cast<std::uint32_t>(index);
  return {*builder_, region_, tuple_ ? Operand::tuple_element(id_, element) : Operand::value(id_), types[index]};
}

[[nodiscard]] inline Tensor operator+(const Tensor& a, const Tensor& b) noexcept { return a.builder().add(a, b); }
[[nodiscard]] inline Tensor operator-(const Tensor& a, const Tensor& b) noexcept { return a.builder().sub(a, b); }
[[nodiscard]] inline Tensor operator*(const Tensor& a, const Tensor& b) noexcept { return a.builder().mul(a, b); }
[[nodiscard]] inline Tensor operator/(const Tensor& a, const Tensor& b) noexcept { return a.builder().div(a, b); }
[[nodiscard]] inline Tensor operator-(const Tensor& a) noexcept { return a.builder().neg(a); }
[[nodiscard]] inline Tensor operator+(const Tensor& a, double b) noexcept {
  return a + a.builder().scalar(a.dtype(), b);
}
[[nodiscard]] inline Tensor operator-(const Tensor& a, double b) noexcept {
  return a - a.builder().scalar(a.dtype(), b);
}
[[nodiscard]] inline Tensor operator*(const Tensor& a, double b) noexcept {
  return a * a.builder().scalar(a.dtype(), b);
}
[[nodiscard]] inline Tensor operator/(const Tensor& a, double b) noexcept {
  return a / a.builder().scalar(a.dtype(), b);
}
[[nodiscard]] inline Tensor operator*(double a, const Tensor& b) noexcept {
  return b.builder().scalar(b.dtype(), a) * b;
}

}  // namespace zrt::inline ZRT_ABI::ir::ptir

ZRT_LOAD_TIME_END
