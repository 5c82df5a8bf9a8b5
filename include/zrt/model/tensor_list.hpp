// SPDX-License-Identifier: Apache-2.0
// zrt/model/tensor_list.hpp: the tensors that a model's file holds, as its family's program names them.
#pragma once

#include <zrt/model/tensor_rows.hpp>
#include <zrt/model/visit_family.hpp>
#include <zrt/ops/op.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// A tensor that a family's program names.
struct ListedTensor {
  Name name{};
  std::uint32_t rank = 0;
  std::array<std::uint64_t, 4> dims{1, 1, 1, 1};  ///< dims[0] runs fastest, as files count
  std::uint64_t elems = 0;

  [[nodiscard]] Span<const std::uint64_t> extents() const noexcept { return Span(dims).first(rank); }
};

/// Which of the tensors that a family can do without a file holds: those of these names, and those whose names end in
/// one of them behind a dot.
struct OptionalTensors {
  Span<const std::string_view> names{};
  bool listed = true;  ///< false: all but those

  [[nodiscard]] constexpr bool holds(std::string_view tensor) const noexcept {
    for (const std::string_view end : names)
      if (tensor == end ||
          (tensor.size() > end.size() && tensor.ends_with(end) && tensor[tensor.size() - end.size() - 1] == '.'))
        return listed;
    return !listed;
  }
};

namespace detail {

/// A builder that notes each tensor that a program names, once. It computes no types, so that all families share it.
class TensorLister {
 public:
  struct Tensor {
    bool is_made = false;
    [[nodiscard]] bool present() const noexcept { return is_made; }
  };
  struct Weight {
    bool is_bound = false;
    [[nodiscard]] bool present() const noexcept { return is_bound; }
  };
  struct State {};

  TensorLister(const OptionalTensors& optional, Vector<ListedTensor>& to) noexcept : optional_(optional), to_(to) {}

  SymbolId symbol(const Name&, std::uint32_t) noexcept { return ++symbols_; }
  Tensor input(const Name&, const TensorType&) noexcept { return {true}; }
  void output(const Name&, Tensor) noexcept {}
  Weight weight(const Name& name, const Shape& shape) noexcept {
    if (result_) result_ = add(name, shape);
    return {true};
  }
  Weight optional_weight(const Name& name, const Shape& shape) noexcept {
    return optional_.holds(TensorRows::of(name.view()).tensor) ? weight(name, shape) : Weight{};
  }
  Weight constant(Span<const float>) noexcept { return {true}; }
  State state(const StateInfo&) noexcept { return {}; }
  template <class O> std::array<Tensor, kOutputs<O>> emit(const Call<TensorLister, O>&) noexcept {
    std::array<Tensor, kOutputs<O>> out{};
    for (Tensor& tensor : out) tensor.is_made = true;
    return out;
  }

  [[nodiscard]] Result<void> result() const noexcept { return result_; }

 private:
  [[nodiscard]] Result<void> add(const Name& name, const Shape& shape) noexcept {
    if (!name.fits() || shape.rank > 4)
      return fail(Errc::limit_exceeded, "tensor '", name.view(), "' has ", unsigned{shape.rank},
                  " dimensions and a name of ", name.view().size(), " bytes or more");
    const TensorRows rows = TensorRows::of(name.view());
    for (const ListedTensor& seen : to_)
      if (seen.name.view() == rows.tensor) return {};
    ListedTensor tensor;
    tensor.name = Name(rows.tensor);
    tensor.rank = shape.rank;
    for (std::size_t axis = 0; axis < shape.rank; ++axis) tensor.dims[shape.rank - 1 - axis] = shape[axis].extent;
    if (rows.total != 0) tensor.dims[shape.rank - 1] = rows.total;
    CheckedSize elems(1);
    for (const std::uint64_t dim : tensor.dims) elems = elems * CheckedSize(dim);
    const auto count = elems.get(rows.tensor);
    if (!count) return pass(count);
    tensor.elems = *count;
    return to_.push_back(tensor);
  }

  const OptionalTensors& optional_;
  Vector<ListedTensor>& to_;
  Result<void> result_{};
  SymbolId symbols_ = 0;
};

}  // namespace detail

/// Lists the tensors of the model that `metadata` describes, in the order in which its family's program names them.
///
/// A family reads the number of token ids from the rows of token_embd.weight, and a few ask whether the file holds some
/// other tensor. `metadata` names those tensors; it needs none of their data.
///
/// Errors: those of visit_family and read_config.
template <class Families>
[[nodiscard]] Result<Vector<ListedTensor>> list_tensors(const GgufFile& metadata, const OptionalTensors& optional,
                                                        const Allocator& allocator) noexcept {
  const auto architecture = metadata.get<std::string_view>("general.architecture");
  if (!architecture) return pass(architecture);
  ConfigReader meta(metadata, *architecture);
  Vector<ListedTensor> tensors(allocator);
  const auto listed =
      visit_family<typename Families::List>(meta, [&]<class F>(std::type_identity<F>) noexcept -> Result<void> {
        typename F::Config config;
        if (auto r = read_config<F>(meta, config); !r) return r;
        detail::TensorLister lister(optional, tensors);
        F::build(lister, config);
        return lister.result();
      });
  if (!listed) return pass(listed);
  return tensors;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
