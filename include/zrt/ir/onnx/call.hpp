// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/call.hpp: one node under translation: its operands, its attributes, and where its results go.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/core/hash.hpp>
#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/tensor.hpp>
#include <zrt/ir/ptir/builder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

using ptir::Builder;
using ptir::Tensor;

/// The largest extent of a tensor: sums and products of a few extents, strides and dilations fit 64 bits then.
inline constexpr std::int64_t kMaxExtent = 0x7fffffff;
/// Elements of a table (places, weights, a range) that one node makes while it is read.
inline constexpr std::int64_t kMaxTableElements = std::int64_t{1} << 22;

/// Integers that a node takes as extents, axes or pads: few, so that they lie in place.
struct IntList {
  static constexpr std::size_t kCapacity = 64;
  std::size_t count = 0;
  std::array<std::int64_t, kCapacity> values{};

  constexpr IntList() = default;
  constexpr IntList(std::initializer_list<std::int64_t> list) noexcept {
    for (const std::int64_t value : list) push(value);
  }
  /// `count` times `value`.
  [[nodiscard]] static constexpr IntList of(std::size_t count, std::int64_t value) noexcept {
    IntList list;
    for (std::size_t i = 0; i < count; ++i) list.push(value);
    return list;
  }
  constexpr void push(std::int64_t value) noexcept {
    if (count < kCapacity) values[count++] = value;
  }
  /// An entry past the end reads as the last place of the memory, so that what follows an error stays within it.
  [[nodiscard]] constexpr std::int64_t& operator[](std::size_t i) noexcept {
    return values[i < kCapacity ? i : kCapacity - 1];
  }
  [[nodiscard]] constexpr std::int64_t operator[](std::size_t i) const noexcept {
    return values[i < kCapacity ? i : kCapacity - 1];
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count == 0; }
  [[nodiscard]] constexpr const std::int64_t* begin() const noexcept { return values.data(); }
  [[nodiscard]] constexpr const std::int64_t* end() const noexcept { return values.data() + count; }
  [[nodiscard]] constexpr ptir::Ints view() const noexcept { return {values.data(), count}; }
  [[nodiscard]] constexpr bool has(std::int64_t value) const noexcept {
    for (const std::int64_t v : *this)
      if (v == value) return true;
    return false;
  }
};

/// A value of a graph: a tensor of the program, or one whose elements are known already.
struct Value {
  ptir::TensorType type{};
  std::optional<Tensor> tensor{};
  Span<const std::byte> data{};  ///< of a known one; lives as long as the reader
  bool known = false;
  std::string_view source{};  ///< the first input of the model that must be known for it to be: few numbers of inputs
  /// The tensors of a sequence, which then is no tensor; they live as long as the reader.
  std::optional<Span<const Value>> sequence{};
  bool absent = false;   ///< an optional value that is not there
  bool strings = false;  ///< its elements are numbers of strings
};

/// The tensors that a value is made of: itself, those of a sequence, none of a value that is not there.
[[nodiscard]] inline Span<const Value> tensors_of(const Value& v) noexcept {
  return v.absent ? Span<const Value>() : v.sequence ? *v.sequence : Span<const Value>(&v, 1);
}

/// True for a tensor of strings and a sequence of such, whose tensors are all of one kind.
[[nodiscard]] inline bool holds_strings(const Value& v) noexcept {
  const Span<const Value> tensors = tensors_of(v);
  return !tensors.empty() && tensors[0].strings;
}

/// A value under its name.
struct ScopedValue {
  std::string_view name;
  Value value;
};

/// The values of one graph, and of the graphs around it. A value found further out is one that is known: what
/// is computed enters a region as a parameter.
class Scope {
 public:
  explicit Scope(Allocator a, Scope* around = nullptr) noexcept : outer_(around), values_(a), table_(a) {}

  /// Those of this graph, in the order in which they were added.
  [[nodiscard]] Span<const ScopedValue> values() const noexcept { return values_.span(); }

  /// Adds a value; one of the same name is hidden by it.
  [[nodiscard]] Result<void> add(std::string_view name, Value value) noexcept {
    if (table_.size() < 2 * (values_.size() + 1))
      if (auto r = enlarge(); !r) return r;
    if (auto r = values_.push_back({name, std::move(value)}); !r) return r;
    *entry(name) = static_cast<std::uint32_t>(values_.size());
    return {};
  }
  [[nodiscard]] Value* find(std::string_view name) noexcept {
    if (!table_.empty())
      if (const std::uint32_t at = *entry(name); at != 0) return &values_[at - 1].value;
    return outer_ == nullptr ? nullptr : outer_->find(name);
  }

 private:
  /// Where the table has the value of this name, or has none and would get it.
  [[nodiscard]] std::uint32_t* entry(std::string_view name) noexcept {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash_bytes(name)) & mask;
    while (table_[at] != 0 && values_[table_[at] - 1].name != name) at = (at + 1) & mask;
    return &table_[at];
  }
  [[nodiscard]] Result<void> enlarge() noexcept {
    const std::size_t size = table_.empty() ? 16 : 2 * table_.size();
    table_.clear();
    if (auto r = table_.resize(size); !r) return r;
    for (std::size_t i = 0; i < values_.size(); ++i) *entry(values_[i].name) = static_cast<std::uint32_t>(i + 1);
    return {};
  }

  Scope* outer_;
  Vector<ScopedValue> values_;
  Vector<std::uint32_t> table_;  ///< by hash of the name: the place in `values_` behind the value, or 0; half is empty
};

class Reader;

/// One node while it is translated. Keeps the first error, after which every call does nothing of use.
class NodeCall {
 public:
  NodeCall(Reader& reader, Scope& scope, Builder& builder, const NodeView& node, std::int64_t opset) noexcept
      : reader_(&reader), scope_(&scope), builder_(&builder), node_(&node), opset_(opset) {}

  [[nodiscard]] Builder& b() const noexcept { return *builder_; }
  [[nodiscard]] Reader& reader() const noexcept { return *reader_; }
  [[nodiscard]] Scope& scope() const noexcept { return *scope_; }
  [[nodiscard]] const NodeView& node() const noexcept { return *node_; }
  [[nodiscard]] std::int64_t opset() const noexcept { return opset_; }

  // --- errors ---

  template <class... Pieces> void fail(Errc code, Pieces... pieces) noexcept {
    builder_->set(Error::of(code, pieces...));
  }
  void fail(const Error& error) noexcept { builder_->set(error); }
  [[nodiscard]] bool failed() const noexcept { return builder_->failed(); }
  /// Refuses what is right but not computed.
  template <class... Pieces> void unsupported(Pieces... pieces) noexcept { fail(Errc::unimplemented, pieces...); }
  /// Refuses an extent that is not known when the program is made.
  void fail_dynamic() noexcept;

  [[nodiscard]] const Allocator& allocator() const noexcept;
  /// True when a table of `count` elements may be made; else an error.
  [[nodiscard]] bool fits_table(std::int64_t count) noexcept {
    if (count > kMaxTableElements)
      fail(Errc::limit_exceeded, "a table of ", count, " elements is needed, at most ", kMaxTableElements, " are made");
    return count <= kMaxTableElements && !failed();
  }

  // --- operands ---

  [[nodiscard]] std::size_t inputs() const noexcept { return node_->inputs.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept { return node_->outputs.size(); }
  [[nodiscard]] bool has(std::size_t i) const noexcept { return i < inputs() && !node_->inputs[i].empty(); }
  [[nodiscard]] bool has_out(std::size_t i) const noexcept { return i < outputs() && !node_->outputs[i].empty(); }

  /// Operand `i`, which must be a tensor; else an error and an empty value.
  [[nodiscard]] Value value(std::size_t i) noexcept {
    Value v = any_value(i);
    if (!v.sequence && !v.absent) return v;
    fail(Errc::dtype_mismatch, "input ", i, " is ", v.sequence ? "a sequence" : "no value", ", expected a tensor");
    return {};
  }
  /// Operand `i`, which may be a sequence too; missing, an error and an empty value.
  [[nodiscard]] Value any_value(std::size_t i) noexcept {
    if (!has(i)) {
      fail(Errc::invalid_file, "input ", i, " is missing");
      return {};
    }
    if (const Value* found = scope_->find(node_->inputs[i]); found != nullptr) return *found;
    fail(Errc::dangling_value, "input ", i, " (", zrt::slice(node_->inputs[i], 0, 80),
         ") is computed by no node before");
    return {};
  }
  /// Operand `i` as a tensor of the program; a scalar after an error.
  [[nodiscard]] Tensor in(std::size_t i) noexcept { return tensor_of(value(i)); }
  [[nodiscard]] Tensor tensor_of(const Value& v) noexcept {
    if (v.sequence || v.absent) fail(Errc::dtype_mismatch, "a value is a sequence or not there, expected a tensor");
    if (v.known) return known_tensor(v);
    return v.tensor ? *v.tensor : builder_->scalar(DType::f32, 0);
  }
  [[nodiscard]] Tensor known_tensor(const Value& v) noexcept;
  [[nodiscard]] DType dtype(std::size_t i) noexcept { return value(i).type.dtype; }
  [[nodiscard]] std::size_t rank(std::size_t i) noexcept { return value(i).type.shape.size(); }
  /// The extents of operand `i`, which must be constants.
  [[nodiscard]] IntList shape(std::size_t i) noexcept { return extents(value(i).type.shape); }
  [[nodiscard]] IntList shape(const Tensor& x) noexcept { return extents(x.shape()); }
  [[nodiscard]] IntList extents(const ptir::Shape& shape) noexcept {
    IntList list;
    for (const ptir::Dim dim : shape.view()) {
      if (!dim.is_constant()) fail_dynamic();
      const bool fits = dim.constant() <= std::uint64_t{kMaxExtent};
      if (!fits) fail(Errc::limit_exceeded, "an extent is ", dim.constant(), ", expected at most ", kMaxExtent);
      list.push(dim.is_constant() && fits ? static_cast<std::int64_t>(dim.constant()) : 1);
    }
    return list;
  }

  /// The integers of operand `i`, which must be known when the program is made; `what` names the operand.
  [[nodiscard]] IntList ints_in(std::size_t i, std::string_view what) noexcept {
    IntList list;
    const Value v = value(i);
    if (!need_known(v, i, what)) return list;
    const auto count = static_cast<std::size_t>(v.type.shape.constant_elements().raw());
    if (!is_computed(v.type.dtype) || is_float(v.type.dtype) || count > IntList::kCapacity) {
      fail(Errc::invalid_params, what, " has ", count, " elements of ", name(v.type.dtype),
           ", expected at most 64 integers");
      return list;
    }
    for (std::size_t k = 0; k < count; ++k) {
      std::array<std::byte, 8> word{};
      cast_elements(v.type.dtype, v.data.data() + k * info(v.type.dtype).block_bytes, DType::si64, word.data(), 0, 1);
      list.push(std::bit_cast<std::int64_t>(word));
    }
    return list;
  }
  /// The integers that earlier forms say by an attribute and later ones by operand `i`; none where the node has neither.
  [[nodiscard]] IntList ints_said(std::size_t i, std::string_view what) noexcept {
    return has(i) ? ints_in(i, what) : ints(what);
  }
  /// The same of one integer.
  [[nodiscard]] std::int64_t int_in(std::size_t i, std::string_view what) noexcept {
    const IntList list = ints_in(i, what);
    if (list.size() != 1) fail(Errc::invalid_params, what, " has ", list.size(), " elements, expected one");
    return list[0];
  }
  /// Number `k` of operand `i`, known when the program is made.
  [[nodiscard]] double real_in(std::size_t i, std::size_t k, std::string_view what) noexcept {
    const Value v = value(i);
    if (!need_known(v, i, what)) return 0;
    if (!is_computed(v.type.dtype) || k >= v.type.shape.constant_elements().raw()) {
      fail(Errc::invalid_params, what, " has ", v.type.shape.constant_elements().raw(),
           " elements, expected more than ", k);
      return 0;
    }
    std::array<std::byte, 8> word{};
    cast_elements(v.type.dtype, v.data.data() + k * info(v.type.dtype).block_bytes, DType::f64, word.data(), 0, 1);
    return std::bit_cast<double>(word);
  }
  /// True when `v` is known; else an error that tells the caller which input to bind.
  bool need_known(const Value& v, std::size_t i, std::string_view what) noexcept;

  // --- attributes ---

  /// The attribute, in a function's body the one of the calling node that it stands for; null where it is absent.
  [[nodiscard]] const AttributeView* find(std::string_view key) const noexcept;
  [[nodiscard]] bool has_attribute(std::string_view key) const noexcept { return find(key) != nullptr; }
  /// The attribute, if the node has it; one of another type than `type` is an error.
  [[nodiscard]] const AttributeView* attribute(std::string_view key, AttributeType type) const noexcept {
    const AttributeView* a = find(key);
    if (a == nullptr || a->type == 0 || a->type == static_cast<std::uint64_t>(type)) return a;
    builder_->set(Error::of(Errc::invalid_file, "attribute ", key, " is of type ", a->type, ", expected ",
                            unsigned{static_cast<std::uint8_t>(type)}));
    return nullptr;
  }
  /// The tensor of an attribute; its elements live as long as the reader.
  [[nodiscard]] Result<TensorData> tensor_in(const AttributeView& attribute) noexcept;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t otherwise) const noexcept {
    const AttributeView* a = attribute(key, AttributeType::integer);
    return a == nullptr ? otherwise : a->integer;
  }
  [[nodiscard]] double real(std::string_view key, double otherwise) const noexcept {
    const AttributeView* a = attribute(key, AttributeType::real);
    return a == nullptr ? otherwise : a->real;
  }
  [[nodiscard]] std::string_view text(std::string_view key, std::string_view otherwise) const noexcept {
    const AttributeView* a = attribute(key, AttributeType::text);
    return a == nullptr ? otherwise : a->text;
  }
  /// A list of integers, empty when it is absent.
  [[nodiscard]] IntList ints(std::string_view key) noexcept {
    IntList list;
    const AttributeView* a = attribute(key, AttributeType::integers);
    if (a == nullptr) return list;
    if (a->integers.size() > IntList::kCapacity)
      fail(Errc::limit_exceeded, key, " has ", a->integers.size(), " entries, at most 64 expected");
    for (const std::int64_t value : a->integers) list.push(value);
    return list;
  }
  /// The same with `count` entries, each `otherwise` when the list is absent and none below `least`.
  [[nodiscard]] IntList ints(std::string_view key, std::size_t count, std::int64_t otherwise,
                             std::int64_t least) noexcept {
    IntList list = ints(key);
    if (!has_attribute(key)) return IntList::of(count, otherwise);
    if (list.size() != count) {
      fail(Errc::invalid_params, key, " has ", list.size(), " entries, expected ", count);
      return IntList::of(count, otherwise);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (list[i] < least || list[i] > kMaxExtent) {
        fail(Errc::invalid_params, key, " has an entry of ", list[i], ", expected ", least, " to ", kMaxExtent);
        list[i] = otherwise;
      }
    return list;
  }
  /// `axis` counted from 0 among `rank` axes; 0 after an error.
  [[nodiscard]] std::size_t axis_of(std::int64_t axis, std::size_t rank) noexcept {
    const auto count = static_cast<std::int64_t>(rank);
    if (axis < -count || axis >= count) {
      fail(Errc::invalid_params, "axis ", axis, " is none of ", rank);
      return 0;
    }
    return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
  }
  [[nodiscard]] std::size_t axis(std::string_view key, std::int64_t otherwise, std::size_t rank) noexcept {
    return axis_of(integer(key, otherwise), rank);
  }

  // --- results ---

  void out(std::size_t i, const Tensor& x) noexcept {
    if (has_out(i)) bind(node_->outputs[i], {x.type(), x, {}, false});
  }
  /// Result 0, which is known as soon as the operands are, where it is few numbers.
  void out_of_operands(const Tensor& x) noexcept {
    if (!has_out(0)) return;
    const bool few = x.shape().is_constant() && x.shape().constant_elements().raw() <= IntList::kCapacity;
    std::string_view first{};
    for (std::size_t i = 0; few && i < inputs(); ++i) {
      const Value* v = has(i) ? scope_->find(node_->inputs[i]) : nullptr;
      if (v == nullptr || v->known) continue;
      if (v->source.empty()) return out(0, x);
      if (first.empty()) first = v->source;
    }
    bind(node_->outputs[0], {x.type(), x, {}, false, first});
  }
  /// Result `i` is known: `data` is copied.
  void out_known(std::size_t i, const ptir::TensorType& type, Span<const std::byte> data) noexcept;
  /// Result `i` is `v` with another shape of as many elements, if `v` is known.
  void out_known_as(std::size_t i, const Value& v, const ptir::Shape& shape) noexcept {
    if (has_out(i)) bind(node_->outputs[i], {{v.type.dtype, shape}, {}, v.data, true});
  }
  /// Result `i`, which was given already, is numbers of strings.
  void mark_strings(std::size_t i) noexcept {
    Value* v = has_out(i) ? scope_->find(node_->outputs[i]) : nullptr;
    if (v != nullptr) v->strings = true;
  }
  void out_integers(std::size_t i, ptir::Ints values, bool scalar = false) noexcept {
    ptir::TensorType type{DType::si64, {}};
    if (!scalar) type.shape.append(ptir::Dim(static_cast<std::int64_t>(values.size())));
    out_known(i, type, as_bytes(values));
  }
  void bind(std::string_view name, const Value& v) noexcept {
    if (auto r = scope_->add(name, v); !r) fail(r.error());
  }

 private:
  Reader* reader_;
  Scope* scope_;
  Builder* builder_;
  const NodeView* node_;
  std::int64_t opset_;
};

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
